#!/usr/bin/env bash
# Expected: each record has the trace context of the span that sent it, so its consumer is linked to that trace, whatever list of
#   headers the application passes to produce().
# Instead: OpenTelemetry's instrumentation appends "traceparent" to the caller's own list. A service that keeps its constant headers
#   in one list sends one more with each record, so records grow and grow. The reader takes the first one of them,
#   so that every order is linked to the trace of the first one.
# Versions: opentelemetry-instrumentation-confluent-kafka 0.66b1, opentelemetry-sdk 1.45.1, confluent-kafka 2.16.1, on Python 3.11.
# Source: KafkaContextSetter.set and KafkaContextGetter.get in its utils.py.
exec "$(dirname "$0")/python-with" opentelemetry-instrumentation-confluent-kafka==0.66b1 opentelemetry-sdk==1.45.1 \
  confluent-kafka==2.16.1 <<'EOF'
import sys, time
from confluent_kafka import Consumer, Producer
from opentelemetry.instrumentation.confluent_kafka import ConfluentKafkaInstrumentor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

# librdkafka's mock cluster.
host = Producer({"bootstrap.servers": "unused", "test.mock.num.brokers": 1, "log_level": 0})
servers = ",".join(f"{broker.host}:{broker.port}" for broker in host.list_topics(timeout=10).brokers.values())
spans, traces = InMemorySpanExporter(), TracerProvider()
traces.add_span_processor(SimpleSpanProcessor(spans))
config = {"bootstrap.servers": servers, "log_level": 0}
producer = ConfluentKafkaInstrumentor.instrument_producer(Producer(config), traces)
reader = Consumer({**config, "group.id": "group", "auto.offset.reset": "earliest"})
consumer = ConfluentKafkaInstrumentor.instrument_consumer(reader, traces)


def orders(topic, headers):
    """Sends three orders, each in its own trace; how many trace headers each has, and the order whose trace it is linked to."""
    spans.clear()
    for number in range(3):
        producer.produce(topic, value=f"order {number}", partition=0, headers=headers())
    producer.flush(10)
    sent = [span.context.trace_id for span in spans.get_finished_spans()]
    consumer.subscribe([topic])
    records, deadline = [], time.monotonic() + 60
    while len(records) < 3 and time.monotonic() < deadline:
        record = consumer.poll(1)
        records += [record] if record is not None and not record.error() else []
    while consumer.poll(0.1):
        pass
    counts = [[key for key, _ in record.headers()].count("traceparent") for record in records]
    links = [sent.index(link.context.trace_id) for span in spans.get_finished_spans() for link in span.links]
    print(f"{topic}: {counts} trace headers; the consumer's spans are linked to the traces of orders {links}")
    return counts, links


shared = [("source", b"shop")]
fresh = orders("list-per-record", lambda: [("source", b"shop")])
reused = orders("one-list", lambda: shared)
consumer.close()
sys.exit(0 if fresh == ([1, 1, 1], [0, 1, 2]) and reused == ([1, 2, 3], [0, 0, 0]) else "this has changed")
EOF
