"""JSON as Kafka's ZooKeeper code reads it: Jackson's rules, and types that are not bent.

Differences from Python's own: an empty text is "missing" and no error, what follows the first value is ignored,
NaN and Infinity are refused, an Int is a whole number of 32 bits written without a point. Sources: core
`kafka/utils/Json.scala`, `kafka/utils/json/DecodeJson.scala`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Final, NoReturn, TypeVar

Value = TypeVar("Value")

INT_BITS: Final = 32
LONG_BITS: Final = 64
_INTS: Final = 1 << INT_BITS - 1
_MAX_DEPTH: Final = 1000  # Jackson's StreamReadConstraints


class BrokenError(ValueError):
    """A znode that Kafka cannot read. The reason repeats nothing that could be a secret."""


class NotJsonError(BrokenError):
    """Bytes that are not JSON: Kafka takes some kinds of znode with such data as absent, without a word."""


class _Missing:
    """Value that Jackson reads from an empty text."""


MISSING: Final = _Missing()


def parse_json(data: bytes | None) -> object:
    """Return the first JSON value in `data`, MISSING for nothing but blanks.

    Raises NotJsonError for what is not JSON, BrokenError for null data (Kafka throws there).
    """
    if data is None:
        raise BrokenError("it has null data")
    try:
        text = data.decode(json.detect_encoding(data)).removeprefix("\ufeff").lstrip(" \t\r\n")
        if not text:
            return MISSING
        value, _ = _DECODER.raw_decode(text)
    except (ValueError, RecursionError):
        raise NotJsonError("it is not JSON") from None
    # A value is never deeper than it has brackets; few znodes have so many.
    if text.count("[") + text.count("{") > _MAX_DEPTH and _depth_over(value):
        raise NotJsonError(f"its JSON is nested deeper than {_MAX_DEPTH}")
    return value


def _refuse_constant(_name: str) -> NoReturn:
    raise ValueError("not in JSON")


_DECODER: Final = json.JSONDecoder(parse_constant=_refuse_constant)


def _depth_over(value: object) -> bool:
    level = [value]
    for _ in range(_MAX_DEPTH):
        level = [child for value in level for child in _inside(value)]
        if not level:
            return False
    return True


def _inside(value: object) -> list[object]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def as_object(value: object, what: str = "it") -> Mapping[str, object]:
    """Return a JSON object. Raises BrokenError for anything else."""
    if not isinstance(value, dict):
        raise BrokenError(f"{what} is not a JSON object")
    return value


def as_list(value: object, what: str) -> list[object]:
    """Return a JSON array. Raises BrokenError for anything else."""
    if not isinstance(value, list):
        raise BrokenError(f"{what} is not a JSON array")
    return value


def as_text(value: object, what: str) -> str:
    """Return a JSON string. Raises BrokenError for anything else."""
    if not isinstance(value, str):
        raise BrokenError(f"{what} is not a string")
    return value


def as_int(value: object, what: str) -> int:
    """Return a whole number of 32 bits. Raises BrokenError for anything else."""
    return _whole(value, what, INT_BITS)


def as_long(value: object, what: str) -> int:
    """Return a whole number of 64 bits. Raises BrokenError for anything else."""
    return _whole(value, what, LONG_BITS)


def as_ints(value: object, what: str) -> tuple[int, ...]:
    """Return an array of whole numbers of 32 bits. Raises BrokenError for anything else."""
    found = as_list(value, what)
    return tuple([number if type(number) is int and -_INTS <= number < _INTS else _no_int(what) for number in found])


def _no_int(what: str) -> NoReturn:
    raise BrokenError(f"an entry of {what} is not a {INT_BITS}-bit whole number")


def _whole(value: object, what: str, bits: int) -> int:
    if type(value) is not int or not -(1 << bits - 1) <= value < 1 << bits - 1:
        raise BrokenError(f"{what} is not a {bits}-bit whole number")
    return value


def needed(fields: Mapping[str, object], name: str, read: Callable[[object, str], Value]) -> Value:
    """Return a field. Raises BrokenError if it is missing."""
    if name not in fields:
        raise BrokenError(f"{name} is missing")
    return read(fields[name], name)


def given(fields: Mapping[str, object], name: str, read: Callable[[object, str], Value]) -> Value | None:
    """Return a field or None; one with a null is broken, as in Kafka."""
    return read(fields[name], name) if name in fields else None
