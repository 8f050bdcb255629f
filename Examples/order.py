#!/usr/bin/env python3
"""Sends an order and prints its answer: order.py BROKERS STORE JUICE [QUANTITY] (needs confluent-kafka)."""

import json
import os
import sys
import time
import uuid

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

PREFIX = os.environ.get("JUICE_TOPIC_PREFIX", "juice.")


def reader(brokers, topic):
    """A consumer at the end offsets of all partitions. Made before the order is sent, it misses no answer."""
    consumer = Consumer({
        "bootstrap.servers": brokers,
        "group.id": "pos-7",  # Required by the client; assign() joins no group.
        "enable.auto.commit": False,
        "isolation.level": "read_committed",
    })
    found = consumer.list_topics(topic, timeout=10).topics[topic]
    if found.error:
        raise KafkaException(found.error)
    partitions = [TopicPartition(topic, partition) for partition in found.partitions]
    for partition in partitions:
        partition.offset = consumer.get_watermark_offsets(partition, timeout=10)[1]
    consumer.assign(partitions)
    return consumer


def wait(consumer, store, order_id, seconds):
    deadline = time.monotonic() + seconds
    while (left := deadline - time.monotonic()) > 0:
        record = consumer.poll(left)
        if record is None or record.error() or record.key() != store.encode():
            continue
        answer = json.loads(record.value())
        if answer.get("orderId") == order_id:
            return answer
    return None


def order(brokers, store, juice, quantity=1):
    consumer = reader(brokers, PREFIX + "results")
    producer = Producer({
        "bootstrap.servers": brokers,
        "enable.idempotence": True,
        "partitioner": "murmur2_random",  # As in Java clients: straight to the store's partition.
        "message.timeout.ms": 5000,
    })
    order_id = str(uuid.uuid4())
    value = json.dumps({"orderId": order_id, "juice": juice, "quantity": quantity})
    for _ in range(3):
        # Under the same id, so that it is made once, however often it arrives.
        producer.produce(PREFIX + "orders", key=store, value=value)
        producer.flush(5)
        if answer := wait(consumer, store, order_id, seconds=5):
            return answer
    raise TimeoutError(f"no answer to order {order_id}; it may still be carried out")


if __name__ == "__main__":
    brokers, store, juice, *quantity = sys.argv[1:]
    print(json.dumps(order(brokers, store, juice, *map(int, quantity)), ensure_ascii=False))
