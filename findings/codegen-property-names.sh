#!/usr/bin/env bash
# Expected: a class that keeps the object's members, as for the same schema without "propertyNames".
# Instead: datamodel-code-generator writes an empty class for "allOf" of one object with "propertyNames" and a keyword beside it. It
#   exits with 0, and pydantic then drops every member without an error.
# Versions: datamodel-code-generator 0.89.0 with pydantic 2.14.4, on Python 3.11.
# Source: seen by running. An object with "propertyNames" by itself is kept: its change 2789 added that.
exec "$(dirname "$0")/python-with" datamodel-code-generator==0.89.0 pydantic==2.14.4 <<'EOF'
import importlib, json, subprocess, sys

AMOUNTS = {"kiwi": 3, "mango": 2}


def kept(name, extra):
    """What the generated class keeps of the amounts."""
    amounts = {"type": "object", "additionalProperties": {"type": "integer"}} | extra
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#", "title": "Report", "type": "object", "required": ["amounts"],
        "properties": {"amounts": {"$ref": "#/definitions/some"}},
        "definitions": {"any": amounts, "some": {"allOf": [{"$ref": "#/definitions/any"}], "minProperties": 1}},
    }
    with open(f"{name}.json", "w") as file:
        json.dump(schema, file)
    subprocess.run(
        [sys.executable, "-m", "datamodel_code_generator", "--input", f"{name}.json", "--input-file-type", "jsonschema",
         "--output-model-type", "pydantic_v2.BaseModel", "--output", f"{name}.py"],
        check=True, stderr=subprocess.DEVNULL,
    )
    return importlib.import_module(name).Report.model_validate({"amounts": AMOUNTS}).model_dump()["amounts"]


sys.path.insert(0, ".")
seen = [kept("plain", {}), kept("named", {"propertyNames": {"minLength": 1}})]
print(f"kept without propertyNames: {seen[0]}, with them: {seen[1]}")
sys.exit(0 if seen == [AMOUNTS, {}] else "this has changed")
EOF
