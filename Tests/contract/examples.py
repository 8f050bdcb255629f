#!/usr/bin/env python3
"""Runs the examples of docs/INTEGRATION.md against the service with its embedded broker.

Then sends other kinds of records, and checks all resulting records against the schemas.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

from check import ROOT
from documents import Contract, problem
from confluent_kafka import Consumer, Producer, TopicPartition

sys.path.insert(0, str(ROOT / "Examples"))
from restock_bot import Shortages

TIMEOUT = 60  # Seconds; nothing here takes more than a few.
TRACE = ("traceparent", b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")


class Service:
    """`juice serve` with its embedded broker."""

    def __init__(self, juice, runtime):
        self.process = subprocess.Popen(
            [juice, "serve"],
            env=os.environ | {"XDG_RUNTIME_DIR": runtime},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.output = []
        self.brokers = None
        self.told = threading.Event()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.output.append(line)
            if found := re.match(r"Embedded Kafka broker at (\S+)", line):
                self.brokers = found[1]
                self.told.set()
        self.told.set()

    def __enter__(self):
        self.told.wait(TIMEOUT)
        if self.brokers is None:
            self.__exit__()
            raise Fault("juice serve named no broker:\n" + "".join(self.output))
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(TIMEOUT)
        except subprocess.TimeoutExpired:
            self.process.kill()


class Fault(Exception):
    """Something is not as documented."""


def require(condition, fault):
    if not condition:
        raise Fault(fault)


def try_example(command, brokers, contract):
    """An example gets the expected answers, and they are valid. One also cancels."""
    # A store for each example: there is enough for the first basket, and for strawberry juice there is not.
    store = f"강남-{pathlib.Path(command[-1]).name}"
    orders = {("kiwi", "kiwi", "mango"): "used", ("strawberry",): "missing", ("durian",): "reason"}
    answers = [run_example([*command, brokers, store, *order], contract, member, store) for order, member in orders.items()]
    if command[-1].endswith("order.py"):
        again = [*command, brokers, store, "--cancel", answers[0]["orderId"]]
        answers.append(run_example(again, contract, "returned", store))
        require(answers[-1]["returned"] == {"kiwi": 6, "mango": 3}, f"a cancel returned {answers[-1]}")
    return len(answers)


def run_example(command, contract, expected, store):
    """The answer that an example prints. It has a member that no answers of other types have."""
    ran = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    said = f"{' '.join(command)} said {ran.stdout!r} and {ran.stderr!r}"
    require(ran.returncode == 0, f"{said}, status {ran.returncode}")
    answer = json.loads(ran.stdout)
    fault = problem(contract.validators["answer"], answer)
    require(not fault, f"{said}, which is no answer {fault}")
    require(expected in answer and answer["store"] == store, f"{said}, without {expected}")
    return answer


class Bot:
    """Examples/restock_bot.py, until it is killed."""

    def __init__(self, brokers):
        command = [sys.executable, str(ROOT / "Examples/restock_bot.py"), brokers]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def refill(self):
        """The next refill that it has sent."""
        limit = threading.Timer(TIMEOUT, self.process.kill)
        limit.start()
        line = self.process.stdout.readline()
        limit.cancel()
        require(line, f"the restock bot sent nothing, status {self.process.poll()}")
        return line


def check_decisions():
    """A restock bot that starts where another one was decides the same, under the same ids, until the service has answered."""
    log = [
        {"orderId": "a", "store": "s", "left": {"kiwi": 4}},
        {"orderId": "b", "store": "s", "missing": [{"fruit": "strawberry", "needed": 16, "inStock": 10}]},
        {"orderId": "c", "store": "s", "left": {"kiwi": 1, "strawberry": 8}},
        {"restockId": "restock-bot/3-0", "store": "s", "left": {"kiwi": 30}},
        {"restockId": "restock-bot/3-1", "store": "other", "left": {}},
        {"restockId": "restock-bot/3-1", "store": "s", "reason": "wouldOverflow"},
    ]
    kiwi, strawberry = ("s", "restock-bot/3-0", {"kiwi": 29}), ("s", "restock-bot/3-1", {"strawberry": 22})
    for end, due, safe in ((3, [kiwi, strawberry], 0), (5, [strawberry], 1), (6, [], 6)):
        for start in range(min(safe + 1, end)):
            bot = Shortages(3, low=5, target=30)
            for offset in range(start, end):
                bot.next = offset + 1
                bot.read(log[offset], offset, timestamp=0)
                require(not bot.refills(), "a bot sends before it has read all")
            bot.is_current = True
            found = [(store, refill["restockId"], refill["add"]) for store, _, refill in bot.refills()]
            require(found == due and not bot.refills(), f"from {start} to {end} a bot sends {found} in place of {due}")
            require(bot.safe_offset() == safe, f"after {end} a bot would store {bot.safe_offset()}")


def try_bot(brokers, contract):
    """Each shortage is refilled once, although the bot is killed before it can have stored that it has sent a refill."""
    store = "refilled"
    order = [sys.executable, str(ROOT / "Examples/order.py"), brokers, store]
    for fruit in ("kiwi", "mango"):
        # A bot that sends again what the last one sent does so before it reads this.
        run_example([*order, fruit, fruit], contract, "used", store)
        with Bot(brokers) as bot:
            refill = bot.refill()
            require(f'"add": {{"{fruit}": 26}}' in refill, f"the restock bot refilled {refill}, {fruit} is due")

    def is_first(record):
        return record.key() == store.encode() and b'"duplicate"' not in record.value()

    answers = [json.loads(each.value()) for each in read(brokers, "juice.results", 4, is_first) if is_first(each)]
    levels = [each["left"] for each in answers if "restockId" in each]
    require(levels == [{"kiwi": 30}, {"mango": 30}], f"the restock bot left {levels}")


def send_others(brokers):
    """Sends other commands, and records that are none; returns how many answers and dead letters are due."""
    producer = Producer({"bootstrap.servers": brokers, "partitioner": "murmur2_random"})
    commands = [
        ("juice.orders", "jamsil", '{"orderId":"traced","juice":"kiwi"}', [TRACE]),
        ("juice.orders", "jamsil", '{"orderId":"traced","juice":"kiwi"}', []),
        ("juice.orders", None, '{"orderId":"without a key","juice":"kiwi"}', []),
        ("juice.restocks", "jamsil", '{"restockId":"r1","add":{"strawberry":16,"kiwi":-2}}', []),
        ("juice.restocks", "jamsil", '{"restockId":"r2","set":{"mango":30}}', []),
        ("juice.restocks", "jamsil", '{"restockId":"r3","add":{"kiwi":-1000}}', []),
        ("juice.restocks", "jamsil", '{"restockId":"r4"}', []),
    ]
    letters = [
        ("juice.orders", "jamsil", "hello", []),
        ("juice.orders", "jamsil", '{"juice":"kiwi"}', [("note", b"mine")]),
        ("juice.restocks", "jamsil", '{"restockId":""}', []),
        ("juice.orders", "x" * 129, '{"orderId":"a","juice":"kiwi"}', []),
    ]
    for topic, key, value, headers in commands + letters:
        producer.produce(topic, key=key, value=value, headers=headers)
    require(producer.flush(TIMEOUT) == 0, "the broker did not take all records")
    return len(commands), len(letters)


def read(brokers, topic, count, counts=lambda record: True):
    """The records of a topic, once it has `count` of them that count."""
    consumer = Consumer({"bootstrap.servers": brokers, "group.id": "contract", "isolation.level": "read_committed"})
    partitions = consumer.list_topics(topic, timeout=TIMEOUT).topics[topic].partitions
    consumer.assign([TopicPartition(topic, partition, 0) for partition in partitions])
    records, found, deadline = [], 0, time.monotonic() + TIMEOUT
    while found < count:
        left = deadline - time.monotonic()
        require(left > 0, f"{topic} has {found} records, {count} are due")
        record = consumer.poll(left)
        if record is not None and not record.error():
            records.append(record)
            found += counts(record)
    consumer.close()
    return records


def check_records(brokers, contract, answers, letters):
    # A slow example has sent again, so it may have more answers.
    results = read(brokers, "juice.results", answers, lambda record: record.key() in (b"jamsil", b"main"))
    require(any(each.key() is None for each in results), "juice.results has no note")
    for record in results:
        value, key = json.loads(record.value()), record.key()
        fault = problem(contract.validators["answer" if key else "journal-note"], value)
        require(not fault, f"juice.results, {record.value()} {fault}")
        require(not key or key.decode() == value["store"], f"juice.results, {record.value()} has another key")
    traced = [json.loads(each.value()) for each in results if each.headers() == [TRACE]]
    require([each.get("orderId") for each in traced] == ["traced"], f"traced are {traced}")
    own = [(each.key(), json.loads(each.value()).get("duplicate")) for each in results]
    require(own.count((b"jamsil", True)) == 1, f"the repeats are not one: {own}")
    require(own.count((b"main", None)) == 1, f"the order without a key was for another store than main: {own}")

    for record in read(brokers, "juice.stock", 1):
        fault = problem(contract.validators["stock"], json.loads(record.value()))
        require(not fault, f"juice.stock, {record.value()} {fault}")
    codes = []
    for record in read(brokers, "juice.dead-letters", letters):
        headers = {name: value.decode() for name, value in record.headers()}
        fault = problem(contract.validators["dead-letter-headers"], headers)
        require(not fault, f"juice.dead-letters, {headers} {fault}")
        codes.append(headers["juice.error.code"])
    require(sorted(codes) == ["badID", "badStore", "missingID", "notJSON"], f"the dead letters are {codes}")


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("bin", type=pathlib.Path, help="where juice and order-example are")
    binaries = options.parse_args().bin
    examples = [
        [sys.executable, str(ROOT / "Examples/order.py")],
        [shutil.which("bash"), str(ROOT / "Examples/order.sh")],
        [str(binaries / "order-example")],
    ]
    contract = Contract(ROOT / "docs")
    # Ignore the caller's own settings.
    for name in [name for name in os.environ if name.startswith("JUICE_")]:
        del os.environ[name]
    with tempfile.TemporaryDirectory() as runtime:
        try:
            check_decisions()
            with Service(binaries / "juice", runtime) as service:
                # First, while no other store is short.
                try_bot(service.brokers, contract)
                answers = sum(try_example(example, service.brokers, contract) for example in examples)
                commands, letters = send_others(service.brokers)
                check_records(service.brokers, contract, commands, letters)
        except Fault as fault:
            print(fault, file=sys.stderr)
            return 1
    print(
        f"{len(examples)} examples got their answers, and the restock bot refilled each shortage once; "
        f"{answers + commands} answers and {letters} dead letters agree"
    )
    return 0


if __name__ == "__main__":
    # On SIGTERM, end the started processes, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sys.exit(main())
