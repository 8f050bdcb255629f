"""Compares what the schemas say of messages with what the service says."""

import collections
import json

from documents import problem


class Repeated(Exception):
    """A name is given twice in an object."""


def parse(text):
    """The document in a value. Like the service, it skips a byte order mark and refuses NaN."""

    def refuse(name):
        raise ValueError(f"{name} is not JSON")

    return json.loads(text.removeprefix("\ufeff"), parse_constant=refuse)


def beyond_schema(text):
    """The rule that makes the service refuse a value and that JSON Schema cannot express; None if there is none."""

    def note(pairs):
        if len({name for name, _ in pairs}) < len(pairs):
            raise Repeated
        return dict(pairs)

    try:
        value = json.loads(text.removeprefix("\ufeff"), object_pairs_hook=note)
    except Repeated:
        return "a name given twice"
    if len(text.encode()) > 64 * 1024:
        return "more than 64 KiB"
    texts, numbers, depth = [], [], 0
    todo = [(value, 1)]
    while todo:
        node, level = todo.pop()
        depth = max(depth, level)
        if isinstance(node, (dict, list)):
            todo += [(child, level + 1) for child in (node.values() if isinstance(node, dict) else node)]
            texts += node if isinstance(node, dict) else []
        elif isinstance(node, str):
            texts.append(node)
        elif isinstance(node, float):
            numbers.append(node)
    if any(len(text) <= 128 < len(text.encode("utf-8", "surrogatepass")) for text in texts):
        return "at most 128 characters, but more bytes"
    if any(number.is_integer() for number in numbers):
        return "a whole number with fraction or exponent"
    if depth > 128:
        return "more than 128 levels"
    return None


def damages(value, needed):
    """Copies of an object with a needed member missing, one of another type, or beyond its bounds; and with a member too many."""
    yield value | {"note": 1}, "an unknown member"
    for name, member in value.items():
        if name in needed:
            yield {key: other for key, other in value.items() if key != name}, f"no {name}"
        wrong = [None, [[]], {"": {}}] + ([7, ""] if isinstance(member, str) else [-1, 1.5, "1"] if type(member) is int else [])
        for other in wrong:
            yield value | {name: other}, f"{name}: {json.dumps(other)}"


class Messages:
    """The results for the messages read so far."""

    def __init__(self, contract):
        self.contract = contract
        self.counts = collections.Counter()
        self.beyond = collections.Counter()
        # Messages to damage, one of each kind, and the members that all messages of a type have.
        self.shapes = {}
        self.needed = {}
        self.seen = {"type": set(), "reason": set(), "juice.error.code": set()}

    def check(self, sample):
        """The disagreement about a message, or None."""
        schema, text, valid = sample["schema"], sample["value"], sample.get("valid")
        try:
            value = parse(text)
            fault = None if self.contract.accepts(schema, value) else problem(self.contract.validators[schema], value)
        except ValueError as error:
            value, fault = None, f"is not JSON: {error}"
        verdict = {True: "valid", False: "refused", None: "left to the menu"}[valid]
        reason = beyond_schema(text) if valid is False and fault is None else None
        if valid is None or (fault is None) == valid or reason:
            self.counts[schema, verdict] += 1
            self.beyond[reason] += reason is not None
            if valid:
                self.keep(schema, value)
                for field, values in self.seen.items():
                    values |= {value[field]} if isinstance(value, dict) and field in value else set()
            return None
        says = "the schema takes it" if fault is None else f"the schema refuses it {fault}"
        return (
            f"{schema}.json: a message is {verdict} by the service ({sample['note']}),"
            f" {says}\n    {text[:1000]}"
        )

    def keep(self, schema, value):
        """Keeps a message that the service writes."""
        if schema in ("answer", "journal-note", "stock"):
            self.shapes.setdefault((schema, value.get("type"), value.get("reason"), *value), value)
            kind = self.kind(schema, value)
            self.needed[kind] = self.needed.get(kind, value.keys()) & value.keys()

    def kind(self, schema, value):
        return schema, value.get("type"), "items" in value

    def accepted_damage(self):
        """Changes to messages of the service that it would never write and the schemas accept all the same."""
        for (schema, *_), value in self.shapes.items():
            for damaged, what in damages(value, self.needed[self.kind(schema, value)]):
                if self.contract.accepts(schema, damaged):
                    yield f"{schema}.json: with {what} the schema takes it\n    {json.dumps(damaged)[:1000]}"
                self.counts[schema, "damaged"] += 1

    def unseen(self):
        """Values that the schemas allow and no valid message had: the service never writes them, or the samples miss them."""
        definitions = [
            definition for name in ("answer", "journal-note") for definition in self.contract.schemas[name]["definitions"].values()
        ]
        properties = [definition.get("properties", {}) for definition in definitions]
        properties.append(self.contract.schemas["dead-letter-headers"]["properties"])
        for field, seen in self.seen.items():
            allowed = set()
            for schema in (each[field] for each in properties if field in each):
                allowed |= set(schema.get("enum", [schema["const"]] if "const" in schema else []))
            for value in sorted(allowed - seen):
                yield f"the schemas allow {field} {value}, which no message had"
