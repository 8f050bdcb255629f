"""Python classes that public generators make of the documents, and what they keep of messages."""

import importlib
import json
import pathlib
import subprocess
import sys
import tempfile

from pydantic import ValidationError

from documents import class_name


class GeneratedClasses:
    """What datamodel-code-generator makes of docs/schemas, and asyncapi-python of docs/asyncapi.yaml."""

    def __init__(self, docs, schemas):
        with tempfile.TemporaryDirectory() as folder:
            models = ["--input-file-type", "jsonschema", "--output-model-type", "pydantic_v2.BaseModel", "--formatters", "builtin"]
            run("datamodel-codegen", "--input", docs / "schemas", "--output", f"{folder}/generated_models", *models)
            run("asyncapi-python-codegen", docs / "asyncapi.yaml", f"{folder}/generated_application")
            sys.path.insert(0, folder)
            self.schemas = {name: importlib.import_module(f"generated_models.{name.replace('-', '_')}") for name in schemas}
            self.messages = importlib.import_module("generated_application.messages.json")
            sys.path.remove(folder)
        self.tried = set()

    def of(self, schema, value):
        """The classes for a message, with their generators."""
        yield "datamodel-code-generator", getattr(self.schemas[schema], class_name(schema))
        # A menu is not a message.
        if schema != "menu":
            yield "asyncapi-python", getattr(self.messages, class_name(value["type"] if schema == "answer" else schema))

    def check(self, schema, value):
        """Each class takes a valid message, and gives it back unchanged; a class that takes anything knows no members."""
        # Python reads 1e400 as Infinity, which JSON has no number for.
        value = json.loads(json.dumps(value), parse_constant=lambda _: None)
        for generator, model in self.of(schema, value):
            if model not in self.tried and through(model, {}) is not None:
                yield f"{schema}.json: the class {model.__name__} of {generator} takes anything"
            self.tried.add(model)
            kept = through(model, value)
            # As text: in Python, 1 and true are equal.
            if json.dumps(kept, sort_keys=True) != json.dumps(value, sort_keys=True):
                result = "refuses" if kept is None else f"makes {json.dumps(kept)[:1000]} of"
                yield f"{schema}.json: the class {model.__name__} of {generator} {result} {json.dumps(value)[:1000]}"


def through(model, value):
    """A message that a class has read and written; None if it refuses the message."""
    try:
        message = model.model_validate_json(json.dumps(value))
    except ValidationError:
        return None
    return json.loads(message.model_dump_json(by_alias=True, exclude_unset=True))


def run(program, *arguments):
    done = subprocess.run([pathlib.Path(sys.executable).with_name(program), *arguments], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{program} failed:\n{done.stdout}{done.stderr}")
