#!/usr/bin/env bash
# Expected: a call that throttled-py's sliding window refuses uses up no quota, as with its Redis store. At 10 records a minute, a
#   producer that offers a batch of 8 every second gets one through in each minute.
# Instead: the memory store counts the first call of each minute even if it refuses it. If the minute before is the reason, the
#   refused batch blocks its own minute, and this one the next. One batch gets through, and none ever after. With a cost of 1 it is
#   one record a minute less. A test with the memory store does not show what Redis would do.
# Versions: throttled-py 3.5.0 with redis 8.1.0 and fakeredis 2.41.0 (in place of a server), on Python 3.11. The time is simulated.
# Source: MemoryLimitActionLogic in throttled/rate_limiter/sliding_window.py stores the cost of a new window's first call before it
#   compares it with the limit. The Lua script above it compares first.
exec "$(dirname "$0")/python-with" throttled-py==3.5.0 redis==8.1.0 "fakeredis[lua]==2.41.0" <<'EOF'
import sys
from unittest import mock
from fakeredis import FakeRedis
from throttled import Throttled, per_min, store

START = 1_800_000_000  # the start of a minute


def admitted(algorithm, where):
    """The seconds of ten minutes at which a batch gets through, with one offered every second."""
    limiter = Throttled(using=algorithm, quota=per_min(10), store=where)
    seconds = []
    for second in range(600):
        clock = lambda: float(START + second)
        with mock.patch("time.time", clock), mock.patch("time.monotonic", clock):
            if not limiter.limit("orders", cost=8).limited:
                seconds.append(second)
    return seconds


with mock.patch("redis.Redis", lambda **_: FakeRedis()):
    redis = admitted("sliding_window", store.RedisStore(server="redis://127.0.0.1:6379/0"))
memory = admitted("sliding_window", store.MemoryStore())
bucket = admitted("token_bucket", store.MemoryStore())
print(f"sliding window, memory: a batch gets through at {memory} s")
print(f"sliding window, Redis: a batch gets through at {redis} s")
print(f"token bucket, memory: a batch gets through at {bucket} s")
sys.exit(0 if memory == [0] and len(redis) == 10 and len(bucket) > 10 else "this has changed")
EOF
