"""The JSON of a value, made from the value: what an answer reports is written once, as the fields of a class.

A frozen class whose JSON is its fields says so in one line, `to_dict = by_fields`. One whose JSON has other names, or
parts of its fields, lists them: `to_dict = json_of("id", "bytes=found.size", "**result")`. Only what has to be computed
for the JSON alone is a method written by hand.

Conversions are the same everywhere (`plain_values`): enums are their value, tuples lists, values with `to_dict` what
it gives, and values with `to_json`, which are one text in JSON, that text. `read_fields` reads what was saved.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from enum import Enum
from types import NoneType, UnionType
from typing import Any, Final, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from kafkactl.core.errors import KafkactlError
from kafkactl.core.frozen import field_names

_PLAIN: Final = frozenset({str, int, float, bool, NoneType})
Read = TypeVar("Read")
_PLAIN_MAKERS: Final[set[Callable[[Any], dict[str, Any]]]] = set()
"""The methods made here: what they give is plain already, and is not walked through again."""


def plain_values(value: Any) -> Any:
    """Return the value in JSON's types. Raises TypeError for a type that has no place in an answer."""
    if type(value) in _PLAIN:
        return value
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, list | tuple):
        return [item if type(item) in _PLAIN else plain_values(item) for item in value]
    if type(value) is not dict and hasattr(value, "to_dict"):
        is_plain = type(value).to_dict in _PLAIN_MAKERS
        value = value.to_dict()
        if is_plain:
            return value
    if isinstance(value, Mapping):
        return {str(key): item if type(item) in _PLAIN else plain_values(item) for key, item in value.items()}
    if hasattr(value, "to_json"):
        return value.to_json()
    raise TypeError(f"{type(value).__name__} has no place in an answer")


def plain_dict(answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return an answer that a method has put together, a typed dictionary, in JSON's types."""
    found: dict[str, Any] = plain_values(answer)
    return found


def by_fields(self: Any) -> dict[str, Any]:
    """Return the fields as JSON values, in order."""
    found: dict[str, Any] = {}
    for name in field_names(self):
        value = getattr(self, name)
        found[name] = value if type(value) in _PLAIN else plain_values(value)
    return found


_PLAIN_MAKERS.add(by_fields)


def json_of(*entries: str, kind: str = "") -> Callable[[Any], dict[str, Any]]:
    """Return a `to_dict` that gives these entries in order; `kind` is the kind of answer that it is
    (docs/reference/kinds.md).

    `name` is a field or property, `name=path` one of another name, or a part of it (`bytes=found.size`, which is None
    where `found` is), and `**name` all entries of a value that has `to_dict` itself.
    """
    paths = [_path(entry) for entry in entries]

    def to_dict(self: Any) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, first, rest in paths:
            value = getattr(self, first)
            for step in rest:
                value = None if value is None else getattr(value, step)
            if name:
                found[name] = value if type(value) in _PLAIN else plain_values(value)
            else:
                found |= plain_values(value)
        return found

    _PLAIN_MAKERS.add(to_dict)
    vars(to_dict)["paths"] = paths  # scripts/answers/schema.py publishes them
    to_dict.__doc__ = f"The answer `{kind}`." if kind else "The value as JSON values."
    return to_dict


def _path(entry: str) -> tuple[str, str, list[str]]:
    """Return the name in JSON (empty for all entries of the value), and the attributes that lead to the value."""
    if entry.startswith("**"):
        return "", entry[2:], []
    name, _, path = entry.partition("=")
    first, *rest = (path or name).split(".")
    return name, first, rest


def read_fields(cls: type[Read], data: Mapping[str, Any]) -> Read:
    """Return the value of a frozen class, or a named tuple, of which `by_fields` gave this JSON: read by its type
    hints.

    Entries that are not fields are ignored, and a field without an entry has its default. Raises ValueError for JSON
    of another shape.
    """
    try:
        return cls(**{name: _read(kind, data[name]) for name, kind in _kinds(cast("Any", cls)).items() if name in data})
    except (TypeError, KeyError, KafkactlError) as error:
        raise ValueError(f"{cls.__name__}: {error}") from error


@functools.cache
def _kinds(cls: Any) -> dict[str, Any]:
    """Return the types of the fields."""
    hints = get_type_hints(cls)
    return {name: hints[name] for name in (cls._fields if issubclass(cls, tuple) else field_names(cls))}


def _read(kind: Any, value: Any) -> Any:
    """Return a value of this type from its JSON; of a union the first type, if the value is not None."""
    if kind is Any:
        return value
    if (origin := get_origin(kind)) is not None:
        return _read_parts(origin, get_args(kind), value)
    if hasattr(kind, "from_json"):
        return kind.from_json(value)
    if isinstance(value, Mapping):
        return read_fields(kind, value)
    if issubclass(kind, Enum) or type(value) is kind:
        return kind(value)
    raise ValueError(f"{value!r} is not of type {kind.__name__}")


def _read_parts(origin: Any, parts: tuple[Any, ...], value: Any) -> Any:
    """Return an optional value, one of several words, a tuple or a mapping from its JSON."""
    if origin is Literal and value in parts:
        return parts[parts.index(value)]
    if origin in (Union, UnionType):
        return None if value is None and NoneType in parts else _read(parts[0], value)
    if origin is tuple and isinstance(value, list):
        kinds = parts[:1] * len(value) if parts[1:] == (...,) else parts
        return tuple(_read(kind, item) for kind, item in zip(kinds, value, strict=True))
    if origin is not tuple and isinstance(value, Mapping):
        return {(int(key) if parts[0] is int else key): _read(parts[1], item) for key, item in value.items()}
    raise ValueError(f"{value!r} is not of type {getattr(origin, '__name__', origin)}")
