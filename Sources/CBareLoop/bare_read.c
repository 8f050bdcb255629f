/* The bare read: how fast librdkafka alone reads a topic into a process. */
#include "bare_client.h"

#include <stdlib.h>

enum { BATCH = 10000, POLL_MS = 100, TIMEOUT_MS = 30000 };

static rd_kafka_t *open_reader(const bare_read_plan *plan, const bare_client *client) {
    const bare_property defaults[] = {
        /* Never pause fetching, fetch large chunks, and report the end of a partition at once. */
        {"queued.min.messages", "1000000"},
        {"queued.max.messages.kbytes", "1000000"},
        {"fetch.message.max.bytes", "4194304"},
        {"fetch.wait.max.ms", "10"},
        {NULL, NULL}};
    /* It joins no group, but librdkafka requires a group id and looks up its coordinator, which may need a permission. */
    const bare_property fixed[] = {
        {"bootstrap.servers", plan->bootstrap_servers}, {"group.id", plan->topic},
        {"enable.auto.commit", "false"}, {"enable.auto.offset.store", "false"},
        {"isolation.level", "read_committed"}, {"auto.offset.reset", "earliest"},
        {"enable.partition.eof", "true"}, {NULL, NULL}};
    rd_kafka_t *reader = bare_new_client(client, RD_KAFKA_CONSUMER, defaults, fixed, NULL, NULL);
    if (reader) rd_kafka_poll_set_consumer(reader);
    return reader;
}

static int start(rd_kafka_t *reader, const bare_read_plan *plan, const bare_client *client) {
    rd_kafka_topic_partition_list_t *partitions = rd_kafka_topic_partition_list_new(plan->partition_count);
    /* From 0, or through auto.offset.reset from the log start if that is later. For OFFSET_BEGINNING librdkafka 2.0.2 queries
    * the broker before it is connected, and retries only after half a second. */
    for (int32_t i = 0; i < plan->partition_count; i++)
        rd_kafka_topic_partition_list_add(partitions, plan->topic, i)->offset = 0;
    rd_kafka_resp_err_t error = rd_kafka_assign(reader, partitions);
    rd_kafka_topic_partition_list_destroy(partitions);
    return error ? bare_fail(client, "reading %s: %s", plan->topic, rd_kafka_err2str(error)) : 0;
}

/* Counts the records. Returns the number of partitions that reached their end, or -1 if one cannot be read. */
static int count(rd_kafka_message_t **records, ssize_t taken, const bare_read_plan *plan, const bare_client *client,
                 bare_read_result *result) {
    int ended = 0;
    int failed = 0;
    for (ssize_t i = 0; i < taken; i++) {
        const rd_kafka_message_t *record = records[i];
        if (!record->err) {
            result->records++;
            result->bytes += record->key_len + record->len;
        } else if (record->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
            /* Transaction markers take offsets, too, so offsets alone do not show the end. */
            ended++;
        } else if (!bare_is_transient(record->err)) {
            failed = bare_fail(client, "reading %s: %s", plan->topic, rd_kafka_message_errstr(record));
        }
        rd_kafka_message_destroy(records[i]);
    }
    return failed ? -1 : ended;
}

int bare_read(const bare_read_plan *plan, const bare_client *client, bare_read_result *result) {
    *result = (bare_read_result){0, 0};
    rd_kafka_message_t **records = calloc(BATCH, sizeof *records);
    if (!records) return bare_fail(client, "out of memory");
    rd_kafka_t *reader = open_reader(plan, client);
    rd_kafka_queue_t *queue = reader ? rd_kafka_queue_get_consumer(reader) : NULL;

    int failed = reader ? start(reader, plan, client) : -1;
    int32_t open = plan->partition_count;
    int idle_ms = 0;
    while (!failed && open > 0) {
        ssize_t taken = rd_kafka_consume_batch_queue(queue, POLL_MS, records, 1);
        if (taken <= 0) {
            idle_ms += POLL_MS;
            if (idle_ms >= TIMEOUT_MS) failed = bare_fail(client, "nothing comes from %s", plan->topic);
            continue;
        }
        idle_ms = 0;
        ssize_t rest = rd_kafka_consume_batch_queue(queue, 0, records + 1, BATCH - 1);
        if (rest > 0) taken += rest;
        int ended = count(records, taken, plan, client, result);
        if (ended < 0) failed = -1;
        else open -= ended;
    }

    if (queue) rd_kafka_queue_destroy(queue);
    if (reader) {
        rd_kafka_consumer_close(reader);
        rd_kafka_destroy(reader);
    }
    free(records);
    return failed;
}
