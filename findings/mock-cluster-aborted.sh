#!/usr/bin/env bash
# Expected: librdkafka's mock cluster, which takes transactions and writes their markers, hides an aborted record from a consumer
#   with isolation.level=read_committed, as a broker does. Or it refuses transactions.
# Instead: the consumer gets the aborted record. So a test against the mock cluster passes with a consumer or a producer that is not
#   transactional at all, and one that is right may fail.
# Versions: confluent-kafka 2.16.1 (librdkafka 2.16.0), on Python 3.11.
# Source: seen by running. Since librdkafka's change 5349 the mock cluster hides aborted records from share consumers, but not from
#   others.
exec "$(dirname "$0")/python-with" confluent-kafka==2.16.1 <<'EOF'
import sys, time
from confluent_kafka import Consumer, Producer, TopicPartition, libversion

quiet = {"log_level": 0}
host = Producer(quiet | {"bootstrap.servers": "unused", "test.mock.num.brokers": 1})
servers = ",".join(f"{broker.host}:{broker.port}" for broker in host.list_topics(timeout=10).brokers.values())

producer = Producer(quiet | {"bootstrap.servers": servers, "transactional.id": "writer"})
producer.init_transactions(10)
for value, end in (("aborted", producer.abort_transaction), ("committed", producer.commit_transaction)):
    producer.begin_transaction()
    producer.produce("topic", value, partition=0)
    producer.flush(10)
    end(10)

consumer = Consumer(quiet | {"bootstrap.servers": servers, "group.id": "reader", "isolation.level": "read_committed"})
consumer.assign([TopicPartition("topic", 0, 0)])
seen, deadline = [], time.monotonic() + 30
while b"committed" not in seen and time.monotonic() < deadline:
    message = consumer.poll(1)
    if message is not None and message.error() is None:
        seen.append(message.value())
consumer.close()

print(f"librdkafka {libversion()[0]}: a read_committed consumer gets {seen}")
sys.exit(0 if seen == [b"aborted", b"committed"] else "this has changed")
EOF
