#!/usr/bin/env bash
# Runs targets of the Makefile one after the other, and ends with the failures and the time of each. Targets joined by a comma are
# independent and run side by side: the first shows its output at once, the others when all have ended.
#
# Usage: scripts/stages.sh lint debug-build,tools contract,docs ...
set -uo pipefail
cd "$(dirname "$0")/.."

logs=.build/stages
mkdir -p $logs
export IN_STAGES=1
names=$*
begun=$SECONDS
rows=()
failed=
status=0

stage() {
    local start=$SECONDS ended
    "${MAKE:-make}" --no-print-directory "$1"
    ended=$?
    echo "$ended $((SECONDS - start))" > "$logs/$1.result"
}

note() {
    local ended seconds
    read -r ended seconds < "$logs/$1.result"
    rows+=("$(printf '%-16s%5d s%s' "$1" "$seconds" "$([ "$ended" -eq 0 ] || echo '  FAILED')")")
    [ "$ended" -eq 0 ] || { status=$ended; failed+=" $1"; }
}

finish() {
    echo
    for name in $failed; do
        echo "== what failed in $name"
        grep -E '✘|error: ' "$logs/$name.log" || tail -n 20 "$logs/$name.log"
    done
    [ ${#rows[@]} -eq 0 ] || printf '%s\n' "${rows[@]}"
    printf '%-16s%5d s%s\n' "in all" $((SECONDS - begun)) "$([ $status -eq 0 ] || echo '  FAILED')"
    exit $status
}
trap 'status=130; finish' INT TERM

for group in $names; do
    first=${group%%,*}
    others=${group#"$first"}
    others=${others//,/ }
    echo "== $first${others:+, and beside it:$others}"
    for name in $others; do stage "$name" > "$logs/$name.log" 2>&1 & done
    stage "$first" 2>&1 | tee "$logs/$first.log"
    wait
    for name in $others; do
        echo "== $name"
        cat "$logs/$name.log"
    done
    for name in $first $others; do note "$name"; done
    [ $status -eq 0 ] || break
done
finish
