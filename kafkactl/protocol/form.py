"""Facts about a message's form that encoders and decoders share: versions, least sizes, defaults.

Rules: the README of Kafka's message definitions and KIP-482.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kafkactl.core.frozen import frozen
from kafkactl.protocol.primitives import FIXED
from kafkactl.protocol.schema.spec import FieldSpec, MessageSpec

Message = dict[str, Any]
TAGS = "_tags"  # where a message keeps the tagged fields that its definition does not know


@frozen(kw_only=False)
class Form:
    """The form that a message takes on the wire: its version, and whether that is flexible."""

    version: int
    flexible: bool

    def has(self, field: FieldSpec) -> bool:
        """Return True if the field exists in this version."""
        return self.version in field.versions

    def tags(self, field: FieldSpec) -> bool:
        """Return True if the field is a tagged one in this version."""
        return self.version in field.tagged_versions

    def allows_null(self, field: FieldSpec) -> bool:
        """Return True if null can be expressed in this version."""
        return self.version in field.nullable_versions

    def compact(self, field: FieldSpec) -> bool:
        """Return True if the field's lengths are compact; one field of the request header differs from its message."""
        if field.flexible_versions is None:
            return self.flexible
        return self.version in field.flexible_versions


def unsupported(spec: MessageSpec, version: int) -> str:
    """Return the message about a version that a message does not have."""
    return f"version {version} is not known; expected {spec.valid_versions}"


def least_size_of_one(field: FieldSpec, form: Form) -> int:
    """Return the minimum size of one value of the field's kind."""
    kind = field.kind
    if kind in FIXED:
        return FIXED[kind].size
    if kind == "struct":
        inner = sum(least_size(part, form) for part in field.fields if form.has(part) and not form.tags(part))
        return inner + form.flexible
    if kind == "bool":
        return 1
    if kind == "uuid":
        return 16
    return least_length_size(kind, compact=form.compact(field))


def least_size(field: FieldSpec, form: Form) -> int:
    """Return the minimum size of an untagged field."""
    if field.is_array:
        return least_length_size("array", compact=form.compact(field))
    if field.kind == "struct" and form.allows_null(field):
        return 1
    return least_size_of_one(field, form)


def least_length_size(kind: str, *, compact: bool) -> int:
    """Return the fewest bytes that the length of a string, byte string or array takes."""
    if compact:
        return 1
    return 2 if kind == "string" else 4


def default_value(field: FieldSpec) -> Any:
    """Return a new value for a field that is not there; arrays and structs are the caller's to change."""
    if field.default != ():
        return field.default
    if field.is_array:
        return []
    return {inner.name: default_value(inner) for inner in field.fields}


def is_default(field: FieldSpec, value: object) -> bool:
    """Return True if a value is the field's default."""
    if field.default != () or value is None:
        return bool(value == field.default)
    if field.is_array:
        return isinstance(value, (list, tuple)) and not value
    if not isinstance(value, Mapping) or value.get(TAGS):
        return False
    inner_fields = {inner.name: inner for inner in field.fields}
    return all(
        name == TAGS or (name in inner_fields and is_default(inner_fields[name], held)) for name, held in value.items()
    )
