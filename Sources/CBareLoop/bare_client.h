#ifndef BARE_CLIENT_H
#define BARE_CLIENT_H

#include "CBareLoop.h"

#include <librdkafka/rdkafka.h>

/* Writes the reason of a failure to the client's error buffer, and returns -1. */
__attribute__((format(printf, 2, 3))) int bare_fail(const bare_client *client, const char *format, ...);

/* Consumes a librdkafka error: reports what was tried and why it failed, and returns -1. Returns 0 if there is no error. */
int bare_check(const bare_client *client, const char *what, rd_kafka_error_t *error);

/*
 * Creates a client with these properties: `defaults`, then the user's, then `fixed`; later ones win. Both lists end with a
 * null name. `prepare`, unless null, sets callbacks. Returns null on failure.
 */
rd_kafka_t *bare_new_client(const bare_client *client, rd_kafka_type_t type, const bare_property *defaults,
                            const bare_property *fixed, void (*prepare)(rd_kafka_conf_t *, void *), void *opaque);

/* Whether a consumed error is about a connection that librdkafka re-establishes by itself. */
int bare_is_transient(rd_kafka_resp_err_t error);

#endif
