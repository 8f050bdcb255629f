#!/usr/bin/env python3
"""A peer: a loop on confluent-kafka, with three transactional producers in turn. While one commits, the next is filled."""

import signal
from collections import deque
from concurrent.futures import ThreadPoolExecutor

import orjson
from confluent_kafka import Consumer, Producer, TopicPartition

import peer

BATCH = 10_000
PRODUCERS = 3
TIMEOUT = 60  # Seconds, of a call to a broker.


def commit(producer, positions, group):
    producer.send_offsets_to_transaction(positions, group, TIMEOUT)
    producer.commit_transaction(TIMEOUT)


def run():
    options = peer.options()
    shop = peer.Shop(options.menu)
    common = peer.properties(options) | {"bootstrap.servers": options.bootstrap_servers}
    consumer = Consumer(common | {
        "group.id": options.group, "isolation.level": "read_committed", "auto.offset.reset": "earliest",
        "enable.auto.commit": False})
    producers = deque()
    for number in range(PRODUCERS):
        producer = Producer(common | {"transactional.id": f"{options.group}-{number}", "partitioner": "murmur2_random",
                                      "linger.ms": 0})
        producer.init_transactions(TIMEOUT)
        producers.append((producer, None))

    stopped = False

    def stop(*_):
        nonlocal stopped
        stopped = True

    signal.signal(signal.SIGTERM, stop)
    consumer.subscribe([options.input], on_assign=lambda *_: print("ready: it reads its partitions", flush=True))

    # One thread commits all transactions, in the order of their offsets.
    with ThreadPoolExecutor(1) as committer:
        while not stopped:
            first = consumer.poll(0.1)
            if first is None:
                continue
            producer, last = producers.popleft()
            if last is not None:
                last.result()
            producer.begin_transaction()
            positions = {}
            for message in [first, *consumer.consume(BATCH - 1, 0)]:
                if message.error():
                    raise RuntimeError(message.error())
                key, partition, offset = message.key(), message.partition(), message.offset()
                answer = shop.answer(key.decode(), offset, orjson.loads(message.value()))
                producer.produce(options.output, answer, key)
                positions[partition] = offset + 1
            # The next producer's records must come behind these.
            producer.flush(TIMEOUT)
            places = [TopicPartition(options.input, partition, offset) for partition, offset in positions.items()]
            producers.append((producer, committer.submit(commit, producer, places, consumer.consumer_group_metadata())))
    for _, last in producers:
        if last is not None:
            last.result()
    consumer.close()


if __name__ == "__main__":
    run()
