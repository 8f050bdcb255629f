"""The documents that describe the messages: docs/asyncapi.yaml and docs/schemas."""

import collections
import json
import pathlib
import re
import textwrap

import jsonschema
import referencing
import referencing.jsonschema
import yaml

COPIES = "    # The rest is copied from schemas/: after a change there, run Tests/contract/check.py --bundle.\n"


def one_of(validator, alternatives, instance, schema):
    """As in jsonschema, but without reasons: an alternative is left at its first error, which is several times as fast."""
    if sum(validator.evolve(schema=alternative).is_valid(instance) for alternative in alternatives) != 1:
        yield jsonschema.ValidationError("not one alternative fits")


Judge = jsonschema.validators.extend(jsonschema.Draft7Validator, {"oneOf": one_of})


class Contract:
    """The documents, and validators for their parts."""

    def __init__(self, docs):
        self.docs = docs
        self.registry = referencing.Registry(retrieve=self.read)
        self.asyncapi = self.read((docs / "asyncapi.yaml").as_uri()).contents
        names = sorted(path.stem for path in (docs / "schemas").glob("*.json"))
        self.schemas = {name: self.read(self.uri(name)).contents for name in names}
        self.validators = {name: self.validator(self.uri(name)) for name in names}
        self.judges = {name: Judge({"$ref": self.uri(name)}, registry=self.registry) for name in names}

    def uri(self, schema):
        return (self.docs / "schemas" / f"{schema}.json").as_uri()

    def read(self, uri):
        path = pathlib.Path(uri.removeprefix("file://"))
        contents = yaml.safe_load(path.read_bytes()) if path.suffix == ".yaml" else json.loads(path.read_bytes())
        # With this name in it, jsonschema would not take the class below.
        contents.pop("$schema", None)
        return referencing.Resource(contents, referencing.jsonschema.DRAFT7)

    def validator(self, uri):
        return jsonschema.Draft7Validator({"$ref": uri}, registry=self.registry)

    def accepts(self, schema, value):
        """Whether a schema accepts a value."""
        return self.judges[schema].is_valid(value)

    def resolve(self, reference, base):
        """The target of a reference in one of the documents."""
        return self.registry.resolver(base_uri=base).lookup(reference).contents

    def bundled(self):
        """The text of asyncapi.yaml with copies of the schemas that its other parts need: generators may not read other files."""
        written = (self.docs / "asyncapi.yaml").read_text().partition(COPIES)[0]
        copies, needed, todo = self.copies(), set(), component_references(yaml.safe_load(written))
        while todo:
            new = copies.keys() & todo - needed
            needed |= new
            todo = {name for copy in new for name in component_references(copies[copy])}
        copies = {name: copy for name, copy in copies.items() if name in needed}
        text = yaml.safe_dump(copies, sort_keys=False, default_flow_style=None, allow_unicode=True, width=120)
        return written + COPIES + textwrap.indent(text, "    ")

    def copies(self):
        """All schemas and their definitions by class name, as components of asyncapi.yaml."""
        copies = {}
        for file, schema in self.schemas.items():
            parts = {"#": schema} | {f"#/definitions/{key}": part for key, part in schema.get("definitions", {}).items()}
            # Generators name a class for its title; they look for a message's class under the message's own name.
            names = {at: class_name(part.get("title") or f"{file} {at.split('/')[-1]}") for at, part in parts.items()}
            for at, part in parts.items():
                if names[at] in copies:
                    raise ValueError(f"{file}.json: two schemas have the name {names[at]}")
                copies[names[at]] = component(part, names)
        return copies


def component(node, names):
    """A part of a schema, as it stands in asyncapi.yaml."""
    if isinstance(node, list):
        return [component(item, names) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        return {"$ref": f"#/components/schemas/{names.get(node['$ref'], node['$ref'])}"}
    return {key: component(value, names) for key, value in node.items() if key not in ("definitions", "examples")}


def component_references(node):
    return set(re.findall(r"#/components/schemas/(\w+)", json.dumps(node)))


def class_name(text):
    """JournalNote for "Journal note" and for journal-note, as generators have it."""
    return "".join(word[0].upper() + word[1:] for word in re.split(r"[ -]", text))


def problem(validator, value):
    """Why a schema refuses a value, and where in it; None if it accepts the value."""
    errors = list(validator.iter_errors(value))
    if not errors:
        return None
    error = max(errors, key=jsonschema.exceptions.relevance)
    while error.validator in ("oneOf", "anyOf") and error.context:
        # Report the alternative that was probably meant: the one of the same type, or with the fewest errors.
        alternatives = collections.defaultdict(list)
        for cause in error.context:
            alternatives[cause.relative_schema_path[0]].append(cause)
        error = min(alternatives.values(), key=lambda causes: (any_const(causes), len(causes)))
        error = max(error, key=jsonschema.exceptions.relevance)
    place = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in error.absolute_path)
    return f"at {place.lstrip('.') or 'the root'}: {error.message[:300]}"


def any_const(errors):
    return any(error.validator == "const" for error in errors)
