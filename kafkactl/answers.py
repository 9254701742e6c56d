"""The JSON of a value, made from the value: what an answer says is written once, as the fields of a class.

A frozen class whose JSON is its fields says so in one line, `to_dict = by_fields`. One whose JSON has other names, or
parts of its fields, lists them: `to_dict = json_of("id", "bytes=found.size", "**result")`. Only what has to be computed
for the JSON alone is a method written by hand.

Conversions are the same everywhere (`plain_values`): enums are their value, tuples lists, values with `to_dict` what
it gives, and values with `to_json`, which are one text in JSON, that text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from types import UnionType
from typing import Any, Final, TypeVar, Union, get_args, get_origin, get_type_hints

from kafkactl.frozen import field_names

T = TypeVar("T")
_PLAIN: Final = frozenset({str, int, float, bool, type(None)})
_PLAIN_MAKERS: Final[set[Callable[[Any], dict[str, Any]]]] = set()
"""The methods made here: what they give is plain already, and is not walked through again."""


def plain_values(value: Any) -> Any:
    """The value in JSON's types. Raises TypeError for a type that has no place in an answer."""
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


def by_fields(self: Any) -> dict[str, Any]:
    """The fields as JSON values, in order."""
    found: dict[str, Any] = {}
    for name in field_names(self):
        value = getattr(self, name)
        found[name] = value if type(value) in _PLAIN else plain_values(value)
    return found


_PLAIN_MAKERS.add(by_fields)


def json_of(*entries: str, kind: str = "") -> Callable[[Any], dict[str, Any]]:
    """A `to_dict` that gives these entries in order; `kind` is the kind of answer that it is (docs/reference/kinds.md).

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
    to_dict.__doc__ = f"The answer `{kind}`." if kind else "The value as JSON values."
    return to_dict


def read_fields(cls: type[T], data: Mapping[str, Any]) -> T:
    """The value of a class whose JSON, as `by_fields` makes it, this is. Other names are passed over.

    The types of fields say how they are read: classes of the same kind, NamedTuples, tuples, enums, values with
    `from_json`, all of them or None; the rest is taken as it is. Raises ValueError for what cannot be the value.
    """
    kinds = get_type_hints(cls)
    try:
        return cls(**{name: _read(kinds[name], value) for name, value in data.items() if name in kinds})
    except TypeError as error:
        raise ValueError(f"this is not a {cls.__name__}: {error}") from error


def _read(kind: Any, value: Any) -> Any:
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        (kind,) = set(arguments) - {type(None)}
        return None if value is None else _read(kind, value)
    if origin is tuple:
        return tuple(_read(arguments[0], item) for item in value)
    if not isinstance(kind, type):
        return value
    if issubclass(kind, Enum):
        return kind(value)
    if hasattr(kind, "from_json"):
        return kind.from_json(value)
    return read_fields(kind, value) if hasattr(kind, "_shape_") or hasattr(kind, "_fields") else value


def _path(entry: str) -> tuple[str, str, list[str]]:
    """The name in JSON, empty where all entries of the value are meant, and the attributes that lead to the value."""
    if entry.startswith("**"):
        return "", entry[2:], []
    name, _, path = entry.partition("=")
    first, *rest = (path or name).split(".")
    return name, first, rest
