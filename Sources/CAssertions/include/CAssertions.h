#pragma once

#include <stdbool.h>
#include <stdint.h>

struct rd_kafka_s;
struct rd_kafka_conf_s;

/*
 * With glibc, a failed assertion about what a broker has sent does not end the process any more if the client has this
 * configuration: the thread stands still for ever, without a lock, and the client is of no more use.
 */
void assertions_catch(struct rd_kafka_conf_s *configuration);

/* Whether a thread of this client stands still. */
bool assertions_have_failed(const struct rd_kafka_s *client);

/*
 * With glibc, sockets that this thread binds get this port: librdkafka's mock cluster lets the system choose. 0 ends that.
 * Returns whether the port is free.
 */
bool ports_choose(uint16_t port);
