#!/usr/bin/env bash
# Runs the demo, the tests and, if a broker is named, a short audited torture and a few starts and stops of the service on
# several versions of librdkafka, with the same executables, and prints a table. What each printed is kept in .build/compat.
#
# Usage: scripts/compat.sh python folder-of-release-build version ...
# Environment: BOOTSTRAP (host:port), ROUNDS (of the torture).
set -uo pipefail
cd "$(dirname "$0")/.."

python=$1
juice=$2/juice
torture=$2/torture
shift 2
# The tests are built by then.
export IN_STAGES=1
logs=.build/compat
rows=()
failures=0

# Runs a command whose output goes to a file, and leaves in `result` what is to be told of it.
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

# Of the tests that this version does not run for its own sake, the names and reasons.
skipped() {
    grep -a 'skipped: .*librdkafka' "$1" | sed 's/^[^A-Z]*/  /'
}

milliseconds() { echo $(($(date +%s%N) / 1000000)); }

# Starts the service and stops it, several times, and prints the longest time to the first answer and from SIGTERM to the end.
starts_and_stops() {
    local folder=$1 prefix="compat-$$-$RANDOM." first=0 stop=0 round begun restock service
    local at=(--bootstrap-servers "$BOOTSTRAP" --topic-prefix "$prefix")
    "$juice" topics create "${at[@]}" --partitions 6 > "$folder/starts.log" 2>&1 || return 1
    for round in 0 1 2 3; do
        "$juice" restock kiwi=+1 "${at[@]}" --wait >> "$folder/starts.log" 2>&1 &
        restock=$!
        # It waits for its answer by then.
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
        # The first founds the group, for which brokers wait a while.
        [ $round -gt 0 ] || continue
        [ $answered -le $first ] || first=$answered
        [ $stopped -le $stop ] || stop=$stopped
    done
    echo "$first $stop"
}

for version in "$@"; do
    library=$(./scripts/librdkafka.sh "$python" "$version") || exit 1
    export LD_LIBRARY_PATH=$library
    loaded=$("$juice" --version | sed -nE 's/.*\(librdkafka (.*)\)/\1/p')
    case "$version" in
    newest | "$loaded") ;;
    *)
        echo "compat: librdkafka $version was asked for, and $loaded is what is loaded" >&2
        exit 1
        ;;
    esac
    folder=$logs/$loaded
    rm -rf "$folder" && mkdir -p "$folder"

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
        attempt "$folder/torture.log" "$torture" --bootstrap-servers "$BOOTSTRAP" --rounds "${ROUNDS:-5}"
        tortured=$result
        echo "librdkafka $loaded: starts and stops"
        if times=$(starts_and_stops "$folder"); then
            read -r first stop <<< "$times"
            first="$first ms" stop="$stop ms"
        else
            first=FAILED stop=FAILED
            failures=$((failures + 1))
            echo "compat: failed, see $folder/starts.log"
        fi
    fi
    rows+=("$(printf '%-12s%-9s%-9s%-10s%-14s%s' "$loaded" "$demo" "$suite" "$tortured" "$first" "$stop")")
done

echo
printf '%-12s%-9s%-9s%-10s%-14s%s\n' librdkafka demo tests torture "first answer" "SIGTERM to end"
printf '%s\n' "${rows[@]}"
[ -n "${BOOTSTRAP:-}" ] || echo "NOT RUN: torture, starts and stops. To run them: make compat BOOTSTRAP=host:port"
[ $failures -eq 0 ]
