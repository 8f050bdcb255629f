#!/usr/bin/env python3
"""What tills and monitors meet that are built on other clients: each row of the table in docs/INTEGRATION.md, run on a real broker.

Usage: clients.py HOST:PORT. `make clients` installs the packages. Topics and groups are named `juice.clients-…`, and deleted.
"""

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import time
import uuid

from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaException, Producer, ShareConsumer, TopicPartition
from confluent_kafka import libversion
from confluent_kafka.admin import (
    AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewTopic, OffsetSpec, ResourceType)

TIMEOUT = 60  # Seconds; a broker ends transactions that timed out every 10 s.
SERVERS = sys.argv[1]
QUIET = {"bootstrap.servers": SERVERS, "log_level": 0}


def ensure(condition, what):
    if not condition:
        raise AssertionError(what)


def until(condition, what, timeout=TIMEOUT):
    """Waits for a result that is true, and returns it."""
    deadline = time.monotonic() + timeout
    while not (result := condition()):
        ensure(time.monotonic() < deadline, f"not within {timeout} s: {what}")
        time.sleep(0.1)
    return result


class Place:
    """A topic of one partition, and a group."""

    def __init__(self):
        self.admin = AdminClient(QUIET)
        self.topic = self.group = f"juice.clients-{uuid.uuid4().hex[:8]}"

    def __enter__(self):
        self.admin.create_topics([NewTopic(self.topic, 1)])[self.topic].result(TIMEOUT)
        return self

    def __exit__(self, *_):
        self.admin.delete_topics([self.topic])[self.topic].result(TIMEOUT)

    def transact(self, values, commits=True):
        """Writes a transaction, as the service does."""
        writer = Producer(QUIET | {"transactional.id": self.group})
        writer.init_transactions(TIMEOUT)
        writer.begin_transaction()
        for value in values:
            writer.produce(self.topic, value, partition=0)
        writer.flush(TIMEOUT)
        (writer.commit_transaction if commits else writer.abort_transaction)(TIMEOUT)

    def read(self, count, **properties):
        """The next records of a member of no group."""
        consumer = Consumer(QUIET | {"group.id": "none", "isolation.level": "read_committed"} | properties)
        consumer.assign([TopicPartition(self.topic, 0, 0)])
        messages = []

        def arrived():
            message = consumer.poll(0.1)
            if message is not None:
                ensure(message.error() is None, message.error())
                messages.append(message)
            return len(messages) == count

        until(arrived, f"{count} records")
        consumer.close()
        return messages

    def lag(self):
        """As tools show it, once the group has committed."""
        asked = ConsumerGroupTopicPartitions(self.group)
        [place] = self.admin.list_consumer_group_offsets([asked])[self.group].result(TIMEOUT).topic_partitions or [None]
        where = TopicPartition(self.topic, 0)
        end = self.admin.list_offsets({where: OffsetSpec.latest()})[where].result(TIMEOUT).offset
        return end - place.offset if place and place.offset >= 0 else None


def tombstones():
    with Place() as place:
        producer = Producer(QUIET)
        producer.produce(place.topic, None, key="gangnam", partition=0)
        producer.flush(TIMEOUT)
        [message] = place.read(1)
        ensure(message.value() is None and message is not None and not message, "a tombstone is a message that is false")
    return "confluent-kafka: a message without a value is false: compare it with None"


def kcat():
    with Place() as place:
        command = ["kcat", "-P", "-b", SERVERS, "-t", place.topic, "-K", "\t", "-Z", "-X", "log_level=0"]
        subprocess.run(command, input=b"first\tone\n\nsecond\t\nlast\ttwo\n", check=True, timeout=TIMEOUT)
        found = [(message.key(), message.value()) for message in place.read(3)]
        ensure(found == [(b"first", b"one"), (b"second", None), (b"last", b"two")], found)
        pipe = subprocess.Popen(command, stdin=subprocess.PIPE)
        pipe.stdin.write(b"till\tpiped\n")
        pipe.stdin.flush()
        time.sleep(5)
        [before] = place.admin.list_offsets({(where := TopicPartition(place.topic, 0)): OffsetSpec.latest()}).values()
        before = before.result(TIMEOUT).offset
        pipe.stdin.write(b"till\t" + b"x" * 1100 + b"\n")
        pipe.stdin.flush()
        place.read(4)
        pipe.stdin.close()
        pipe.wait(TIMEOUT)
        ensure((before, len(place.read(5))) == (3, 5), f"{before} records before the pipe held 1,024 bytes")
    return "kcat: an empty line is skipped, with -Z as well; an open pipe is read 1,024 bytes at a time"


