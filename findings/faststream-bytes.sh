#!/usr/bin/env bash
# Expected: a handler whose parameter is `bytes` gets the record's value, byte for byte.
# Instead: FastStream parses a value that happens to be JSON before it looks at the handler. A JSON object or number never reaches
#   the handler, but ends in a validation error; a JSON string arrives without its quotes. Only what is no JSON arrives as it is.
# Versions: faststream 0.7.8 with pydantic 2.14.4, on Python 3.11. The records have no header content-type, as usual in Kafka.
# Source: decode_message in faststream/message/utils.py; with `decoder=` a subscriber can have its own.
exec "$(dirname "$0")/python-with" "faststream[confluent]==0.7.8" confluent-kafka==2.16.1 pydantic==2.14.4 <<'EOF'
import asyncio, sys
from faststream.confluent import KafkaBroker, TestKafkaBroker

broker = KafkaBroker("127.0.0.1:9092", logger=None)
arrived = []


@broker.subscriber("topic")
async def handle(value: bytes):
    arrived.append(value)


async def main():
    seen = {}
    # In memory: no connection is made.
    async with TestKafkaBroker(broker, connect_only=False) as memory:
        for value in (b"text", b'{"n":1}', b"12", b'"text"'):
            arrived.clear()
            try:
                await memory.publish(value, "topic")
                seen[value] = arrived[0]
            except Exception as error:
                seen[value] = type(error).__name__
    return seen


seen = asyncio.run(main())
for value, result in seen.items():
    print(f"sent {value}: {result}")
expected = {b"text": b"text", b'{"n":1}': "ValidationError", b"12": "ValidationError", b'"text"': b"text"}
sys.exit(0 if seen == expected else "this has changed")
EOF
