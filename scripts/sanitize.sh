#!/usr/bin/env bash
# Runs the tests of core and brokers with thread and address sanitizer, and the soak with leak sanitizer. Each sanitizer has its own
# build. The other tests meet neither librdkafka's threads nor bare memory.
set -euo pipefail
cd "$(dirname "$0")/.."

run_tests() {
    "$1/debug/juice-makerPackageTests.xctest" --testing-library swift-testing --filter 'CoreTests|BrokerTests'
}

echo "ThreadSanitizer on the tests"
${SWIFT:-swift} build --build-tests --sanitize=thread --scratch-path .build/tsan
# It has to learn of librdkafka's threads and Swift's Mutex. It does not report leaked threads, because a worker that hangs in
# librdkafka is left behind on purpose when the service stops.
clang -O1 -Wall -Werror -shared -fPIC -o .build/tsan/c11threads.so Tools/sanitize/c11threads.c
LD_PRELOAD="$PWD/.build/tsan/c11threads.so" TSAN_OPTIONS=report_thread_leaks=0 run_tests .build/tsan
echo "AddressSanitizer on the tests"
${SWIFT:-swift} build --build-tests --sanitize=address --scratch-path .build/asan
ASAN_OPTIONS=detect_leaks=0 run_tests .build/asan
echo "LeakSanitizer on the soak"
ASAN_OPTIONS=detect_leaks=1 .build/asan/debug/lab soak
