#!/usr/bin/env bash
# Feeds random inputs to a decoder, with libFuzzer and AddressSanitizer.
#
# Usage: scripts/fuzz.sh commands|answers|stock RUNS
set -euo pipefail
cd "$(dirname "$0")/.."

what=$1 runs=$2
echo "Building the fuzzer with libFuzzer and AddressSanitizer; the first time takes a few minutes"
"${SWIFT:-swift}" build -c release --package-path Tools/Fuzz --scratch-path .build/fuzz --sanitize fuzzer \
    -Xswiftc -sanitize=fuzzer,address -Xcc -fsanitize=address

mkdir -p ".build/fuzz/corpus/$what" .build/fuzz/crashes
echo "Trying $runs inputs as $what; one that fails is kept in .build/fuzz/crashes"
FUZZ=$what exec .build/fuzz/release/fuzz -runs="$runs" -max_len=512 -timeout=5 -print_final_stats=1 -dict=Tools/Fuzz/tokens.dict \
    -artifact_prefix=.build/fuzz/crashes/ ".build/fuzz/corpus/$what" "Tools/Fuzz/Corpus/$what"
