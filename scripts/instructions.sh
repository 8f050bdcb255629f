#!/usr/bin/env bash
# Counts the instructions of each piece of an order's work with valgrind: the same number on every run, however busy the
# machine is. The result is the difference between a long and a short run of `lab bench piece`, so startup does not count.
#
# Usage: scripts/instructions.sh path/to/lab                 counts all pieces, and keeps the counts in the file below
#        scripts/instructions.sh --check path/to/lab [piece]  fails if a piece costs 3 % more than the file says
set -euo pipefail

check=""
[ "$1" != --check ] || { check=yes; shift; }
lab=$1
shift
pieces=("$@")
[ ${#pieces[@]} -gt 0 ] || pieces=(decode apply encode order basket remember engine engine-basket restore)
[ "$(uname -s)" = Linux ] || { echo "Skipped: counting instructions needs valgrind, on Linux"; exit 0; }
command -v valgrind > /dev/null || { echo "valgrind is not installed: apt-get install valgrind" >&2; exit 69; }

# Lines of compiler, processor, piece and instructions an order.
kept=Tools/lab/Bench/instructions.txt
compiler=$(swift --version 2> /dev/null | sed -nE 's/.*Swift version ([0-9.]+).*/swift-\1/p' | head -n 1)
here="$compiler $(uname -m)"

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# Debian 12's valgrind cannot read the debugging information of newer compilers.
strip --strip-debug -o "$folder/lab" "$lab"

# Prints the instructions of a run: count PIECE ORDERS.
count() {
    valgrind --tool=callgrind --callgrind-out-file="$folder/out" "$folder/lab" bench piece "$1" --orders "$2" 2>&1 \
        | awk '/Collected/ { print $NF }'
}

# The first 100,000 orders fill the duplicate memory; after that every order costs the same.
short=100000
long=200000
status=0
printf '%-14s%18s%8s\n' piece instructions/order kept
for piece in "${pieces[@]}"; do
    fewer=$(count "$piece" $short)
    more=$(count "$piece" $long)
    found=$(((more - fewer) / (long - short)))
    before=$(sed -n "s/^$here $piece //p" "$kept")
    printf '%-14s%18d%8s\n' "$piece" "$found" "${before:--}"
    echo "$here $piece $found" >> "$folder/found"
    if [ -n "$check" ] && [ -n "$before" ] && [ $((found * 100)) -gt $((before * 103)) ]; then
        echo "\"$piece\" costs over 3 % more instructions an order: if it has to, \`make instructions\` and commit $kept" >&2
        status=1
    fi
done
if [ -n "$check" ]; then
    grep -q "^$here " "$kept" || echo "Nothing to compare with: $kept has no counts of $here. \`make instructions\` adds them."
else
    { grep '^#' "$kept"; { grep -v "^#\|^$here " "$kept" || true; cat "$folder/found"; } | sort; } > "$folder/kept"
    cp "$folder/kept" "$kept"
fi
exit $status
