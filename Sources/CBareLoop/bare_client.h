#ifndef BARE_CLIENT_H
#define BARE_CLIENT_H

#include "CBareLoop.h"

#include <librdkafka/rdkafka.h>

/* Writes the reason of a failure where the caller wants it, and returns -1. */
__attribute__((format(printf, 2, 3))) int bare_fail(const bare_client *client, const char *format, ...);

/* Takes a librdkafka error; says what was tried and why it failed, and returns -1. 0 where there is no error. */
int bare_check(const bare_client *client, const char *what, rd_kafka_error_t *error);

/*
 * A client with these properties: first `defaults`, then those of the user, then `fixed`. Both lists end with a null
 * name. `prepare`, unless null, sets callbacks. Null on failure.
 */
rd_kafka_t *bare_new_client(const bare_client *client, rd_kafka_type_t type, const bare_property *defaults,
                            const bare_property *fixed, void (*prepare)(rd_kafka_conf_t *, void *), void *opaque);

/* Whether an error that was consumed concerns a connection that librdkafka makes anew by itself. */
int bare_is_transient(rd_kafka_resp_err_t error);

#endif
