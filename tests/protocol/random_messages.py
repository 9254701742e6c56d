"""Values for any message at any version, from a source of choices.

The source is a `random.Random`: a seeded one for the tests that visit every version, hypothesis' own if a failing
value should be shrunk. Edges come often: nulls, empty and long values, the ends of every range, unknown tagged fields.
"""

from __future__ import annotations

import random
from typing import Any

from kafkactl.core.values import Uuid
from kafkactl.protocol.codec import TAGS, default_value
from kafkactl.protocol.form import Form
from kafkactl.protocol.schema.definitions import message, message_names
from kafkactl.protocol.schema.spec import FieldSpec, MessageSpec

RANGES = {
    "int8": (-(2**7), 2**7 - 1),
    "int16": (-(2**15), 2**15 - 1),
    "uint16": (0, 2**16 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "uint32": (0, 2**32 - 1),
    "int64": (-(2**63), 2**63 - 1),
}
TEXTS = ("", "a", "metadata.version", "Grüße 🦫", "\0\n\"'", "x" * 126, "y" * 127, "z" * 300)
FLOATS = (0.0, -0.0, 1.5, -1e300, 5e-324, float("inf"))


def every_version() -> list[tuple[MessageSpec, int]]:
    """Return all messages at all their versions."""
    return [(spec, version) for spec in map(message, message_names()) for version in spec.valid_versions]


def random_message(rng: random.Random, spec: MessageSpec, version: int) -> dict[str, Any]:
    """Return a value that this version can express, with every field of the definition."""
    return _struct(rng, spec.fields, Form(version, spec.is_flexible(version)), depth=0)


def _struct(rng: random.Random, fields: tuple[FieldSpec, ...], form: Form, depth: int) -> dict[str, Any]:
    value = {
        field.name: _field(rng, field, form, depth) if form.has(field) else default_value(field) for field in fields
    }
    if form.flexible and rng.randrange(8) == 0:
        lowest = max((field.tag for field in fields if field.tag is not None), default=-1) + 1
        tags = sorted({lowest + rng.choice((0, 1, 7, 200, 100_000)) for _ in range(rng.randrange(1, 3))})
        value[TAGS] = {tag: rng.randbytes(rng.choice((0, 1, 5, 200))) for tag in tags}
    return value


def _field(rng: random.Random, field: FieldSpec, form: Form, depth: int) -> Any:
    if form.tags(field) and rng.randrange(3) == 0:
        return default_value(field)
    if form.allows_null(field) and rng.randrange(4) == 0:
        return None
    if not field.is_array:
        return _one(rng, field, form, depth)
    lengths = (0, 1, 2, 3) if field.kind == "struct" else (0, 1, 3, 31, 40, 130)
    count = rng.choice(lengths[: max(2, len(lengths) - depth)])
    return [_one(rng, field, form, depth + 1) for _ in range(count)]


def _one(rng: random.Random, field: FieldSpec, form: Form, depth: int) -> Any:
    kind = field.kind
    if kind == "struct":
        return _struct(rng, field.fields, form, depth + 1)
    if kind in RANGES:
        low, high = RANGES[kind]
        return rng.choice((low, high, 0, 1, rng.randint(low, high)))
    if kind == "bool":
        return rng.randrange(2) == 1
    if kind == "float64":
        return rng.choice(FLOATS)
    if kind == "uuid":
        return Uuid(rng.randbytes(16))
    if kind == "string":
        return rng.choice(TEXTS)
    return rng.randbytes(rng.choice((0, 1, 16, 126, 127, 200)))


def mutated(rng: random.Random, data: bytes) -> bytes:
    """Return bytes with a few changes: a byte set, dropped, doubled or added, or an end cut off."""
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        at = rng.randrange(len(changed) + 1)
        match rng.randrange(6):
            case 0 | 1 if at < len(changed):
                changed[at] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
            case 2:
                del changed[at : at + rng.choice((1, 2, 8))]
            case 3:
                changed[at:at] = rng.randbytes(rng.choice((1, 2, 8)))
            case 4:
                changed[at:at] = changed[at : at + rng.choice((1, 4, 16))]
            case 5:
                del changed[at:]
            case _:
                changed.append(rng.randrange(256))
    return bytes(changed)
