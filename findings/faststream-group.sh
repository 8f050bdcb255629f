#!/usr/bin/env bash
# Expected: a subscriber without `group_id` is in no group, so each service gets all records. Its documentation says: "If `None`,
#   auto-partition assignment (via group coordinator) and offset commits are disabled."
# Instead: with FastStream's confluent backend all such subscribers, of any service, join one group, "faststream-consumer-group".
#   Two services that read the same topic get each record once between them.
# Versions: faststream 0.7.8 with confluent-kafka 2.16.1, on Python 3.11.
# Source: AsyncConfluentConsumer in faststream/confluent/helpers/client.py; the text is in its broker/registrator.py.
exec "$(dirname "$0")/python-with" "faststream[confluent]==0.7.8" confluent-kafka==2.16.1 pydantic==2.14.4 <<'EOF'
import asyncio, sys, time
from confluent_kafka import Producer
from faststream.confluent import KafkaBroker, Topic

# librdkafka's mock cluster; topics have four partitions there.
host = Producer({"bootstrap.servers": "unused", "test.mock.num.brokers": 1, "log_level": 0})
servers = ",".join(f"{broker.host}:{broker.port}" for broker in host.list_topics(timeout=10).brokers.values())
producer = Producer({"bootstrap.servers": servers, "log_level": 0})
arrived = {"first": [], "second": []}


def write(values):
    for number, value in enumerate(values):
        producer.produce("topic", value, partition=number % 4)
    producer.flush(10)


def service(name):
    broker = KafkaBroker(servers, logger=None)

    @broker.subscriber(Topic("topic", declare=False), auto_offset_reset="earliest")
    async def handle(value: str):
        arrived[name].append(value)

    return broker


async def until(condition, what):
    deadline = time.monotonic() + 60
    while not condition():
        if time.monotonic() > deadline:
            sys.exit(f"not within a minute: {what}")
        await asyncio.sleep(0.1)


async def main():
    write([f"before-{number}" for number in range(4)])
    services = [service(name) for name in arrived]
    for each in services:
        await each.start()
    # Each of them reads something once it has its partitions.
    for round in range(60):
        write([f"round-{round}-{number}" for number in range(4)])
        await asyncio.sleep(0.5)
        if all(any(value.startswith(f"round-{round}-") for value in values) for values in arrived.values()):
            break
    last = [f"last-{number}" for number in range(40)]
    write(last)
    shares = lambda: [[value for value in values if value in last] for values in arrived.values()]
    await until(lambda: sum(map(len, shares())) >= len(last), "all records arrive")
    # A service that is in no group would get the rest of them by now, too.
    await asyncio.sleep(5)
    for each in services:
        await each.stop()
    return shares(), last


(first, second), last = asyncio.run(main())
both = len(set(first) & set(second))
print(f"of {len(last)} records the first service gets {len(first)}, the second {len(second)}, and both {both}")
sys.exit(0 if first and second and sorted(first + second) == sorted(last) else "this has changed")
EOF
