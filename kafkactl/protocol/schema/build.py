"""Conversion of a definition, as plain data, to a checked `MessageSpec`.

The rules guarded here are those of Kafka's own generator (`generator/.../MessageSpec.java`, `StructSpec.java`,
`FieldSpec.java`): what they let through has one meaning, and the codecs may rely on it. Broken, a definition could
be read in two ways, or its tags could collide on the wire.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kafkactl.core.frozen import frozen
from kafkactl.protocol.schema.defaults import NULLABLE, PRIMITIVES, parse_default
from kafkactl.protocol.schema.dialect import invalid, parse_versions
from kafkactl.protocol.schema.spec import FieldSpec, MessageSpec, Versions

KINDS = frozenset({"request", "response", "header", "metadata", "data", "coordinator-key", "coordinator-value"})
_MESSAGE_KEYS = frozenset(
    {"apiKey", "type", "listeners", "name", "validVersions", "deprecatedVersions", "flexibleVersions", "about"}
    | {"latestVersionUnstable", "fields", "commonStructs"}
)
_FIELD_KEYS = frozenset(
    {"name", "type", "versions", "nullableVersions", "taggedVersions", "tag", "default", "ignorable", "mapKey"}
    | {"entityType", "flexibleVersions", "zeroCopy", "about", "fields"}
)
_STRUCT_KEYS = frozenset({"name", "versions", "fields", "about"})
_OPEN = Versions(0, Versions.OPEN_END)


@frozen(kw_only=False)
class _Context:
    """Context of a field: the message's flexible versions, its common structs, and the names of open structs."""

    flexible: Versions
    common: Mapping[str, Mapping[str, Any]]
    open_structs: tuple[str, ...]

    def inside(self, struct: str) -> _Context:
        return _Context(self.flexible, self.common, (*self.open_structs, struct))


def build_message(definition: Mapping[str, Any]) -> MessageSpec:
    """Return the message that a definition defines. Raises SchemaError `invalid-definition` naming the field path."""
    name = _name(definition, "a message")
    _only(definition, _MESSAGE_KEYS, name)
    kind = definition.get("type")
    if kind not in KINDS:
        raise invalid(f"{name}: unknown message type {kind!r}; expected one of {', '.join(sorted(KINDS))}")
    valid = parse_versions(definition.get("validVersions"), f"{name}.validVersions")
    flexible = _flexible_versions(definition, name, valid)
    context = _Context(flexible, _common_structs(definition, name), ())
    return MessageSpec(
        name=name,
        kind=kind,
        api_key=_api_key(definition, name, kind),
        valid_versions=valid,
        flexible_versions=flexible,
        latest_version_unstable=_flag(definition, "latestVersionUnstable", name),
        fields=_fields(definition.get("fields", []), context, within=_OPEN, where=name),
        listeners=tuple(definition.get("listeners", ())),
        deprecated_versions=parse_versions(definition.get("deprecatedVersions", "none"), f"{name}.deprecatedVersions"),
        about=definition.get("about", ""),
    )


def _flexible_versions(definition: Mapping[str, Any], name: str, valid: Versions) -> Versions:
    flexible = parse_versions(definition.get("flexibleVersions", None if valid else "none"), f"{name}.flexibleVersions")
    if flexible and flexible.highest != Versions.OPEN_END:
        raise invalid(f"{name}.flexibleVersions: {flexible} has an end; expected N+ or none")
    return flexible


def _api_key(definition: Mapping[str, Any], name: str, kind: str) -> int | None:
    api_key = definition.get("apiKey")
    if kind in {"request", "response", "metadata"} and (type(api_key) is not int or api_key < 0):
        raise invalid(f"{name}: a {kind} needs an apiKey, found {api_key!r}")
    if kind in {"header", "data"} and api_key is not None:
        raise invalid(f"{name}: a {kind} has no apiKey, found {api_key!r}")
    return api_key


def _common_structs(definition: Mapping[str, Any], name: str) -> Mapping[str, Mapping[str, Any]]:
    structs: dict[str, Mapping[str, Any]] = {}
    for struct in definition.get("commonStructs", []):
        struct_name = _name(struct, f"{name}.commonStructs")
        _only(struct, _STRUCT_KEYS, f"{name}.commonStructs.{struct_name}")
        if struct_name in structs:
            raise invalid(f"{name}.commonStructs: {struct_name} is defined twice")
        structs[struct_name] = struct
    return structs


def _fields(
    definitions: Sequence[Mapping[str, Any]], context: _Context, *, within: Versions, where: str
) -> tuple[FieldSpec, ...]:
    fields = tuple(_field(definition, context, within=within, where=where) for definition in definitions)
    _check_names(fields, where)
    _check_tags(fields, where)
    return fields


