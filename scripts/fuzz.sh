#!/usr/bin/env bash
# Feeds random inputs to a decoder, with libFuzzer and AddressSanitizer. It begins with the golden messages of
# Tools/MessageSamples, and puts the names in docs/schemas into others.
#
# Usage: scripts/fuzz.sh commands|answers|stock RUNS
set -euo pipefail
cd "$(dirname "$0")/.."

what=$1 runs=$2
echo "Building the fuzzer with libFuzzer and AddressSanitizer; the first time takes a few minutes"
"${SWIFT:-swift}" build -c release --package-path Tools/Fuzz --scratch-path .build/fuzz --sanitize fuzzer \
    -Xswiftc -sanitize=fuzzer,address -Xcc -fsanitize=address

samples=.build/fuzz/samples/$what
rm -rf "$samples"
mkdir -p ".build/fuzz/corpus/$what" "$samples" .build/fuzz/crashes
grep -oh '"[A-Za-z][A-Za-z]*"' docs/schemas/*.json | sort -u | sed -n 'p; s/"\(.*\)"/"\\"\1\\":"/p' > .build/fuzz/names
echo "Trying $runs inputs as $what; one that fails is kept in .build/fuzz/crashes"
FUZZ=$what SAMPLES=$samples exec .build/fuzz/release/fuzz -runs="$runs" -max_len=512 -timeout=5 -print_final_stats=1 \
    -dict=.build/fuzz/names -artifact_prefix=.build/fuzz/crashes/ ".build/fuzz/corpus/$what" "$samples"
