"""The reference encoder: a value to the bytes of its message at a version; shape and rules in `codec.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kafkactl.core.errors import EncodeError
from kafkactl.core.values import Uuid
from kafkactl.protocol.form import TAGS, Form, default_value, is_default, unsupported
from kafkactl.protocol.primitives import FIXED, MAX_INT32, MAX_STRING_BYTES, MAX_TAG, Writer
from kafkactl.protocol.schema.spec import FieldSpec, MessageSpec


def encode_message(spec: MessageSpec, version: int, value: Mapping[str, Any]) -> bytes:
    """Return the bytes of a message at a version.

    Raises EncodeError if a value does not fit its field, or cannot be expressed in this version.
    """
    if version not in spec.valid_versions:
        raise EncodeError(unsupported(spec, version), id="unsupported-message-version", path=spec.name)
    writer = Writer()
    writer.path.append(spec.name)
    _write_struct(writer, spec.fields, Form(version, spec.is_flexible(version)), value)
    return writer.to_bytes()


def _write_struct(writer: Writer, fields: Sequence[FieldSpec], form: Form, value: object) -> None:
    if not isinstance(value, Mapping):
        raise _wrong_type(writer, value, "a mapping of field names to values")
    _check_names(writer, fields, value)
    for field in fields:
        writer.path.append(field.name)
        held = value[field.name] if field.name in value else default_value(field)
        if not form.has(field):
            _check_absent(writer, field, form, held)
        elif not form.tags(field):
            _write_field(writer, field, form, held)
        writer.path.pop()
    if form.flexible:
        _write_tagged_fields(writer, fields, form, value)
    elif value.get(TAGS):
        raise writer.error(f"version {form.version} has no tagged fields", id="tags-not-in-version")


def _check_names(writer: Writer, fields: Sequence[FieldSpec], value: Mapping[str, Any]) -> None:
    unknown = value.keys() - {field.name for field in fields} - {TAGS}
    if unknown:
        names = ", ".join(sorted(map(str, unknown)))
        known = ", ".join(field.name for field in fields)
        raise writer.error(f"no such field: {names}; there are {known or 'none'}", id="no-such-field")


def _check_absent(writer: Writer, field: FieldSpec, form: Form, value: object) -> None:
    if not field.ignorable and not is_default(field, value):
        message = f"version {form.version} cannot carry this field, and it does not hold its default"
        raise writer.error(message, id="field-not-in-version")


def _write_tagged_fields(writer: Writer, fields: Sequence[FieldSpec], form: Form, value: Mapping[str, Any]) -> None:
    contents = dict(_unknown_tagged_fields(writer, fields, value))
    for field in fields:
        if field.tag is not None and form.tags(field):
            held = value[field.name] if field.name in value else default_value(field)
            if not is_default(field, held):
                contents[field.tag] = _tagged_content(writer, field, form, held)
    writer.unsigned_varint(len(contents))
    for tag, content in sorted(contents.items()):
        writer.unsigned_varint(tag)
        writer.unsigned_varint(len(content))
        writer.raw(content)


def _unknown_tagged_fields(
    writer: Writer, fields: Sequence[FieldSpec], value: Mapping[str, Any]
) -> Mapping[int, bytes]:
    unknown = value.get(TAGS) or {}
    if not isinstance(unknown, Mapping):
        raise _wrong_type(writer, unknown, f"a mapping of tags to bytes under {TAGS}")
    defined = {field.tag for field in fields if field.tag is not None}
    for tag, content in unknown.items():
        if not isinstance(tag, int) or not 0 <= tag <= MAX_TAG:
            raise writer.error(f"the tag {tag!r} is not a number from 0 to {MAX_TAG}", id="invalid-tag")
        if tag in defined:
            raise writer.error(f"the tag {tag} belongs to a field of the definition", id="tag-is-defined")
        if not isinstance(content, bytes):
            raise _wrong_type(writer, content, "bytes")
    return unknown


def _tagged_content(writer: Writer, field: FieldSpec, form: Form, value: object) -> bytes:
    inner = Writer()
    inner.path = [*writer.path, field.name]
    _write_field(inner, field, form, value)
    return inner.to_bytes()


def _write_field(writer: Writer, field: FieldSpec, form: Form, value: object) -> None:
    if field.is_array:
        _write_array(writer, field, form, value)
    elif field.kind == "struct" and form.allows_null(field):
        writer.number("int8", -1 if value is None else 1)
        if value is not None:
            _write_struct(writer, field.fields, form, value)
    else:
        _write_one(writer, field, form, value, nullable=form.allows_null(field))


def _write_array(writer: Writer, field: FieldSpec, form: Form, value: object) -> None:
    length_kind = None if form.compact(field) else "int32"
    if value is None:
        _write_null(writer, length_kind, nullable=form.allows_null(field))
        return
    if not isinstance(value, (list, tuple)):
        raise _wrong_type(writer, value, "a list")
    _write_length(writer, len(value), length_kind)
    for index, element in enumerate(value):
        writer.path.append(index)
        _write_one(writer, field, form, element, nullable=False)
        writer.path.pop()


def _write_one(writer: Writer, field: FieldSpec, form: Form, value: object, *, nullable: bool) -> None:
    kind = field.kind
    if kind in FIXED:
        writer.number(kind, value)
    elif kind == "struct":
        _write_struct(writer, field.fields, form, value)
    elif kind == "bool":
        if not isinstance(value, bool):
            raise _wrong_type(writer, value, "True or False")
        writer.number("int8", int(value))
    elif kind == "uuid":
        if not isinstance(value, Uuid):
            raise _wrong_type(writer, value, "a Uuid")
        writer.raw(value.raw)
    else:
        _write_sized(writer, kind, value, compact=form.compact(field), nullable=nullable)


def _write_sized(writer: Writer, kind: str, value: object, *, compact: bool, nullable: bool) -> None:
    length_kind = None if compact else "int16" if kind == "string" else "int32"
    if value is None:
        _write_null(writer, length_kind, nullable=nullable)
        return
    content = _text(writer, value) if kind == "string" else _byte_string(writer, value)
    _write_length(writer, len(content), length_kind)
    writer.raw(content)


def _text(writer: Writer, value: object) -> bytes:
    if not isinstance(value, str):
        raise _wrong_type(writer, value, "a text")
    try:
        content = value.encode("utf-8")
    except UnicodeEncodeError as error:
        raise writer.error(f"not UTF-8: {error.reason}", id="invalid-utf8") from error
    if len(content) > MAX_STRING_BYTES:
        message = f"a string of {len(content)} bytes; at most {MAX_STRING_BYTES} are allowed"
        raise writer.error(message, id="string-too-long")
    return content


def _byte_string(writer: Writer, value: object) -> bytes:
    if not isinstance(value, (bytes, bytearray, memoryview)):
        raise _wrong_type(writer, value, "bytes")
    return bytes(value)


def _write_length(writer: Writer, length: int, length_kind: str | None) -> None:
    """Write a length, compact if `length_kind` is None."""
    if length >= MAX_INT32:
        raise writer.error(f"a length of {length}; at most {MAX_INT32 - 1} is allowed", id="value-out-of-range")
    if length_kind is None:
        writer.unsigned_varint(length + 1)
    else:
        writer.number(length_kind, length)


def _write_null(writer: Writer, length_kind: str | None, *, nullable: bool) -> None:
    if not nullable:
        raise writer.error("null where the version does not allow it", id="null-not-allowed")
    if length_kind is None:
        writer.unsigned_varint(0)
    else:
        writer.number(length_kind, -1)


def _wrong_type(writer: Writer, value: object, expected: str) -> EncodeError:
    return writer.error(f"{type(value).__name__} found, {expected} expected", id="value-of-wrong-type")
