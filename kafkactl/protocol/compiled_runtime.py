"""Functions that the generated codecs call in rare cases, outside their fast path.

A generated codec knows only the well-formed. Whatever it does not expect it gives up on, with `IrregularError` or by
stumbling over Python's own errors; `compiled.py` then asks the reference codec, which either reads what is merely
rare or raises the error with its offset and path. So there is one place that words errors.
"""

from __future__ import annotations

import struct
from typing import Any

from kafkactl.core.values import Uuid
from kafkactl.protocol.form import TAGS
from kafkactl.protocol.primitives import MAX_STRING_BYTES, base128


class IrregularError(ValueError):
    """The generated code leaves this message to the reference codec."""


# What generated code may stumble over, all of which sends the message to the reference codec.
GIVES_UP = (
    IrregularError,
    struct.error,
    IndexError,
    KeyError,
    TypeError,
    AttributeError,
    OverflowError,
    UnicodeError,
)


def longer_varint(data: bytes, position: int, first: int) -> tuple[int, int]:
    """Return the rest of an unsigned varint whose `first` byte said that more follow.

    Value and the position after it.
    """
    value = first & 0x7F
    for shift in (7, 14, 21, 28):
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value > 0x7FFFFFFF:
                raise IrregularError
            return value, position
    raise IrregularError


def longer_string_length(data: bytes, position: int, first: int) -> tuple[int, int]:
    """Return the length of a compact string (stored plus one), which has a limit of its own."""
    value, position = longer_varint(data, position, first)
    if value > MAX_STRING_BYTES + 1:
        raise IrregularError
    return value, position


def numbers(code: str, data: bytes, position: int, count: int) -> list[Any]:
    """Read an array of `count` numbers; `code` is the struct module's letter."""
    return list(_array_layout(code, count).unpack_from(data, position))


def packed_numbers(code: str, values: list[Any]) -> bytes:
    """Return the bytes of an array of numbers."""
    return _array_layout(code, len(values)).pack(*values)


def _array_layout(code: str, count: int) -> struct.Struct:
    """Return a layout, kept for short arrays (replicas, isr), made each time for long ones."""
    if count >= _KEPT_LAYOUTS:
        return struct.Struct(f">{count}{code}")
    kept = _LAYOUTS.get((code, count))
    if kept is None:
        kept = _LAYOUTS[code, count] = struct.Struct(f">{count}{code}")
    return kept


_KEPT_LAYOUTS = 32
_LAYOUTS: dict[tuple[str, int], struct.Struct] = {}

new_uuid: Any = Uuid.__new__
set_raw: Any = Uuid.__dict__["raw"].__set__  # past the check of the length, which the slice already has


def uuids(data: bytes, position: int, count: int) -> list[Uuid]:
    """Return an array of uuids, all inside `data`."""
    made = []
    for at in range(position, position + 16 * count, 16):
        uuid = new_uuid(Uuid)
        set_raw(uuid, data[at : at + 16])
        made.append(uuid)
    return made


def text_of(value: object) -> bytes:
    """Return the UTF-8 bytes of a string field."""
    if type(value) is not str:
        raise IrregularError
    content = value.encode()
    if len(content) > MAX_STRING_BYTES:
        raise IrregularError
    return content


def filled(value: object, defaults: dict[str, Any]) -> dict[str, Any]:
    """Return a struct's value with its missing fields added.

    Anything else that is unusual goes to the reference codec.
    """
    if type(value) is not dict or value.get(TAGS):
        raise IrregularError
    whole = {**defaults, **value}
    whole.pop(TAGS, None)
    if len(whole) != len(defaults):
        raise IrregularError
    return whole


RUNTIME: dict[str, Any] = {
    "IrregularError": IrregularError,
    "Uuid": Uuid,
    "base128": base128,
    "filled": filled,
    "longer_string_length": longer_string_length,
    "longer_varint": longer_varint,
    "new_uuid": new_uuid,
    "numbers": numbers,
    "packed_numbers": packed_numbers,
    "set_raw": set_raw,
    "text_of": text_of,
    "uuids": uuids,
}
