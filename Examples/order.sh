#!/usr/bin/env bash
# Sends an order, or cancels one, and prints the answer (needs kcat):
#   order.sh BROKERS STORE JUICE[:QUANTITY]...
#   order.sh BROKERS STORE --cancel ORDER-ID
set -euo pipefail

if (($# < 3)); then
    echo "usage:" >&2
    sed -n 's/^#  *\(order\.sh .*\)/\1/p' "$0" >&2
    exit 64
fi
brokers=$1 store=$2
shift 2
prefix=${JUICE_TOPIC_PREFIX:-juice.}
if ! kcat -L -b "$brokers" -t "${prefix}orders" -m 10 >/dev/null 2>&1; then
    echo "order.sh: no Kafka broker answers at $brokers" >&2
    exit 69
fi
# An order and its cancel have one id. Only a cancel is answered like this.
of_cancel='"type":"cancelled"|"cancel":true'
if [[ $1 == --cancel ]]; then
    id=$2 matching=(-E "$of_cancel")
    command="{\"orderId\":\"$id\",\"cancel\":true}"
else
    id=pos-7-$(date +%s)-$$-$RANDOM matching=(--invert-match -E "$of_cancel") items=
    for each in "$@"; do
        [[ $each == *:* ]] || each=$each:1
        items+=",{\"juice\":\"${each%:*}\",\"quantity\":${each##*:}}"
    done
    command="{\"orderId\":\"$id\",\"items\":[${items:1}]}"
fi

# Reads the latest 1,000 records of each partition, then new ones. The outer grep ends with the first that answers the command;
# the others end later, and nobody waits for them.
answer() {
    grep --max-count=1 "${matching[@]}" < <(
        exec 2>/dev/null
        timeout 5 kcat -C -b "$brokers" -t "${prefix}results" -o -1000 -q -u \
            -X isolation.level=read_committed -X auto.offset.reset=earliest |
            grep --line-buffered --fixed-strings "\"orderId\":\"$id\""
    )
}

for _ in 1 2 3; do
    # Under the same id, so that it is carried out once, however often it arrives.
    kcat -P -b "$brokers" -t "${prefix}orders" -k "$store" -X partitioner=murmur2_random \
        -X enable.idempotence=true -X message.timeout.ms=5000 <<<"$command" && answer && exit
done
echo "no answer to $id; it may still be carried out" >&2
exit 1
