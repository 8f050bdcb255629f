/*
 * The bare loop: consume, produce, send offsets, commit, and nothing else. It costs what Kafka and librdkafka cost; the rest of
 * the service's cost is the service's own. It writes values as long as the service's, or copies those it reads.
 *
 * It is optimised like the service: three transactional producers used in turn, because the broker is still writing the markers of
 * the previous transactions; one transaction per batch; a delivery report callback, without which a commit sleeps in steps of
 * 10 ms; the group metadata fetched once per assignment.
 */
#include "bare_client.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Long enough for a slow broker, short enough for a waiting user. */
enum { TIMEOUT_MS = 30000, POLL_MS = 100 };

enum { PRODUCERS = 3 };

static volatile sig_atomic_t is_stopped;

void bare_copy_stop(void) { is_stopped = 1; }

typedef struct {
    const bare_copy_plan *plan;
    const bare_client *client;
    void (*on_ready)(void *);
    void *opaque;

    rd_kafka_t *consumer;
    rd_kafka_queue_t *queue;
    /* The group metadata of the current assignment; null without one. */
    rd_kafka_consumer_group_metadata_t *membership;
    rd_kafka_t *producers[PRODUCERS];
    rd_kafka_topic_t *outputs[PRODUCERS];
    int turn;

    /* The records of the batch, and their copies for the output. */
    rd_kafka_message_t **records;
    rd_kafka_message_t *copies;
    /* One value of `answer_size` bytes per record; null if values are copied. */
    char *answers;
} copy;

static void on_rebalance(rd_kafka_t *consumer, rd_kafka_resp_err_t event, rd_kafka_topic_partition_list_t *partitions,
                         void *opaque) {
    copy *copy = opaque;
    if (copy->membership) rd_kafka_consumer_group_metadata_destroy(copy->membership);
    copy->membership = NULL;
    if (event != RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS) {
        rd_kafka_assign(consumer, NULL);
        return;
    }
    copy->membership = rd_kafka_consumer_group_metadata(consumer);
    rd_kafka_assign(consumer, partitions);
    if (copy->on_ready) copy->on_ready(copy->opaque);
}

static void on_delivery(rd_kafka_t *producer, const rd_kafka_message_t *record, void *opaque) {
    (void)producer, (void)record, (void)opaque;
}

static void prepare_consumer(rd_kafka_conf_t *conf, void *opaque) {
    (void)opaque;
    rd_kafka_conf_set_rebalance_cb(conf, on_rebalance);
}

static void prepare_producer(rd_kafka_conf_t *conf, void *opaque) {
    (void)opaque;
    rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
}

static int open_producer(copy *copy, int turn) {
    char id[256];
    snprintf(id, sizeof id, "%s/%d", copy->plan->group, turn);
    const bare_property defaults[] = {{"queue.buffering.max.messages", "500000"}, {NULL, NULL}};
    const bare_property fixed[] = {
        {"bootstrap.servers", copy->plan->bootstrap_servers}, {"transactional.id", id}, {NULL, NULL}};
    rd_kafka_t *producer =
        bare_new_client(copy->client, RD_KAFKA_PRODUCER, defaults, fixed, prepare_producer, NULL);
    if (!producer) return -1;
    copy->producers[turn] = producer;
    if (bare_check(copy->client, "taking over a transactional id", rd_kafka_init_transactions(producer, TIMEOUT_MS)))
        return -1;
    copy->outputs[turn] = rd_kafka_topic_new(producer, copy->plan->output_topic, NULL);
    return copy->outputs[turn] ? 0 : bare_fail(copy->client, "no topic %s", copy->plan->output_topic);
}

static int open_consumer(copy *copy) {
    const bare_property defaults[] = {
        /* With enough records queued, librdkafka 2.0.2 stops fetching for up to a second. So it never has enough. */
        {"queued.min.messages", "1000000"},
        {"queued.max.messages.kbytes", "1000000"},
        {"session.timeout.ms", "10000"},
        {NULL, NULL}};
    const bare_property fixed[] = {
        {"bootstrap.servers", copy->plan->bootstrap_servers}, {"group.id", copy->plan->group},
        {"auto.offset.reset", "earliest"}, {"isolation.level", "read_committed"},
        {"enable.auto.commit", "false"}, {"enable.auto.offset.store", "false"}, {NULL, NULL}};
    copy->consumer = bare_new_client(copy->client, RD_KAFKA_CONSUMER, defaults, fixed, prepare_consumer, copy);
    if (!copy->consumer) return -1;
    rd_kafka_poll_set_consumer(copy->consumer);
    copy->queue = rd_kafka_queue_get_consumer(copy->consumer);

    rd_kafka_topic_partition_list_t *topics = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(topics, copy->plan->input_topic, RD_KAFKA_PARTITION_UA);
    rd_kafka_resp_err_t error = rd_kafka_subscribe(copy->consumer, topics);
    rd_kafka_topic_partition_list_destroy(topics);
    return error ? bare_fail(copy->client, "subscribing: %s", rd_kafka_err2str(error)) : 0;
}

