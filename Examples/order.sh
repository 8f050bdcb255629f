#!/usr/bin/env bash
# Sends an order and prints the answer (needs kcat): order.sh BROKERS STORE JUICE...
set -euo pipefail

if (($# < 3)); then
    echo "usage: order.sh BROKERS STORE JUICE..." >&2
    exit 64
fi
brokers=$1 store=$2
shift 2
prefix=${JUICE_TOPIC_PREFIX:-juice.}
if ! kcat -L -b "$brokers" -t "${prefix}orders" -m 10 >/dev/null 2>&1; then
    echo "order.sh: no Kafka broker answers at $brokers" >&2
    exit 69
fi
id=pos-7-$(date +%s)-$$-$RANDOM
items=$(printf ',{"juice":"%s"}' "$@")
command="{\"orderId\":\"$id\",\"items\":[${items:1}]}"

# Reads the latest 1,000 records of each partition, then new ones. It ends with the first that answers the order; kcat ends later,
# and nobody waits for it.
answer() {
    grep --max-count=1 --fixed-strings "\"orderId\":\"$id\"" < <(
        exec 2>/dev/null
        timeout 5 kcat -C -b "$brokers" -t "${prefix}results" -o -1000 -q -u \
            -X isolation.level=read_committed -X auto.offset.reset=earliest
    )
}

for _ in 1 2 3; do
    # Under the same id, so that it is carried out once, however often it arrives.
    kcat -P -b "$brokers" -t "${prefix}orders" -k "$store" -X partitioner=murmur2_random \
        -X enable.idempotence=true -X message.timeout.ms=5000 <<<"$command" && answer && exit
done
echo "no answer to $id; it may still be carried out" >&2
exit 1
