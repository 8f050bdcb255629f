#!/usr/bin/env python3
"""Checks docs/asyncapi.yaml and docs/schemas against the messages that the service accepts and writes.

Reads messages from `lab fixtures contract-samples` on standard input, a line of JSON each, prints where a schema and the service
disagree, and exits with 1 if they do anywhere. JSON Schema cannot express every rule of the service: refused commands that a schema
accepts for that reason are counted by rule. Valid messages also go through the classes that code generators make of the documents.
"""

import argparse
import json
import pathlib
import re
import sys
import warnings

import jsonschema
import referencing

from documents import Contract, problem
from generators import GeneratedClasses
from messages import Messages, parse

ROOT = pathlib.Path(__file__).resolve().parents[2]


def nodes(document, place=""):
    """All objects of a document, with their JSON pointers."""
    if isinstance(document, dict):
        yield place, document
        document = {key.replace("~", "~0").replace("/", "~1"): value for key, value in document.items()}
        for key, value in document.items():
            yield from nodes(value, f"{place}/{key}")
    elif isinstance(document, list):
        for index, value in enumerate(document):
            yield from nodes(value, f"{place}/{index}")


# The documents themselves


def check_copies(contract):
    """asyncapi.yaml has the schemas as they are."""
    if (contract.docs / "asyncapi.yaml").read_text() != contract.bundled():
        yield "asyncapi.yaml is older than schemas/: run Tests/contract/check.py --bundle"


def check_forms(contract):
    """Alternatives are written out whole: code generators drop what stands beside oneOf or in allOf."""
    for name, schema in contract.schemas.items():
        for pointer, node in nodes(schema):
            others = node.keys() - {"oneOf", "title", "description", "definitions", "examples"}
            if "allOf" in node or "oneOf" in node and others or "$ref" in node and len(node) > 1:
                yield f"{name}.json has keywords at {pointer or 'the root'} that code generators may drop"


def check_schemas(contract):
    """Each schema is valid, and so are its examples."""
    for name, schema in contract.schemas.items():
        for error in jsonschema.Draft7Validator(jsonschema.Draft7Validator.META_SCHEMA).iter_errors(schema):
            yield f"{name}.json is no schema at {error.json_path}: {error.message}"
        found = 0
        for pointer, node in nodes(schema):
            for example in node.get("examples", []):
                found += 1
                fault = problem(contract.validator(f"{contract.uri(name)}#{pointer}"), example)
                if fault:
                    yield f"{name}.json, example of {pointer or 'the whole'} {fault}"
        if not found:
            yield f"{name}.json has no example"


def check_references(contract):
    """Every reference leads somewhere."""
    documents = {(contract.docs / "asyncapi.yaml").as_uri(): contract.asyncapi}
    documents |= {contract.uri(name): schema for name, schema in contract.schemas.items()}
    for uri, document in documents.items():
        for pointer, node in nodes(document):
            if isinstance(node.get("$ref"), str):
                try:
                    contract.resolve(node["$ref"], uri)
                except (referencing.exceptions.Unresolvable, OSError) as error:
                    yield f"{uri.rsplit('/', 1)[1]}#{pointer}: {node['$ref']} leads nowhere ({error})"


