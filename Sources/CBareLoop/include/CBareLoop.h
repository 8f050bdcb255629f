#ifndef CBARELOOP_H
#define CBARELOOP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * The baseline of `juice bench`: the least that exactly-once processing by Kafka's own recipe can cost on librdkafka, in plain C.
 * The recipe sends the group's offsets in each transaction.
 *
 * Functions that can fail return 0 or -1, and write the reason to `error`. None of them ends the process.
 */

/* A librdkafka property. */
typedef struct {
    const char *name;
    const char *value;
} bare_property;

/* What every loop needs: the user's properties, and a buffer for errors. */
typedef struct {
    /* They override the loop's own, except those that exactly-once semantics depend on. */
    const bare_property *properties;
    size_t property_count;
    /* Receives a message for people if a function fails. */
    char *error;
    size_t error_size;
} bare_client;

typedef struct {
    const char *bootstrap_servers;
    /* The consumer group, which is also the prefix of the transactional ids. */
    const char *group;
    const char *input_topic;
    /* Must have as many partitions as the input. */
    const char *output_topic;
    /* The most records in a transaction. */
    size_t max_batch;
    /* The size of each written value: the record's value, truncated or padded with spaces. */
    size_t answer_size;
    /* Whether each transaction sends the group's offsets. Without them the loop begins anew after a restart. */
    int sends_offsets;
} bare_copy_plan;

/*
 * Writes one record to a topic for each record of another, exactly once, until bare_copy_stop(). It does not parse the records.
 *
 * on_ready, unless null, is called with `opaque` when partitions are assigned.
 */
int bare_copy(const bare_copy_plan *plan, const bare_client *client, void (*on_ready)(void *opaque), void *opaque);

/* Ends the loop after the current transaction. Safe to call in a signal handler. */
void bare_copy_stop(void);

typedef struct {
    const char *bootstrap_servers;
    const char *topic;
    int32_t partition_count;
} bare_read_plan;

typedef struct {
    uint64_t records;
    /* The total size of keys and values. */
    uint64_t bytes;
} bare_read_result;

/* Reads all committed records of a topic from the start to the current end, and counts them. */
int bare_read(const bare_read_plan *plan, const bare_client *client, bare_read_result *result);

/*
 * Starts an executable with its output in a file. On Linux the kernel kills it when the calling thread ends. It gets a process
 * group of its own, so that Ctrl-C in the terminal does not reach it.
 *
 * Returns the process id, or -1 with errno set.
 */
pid_t bare_spawn(const char *executable, char *const arguments[], const char *output);

/*
 * The processor time used so far by all threads of a process, in nanoseconds; -1 if unknown. On Linux the resolution is far
 * below a microsecond.
 */
int64_t bare_cpu_time(pid_t process);

/* The current resident memory of a process, in bytes; -1 if unknown. */
int64_t bare_resident_memory(pid_t process);

#endif
