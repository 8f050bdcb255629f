#ifndef CBENCH_H
#define CBENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The baselines of the benchmark: the least that exactly-once processing by Kafka's own recipe, and reading a topic, can cost on
 * librdkafka. Each loop has a process to itself. It returns 0 or -1, after the reason is written to standard error.
 */

/* A librdkafka property. */
typedef struct {
    const char *name;
    const char *value;
} bare_property;

/* The brokers, and the user's properties for them, which override the loop's own except those that exactly-once rests on. */
typedef struct {
    const char *bootstrap_servers;
    const bare_property *properties;
    size_t property_count;
} bare_cluster;

typedef struct {
    bare_cluster cluster;
    /* The consumer group, which is also the prefix of the transactional ids. */
    const char *group;
    const char *input_topic;
    /* Must have as many partitions as the input. */
    const char *output_topic;
    /* The most records in a transaction. */
    size_t max_batch;
    /* The size of each written value: the record's value, truncated or padded with spaces. */
    size_t answer_size;
    /* Whether each transaction sends the group's offsets. Without them the loop begins again after a restart. */
    bool sends_offsets;
} bare_copy_plan;

/* Writes one record to a topic for each record of another, exactly once, until process_is_interrupted(). It does not parse the
 * records. When partitions are assigned it says so on standard error, in a line that begins with "ready: ". */
int bare_copy(const bare_copy_plan *plan);

/* Reads all committed records of a topic from the start to the current end, and prints how many there are. */
int bare_read(const bare_cluster *cluster, const char *topic, int32_t partition_count);

/* How often the calling thread has asked for memory from the heap; -1 where that cannot be counted. */
int64_t malloc_count(void);

#endif
