#!/usr/bin/env bash
# Sends an order and prints its answer: order.sh BROKERS STORE JUICE [QUANTITY] (needs kcat).
set -euo pipefail

brokers=$1 store=$2 juice=$3 quantity=${4:-1}
prefix=${JUICE_TOPIC_PREFIX:-juice.}
id=pos-7-$(date +%s)-$$-$RANDOM
order="{\"orderId\":\"$id\",\"juice\":\"$juice\",\"quantity\":$quantity}"

# Reads the latest 1,000 records of each partition, then new ones. grep ends with the first that has the id; kcat ends later, and
# nobody waits for it.
answer() {
    grep --max-count=1 --fixed-strings "\"orderId\":\"$id\"" < <(
        timeout 5 kcat -C -b "$brokers" -t "${prefix}results" -o -1000 -q -u \
            -X isolation.level=read_committed -X auto.offset.reset=earliest 2>/dev/null
    )
}

for _ in 1 2 3; do
    # Under the same id, so that it is made once, however often it arrives.
    kcat -P -b "$brokers" -t "${prefix}orders" -k "$store" -X partitioner=murmur2_random \
        -X enable.idempotence=true -X message.timeout.ms=5000 <<<"$order" && answer && exit
done
echo "no answer to order $id; it may still be carried out" >&2
exit 1
