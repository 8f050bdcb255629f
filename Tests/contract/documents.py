"""The documents that describe the messages: docs/asyncapi.yaml and docs/schemas."""

import collections
import json
import pathlib

import jsonschema
import referencing
import referencing.jsonschema
import yaml

SCHEMAS = ("order", "restock", "answer", "journal-note", "stock", "menu", "dead-letter-headers")


class Contract:
    """The documents, and validators for their parts."""

    def __init__(self, docs):
        self.docs = docs
        self.registry = referencing.Registry(retrieve=self.read)
        self.asyncapi = self.read((docs / "asyncapi.yaml").as_uri()).contents
        self.schemas = {name: self.read(self.uri(name)).contents for name in SCHEMAS}
        self.validators = {name: self.validator(self.uri(name)) for name in SCHEMAS}

    def uri(self, schema):
        return (self.docs / "schemas" / f"{schema}.json").as_uri()

    def read(self, uri):
        path = pathlib.Path(uri.removeprefix("file://"))
        contents = yaml.safe_load(path.read_bytes()) if path.suffix == ".yaml" else json.loads(path.read_bytes())
        return referencing.Resource(contents, referencing.jsonschema.DRAFT7)

    def validator(self, uri):
        return jsonschema.Draft7Validator({"$ref": uri}, registry=self.registry)

    def resolve(self, reference, base):
        """The target of a reference in one of the documents."""
        return self.registry.resolver(base_uri=base).lookup(reference).contents


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
