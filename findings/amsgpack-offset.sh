#!/usr/bin/env bash
# Expected: MessagePack's timestamp counts seconds since 1970 in UTC, so a time with a UTC offset is written as the instant that it
#   is, and any library reads the same instant.
# Instead: amsgpack writes the reading of the clock as if it were in UTC. 18:00 at -05:00, which is 23:00 UTC, arrives as 18:00 UTC,
#   in amsgpack and in others. Nothing fails: that order is five hours early, and one at +09:00 is nine hours late.
# Versions: amsgpack 0.5.1, next to msgpack 1.2.4 and msgspec 0.23.0, on Python 3.11.
# Source: datetime_to_timestamp in src/timestamp.h takes the fields of the datetime, and never its tzinfo.
exec "$(dirname "$0")/python-with" amsgpack==0.5.1 msgpack==1.2.4 msgspec==0.23.0 <<'EOF'
import sys
from datetime import datetime, timedelta, timezone
import amsgpack, msgpack, msgspec

writers = {
    "msgpack": lambda value: msgpack.packb(value, datetime=True),
    "msgspec": msgspec.msgpack.encode,
    "amsgpack": amsgpack.packb,
}
readers = {
    "msgpack": lambda data: msgpack.unpackb(data, timestamp=3),
    "msgspec": msgspec.msgpack.decode,
    "amsgpack": amsgpack.unpackb,
}
same = True
for hours in [-5, 0, 9]:
    offset = timedelta(hours=hours)
    written = datetime(2026, 3, 31, 18, 0, tzinfo=timezone(offset))
    for writer, pack in writers.items():
        data = pack(written)
        read = {name: unpack(data) for name, unpack in readers.items()}
        shift = {name: value - written for name, value in read.items()}
        hour = {name: f"{value.astimezone(timezone.utc):%d %H:%M}" for name, value in read.items()}
        print(f"{written.isoformat()} by {writer}: {data.hex()}, in UTC read as {hour}")
        same = same and set(shift.values()) == {offset if writer == "amsgpack" else timedelta()}
sys.exit(0 if same else "this has changed")
EOF
