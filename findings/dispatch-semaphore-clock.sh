#!/usr/bin/env bash
# Expected: DispatchSemaphore.wait(timeout: .now() + …) takes a DispatchTime, which is of the uptime, so the time of day makes no
#   difference.
# Instead: on Linux it waits until a time of day. If the clock is set back meanwhile, it waits that much longer. A DispatchGroup
#   does not. Here the process sees a time of day that is 3 s ahead of the kernel's, as after such a step.
# Versions: Swift 6.3.1 and the libdispatch in it, glibc.
# Source: _dispatch_sema4_timedwait passes _dispatch_time_nanoseconds_since_epoch(timeout) to sem_timedwait, and a group's wait a
#   duration to futex.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
swift --version 2>&1 | grep -q "Swift version 6.3.1" || { echo "needs Swift 6.3.1"; exit 1; }
cat > ahead.c <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>

int clock_gettime(clockid_t clock, struct timespec *time) {
    int (*real)(clockid_t, struct timespec *) = dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(clock, time);
    if (clock == CLOCK_REALTIME) time->tv_sec += 3;
    return result;
}
C
cat > wait.swift <<'SWIFT'
import Dispatch

func seconds(_ wait: () -> DispatchTimeoutResult) -> Int {
    let start = ContinuousClock.now
    precondition(wait() == .timedOut)
    return Int((ContinuousClock.now - start) / .seconds(1))
}

let (semaphore, group) = (DispatchSemaphore(value: 0), DispatchGroup())
group.enter()
print(seconds { semaphore.wait(timeout: .now() + 1) }, seconds { group.wait(timeout: .now() + 1) })
group.leave()
SWIFT
gcc -shared -fPIC -o ahead.so ahead.c -ldl
swiftc wait.swift -o wait
read -r semaphore group < <(LD_PRELOAD=$PWD/ahead.so ./wait)
echo "a semaphore waited $semaphore s and a group $group s, where 1 s was asked for"
[ "$semaphore" -ge 4 ] && [ "$group" -lt 3 ] || { echo "this has changed"; exit 1; }
