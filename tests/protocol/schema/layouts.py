"""Layout of a message on the wire at one version: its fields, with everything that decides their bytes.

Two definitions may be written differently and mean the same; they do when their layouts are equal at every version.
"""

from __future__ import annotations

from kafkactl.core.frozen import frozen
from kafkactl.protocol.schema.spec import FieldSpec, MessageSpec


@frozen
class FieldLayout:
    """Field at one version. `tag` is None for a field in its place; `flexible` False if the field's own rule
    (RequestHeader's ClientId) takes it out of the message's flexible form."""

    name: str
    kind: str
    is_array: bool
    type_name: str
    nullable: bool
    tag: int | None
    default: object
    flexible: bool
    ignorable: bool
    map_key: bool
    entity_type: str | None
    fields: tuple[FieldLayout, ...]


@frozen
class MessageLayout:
    """Message at one version."""

    flexible: bool
    fields: tuple[FieldLayout, ...]


def layout_at(spec: MessageSpec, version: int) -> MessageLayout:
    """Return the layout of a message at a version, valid or not."""
    flexible = spec.is_flexible(version)
    return MessageLayout(flexible=flexible, fields=_fields(spec.fields, version, flexible))


def _fields(fields: tuple[FieldSpec, ...], version: int, flexible: bool) -> tuple[FieldLayout, ...]:
    return tuple(_field(field, version, flexible) for field in fields if version in field.versions)


def _field(field: FieldSpec, version: int, flexible: bool) -> FieldLayout:
    own = flexible if field.flexible_versions is None else version in field.flexible_versions
    return FieldLayout(
        name=field.name,
        kind=field.kind,
        is_array=field.is_array,
        type_name=field.type_name,
        nullable=version in field.nullable_versions,
        tag=field.tag if version in field.tagged_versions else None,
        default=field.default,
        flexible=own,
        ignorable=field.ignorable,
        map_key=field.map_key,
        entity_type=field.entity_type,
        fields=_fields(field.fields, version, flexible),
    )
