#!/usr/bin/env python3
"""Sends an order, or cancels one, and prints the answer (needs confluent-kafka).

order.py BROKERS STORE JUICE...
order.py BROKERS STORE --cancel ORDER-ID
"""

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
        "log_level": 2,  # Errors arrive as exceptions.
    })
    found = consumer.list_topics(topic, timeout=10).topics[topic]
    if found.error:
        raise KafkaException(found.error)
    partitions = [TopicPartition(topic, partition) for partition in found.partitions]
    for partition in partitions:
        partition.offset = consumer.get_watermark_offsets(partition, timeout=10)[1]
    consumer.assign(partitions)
    return consumer


def is_of_cancel(answer):
    """An order and its cancel have one id. Only a cancel is answered like this."""
    return answer["type"] == "cancelled" or "cancel" in answer


def wait(consumer, store, command, seconds):
    deadline = time.monotonic() + seconds
    while (left := deadline - time.monotonic()) > 0:
        record = consumer.poll(left)
        # Records without a key are notes of the service, not answers.
        if record is None or record.error() or record.key() != store.encode():
            continue
        answer = json.loads(record.value())
        if answer.get("orderId") == command["orderId"] and is_of_cancel(answer) == ("cancel" in command):
            return answer
    return None


def send(brokers, store, command):
    consumer = reader(brokers, PREFIX + "results")
    producer = Producer({
        "bootstrap.servers": brokers,
        "enable.idempotence": True,
        "partitioner": "murmur2_random",  # As in Java clients: straight to the store's partition.
        "message.timeout.ms": 5000,
        "log_level": 2,
    })
    for _ in range(3):
        # Under the same id, so that it is carried out once, however often it arrives.
        producer.produce(PREFIX + "orders", key=store, value=json.dumps(command))
        producer.flush(5)
        if answer := wait(consumer, store, command, seconds=5):
            return answer
    raise TimeoutError(f"no answer to {command['orderId']}; it may still be carried out")


def command(arguments):
    if arguments[0] == "--cancel":
        return {"orderId": arguments[1], "cancel": True}
    return {"orderId": str(uuid.uuid4()), "items": [{"juice": juice} for juice in arguments]}


if __name__ == "__main__":
    try:
        brokers, store, *rest = sys.argv[1:]
        asked = command(rest)
    except (IndexError, ValueError):
        sys.exit("usage:\n" + __doc__.partition("\n\n")[2].strip())
    try:
        print(json.dumps(send(brokers, store, asked), ensure_ascii=False))
    except KafkaException as error:
        sys.exit(f"order.py: {error.args[0].str()}")
    except TimeoutError as error:
        sys.exit(f"order.py: {error}")
