"""Default value of a field that a message lacks.

Source: `generator/.../FieldSpec.java` (`fieldDefault`): a default is a text (or a JSON number or truth value); `null`
means null; without one a number is 0, a text empty, a uuid zero, an array empty, a struct made of its fields'
defaults, and records are null.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from kafkactl.core.values import ZERO_UUID, Uuid
from kafkactl.protocol.schema.dialect import invalid
from kafkactl.protocol.schema.spec import Versions

_INTEGER = r"-?(?:0x[0-9a-fA-F]+|[0-9]+)"
_INTEGERS: dict[str, tuple[int, int]] = {
    "int8": (-(2**7), 2**7 - 1),
    "int16": (-(2**15), 2**15 - 1),
    "uint16": (0, 2**16 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "uint32": (0, 2**32 - 1),
    "int64": (-(2**63), 2**63 - 1),
}
PRIMITIVES = frozenset(_INTEGERS) | {"bool", "float64", "uuid", "string", "bytes", "records"}
NULLABLE = frozenset({"string", "bytes", "records", "struct"})  # and every array


def parse_default(
    value: object, *, kind: str, is_array: bool, nullable: Versions, versions: Versions, where: str
) -> object:
    """Return the default of a field as a value (see `FieldSpec.default`); `value` is what the definition states, "" for
    nothing.

    Raises SchemaError `invalid-definition` for a default that its type cannot hold, and for null in a field that
    is not nullable in all its versions.
    """
    if value == "null" or (kind == "records" and value == ""):
        if value == "null" and nullable.intersect(versions) != versions:
            raise invalid(f"{where}: the default is null, but the field is not nullable in all its versions")
        return None
    if is_array or kind == "struct":
        if value != "":
            raise invalid(f"{where}: an array or struct has no default but null and empty, not {value!r}")
        return ()
    return _PARSERS[kind](value, kind, where)


def _integer(value: object, kind: str, where: str) -> int:
    low, high = _INTEGERS[kind]
    text = "0" if value == "" else str(value)
    if isinstance(value, bool) or not (_is_digits(text) or re.fullmatch(_INTEGER, text)):
        raise invalid(f"{where}: the default {value!r} is not an integer")
    number = int(text, 16) if "x" in text else int(text)
    if not low <= number <= high:
        raise invalid(f"{where}: the default {value!r} does not fit an {kind}")
    return number


def _is_digits(text: str) -> bool:
    return text.isascii() and text.isdigit()


def _truth(value: object, kind: str, where: str) -> bool:
    known: Mapping[object, bool] = {"": False, "false": False, "true": True}
    found = value if isinstance(value, bool) else known.get(value)
    if found is None:
        raise invalid(f"{where}: the default {value!r} is not a {kind}")
    return found


def _float(value: object, kind: str, where: str) -> float:
    try:
        return 0.0 if value == "" else float(str(value))
    except ValueError as error:
        raise invalid(f"{where}: the default {value!r} is not a {kind}") from error


def _text(value: object, kind: str, where: str) -> str:
    if not isinstance(value, str):
        raise invalid(f"{where}: the default {value!r} is not a {kind}")
    return value


def _bytes(value: object, kind: str, where: str) -> bytes:
    if value != "":
        raise invalid(f"{where}: {kind} have no default but null and empty, not {value!r}")
    return b""


def _uuid(value: object, kind: str, where: str) -> Uuid:
    from kafkactl.core.errors import InputError

    try:
        return ZERO_UUID if value == "" else Uuid.parse(str(value))
    except InputError as error:
        raise invalid(f"{where}: the default {value!r} is not a {kind}") from error


_PARSERS: dict[str, Callable[[object, str, str], object]] = {
    **dict.fromkeys(_INTEGERS, _integer),
    "bool": _truth,
    "float64": _float,
    "string": _text,
    "bytes": _bytes,
    "records": _bytes,
    "uuid": _uuid,
}
