"""A message as JSON, as Kafka's own tools print it (`kafka-dump-log --cluster-metadata-decoder`).

Names begin in lower case (or are those of the definition, where the caller says so), uuids are texts, byte strings
are base64 with padding; fields that the version lacks and tagged fields that hold their default are left out.
Source: `generator/.../JsonConverterGenerator.java`.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kafkactl.protocol.form import Form, is_default
from kafkactl.schema.spec import FieldSpec, MessageSpec

Naming = Callable[[str], str]


def json_name(name: str) -> str:
    """A field's name as Kafka's tools print it: `KRaftVersion` becomes `kRaftVersion`."""
    return name[:1].lower() + name[1:]


def definition_name(name: str) -> str:
    """A field's name as it stands in its definition."""
    return name


def to_json(spec: MessageSpec, version: int, value: Mapping[str, Any], *, naming: Naming = json_name) -> dict[str, Any]:
    """The JSON object of a decoded message: dicts, lists, texts, numbers, truth values and None only.

    `naming` turns a field's name into its key. Nothing is hidden: a UserScramCredentialRecord shows its keys, so it
    is the caller's to withhold.
    """
    return _struct(spec.fields, Form(version, spec.is_flexible(version)), value, naming)


def _struct(fields: Sequence[FieldSpec], form: Form, value: Mapping[str, Any], naming: Naming) -> dict[str, Any]:
    return {
        naming(field.name): _field(field, form, value[field.name], naming)
        for field in fields
        if form.has(field) and not (form.tags(field) and is_default(field, value[field.name]))
    }


def _field(field: FieldSpec, form: Form, value: Any, naming: Naming) -> Any:
    if value is None:
        return None
    if field.is_array:
        return [_one(field, form, element, naming) for element in value]
    return _one(field, form, value, naming)


def _one(field: FieldSpec, form: Form, value: Any, naming: Naming) -> Any:
    if field.kind == "struct":
        return _struct(field.fields, form, value, naming)
    if field.kind == "uuid":
        return str(value)
    if field.kind in {"bytes", "records"}:
        return base64.b64encode(value).decode("ascii")
    if field.kind == "float64" and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"  # JSON has no such numbers
    return value
