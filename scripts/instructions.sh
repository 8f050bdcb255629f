#!/usr/bin/env bash
# Counts the instructions of each piece of an order's work with valgrind: the same number on every run, however busy the
# machine is. The result is the difference between a long and a short run of `lab bench piece`, so startup does not count.
#
# Usage: scripts/instructions.sh path/to/lab [piece ...]
set -euo pipefail

lab=$1
shift
pieces=("$@")
[ ${#pieces[@]} -gt 0 ] || pieces=(decode apply encode order basket remember engine engine-basket restore)
command -v valgrind > /dev/null || { echo "valgrind is not installed: apt-get install valgrind" >&2; exit 69; }

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
printf '%-14s%18s\n' piece instructions/order
for piece in "${pieces[@]}"; do
    fewer=$(count "$piece" $short)
    more=$(count "$piece" $long)
    printf '%-14s%18d\n' "$piece" $(((more - fewer) / (long - short)))
done
