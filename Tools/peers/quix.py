#!/usr/bin/env python3
"""A peer: Quix Streams, exactly once, with the stock in a dictionary instead of its state store."""

from quixstreams import Application, message_context

import peer

# Quix commits every 5 s by default. An answer would be visible that late.
COMMIT_INTERVAL = 0.05
COMMIT_EVERY = 10_000


class Peer(Application):
    def _on_assign(self, consumer, partitions):
        super()._on_assign(consumer, partitions)
        if partitions:
            print("ready: it reads its partitions", flush=True)


def run():
    options = peer.options()
    shop = peer.Shop(options.menu)
    common = peer.properties(options)
    app = Peer(
        options.bootstrap_servers, consumer_group=options.group, auto_offset_reset="earliest", auto_create_topics=False,
        processing_guarantee="exactly-once", commit_interval=COMMIT_INTERVAL, commit_every=COMMIT_EVERY,
        consumer_extra_config=dict(common), producer_extra_config=dict(common), use_changelog_topics=False)
    orders = app.topic(options.input, key_deserializer="str", value_deserializer="json")
    answers = app.topic(options.output, key_serializer="str", value_serializer="bytes")
    frame = app.dataframe(orders)
    frame = frame.apply(lambda order, key, *_: shop.answer(key, message_context().offset, order), metadata=True)
    frame.to_topic(answers)
    app.run()


if __name__ == "__main__":
    run()
