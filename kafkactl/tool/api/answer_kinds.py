"""Published JSON Schemas of the answers: schemas/answers/KIND.json, which scripts/make_answers.py writes."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from kafkactl.protocol.schema.source import list_data, read_data

_FOLDER: Final = "answers"
_SUFFIX: Final = ".json"
_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "null": (type(None),),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "string": (str,),
    "array": (list,),
    "object": (dict,),
}


@functools.cache
def answer_kinds() -> tuple[str, ...]:
    """Return the kinds of answers in alphabetical order."""
    names = list_data(_FOLDER, _SUFFIX)
    return tuple(sorted(name.removeprefix(f"{_FOLDER}/").removesuffix(_SUFFIX) for name in names))


def answer_schema(kind: str) -> dict[str, Any]:
    """Return the JSON Schema of a kind of `answer_kinds`."""
    schema: dict[str, Any] = json.loads(read_data(f"{_FOLDER}/{kind}{_SUFFIX}"))
    return schema


def has_published_shape(kind: str, answer: Any) -> bool:
    """Return True if the answer has every required field of its kind, and each field a value of its type.

    Other fields are ignored: a newer kafkactl may have written them.
    """
    schema = answer_schema(kind)
    return _matches(schema, answer, schema.get("$defs", {}))


def _matches(schema: Mapping[str, Any], value: Any, defs: Mapping[str, Any]) -> bool:
    """Compare a value with the keywords that the published schemas use."""
    if "$ref" in schema:
        return _matches(defs[schema["$ref"].rpartition("/")[2]], value, defs)
    if "anyOf" in schema:
        return any(_matches(part, value, defs) for part in schema["anyOf"])
    if "type" in schema and type(value) not in _TYPES[schema["type"]]:
        return False
    if "const" in schema and value != schema["const"]:
        return False
    if "enum" in schema and value not in schema["enum"]:
        return False
    return all(_matches(part, item, defs) for part, item in _parts(schema, value))


def _parts(schema: Mapping[str, Any], value: Any) -> Iterator[tuple[Mapping[str, Any], Any]]:
    """Return each item and field with its schema; a required field that is missing never matches."""
    if isinstance(value, list):
        yield from ((schema.get("items", {}), item) for item in value)
    elif isinstance(value, dict):
        fields = schema.get("properties", {})
        yield from ((_NEVER, None) for name in schema.get("required", ()) if name not in value)
        others = schema.get("additionalProperties", {})
        others = {} if others is True else others
        yield from ((fields.get(name, others), item) for name, item in value.items())


_NEVER: Final[Mapping[str, Any]] = {"anyOf": []}
