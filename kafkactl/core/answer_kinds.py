"""Published JSON Schemas of the answers: schemas/answers/KIND.json, which scripts/make_answers.py writes."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Union

from kafkactl.core.data_files import list_data, read_data

if TYPE_CHECKING:
    from pydantic import TypeAdapter

_FOLDER: Final = "answers"
_SUFFIX: Final = ".json"
_SIMPLE: Final[Mapping[str, Any]] = {"null": None, "boolean": bool, "integer": int, "number": float, "string": str}


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
    from pydantic import ValidationError

    try:
        _adapter(kind).validate_python(answer, strict=True)
    except ValidationError:
        return False
    return True


@functools.cache
def _adapter(kind: str) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter

    schema = answer_schema(kind)
    return TypeAdapter(_type_of(kind, schema, schema.get("$defs", {}), {}))


def _type_of(name: str, schema: Mapping[str, Any], defs: Mapping[str, Any], types: dict[str, Any]) -> Any:
    """Return the type that a schema describes; `types` are those of the `$defs` that were made already."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        if name not in types:
            types[name] = _type_of(name, defs[name], defs, types)
        return types[name]
    if "anyOf" in schema:
        return Union[tuple(_type_of(name, part, defs, types) for part in schema["anyOf"])]  # noqa: UP007
    if "const" in schema or "enum" in schema:
        return Union[tuple(_constant(value) for value in schema.get("enum", [schema.get("const")]))]  # noqa: UP007
    match schema.get("type"):
        case "object":
            return _object_type(name, schema, defs, types)
        case "array":
            return list[_type_of(name, schema["items"], defs, types)]  # type: ignore[misc]
        case simple:
            return Any if simple is None else _SIMPLE[simple]


def _constant(value: Any) -> Any:
    """Return the type of one value; `Literal[1]` would accept True."""
    from pydantic import Field

    return Annotated[int, Field(ge=value, le=value)] if type(value) is int else Literal[value]


def _object_type(name: str, schema: Mapping[str, Any], defs: Mapping[str, Any], types: dict[str, Any]) -> Any:
    from typing_extensions import NotRequired, TypedDict  # noqa: UP035 # pydantic refuses that of Python 3.11

    fields = {key: _type_of(key, part, defs, types) for key, part in schema.get("properties", {}).items()}
    if not fields:
        others = schema.get("additionalProperties", True)
        return dict[str, Any] if others is True else dict[str, _type_of(name, others, defs, types)]  # type: ignore[misc]
    required = schema.get("required", ())
    return TypedDict(name, {key: part if key in required else NotRequired[part] for key, part in fields.items()})  # type: ignore[operator]
