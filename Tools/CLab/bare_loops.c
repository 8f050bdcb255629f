/*
 * The bare copy: consume, produce, send offsets, commit, and nothing else. It costs what Kafka and librdkafka cost; the rest of
 * the service's cost is the service's own. It writes values as long as the service's answers.
 *
 * It is optimised like the service: three transactional producers used in turn, because the broker is still writing the markers of
 * the previous transactions; one transaction per batch; a delivery report callback, without which a commit sleeps in steps of
 * 10 ms; the group metadata fetched once per assignment.
 *
 * The bare read: how fast librdkafka alone reads a topic into a process.
 */
#include "CBench.h"
#include "CProcess.h"

#include <librdkafka/rdkafka.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Long enough for a slow broker, short enough for a waiting user. */
enum { TIMEOUT_MS = 30000, POLL_MS = 100 };

/* Reports a failure, and returns -1. */
__attribute__((format(printf, 1, 2))) static int fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    return -1;
}

/* Consumes a librdkafka error: reports what was tried and why it failed, and returns -1. Returns 0 if there is no error. */
static int check(const char *what, rd_kafka_error_t *error) {
    if (!error) return 0;
    fail("%s: %s", what, rd_kafka_error_string(error));
    rd_kafka_error_destroy(error);
    return -1;
}

static int set(rd_kafka_conf_t *conf, const bare_property *property) {
    char reason[256];
    if (rd_kafka_conf_set(conf, property->name, property->value, reason, sizeof reason) == RD_KAFKA_CONF_OK) return 0;
    /* librdkafka's message may quote the value, which may be a secret. */
    return fail("the Kafka property \"%s\" is refused", property->name);
}

/*
 * A configuration with these properties: `defaults`, then the user's, then `fixed`; later ones win. Both lists end with a null
 * name. Returns null on failure.
 */
static rd_kafka_conf_t *configure(const bare_cluster *cluster, const bare_property *defaults, const bare_property *fixed) {
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    const bare_property brokers = {"bootstrap.servers", cluster->bootstrap_servers};
    int failed = 0;
    for (; !failed && defaults->name; defaults++) failed = set(conf, defaults);
    for (size_t i = 0; !failed && i < cluster->property_count; i++) failed = set(conf, &cluster->properties[i]);
    for (; !failed && fixed->name; fixed++) failed = set(conf, fixed);
    if (!failed && !set(conf, &brokers)) return conf;
    rd_kafka_conf_destroy(conf);
    return NULL;
}

/* Creates a client that takes over its configuration. Returns null on failure. */
static rd_kafka_t *new_client(rd_kafka_type_t type, rd_kafka_conf_t *conf) {
    char reason[256];
    rd_kafka_t *client = rd_kafka_new(type, conf, reason, sizeof reason);
    if (client) return client;
    /* rd_kafka_new owns the configuration only if it succeeds. */
    rd_kafka_conf_destroy(conf);
    fail("no Kafka client: %s", reason);
    return NULL;
}

/* Whether a consumed error is about a connection that librdkafka re-establishes by itself. */
static int is_transient(rd_kafka_resp_err_t error) {
    return error == RD_KAFKA_RESP_ERR__TRANSPORT || error == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN ||
           error == RD_KAFKA_RESP_ERR__TIMED_OUT || error == RD_KAFKA_RESP_ERR__RESOLVE;
}

/* The bare copy. */

enum { PRODUCERS = 3 };

typedef struct {
    const bare_copy_plan *plan;

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
    /* One value of `answer_size` bytes per record. */
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
    fprintf(stderr, "ready: %d partitions\n", partitions->cnt);
}

static void on_delivery(rd_kafka_t *producer, const rd_kafka_message_t *record, void *opaque) {
    (void)producer, (void)record, (void)opaque;
}