/* Polls available records, after waiting for the first. Returns their number without errors, or -1 on failure. */
static ssize_t poll_records(copy *copy) {
    /* Asked for more records than it has, librdkafka waits for the whole timeout. So ask for one first. */
    ssize_t taken = rd_kafka_consume_batch_queue(copy->queue, POLL_MS, copy->records, 1);
    if (taken <= 0) return 0;
    if (copy->plan->max_batch > 1) {
        ssize_t rest = rd_kafka_consume_batch_queue(copy->queue, 0, copy->records + 1, copy->plan->max_batch - 1);
        if (rest > 0) taken += rest;
    }
    ssize_t count = 0;
    int failed = 0;
    for (ssize_t i = 0; i < taken; i++) {
        rd_kafka_message_t *record = copy->records[i];
        if (!record->err) {
            copy->records[count++] = record;
            continue;
        }
        if (!bare_is_transient(record->err))
            failed = bare_fail(copy->client, "reading %s: %s", copy->plan->input_topic, rd_kafka_message_errstr(record));
        rd_kafka_message_destroy(record);
    }
    if (!failed) return count;
    for (ssize_t i = 0; i < count; i++) rd_kafka_message_destroy(copy->records[i]);
    return -1;
}

/* The value written for a record: the start of the record's own value, which identifies it, padded with spaces. */
static void *answer(copy *copy, ssize_t index) {
    const rd_kafka_message_t *record = copy->records[index];
    size_t size = copy->plan->answer_size;
    char *answer = copy->answers + (size_t)index * size;
    size_t copied = record->len < size ? record->len : size;
    memcpy(answer, record->payload, copied);
    memset(answer + copied, ' ', size - copied);
    return answer;
}

/* Produces the records. Records of a partition arrive in runs; each run is produced to the same partition with one call. */
static int produce(copy *copy, rd_kafka_topic_t *output, ssize_t count, rd_kafka_topic_partition_list_t *offsets) {
    ssize_t start = 0;
    while (start < count) {
        int32_t partition = copy->records[start]->partition;
        ssize_t end = start;
        for (; end < count && copy->records[end]->partition == partition; end++) {
            const rd_kafka_message_t *record = copy->records[end];
            copy->copies[end] = (rd_kafka_message_t){
                .payload = record->payload, .len = record->len, .key = record->key, .key_len = record->key_len};
            copy->copies[end].payload = answer(copy, end);
            copy->copies[end].len = copy->plan->answer_size;
        }
        int wanted = (int)(end - start);
        int done = rd_kafka_produce_batch(output, partition, RD_KAFKA_MSG_F_COPY, &copy->copies[start], wanted);
        if (done != wanted)
            return bare_fail(copy->client, "%d of %d records were not taken for %s", wanted - done, wanted,
                             copy->plan->output_topic);

        rd_kafka_topic_partition_t *offset =
            rd_kafka_topic_partition_list_find(offsets, copy->plan->input_topic, partition);
        if (!offset) offset = rd_kafka_topic_partition_list_add(offsets, copy->plan->input_topic, partition);
        offset->offset = copy->records[end - 1]->offset + 1;
        start = end;
    }
    return 0;
}

/* Runs one transaction. */
static int commit(copy *copy, ssize_t count) {
    rd_kafka_t *producer = copy->producers[copy->turn];
    rd_kafka_topic_t *output = copy->outputs[copy->turn];
    copy->turn = (copy->turn + 1) % PRODUCERS;
    if (bare_check(copy->client, "beginning a transaction", rd_kafka_begin_transaction(producer))) return -1;

    rd_kafka_topic_partition_list_t *offsets = rd_kafka_topic_partition_list_new(8);
    int failed = produce(copy, output, count, offsets);
    if (!failed && copy->plan->sends_offsets)
        failed = bare_check(
            copy->client, "sending offsets",
            rd_kafka_send_offsets_to_transaction(producer, offsets, copy->membership, TIMEOUT_MS));
    rd_kafka_topic_partition_list_destroy(offsets);
    if (failed) return -1;
    return bare_check(copy->client, "committing", rd_kafka_commit_transaction(producer, TIMEOUT_MS));
}

static int run(copy *copy) {
    copy->records = calloc(copy->plan->max_batch, sizeof *copy->records);
    copy->copies = calloc(copy->plan->max_batch, sizeof *copy->copies);
    copy->answers = malloc(copy->plan->max_batch * copy->plan->answer_size + 1);
    if (!copy->records || !copy->copies || !copy->answers)
        return bare_fail(copy->client, "out of memory");
    /* The producers first: otherwise the consumer would prefetch while they initialise. */
    for (int turn = 0; turn < PRODUCERS; turn++)
        if (open_producer(copy, turn)) return -1;
    if (open_consumer(copy)) return -1;

    while (!is_stopped) {
        ssize_t count = poll_records(copy);
        if (count < 0) return -1;
        if (count == 0) continue;
        /* Without group metadata the partitions were revoked; their new owner reads the same records again. */
        int failed = copy->membership ? commit(copy, count) : 0;
        for (ssize_t i = 0; i < count; i++) rd_kafka_message_destroy(copy->records[i]);
        if (failed) return -1;
    }
    return 0;
}

int bare_copy(const bare_copy_plan *plan, const bare_client *client, void (*on_ready)(void *opaque), void *opaque) {
    copy copy = {.plan = plan, .client = client, .on_ready = on_ready, .opaque = opaque};
    int result = run(&copy);

    for (int turn = 0; turn < PRODUCERS; turn++) {
        if (copy.outputs[turn]) rd_kafka_topic_destroy(copy.outputs[turn]);
        if (copy.producers[turn]) rd_kafka_destroy(copy.producers[turn]);
    }
    if (copy.queue) rd_kafka_queue_destroy(copy.queue);
    if (copy.consumer) {
        rd_kafka_consumer_close(copy.consumer);
        rd_kafka_destroy(copy.consumer);
    }
    if (copy.membership) rd_kafka_consumer_group_metadata_destroy(copy.membership);
    free(copy.records);
    free(copy.copies);
    free(copy.answers);
    return result;
}
