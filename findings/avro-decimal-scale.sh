#!/usr/bin/env bash
# Expected: Avro's decimal is an integer times 10^-scale, so Decimal("1.5") written with a schema of scale 2 is read as 1.50. Or the
#   writer refuses it, as it refuses 1.505, which has too many places.
# Instead: Apache's own avro takes the digits and forgets the exponent: 1.5 becomes 0.15, 7 becomes 0.07, and 100 after normalize()
#   becomes 0.01. The reader cannot know, whatever its library. fastavro writes the same values right, so a service that changes
#   libraries writes other prices, without an error.
# Versions: avro 1.12.2, read with it and with fastavro 1.13.1, on Python 3.11.
# Source: write_decimal_bytes and write_decimal_fixed in avro/io.py compare the exponent with the scale only to refuse too many
#   places (AVRO-3146); they do not multiply by what is missing.
exec "$(dirname "$0")/python-with" avro==1.12.2 fastavro==1.13.1 <<'EOF'
import io, json, sys
from decimal import Decimal
import avro.io, avro.schema, fastavro

decimal = {"logicalType": "decimal", "precision": 8, "scale": 2}
schemas = [{"type": "bytes", **decimal}, {"type": "fixed", "name": "Price", "size": 4, **decimal}]
values = [Decimal("1.50"), Decimal("1.5"), Decimal("-1.5"), Decimal(7), Decimal("100.00").normalize()]
wrong = []


def apache(schema, value):
    out = io.BytesIO()
    avro.io.DatumWriter(avro.schema.parse(json.dumps(schema))).write(value, avro.io.BinaryEncoder(out))
    return out.getvalue()


def apache_read(schema, data):
    return avro.io.DatumReader(avro.schema.parse(json.dumps(schema))).read(avro.io.BinaryDecoder(io.BytesIO(data)))


def fast(schema, value):
    out = io.BytesIO()
    fastavro.schemaless_writer(out, schema, value)
    return out.getvalue()


for schema in schemas:
    for value in values:
        data = apache(schema, value)
        read = [apache_read(schema, data), fastavro.schemaless_reader(io.BytesIO(data), schema, None)]
        other = apache_read(schema, fast(schema, value))
        print(f"{schema['type']}: {value!r} written by avro is {read[0]} (avro) and {read[1]} (fastavro); by fastavro {other}")
        if read[0] != read[1] or other != value:
            sys.exit("this has changed: the readers differ, or fastavro writes another value")
        wrong += [value] if read[0] != value else []
sys.exit(0 if wrong == values[1:] * 2 else "this has changed")
EOF
