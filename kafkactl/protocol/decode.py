"""The reference decoder: bytes of any message at any version to a value; shape and rules in `codec.py`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kafkactl.protocol.form import TAGS, Form, Message, default_value, least_size_of_one, unsupported
from kafkactl.protocol.primitives import FIXED, MAX_TAG, Reader
from kafkactl.protocol.schema.spec import FieldSpec, MessageSpec

# How the length of a kind is written: (kind, whether compact).
_LENGTHS: dict[tuple[str, bool], Callable[[Reader], int]] = {
    ("string", False): Reader.int16,
    ("bytes", False): Reader.int32,
    ("records", False): Reader.int32,
    ("array", False): Reader.int32,
    **{(kind, True): Reader.compact_length for kind in ("string", "bytes", "records", "array")},
}


def decode_message(
    spec: MessageSpec, version: int, data: bytes, *, file: str | None = None, offset: int = 0, base: int = 0
) -> tuple[Message, int]:
    """Read a message from `data` at `offset`; returns its value and the position after it.

    `base` is the place of `data[0]` in `file`, for errors. Raises DecodeError for anything that is not a message of
    this version; bytes after the message are the caller's.
    """
    reader = Reader(bytes(data), file=file, base=base, position=offset)
    reader.path.append(spec.name)
    if version not in spec.valid_versions:
        raise reader.error(unsupported(spec, version), id="unsupported-message-version")
    value = _read_struct(reader, spec.fields, Form(version, spec.is_flexible(version)))
    return value, reader.position


def _read_struct(reader: Reader, fields: Sequence[FieldSpec], form: Form) -> Message:
    value: Message = {}
    for field in fields:
        if form.has(field) and not form.tags(field):
            reader.path.append(field.name)
            value[field.name] = _read_field(reader, field, form)
            reader.path.pop()
        else:
            value[field.name] = default_value(field)
    if form.flexible:
        _read_tagged_fields(reader, fields, form, value)
    return value


def _read_tagged_fields(reader: Reader, fields: Sequence[FieldSpec], form: Form, value: Message) -> None:
    """Read the section of tagged fields at the end of a struct: count, then tag, size and content of each."""
    defined = {field.tag: field for field in fields if field.tag is not None}
    unknown: dict[int, bytes] = {}
    previous = -1
    count = reader.unsigned_varint()
    reader.check_count(count, 2)
    for _ in range(count):
        previous = tag = _read_tag(reader, previous)
        size = reader.unsigned_varint()
        reader.check_length(size)
        if tag in defined:
            value[defined[tag].name] = _read_tagged_field(reader, defined[tag], form, size)
        else:
            unknown[tag] = reader.raw(size)
    if unknown:
        value[TAGS] = unknown


def _read_tag(reader: Reader, previous: int) -> int:
    start = reader.position
    tag = reader.unsigned_varint()
    if tag > MAX_TAG:
        raise reader.error(f"the tag {tag} is above {MAX_TAG}", id="invalid-tag", position=start)
    if tag <= previous:
        raise reader.error(f"the tag {tag} follows {previous}; tags ascend", id="tags-out-of-order", position=start)
    return tag


def _read_tagged_field(reader: Reader, field: FieldSpec, form: Form, size: int) -> Any:
    """Read one defined tagged field; it must use exactly its size."""
    reader.path.append(field.name)
    if not form.tags(field):
        message = f"the tag {field.tag} does not exist in version {form.version}"
        raise reader.error(message, id="tag-not-in-version")
    outer_end, reader.end = reader.end, reader.position + size
    value = _read_field(reader, field, form)
    if reader.remaining:
        raise reader.error(f"{reader.remaining} bytes of the tagged field are left over", id="tagged-field-size")
    reader.end = outer_end
    reader.path.pop()
    return value


def _read_field(reader: Reader, field: FieldSpec, form: Form) -> Any:
    if field.is_array:
        return _read_array(reader, field, form)
    if field.kind == "struct" and form.allows_null(field):
        return None if reader.int8() < 0 else _read_struct(reader, field.fields, form)
    return _read_one(reader, field, form, nullable=form.allows_null(field))


def _read_array(reader: Reader, field: FieldSpec, form: Form) -> list[Any] | None:
    start = reader.position
    count = _LENGTHS["array", form.compact(field)](reader)
    if _is_null(reader, count, start, nullable=form.allows_null(field)):
        return None
    reader.check_count(count, least_size_of_one(field, form))
    values = []
    for index in range(count):
        reader.path.append(index)
        values.append(_read_one(reader, field, form, nullable=False))
        reader.path.pop()
    return values


def _read_one(reader: Reader, field: FieldSpec, form: Form, *, nullable: bool) -> Any:
    """Return a value of the field's kind: the field's own, or one element of its array."""
    kind = field.kind
    if kind in FIXED:
        return reader.number(kind)
    if kind == "struct":
        return _read_struct(reader, field.fields, form)
    if kind == "bool":
        return reader.boolean()
    if kind == "uuid":
        return reader.uuid()
    return _read_sized(reader, kind, compact=form.compact(field), nullable=nullable)


def _read_sized(reader: Reader, kind: str, *, compact: bool, nullable: bool) -> str | bytes | None:
    start = reader.position
    size = _LENGTHS[kind, compact](reader)
    if _is_null(reader, size, start, nullable=nullable):
        return None
    return reader.text(size) if kind == "string" else reader.sized(size)


def _is_null(reader: Reader, length: int, start: int, *, nullable: bool) -> bool:
    """Return True if a length means null (-1); refuses null if it is not allowed, and other negative lengths."""
    if length >= 0:
        return False
    if length < -1:
        message = f"the length {length}; expected 0 or more, or -1 for null"
        raise reader.error(message, id="invalid-length", position=start)
    if not nullable:
        raise reader.error("null where the version does not allow it", id="null-not-allowed", position=start)
    return True