def share_consumer():
    """Share consumers (KIP-932) need Kafka 4: seen on 4.3.1."""
    seen = {}
    for isolation in (None, "read_committed"):
        with Place() as place:
            settings = {"share.auto.offset.reset": "earliest"} | ({"share.isolation.level": isolation} if isolation else {})
            entries = [ConfigEntry(*each, incremental_operation=AlterConfigOpType.SET) for each in settings.items()]
            resource = ConfigResource(ResourceType.GROUP, place.group, incremental_configs=entries)
            try:
                place.admin.incremental_alter_configs([resource])[resource].result(TIMEOUT)
            except KafkaException as error:
                return f"share consumers: skipped, since this broker has none ({error.args[0].name()})"
            place.transact(["aborted"], commits=False)
            place.transact(["committed"])
            values = seen[isolation] = []
            with ShareConsumer(QUIET | {"group.id": place.group}) as consumer:
                consumer.subscribe([place.topic])
                until(lambda: values.extend(each.value().decode() for each in consumer.poll(1)) or "committed" in values,
                      "the committed record")
    ensure(seen == {None: ["aborted", "committed"], "read_committed": ["committed"]}, seen)
    return "share consumers: aborted records arrive, unless the group has share.isolation.level=read_committed"


DYING = """
import os, sys
from confluent_kafka import Producer
servers, topic, timeout = sys.argv[1:]
till = Producer({"bootstrap.servers": servers, "transactional.id": topic, "transaction.timeout.ms": timeout, "log_level": 0})
till.init_transactions(60)
till.begin_transaction()
till.produce(topic, "of the till that dies", partition=0)
till.flush(60)
os._exit(0)
"""


def transactional_till():
    waits = {}
    for timeout in (1_000, 20_000):
        with Place() as place:
            subprocess.run([sys.executable, "-c", DYING, SERVERS, place.topic, str(timeout)], check=True, timeout=TIMEOUT)
            died = time.monotonic()
            other = Producer(QUIET)
            other.produce(place.topic, "of another till", partition=0)
            other.flush(TIMEOUT)
            [message] = place.read(1)
            ensure(message.value() == b"of another till", message.value())
            waits[timeout] = time.monotonic() - died
    ensure(15 < waits[20_000] < 40 and waits[1_000] < 15, waits)
    return "a transactional till that dies: others of its partition waited " + ", ".join(
        f"{waited:.0f} s with a timeout of {timeout // 1000} s" for timeout, waited in waits.items())


def lag_of_position():
    with Place() as place:
        place.transact(["one", "two"])
        consumer = Consumer(QUIET | {
            "group.id": place.group, "isolation.level": "read_committed", "auto.offset.reset": "earliest",
            "enable.auto.commit": False})
        consumer.subscribe([place.topic])
        values = []

        def arrived():
            if (message := consumer.poll(0.1)) is not None:
                ensure(message.error() is None, message.error())
                values.append(message.value())
                consumer.commit(message, asynchronous=False)
            return len(values) == 2

        until(arrived, "two records")
        of_message = place.lag()

        def is_read():
            # Past the marker.
            consumer.poll(0.1)
            consumer.commit(offsets=consumer.position(consumer.assignment()), asynchronous=False)
            return place.lag() == 0

        until(is_read, "no lag")
        consumer.close()
    ensure(of_message == 1, of_message)
    return "confluent-kafka: lag 1 after commit(message), 0 after commit(offsets=position(…))"