def check_asyncapi(contract):
    """The document is valid AsyncAPI 3, complete, and its examples are valid messages."""
    with warnings.catch_warnings():
        # Warnings of the package about its own field names.
        warnings.simplefilter("ignore", UserWarning)
        from asyncapi3.models.asyncapi import AsyncAPI3
    from pydantic import ValidationError

    try:
        AsyncAPI3.model_validate(contract.asyncapi)
    except ValidationError as error:
        for fault in error.errors():
            yield f"asyncapi.yaml is not AsyncAPI 3 at {'.'.join(map(str, fault['loc']))}: {fault['msg']}"
        return

    base = (contract.docs / "asyncapi.yaml").as_uri()
    operations = contract.asyncapi["operations"]
    used = set()
    for name, operation in operations.items():
        for part in [operation] + ([operation["reply"]] if "reply" in operation else []):
            channel = part["channel"]["$ref"]
            used.add(channel)
            for message in part["messages"]:
                used.add(message["$ref"])
                if not message["$ref"].startswith(f"{channel}/messages/"):
                    yield f"asyncapi.yaml, operation {name}: {message['$ref']} is of another channel"
    for name, channel in contract.asyncapi["channels"].items():
        for reference in [f"#/channels/{name}"] + [f"#/channels/{name}/messages/{key}" for key in channel["messages"]]:
            if reference not in used:
                yield f"asyncapi.yaml: no operation uses {reference}"
        if channel["bindings"]["kafka"]["topic"] != channel["address"]:
            yield f"asyncapi.yaml, channel {name}: its address and its topic differ"

    for name, message in contract.asyncapi["components"]["messages"].items():
        for part in ("headers", "payload"):
            for example in message.get("examples", []):
                if part in example:
                    uri = f"{base}#/components/messages/{name}/{part}"
                    fault = problem(contract.validator(uri), example[part])
                    if fault:
                        yield f"asyncapi.yaml, {part} of the example {example['name']} {fault}"
        if not message.get("examples"):
            yield f"asyncapi.yaml: the message {name} has no example"


def check_page(contract):
    """The messages in CONTRACT.md, one a line in blocks of JSON, are valid."""
    blocks = re.findall(r"^```json\n(.*?)^```", (contract.docs / "CONTRACT.md").read_text(), re.DOTALL | re.MULTILINE)
    lines = [line for block in blocks for line in block.splitlines()]
    if not lines:
        yield "CONTRACT.md shows no message"
    for line in lines:
        value = json.loads(line)
        kinds = {"type": "answer", "orderId": "order", "restockId": "restock", "revision": "stock"}
        schema = next((schema for field, schema in kinds.items() if field in value), None)
        if schema == "answer" and not {"orderId", "restockId"} & value.keys():
            schema = "journal-note"
        fault = problem(contract.validators[schema], value) if schema else "is no message"
        if fault:
            yield f"CONTRACT.md, {line[:120]} {fault}"


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--docs", type=pathlib.Path, default=ROOT / "docs", help="where the documents are")
    options.add_argument("--bundle", action="store_true", help="only copy docs/schemas into docs/asyncapi.yaml")
    options.add_argument("--faults", type=int, default=20, help="how many disagreements to print")
    arguments = options.parse_args()

    contract = Contract(arguments.docs.resolve())
    if arguments.bundle:
        (contract.docs / "asyncapi.yaml").write_text(contract.bundled())
        return 0
    faults = []
    for check in (check_copies, check_references, check_forms, check_schemas, check_asyncapi, check_page):
        # After a fault the results of later checks mean nothing.
        faults = faults or list(check(contract))
    messages = Messages(contract)
    if not faults:
        generated = GeneratedClasses(contract.docs, contract.schemas)
        # Many stores give the same answer.
        for line in dict.fromkeys(sys.stdin):
            sample = json.loads(line)
            fault = messages.check(sample)
            if fault:
                faults.append(fault)
            elif sample.get("valid"):
                faults += generated.check(sample["schema"], parse(sample["value"]))
        faults += [*messages.accepted_damage(), *messages.unseen()]
    for fault in faults[: arguments.faults]:
        print(fault, file=sys.stderr)
    if len(faults) > arguments.faults:
        print(f"and {len(faults) - arguments.faults} more", file=sys.stderr)

    for (schema, verdict), count in sorted(messages.counts.items()):
        print(f"{schema:20} {verdict:17} {count:6}")
    for reason, count in sorted((reason, count) for reason, count in messages.beyond.items() if reason):
        print(f"refused by the service alone: {reason} {count}")
    print(f"{messages.counts.total()} messages agree, {len(faults)} faults")
    return 1 if faults or not messages.counts else 0


if __name__ == "__main__":
    sys.exit(main())
