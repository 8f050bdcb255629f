#!/usr/bin/env python3
"""Copies the topics of the service to another cluster, for scripts/another-cluster.sh: committed records only, to the same
partitions, with keys, headers and timestamps, each once. Offsets differ: a copy has no transaction markers.

Orders and restocks are copied first, up to where they end after the results do, and those up to where they end after the stock
does. So whenever this is killed, the copy has the commands of all its answers, and the answers of all its stock.

Usage: copy-topics.py FIRST SECOND PREFIX    until it is ended by SIGTERM, or the first cluster is gone
"""
import signal
import sys
import time

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

first, second, prefix = sys.argv[1:4]
# Ends are looked up in this order, and records copied in the other.
TOPICS = [prefix + name for name in ("stock", "results", "dead-letters", "orders", "restocks")]
ended = []
signal.signal(signal.SIGTERM, lambda *_: ended.append(True))

common = {"log_level": 0, "socket.timeout.ms": 5000}
reader = Consumer({
    **common, "bootstrap.servers": first, "group.id": "copy", "enable.auto.commit": False, "auto.offset.reset": "error",
    "isolation.level": "read_committed", "enable.partition.eof": True, "fetch.wait.max.ms": 20})
writer = Producer({
    **common, "bootstrap.servers": second, "enable.idempotence": True, "linger.ms": 5, "queue.buffering.max.messages": 500_000})
partitions = {topic: sorted(reader.list_topics(topic, 10).topics[topic].partitions) for topic in TOPICS}
next_offsets = {}
counts = dict.fromkeys(TOPICS, 0)
failures = []


def ends(topic):
    """The last stable offset of each partition: a copy is never ahead of what is committed."""
    return {p: reader.get_watermark_offsets(TopicPartition(topic, p), 10)[1] for p in partitions[topic]}


def copy(topic, upto):
    """Copies what is committed before these offsets, and waits until the second cluster has it."""
    start = {p: next_offsets.get((topic, p)) for p in upto}
    for p in start:
        if start[p] is None:
            start[p] = reader.get_watermark_offsets(TopicPartition(topic, p), 10)[0]
    rest = {p for p in upto if start[p] < upto[p]}
    if not rest:
        return
    reader.assign([TopicPartition(topic, p, start[p]) for p in rest])
    deadline = time.monotonic() + 10
    while rest and time.monotonic() < deadline:
        for record in reader.consume(5000, 0.05):
            if record.error():
                if record.error().name() != "_PARTITION_EOF":
                    raise KafkaException(record.error())
                rest.discard(record.partition())
                continue
            p = record.partition()
            if record.offset() >= upto[p]:
                rest.discard(p)
                continue
            writer.produce(
                topic, record.value(), record.key(), p, timestamp=record.timestamp()[1], headers=record.headers() or [],
                on_delivery=lambda error, _: failures.append(error) if error else None)
            writer.poll(0)
            next_offsets[topic, p] = record.offset() + 1
            counts[topic] += 1
    reader.unassign()
    if writer.flush(30) or failures:
        raise SystemExit(f"the second cluster does not take the records: {failures[:1]}")


try:
    while not ended:
        found = {topic: ends(topic) for topic in TOPICS}
        for topic in reversed(TOPICS):
            copy(topic, found[topic])
        time.sleep(0.05)
except KafkaException as error:
    writer.flush(30)
    print("the first cluster is gone:", error.args[0].str())
print("copied", ", ".join(f"{topic} {count}" for topic, count in counts.items()), flush=True)
