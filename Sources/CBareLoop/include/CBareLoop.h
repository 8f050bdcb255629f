#ifndef CBARELOOP_H
#define CBARELOOP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * The yardstick of `juice bench`: the least that exactly-once processing on librdkafka can cost, in plain C.
 *
 * Functions that can fail return 0 or -1, and say why in `error`. None of them ends the process.
 */

/* A librdkafka property. */
typedef struct {
    const char *name;
    const char *value;
} bare_property;

/* What a client needs to know besides what it is to do. */
typedef struct {
    /* Set after the loop's own, so they win, except over what exactly once rests on. */
    const bare_property *properties;
    size_t property_count;
    /* Where a sentence for people goes when a function fails. */
    char *error;
    size_t error_size;
} bare_client;

typedef struct {
    const char *bootstrap_servers;
    /* The consumer group; the producers' transactional ids begin with it. */
    const char *group;
    const char *input_topic;
    /* Must have as many partitions. */
    const char *output_topic;
    /* The most records in a transaction. */
    size_t max_batch;
    /* How long each value is that is written: the record's, cut or with spaces behind it. 0 copies it as it is. */
    size_t answer_size;
} bare_copy_plan;

/*
 * Writes a record to one topic for each of another exactly once, until bare_copy_stop(). Nothing is looked at.
 *
 * on_ready, unless null, is called with `opaque` when the loop has been given partitions.
 */
int bare_copy(const bare_copy_plan *plan, const bare_client *client, void (*on_ready)(void *opaque), void *opaque);

/* Ends the loop after the transaction at hand. May be called from a signal handler. */
void bare_copy_stop(void);

typedef struct {
    const char *bootstrap_servers;
    const char *topic;
    int32_t partition_count;
} bare_read_plan;

typedef struct {
    uint64_t records;
    /* Of keys and values. */
    uint64_t bytes;
} bare_read_result;

/* Reads all partitions of a topic from their start to the end that they have now, as committed, and counts. */
int bare_read(const bare_read_plan *plan, const bare_client *client, bare_read_result *result);

/*
 * Starts an executable whose output goes to a file, and which does not outlive the calling thread: on Linux the kernel
 * kills it then. It gets a process group of its own, so that a Ctrl-C in the terminal does not reach it.
 *
 * Returns its process id, or -1 with errno set.
 */
pid_t bare_spawn(const char *executable, char *const arguments[], const char *output);

/*
 * The processor time that a process has used so far in all its threads, in nanoseconds; -1 where it cannot be told.
 * Good to far less than a microsecond on Linux.
 */
int64_t bare_cpu_time(pid_t process);

/* The memory of a process that is resident now, in bytes; -1 where it cannot be told. */
int64_t bare_resident_memory(pid_t process);

#endif
