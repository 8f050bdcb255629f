#!/usr/bin/env bash
# Runs the demo, the tests and, if a broker is named, a short audited torture, a few starts and stops of the service and a
# measurement of its throughput on several versions of librdkafka, with the same executables, and prints a table. With a broker the
# tests for real brokers run, too. Run it with a broker of Kafka 3.9 and again with one of 4.x. The logs are in .build/compat.
#
# Usage: scripts/compat.sh python folder-of-release-build version ...
# Environment: BOOTSTRAP (host:port), ROUNDS (of the torture).
set -uo pipefail
cd "$(dirname "$0")/.."

python=$1
juice=$2/juice
lab=$2/lab
shift 2
# The tests are already built.
export IN_STAGES=1
[ -z "${BOOTSTRAP:-}" ] || export KAFKA_BOOTSTRAP_SERVERS=${KAFKA_BOOTSTRAP_SERVERS:-$BOOTSTRAP}
logs=.build/compat
rows=()
failures=0
# The versions that were loaded, in the order of the arguments, and the folder of each.
loaded_versions=()
declare -A libraries

# Runs a command with its output in a file, and sets `result`.
attempt() {
    local log=$1
    shift
    if "$@" > "$log" 2>&1; then
        result=passed
    else
        result="FAILED"
        failures=$((failures + 1))
        echo "compat: failed, see $log"
    fi
}

# Prints the tests that are skipped because of the version of librdkafka, with their reasons.
skipped() {
    grep -a 'skipped: .*librdkafka' "$1" | sed 's/^[^A-Z]*/  /'
}

milliseconds() { echo $(($(date +%s%N) / 1000000)); }

# Starts and stops the service several times, and prints the longest time to the first answer and from SIGTERM to the exit.
starts_and_stops() {
    local folder=$1 prefix="compat-$$-$RANDOM." first=0 stop=0 round begun restock service
    local at=(--bootstrap-servers "$BOOTSTRAP" --topic-prefix "$prefix")
    "$juice" topics create "${at[@]}" --partitions 6 > "$folder/starts.log" 2>&1 || return 1
    for round in 0 1 2 3; do
        "$juice" restock kiwi=+1 "${at[@]}" --wait >> "$folder/starts.log" 2>&1 &
        restock=$!
        # Until it waits for its answer.
        sleep 1
        begun=$(milliseconds)
        "$juice" serve "${at[@]}" --group "$prefix" --instance-id compat >> "$folder/starts.log" 2>&1 &
        service=$!
        wait $restock || { kill $service; return 1; }
        local answered=$(($(milliseconds) - begun))
        begun=$(milliseconds)
        kill -TERM $service
        wait $service || return 1
        local stopped=$(($(milliseconds) - begun))
        # The first start creates the group, and brokers delay the first rebalance of a new group.
        [ $round -gt 0 ] || continue
        [ $answered -le $first ] || first=$answered
        [ $stopped -le $stop ] || stop=$stopped
    done
    echo "$first $stop"
}

# Lets the service process orders on each version in turns, three times, since the machine may be faster in one minute than in the
# next. Prints for each version what share of the first version's orders a second it did: the median of the rounds.
throughput() {
    local round version
    for round in 1 2 3; do
        for version in "${loaded_versions[@]}"; do
            LD_LIBRARY_PATH=${libraries[$version]} "$lab" bench end-to-end --bootstrap-servers "$BOOTSTRAP" --rounds 1 --json \
                > "$logs/$version/throughput-$round.json" 2>> "$logs/$version/throughput.log" || return 1
        done
    done
    "$python" - "$logs" "${loaded_versions[@]}" << 'END'
import json, pathlib, statistics, sys

def orders_per_second(version, number):
    text = pathlib.Path(sys.argv[1], version, f"throughput-{number}.json").read_text()
    return next(figure["median"] for figure in json.loads(text)["figures"] if figure["name"] == "orders/s, service")

first, *_ = versions = sys.argv[2:]
for version in versions:
    shares = [orders_per_second(version, number) / orders_per_second(first, number) for number in (1, 2, 3)]
    print(f"{statistics.median(shares):.2f}")
END
}

# Marks a figure that misses its goal.
marked() {
    awk -v figure="$1" -v relation="$2" -v goal="$3" \
        'BEGIN { missed = relation == "most" ? figure > goal : figure < goal; print figure (missed ? "!" : "") }'
}

# All of them first: a version that cannot be had should not end half an hour of work.
fetched=()
for version in "$@"; do
    library=$(./scripts/librdkafka.sh "$python" "$version") || exit 1
    fetched+=("$library")
done

for library in "${fetched[@]}"; do
    export LD_LIBRARY_PATH=$library
    # A wheel may contain another version than its own.
    loaded=$("$juice" --version | sed -nE 's/.*\(librdkafka (.*)\)/\1/p')
    folder=$logs/$loaded
    rm -rf "$folder" && mkdir -p "$folder"
    loaded_versions+=("$loaded")
    libraries[$loaded]=$library

    echo "librdkafka $loaded: demo"
    attempt "$folder/demo.log" "$juice" demo --orders 2000
    demo=$result
    echo "librdkafka $loaded: tests"
    attempt "$folder/tests.log" "${MAKE:-make}" --no-print-directory unit-tests tests
    suite=$result
    skipped "$folder/tests.log"
    tortured="not run" first="not run" stop="not run"
    if [ -n "${BOOTSTRAP:-}" ]; then
        echo "librdkafka $loaded: torture"
        attempt "$folder/torture.log" "$lab" torture --bootstrap-servers "$BOOTSTRAP" --rounds "${ROUNDS:-5}"
        tortured=$result
        echo "librdkafka $loaded: starts and stops"
        if times=$(starts_and_stops "$folder"); then
            read -r first stop <<< "$times"
            first="$(marked "$first" most 500) ms" stop="$(marked "$stop" most 1000) ms"
        else
            first=FAILED stop=FAILED
            failures=$((failures + 1))
            echo "compat: failed, see $folder/starts.log"
        fi
    fi
    rows+=("$(printf '%-12s%-9s%-9s%-10s%-14s%-16s' "$loaded" "$demo" "$suite" "$tortured" "$first" "$stop")")
done

shares=() missing="not run"
if [ -n "${BOOTSTRAP:-}" ]; then
    echo "Throughput of each version, in turns"
    if times=$(throughput); then
        mapfile -t shares < <(for share in $times; do marked "$share" least 0.90; done)
    else
        missing=FAILED
        failures=$((failures + 1))
        echo "compat: failed, see $logs/*/throughput.log"
    fi
fi

echo
printf '%-12s%-9s%-9s%-10s%-14s%-16s%s\n' librdkafka demo tests torture "first answer" "SIGTERM to end" throughput
for row in "${!rows[@]}"; do printf '%s%s\n' "${rows[row]}" "${shares[row]:-$missing}"; done
echo "goals: at most 500 ms and 1000 ms, and at least 0.90 of the first version's throughput; ! marks what misses one"
[ -n "${BOOTSTRAP:-}" ] || echo "NOT RUN: torture, starts and stops, throughput. To run them: make compat BOOTSTRAP=host:port"
[ $failures -eq 0 ]