def _field(definition: Mapping[str, Any], context: _Context, *, within: Versions, where: str) -> FieldSpec:
    where = f"{where}.{_name(definition, where)}"
    _only(definition, _FIELD_KEYS, where)
    tagged = parse_versions(definition.get("taggedVersions", "none"), f"{where}.taggedVersions")
    declared = parse_versions(definition.get("versions", str(tagged)), f"{where}.versions")
    versions = declared.intersect(within)
    kind, is_array, type_name = _type(definition, context, where)
    nullable = parse_versions(definition.get("nullableVersions", "none"), f"{where}.nullableVersions")
    if nullable and not is_array and kind not in NULLABLE:
        raise invalid(f"{where}: an {kind} cannot be null")
    override = definition.get("flexibleVersions")
    return FieldSpec(
        name=definition["name"],
        kind=kind,
        is_array=is_array,
        type_name=type_name,
        versions=versions,
        nullable_versions=nullable.intersect(versions),
        tagged_versions=tagged.intersect(versions),
        tag=_tag(definition, declared, tagged, context.flexible, where),
        default=parse_default(
            definition.get("default", ""),
            kind=kind,
            is_array=is_array,
            nullable=nullable,
            versions=versions,
            where=where,
        ),
        ignorable=_flag(definition, "ignorable", where),
        map_key=_flag(definition, "mapKey", where),
        entity_type=definition.get("entityType"),
        flexible_versions=None if override is None else parse_versions(override, f"{where}.flexibleVersions"),
        fields=_struct_fields(definition, type_name, context, versions, where) if kind == "struct" else (),
    )


def _type(definition: Mapping[str, Any], context: _Context, where: str) -> tuple[str, bool, str]:
    """Return the kind, True for an array, and the type's own name."""
    text = definition.get("type")
    if not isinstance(text, str):
        raise invalid(f"{where}: a field needs a type, found {text!r}")
    is_array = text.startswith("[]")
    type_name = text.removeprefix("[]")
    if type_name in PRIMITIVES:
        if "fields" in definition:
            raise invalid(f"{where}: a field of type {text} has no fields of its own")
        return type_name, is_array, type_name
    if not _is_name(type_name) or type_name[0].islower():
        raise invalid(f"{where}: unknown type {text!r}")
    if ("fields" in definition) == (type_name in context.common):
        problem = "is defined twice, here and in commonStructs" if "fields" in definition else "is not defined"
        raise invalid(f"{where}: the struct {type_name} {problem}")
    return "struct", is_array, type_name


def _struct_fields(
    definition: Mapping[str, Any], type_name: str, context: _Context, versions: Versions, where: str
) -> tuple[FieldSpec, ...]:
    if "fields" in definition:
        return _fields(definition["fields"], context, within=versions, where=where)
    if type_name in context.open_structs:
        raise invalid(f"{where}: the struct {type_name} contains itself")
    struct = context.common[type_name]
    within = parse_versions(struct.get("versions"), f"commonStructs.{type_name}.versions").intersect(versions)
    return _fields(struct["fields"], context.inside(type_name), within=within, where=where)


def _tag(
    definition: Mapping[str, Any], declared: Versions, tagged: Versions, flexible: Versions, where: str
) -> int | None:
    """Return a field's tag. Three of Kafka's files write it as a text."""
    tag = definition.get("tag")
    if (tag is None) != (not tagged):
        raise invalid(f"{where}: tag and taggedVersions belong together")
    if tag is None:
        return None
    if isinstance(tag, bool) or not str(tag).isdecimal():
        raise invalid(f"{where}: the tag {tag!r} is not a number")
    if tagged.highest != Versions.OPEN_END:
        raise invalid(f"{where}: the tagged versions {tagged} have an end")
    if tagged.intersect(declared) != tagged:
        raise invalid(f"{where}: tagged in {tagged}, but there only in {declared}")
    if tagged.intersect(flexible) != tagged:
        raise invalid(f"{where}: tagged in {tagged}, but only {flexible} are flexible")
    return int(tag)


def _check_names(fields: tuple[FieldSpec, ...], where: str) -> None:
    for position, field in enumerate(fields):
        for other in fields[:position]:
            if other.name == field.name:
                raise invalid(f"{where}: the field {field.name} stands twice")


def _check_tags(fields: tuple[FieldSpec, ...], where: str) -> None:
    tags = [field.tag for field in fields if field.tag is not None]
    if len(set(tags)) != len(tags):
        raise invalid(f"{where}: two fields share a tag ({', '.join(map(str, sorted(tags)))})")
    if sorted(tags) != list(range(len(tags))):
        raise invalid(f"{where}: the tags {', '.join(map(str, sorted(tags)))} do not run from 0 without a gap")


def _flag(definition: Mapping[str, Any], key: str, where: str) -> bool:
    value = definition.get(key, False)
    if isinstance(value, bool):
        return value
    if value in {"true", "false"}:
        return bool(value == "true")
    raise invalid(f"{where}.{key}: {value!r} is neither true nor false")


def _name(definition: Mapping[str, Any], where: str) -> str:
    name = definition.get("name") if isinstance(definition, Mapping) else None
    if not isinstance(name, str) or not _is_name(name):
        raise invalid(f"{where}: {name!r} is not a name (a letter, then letters and digits)")
    return name


def _is_name(text: str) -> bool:
    """Return True for a letter, then letters and digits; a few of Kafka's fields begin with a small one (timeoutMs)."""
    return text.isascii() and text.isalnum() and text[0].isalpha()


def _only(definition: Mapping[str, Any], known: frozenset[str], where: str) -> None:
    unknown = sorted(set(definition) - known)
    if unknown:
        raise invalid(f"{where}: unknown key {unknown[0]!r}")