QUIX = """
import sys
from quixstreams import Application
servers, topic, group, folder = sys.argv[1:]
app = Application(
    servers, consumer_group=group, auto_offset_reset="earliest", loglevel="CRITICAL", commit_interval=0.1, auto_create_topics=False,
    consumer_extra_config={"isolation.level": "read_committed", "log_level": 0})
app.dataframe(app.topic(topic, value_deserializer="string")).update(lambda value: print(value, flush=True))
app.run()
"""

FAUST = """
import sys
import faust
servers, topic, group, folder = sys.argv[1:]
sys.argv = ["faust", "--datadir", folder, "worker", "-l", "error", "--without-web"]
app = faust.App(
    group, broker=f"kafka://{servers}", consumer_auto_offset_reset="earliest", broker_commit_interval=0.1,
    topic_disable_leader=True)

@app.agent(app.topic(topic, value_serializer="raw", value_type=bytes))
async def read(values):
    async for value in values:
        # It logs what is printed.
        print(value.decode(), flush=True, file=sys.__stdout__)

app.main()
"""


def lag_of(name, package, program):
    """The lag of a program's group once it has read all. Its packages exclude those of others, so it gets its own."""
    with Place() as place, tempfile.TemporaryDirectory() as folder:
        place.transact(["one", "two"])
        limited = ["timeout", "--signal=KILL", str(2 * TIMEOUT), os.environ["UV"]]
        options = ["--quiet", "--no-project", "--python", "3.11", "--with", package]
        reader = subprocess.Popen(
            [*limited, "run", *options, "python", "-c", program, SERVERS, place.topic, place.group, folder],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True)
        try:
            values = []
            while len(values) < 2:
                line = reader.stdout.readline()
                ensure(line, f"{name} has ended")
                values += [line.strip()] if line.strip() in ("one", "two") else []
            until(lambda: place.lag() is not None, "a commit")
            # Longer than any of its intervals.
            time.sleep(10)
            lag = place.lag()
        finally:
            os.killpg(reader.pid, signal.SIGKILL)
            reader.wait()
        ensure(lag == 1, lag)
    return f"{package.replace('==', ' ')}: lag 1 when everything is read"


def quix():
    return lag_of("Quix Streams", "quixstreams==3.28.1", QUIX)


def faust():
    return lag_of("Faust", "faust-streaming==0.15.3", FAUST)


def faststream():
    from faststream.confluent import KafkaBroker, Topic
    with Place() as place:

        async def serve(wanted, group, failing=None, **config):
            """What a service reads until a value, and a moment longer; its handler raises at another."""
            broker, values = KafkaBroker(SERVERS, logger=None, config=config), []

            @broker.subscriber(Topic(place.topic, declare=False), group_id=group, auto_offset_reset="earliest")
            async def handle(value: str):
                values.append(value)
                if value == failing:
                    raise ValueError("a till that cannot print")

            await broker.start()
            deadline = time.monotonic() + TIMEOUT
            while wanted not in values:
                ensure(time.monotonic() < deadline, f"{wanted} arrives, after {values}")
                await asyncio.sleep(0.1)
            await asyncio.sleep(3)
            await broker.stop()
            return values

        read_committed = {"isolation.level": "read_committed"}
        place.transact(["aborted"], commits=False)
        place.transact(["one", "two"])
        first = asyncio.run(serve("two", place.group, failing="one", **read_committed))
        place.transact(["three"])
        second = asyncio.run(serve("three", place.group, **read_committed))
        ensure((first, second) == (["one", "two"], ["three"]), (first, second))
        everything = asyncio.run(serve("three", place.group + "-other"))
        ensure(everything == ["aborted", "one", "two", "three"], everything)
    return "FastStream: shows aborted records unless told otherwise; a record whose handler raises does not come again"


def main():
    os.chdir(tempfile.mkdtemp())
    print(f"librdkafka {libversion()[0]}, {SERVERS}")
    failed = False
    for row in (tombstones, kcat, share_consumer, transactional_till, lag_of_position, quix, faust, faststream):
        try:
            print(f"  {row()}", flush=True)
        except Exception as error:
            failed = True
            print(f"✘ {row.__name__}: this has changed: {type(error).__name__}: {error}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
