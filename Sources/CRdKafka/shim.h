#ifndef CRDKAFKA_SHIM_H
#define CRDKAFKA_SHIM_H

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#include <stdbool.h>

/* What Swift cannot do: call variadic C functions. And one shortcut around librdkafka. */

/* On success librdkafka owns `headers`, if any; on failure they are still the caller's. A timestamp of 0 is now. */
static inline rd_kafka_resp_err_t crdkafka_produce(
    rd_kafka_t *rk, rd_kafka_topic_t *topic, int32_t partition,
    const void *key, size_t key_size, const void *value, size_t value_size,
    rd_kafka_headers_t *headers, int64_t timestamp, void *opaque) {
    return rd_kafka_producev(
        rk, RD_KAFKA_V_RKT(topic), RD_KAFKA_V_PARTITION(partition),
        RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
        RD_KAFKA_V_KEY((void *)key, key_size), RD_KAFKA_V_VALUE((void *)value, value_size),
        RD_KAFKA_V_HEADERS(headers), RD_KAFKA_V_TIMESTAMP(timestamp),
        RD_KAFKA_V_OPAQUE(opaque), RD_KAFKA_V_END);
}

/*
 * Whether the received record with this value may have headers: false if it certainly has none.
 *
 * rd_kafka_message_headers allocates, clears and frees half a kilobyte to find that a record has no headers, which took a tenth of
 * a worker's time. But librdkafka's values are views into records as they were received, and in Kafka's record format (v2) the
 * number of headers follows the value. Formats before Kafka 0.11 have no headers. There, the byte after the value may not be
 * the record's, but as long as it is on the value's page it can be read. An empty value is no view into the record.
 */
static inline bool crdkafka_may_have_headers(const void *value, size_t size) {
    if (size == 0) return true;
    const uint8_t *end = (const uint8_t *)value + size;
    return (uintptr_t)end % 4096 == 0 || *end != 0;
}

/* Answers one request of a kind, at one broker of a mock cluster, with an error. */
static inline rd_kafka_resp_err_t crdkafka_mock_broker_push_request_error(
    rd_kafka_mock_cluster_t *cluster, int32_t broker, int16_t api_key, rd_kafka_resp_err_t error) {
    return rd_kafka_mock_broker_push_request_error_rtts(cluster, broker, api_key, 1, error, 0);
}

#endif
