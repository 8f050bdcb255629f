#!/usr/bin/env python3
"""Refills fruits that run out, once per shortage, whatever crashes (needs confluent-kafka).

restock_bot.py BROKERS [LOW TARGET]

A fruit is short when LOW (5) or fewer are left, or when an order lacked it and fewer than TARGET (30) are left. The bot refills it
up to TARGET, and again only after the service has answered that refill.

The id of a refill is the place of the answer that showed the shortage: restock-bot/3-1042 follows from the answer at offset 1042
of partition 3. A bot that reads that answer again, after a crash or in place of another bot, sends the same id, and the service
carries it out once. So all that a bot stores is its group's offset, which never passes an answer whose refill is unanswered.
"""

import dataclasses
import json
import os
import signal
import sys
import time

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

PREFIX = os.environ.get("JUICE_TOPIC_PREFIX", "juice.")
GROUP = "restock-bot"


@dataclasses.dataclass
class Shortage:
    # The answer that showed it first.
    offset: int
    timestamp: int
    # What was left by the latest answer.
    level: int
    is_sent: bool = False


class Shortages:
    """What the stores of one partition are short of: answers in, refills out."""

    def __init__(self, partition, low, target):
        self.partition, self.low, self.target = partition, low, target
        self.short = {}  # By store and fruit.
        self.next = None  # The offset after those that were read.
        self.is_current = False  # Whether it was at the partition's end.

    def refill_id(self, offset):
        return f"{GROUP}/{self.partition}-{offset}"

    def safe_offset(self):
        """Where another bot must begin in order to send the same refills."""
        return min([self.next, *(shortage.offset for shortage in self.short.values())])

    def read(self, answer, offset, timestamp):
        store, restock = answer["store"], answer.get("restockId")
        # Any answer ends the wait, even a rejection: the next order that lacks the fruit shows the shortage again.
        self.short = {
            place: shortage
            for place, shortage in self.short.items()
            if place[0] != store or restock != self.refill_id(shortage.offset)
        }
        if answer.get("duplicate"):
            return  # It has the levels of the first answer.
        missing = {each["fruit"]: each["inStock"] for each in answer.get("missing", [])}
        for fruit, level in (missing or answer.get("left", {})).items():
            known = self.short.pop((store, fruit), None)
            # Only somebody's restock ends a shortage.
            is_short = fruit in missing or known and restock is None
            if known and known.is_sent or level <= self.low or is_short and level < self.target:
                known = known or Shortage(offset, timestamp, level)
                self.short[store, fruit] = dataclasses.replace(known, level=level)

    def refills(self):
        """What to send now: one restock for all that an answer showed to be short, with its store and timestamp."""
        if not self.is_current:
            return []  # The rest may have the answers to a former bot's refills.
        due = {}
        for (store, fruit), shortage in self.short.items():
            if not shortage.is_sent:
                shortage.is_sent = True
                # An amount rather than a level, since orders may arrive before it.
                due.setdefault((shortage.offset, store, shortage.timestamp), {})[fruit] = self.target - shortage.level
        return [
            (store, timestamp, {"restockId": self.refill_id(offset), "add": amounts})
            for (offset, store, timestamp), amounts in due.items()
        ]


def report(error, record):
    if error:
        raise KafkaException(error)
    print("refill", record.key().decode(), record.value().decode(), flush=True)


def run(brokers, low=5, target=30):
    producer = Producer({
        "bootstrap.servers": brokers,
        "enable.idempotence": True,
        "partitioner": "murmur2_random",  # As in Java clients: straight to the store's partition.
    })
    consumer = Consumer({
        "bootstrap.servers": brokers,
        "group.id": GROUP,
        "session.timeout.ms": 10000,
        "enable.auto.commit": False,
        "auto.offset.reset": "earliest",
        "isolation.level": "read_committed",
        "enable.partition.eof": True,  # Markers of transactions at the end have offsets, too, and only this passes them.
    })
    partitions = {}

    def begin(_, assigned):
        partitions.update({each.partition: Shortages(each.partition, low, target) for each in assigned})

    def end(_, revoked):
        for each in revoked:
            partitions.pop(each.partition, None)

    consumer.subscribe([PREFIX + "results"], on_assign=begin, on_revoke=end)
    committed_at = time.monotonic()
    try:
        while True:
            producer.poll(0)
            if record := consumer.poll(0.1):
                if (error := record.error()) and error.code() != KafkaError._PARTITION_EOF:
                    raise KafkaException(error)
                shortages = partitions[record.partition()]
                if error:
                    shortages.next, shortages.is_current = record.offset(), True
                else:
                    shortages.next = record.offset() + 1
                    # Records without a key are notes of the service, not answers.
                    if record.key():
                        shortages.read(json.loads(record.value()), record.offset(), record.timestamp()[1])
                for store, timestamp, refill in shortages.refills():
                    # With the timestamp of the answer, so that a copy sent much later is a repeat of the first, too. Brokers
                    # refuse one that is too old.
                    timestamp = max(timestamp, int((time.time() - 86_400) * 1000))
                    producer.produce(
                        PREFIX + "restocks", key=store, value=json.dumps(refill), timestamp=timestamp, on_delivery=report)
            if time.monotonic() - committed_at > 5:
                committed_at = time.monotonic()
                read = [each for each in partitions.values() if each.next is not None]
                offsets = [TopicPartition(PREFIX + "results", each.partition, each.safe_offset()) for each in read]
                if offsets:
                    consumer.commit(offsets=offsets)  # In the background. If it fails, the next bot reads more.
    finally:
        consumer.close()


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    try:
        arguments = [sys.argv[1], *map(int, sys.argv[2:])]
    except (IndexError, ValueError):
        sys.exit("usage:\n" + __doc__.split("\n\n")[1])
    try:
        run(*arguments)
    except KeyboardInterrupt:
        pass
    except KafkaException as error:
        # Start it again: it goes on where this one was.
        sys.exit(f"restock_bot.py: {error.args[0].str()}")
