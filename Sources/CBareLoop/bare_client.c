#include "bare_client.h"

#include <stdarg.h>
#include <stdio.h>

int bare_fail(const bare_client *client, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(client->error, client->error_size, format, arguments);
    va_end(arguments);
    return -1;
}

int bare_check(const bare_client *client, const char *what, rd_kafka_error_t *error) {
    if (!error) return 0;
    bare_fail(client, "%s: %s", what, rd_kafka_error_string(error));
    rd_kafka_error_destroy(error);
    return -1;
}

static int set(const bare_client *client, rd_kafka_conf_t *conf, const bare_property *property) {
    char reason[256];
    if (rd_kafka_conf_set(conf, property->name, property->value, reason, sizeof reason) == RD_KAFKA_CONF_OK) return 0;
    /* librdkafka's message may quote the value, which may be a secret. */
    return bare_fail(client, "the Kafka property \"%s\" is refused", property->name);
}

rd_kafka_t *bare_new_client(const bare_client *client, rd_kafka_type_t type, const bare_property *defaults,
                            const bare_property *fixed, void (*prepare)(rd_kafka_conf_t *, void *), void *opaque) {
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    int failed = 0;
    for (; !failed && defaults->name; defaults++) failed = set(client, conf, defaults);
    for (size_t i = 0; !failed && i < client->property_count; i++) failed = set(client, conf, &client->properties[i]);
    for (; !failed && fixed->name; fixed++) failed = set(client, conf, fixed);
    if (failed) {
        rd_kafka_conf_destroy(conf);
        return NULL;
    }
    rd_kafka_conf_set_opaque(conf, opaque);
    if (prepare) prepare(conf, opaque);

    char reason[256];
    rd_kafka_t *made = rd_kafka_new(type, conf, reason, sizeof reason);
    if (!made) {
        /* rd_kafka_new owns the configuration only if it succeeds. */
        rd_kafka_conf_destroy(conf);
        bare_fail(client, "no Kafka client: %s", reason);
    }
    return made;
}

int bare_is_transient(rd_kafka_resp_err_t error) {
    return error == RD_KAFKA_RESP_ERR__TRANSPORT || error == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN ||
           error == RD_KAFKA_RESP_ERR__TIMED_OUT || error == RD_KAFKA_RESP_ERR__RESOLVE;
}