static int open_producer(copy *copy, int turn) {
    char id[256];
    snprintf(id, sizeof id, "%s/%d", copy->plan->group, turn);
    const bare_property defaults[] = {{"queue.buffering.max.messages", "500000"}, {NULL, NULL}};
    const bare_property fixed[] = {{"transactional.id", id}, {NULL, NULL}};
    rd_kafka_conf_t *conf = configure(&copy->plan->cluster, defaults, fixed);
    if (!conf) return -1;
    rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
    rd_kafka_t *producer = new_client(RD_KAFKA_PRODUCER, conf);
    if (!producer) return -1;
    copy->producers[turn] = producer;
    if (check("taking over a transactional id", rd_kafka_init_transactions(producer, TIMEOUT_MS))) return -1;
    copy->outputs[turn] = rd_kafka_topic_new(producer, copy->plan->output_topic, NULL);
    return copy->outputs[turn] ? 0 : fail("no topic %s", copy->plan->output_topic);
}

static int open_consumer(copy *copy) {
    const bare_property defaults[] = {
        /* With enough records queued, librdkafka 2.0.2 stops fetching for up to a second. So it never has enough. */
        {"queued.min.messages", "1000000"},
        {"queued.max.messages.kbytes", "1000000"},
        {"session.timeout.ms", "10000"},
        {NULL, NULL}};
    const bare_property fixed[] = {
        {"group.id", copy->plan->group}, {"auto.offset.reset", "earliest"}, {"isolation.level", "read_committed"},
        {"enable.auto.commit", "false"}, {"enable.auto.offset.store", "false"}, {NULL, NULL}};
    rd_kafka_conf_t *conf = configure(&copy->plan->cluster, defaults, fixed);
    if (!conf) return -1;
    rd_kafka_conf_set_opaque(conf, copy);
    rd_kafka_conf_set_rebalance_cb(conf, on_rebalance);
    copy->consumer = new_client(RD_KAFKA_CONSUMER, conf);
    if (!copy->consumer) return -1;
    rd_kafka_poll_set_consumer(copy->consumer);
    copy->queue = rd_kafka_queue_get_consumer(copy->consumer);

    rd_kafka_topic_partition_list_t *topics = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(topics, copy->plan->input_topic, RD_KAFKA_PARTITION_UA);
    rd_kafka_resp_err_t error = rd_kafka_subscribe(copy->consumer, topics);
    rd_kafka_topic_partition_list_destroy(topics);
    return error ? fail("subscribing: %s", rd_kafka_err2str(error)) : 0;
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
        if (!is_transient(record->err))
            failed = fail("reading %s: %s", copy->plan->input_topic, rd_kafka_message_errstr(record));
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
            copy->copies[end] = (rd_kafka_message_t){.payload = answer(copy, end), .len = copy->plan->answer_size,
                                                     .key = record->key, .key_len = record->key_len};
        }
        int wanted = (int)(end - start);
        int done = rd_kafka_produce_batch(output, partition, RD_KAFKA_MSG_F_COPY, &copy->copies[start], wanted);
        if (done != wanted)
            return fail("%d of %d records were not taken for %s", wanted - done, wanted, copy->plan->output_topic);

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
    if (check("beginning a transaction", rd_kafka_begin_transaction(producer))) return -1;

    rd_kafka_topic_partition_list_t *offsets = rd_kafka_topic_partition_list_new(8);
    int failed = produce(copy, output, count, offsets);
    if (!failed && copy->plan->sends_offsets)
        failed = check("sending offsets",
                       rd_kafka_send_offsets_to_transaction(producer, offsets, copy->membership, TIMEOUT_MS));
    rd_kafka_topic_partition_list_destroy(offsets);
    if (failed) return -1;
    return check("committing", rd_kafka_commit_transaction(producer, TIMEOUT_MS));
}

