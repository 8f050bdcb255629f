#!/usr/bin/env bash
# Loses a cluster: copies the topics of one to another while orders are answered, kills the first, goes on in the second and audits
# it. Exits with 0 if nothing is missing, doubled or wrong there.
#
# Usage: scripts/another-cluster.sh python juice
# Environment: FIRST, SECOND (host:port of a broker), KILL (the command that kills the first cluster), SECONDS_BEFORE (30).
set -euo pipefail
cd "$(dirname "$0")/.."

python=$1
juice=$2
prefix="another-$$."
group="another-$$"
partitions=4
folder=$(mktemp -d)
first=(--bootstrap-servers "$FIRST" --topic-prefix "$prefix")
second=(--bootstrap-servers "$SECOND" --topic-prefix "$prefix")
started=()
trap '[ ${#started[@]} -eq 0 ] || kill -9 "${started[@]}" 2> /dev/null || true' EXIT

# Orders in any partition. Most are forwarded, in transactions, whose markers take offsets of the inputs.
misplaced='
import itertools, sys, time
from confluent_kafka import Producer
producer = Producer({"bootstrap.servers": sys.argv[1], "partitioner": "random"})
for number in itertools.count():
    producer.produce(sys.argv[2], "{\"orderId\":\"misplaced-%d\",\"juice\":\"kiwi\"}" % number, "gangnam")
    producer.poll(0.05)
'

# Starts a command with its output in a file.
start() {
    local log=$folder/$1.log
    shift
    "$@" > "$log" 2>&1 &
    started+=($!)
}

for at in first second; do
    declare -n options=$at
    "$juice" topics create "${options[@]}" --partitions $partitions --replication-factor 1 > /dev/null
done
echo "another-cluster: topics $prefix*, logs in $folder"
for instance in 1 2; do start "first-$instance" "$juice" serve "${first[@]}" --group "$group" --instance-id "$instance"; done
start traffic "$juice" traffic "${first[@]}"
start misplaced "$python" -c "$misplaced" "$FIRST" "${prefix}orders"
"$python" scripts/copy-topics.py "$FIRST" "$SECOND" "$prefix" > "$folder/copy.log" 2>&1 &
copier=$!
sleep "${SECONDS_BEFORE:-30}"
echo "killing the first cluster"
bash -c "$KILL"
sleep 2
kill "$copier" 2> /dev/null || true
wait "$copier" || { cat "$folder/copy.log"; exit 1; }
cat "$folder/copy.log"
{ kill -9 "${started[@]}"; wait "${started[@]}"; } 2> /dev/null || true
started=()

"$juice" anchor "${second[@]}" --group "$group" --copied --reason "lost the first"
"$juice" audit "${second[@]}" > "$folder/audit-of-the-copy.log" || { cat "$folder/audit-of-the-copy.log"; exit 1; }
start second "$juice" serve "${second[@]}" --group "$group" --instance-id 1
"$juice" traffic "${second[@]}" --orders 1000 | tail -1
kill "${started[@]}"
wait "${started[@]}"
started=()
"$juice" audit "${second[@]}"