static int run(copy *copy) {
    copy->records = calloc(copy->plan->max_batch, sizeof *copy->records);
    copy->copies = calloc(copy->plan->max_batch, sizeof *copy->copies);
    copy->answers = malloc(copy->plan->max_batch * copy->plan->answer_size + 1);
    if (!copy->records || !copy->copies || !copy->answers) return fail("out of memory");
    /* The producers first: otherwise the consumer would prefetch while they initialise. */
    for (int turn = 0; turn < PRODUCERS; turn++)
        if (open_producer(copy, turn)) return -1;
    if (open_consumer(copy)) return -1;

    while (!process_is_interrupted()) {
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

int bare_copy(const bare_copy_plan *plan) {
    copy copy = {.plan = plan};
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

/* The bare read. */

enum { BATCH = 10000 };

static rd_kafka_t *open_reader(const bare_cluster *cluster, const char *topic) {
    const bare_property defaults[] = {
        /* Never pause fetching, fetch large chunks, and report the end of a partition at once. */
        {"queued.min.messages", "1000000"},
        {"queued.max.messages.kbytes", "1000000"},
        {"fetch.message.max.bytes", "4194304"},
        {"fetch.wait.max.ms", "10"},
        {NULL, NULL}};
    /* It joins no group, but librdkafka requires a group id and looks up its coordinator, which may need a permission. */
    const bare_property fixed[] = {
        {"group.id", topic}, {"enable.auto.commit", "false"}, {"enable.auto.offset.store", "false"},
        {"isolation.level", "read_committed"}, {"auto.offset.reset", "earliest"}, {"enable.partition.eof", "true"}, {NULL, NULL}};
    rd_kafka_conf_t *conf = configure(cluster, defaults, fixed);
    rd_kafka_t *reader = conf ? new_client(RD_KAFKA_CONSUMER, conf) : NULL;
    if (reader) rd_kafka_poll_set_consumer(reader);
    return reader;
}

static int start_reading(rd_kafka_t *reader, const char *topic, int32_t partition_count) {
    rd_kafka_topic_partition_list_t *partitions = rd_kafka_topic_partition_list_new(partition_count);
    /* From 0, or through auto.offset.reset from the log start if that is later. For OFFSET_BEGINNING librdkafka 2.0.2 queries
     * the broker before it is connected, and retries only after half a second. */
    for (int32_t i = 0; i < partition_count; i++) rd_kafka_topic_partition_list_add(partitions, topic, i)->offset = 0;
    rd_kafka_resp_err_t error = rd_kafka_assign(reader, partitions);
    rd_kafka_topic_partition_list_destroy(partitions);
    return error ? fail("reading %s: %s", topic, rd_kafka_err2str(error)) : 0;
}

/* Counts the records. Returns the number of partitions that reached their end, or -1 if one cannot be read. */
static int count_records(rd_kafka_message_t **taken, ssize_t count, uint64_t *records) {
    int ended = 0;
    int failed = 0;
    for (ssize_t i = 0; i < count; i++) {
        rd_kafka_resp_err_t error = taken[i]->err;
        if (!error) (*records)++;
        /* Transaction markers take offsets, too, so offsets alone do not show the end. */
        else if (error == RD_KAFKA_RESP_ERR__PARTITION_EOF) ended++;
        else if (!is_transient(error)) failed = fail("reading: %s", rd_kafka_message_errstr(taken[i]));
        rd_kafka_message_destroy(taken[i]);
    }
    return failed ? -1 : ended;
}

int bare_read(const bare_cluster *cluster, const char *topic, int32_t partition_count) {
    rd_kafka_message_t **taken = calloc(BATCH, sizeof *taken);
    if (!taken) return fail("out of memory");
    rd_kafka_t *reader = open_reader(cluster, topic);
    rd_kafka_queue_t *queue = reader ? rd_kafka_queue_get_consumer(reader) : NULL;

    int failed = reader ? start_reading(reader, topic, partition_count) : -1;
    uint64_t records = 0;
    int32_t open = partition_count;
    int idle_ms = 0;
    while (!failed && open > 0) {
        ssize_t count = rd_kafka_consume_batch_queue(queue, POLL_MS, taken, 1);
        if (count <= 0) {
            idle_ms += POLL_MS;
            if (idle_ms >= TIMEOUT_MS) failed = fail("nothing comes from %s", topic);
            continue;
        }
        idle_ms = 0;
        ssize_t rest = rd_kafka_consume_batch_queue(queue, 0, taken + 1, BATCH - 1);
        if (rest > 0) count += rest;
        int ended = count_records(taken, count, &records);
        if (ended < 0) failed = -1;
        else open -= ended;
    }

    if (queue) rd_kafka_queue_destroy(queue);
    if (reader) {
        rd_kafka_consumer_close(reader);
        rd_kafka_destroy(reader);
    }
    free(taken);
    if (!failed) printf("%llu records\n", (unsigned long long)records);
    return failed;
}
