"""A message as JSON, as Kafka's own tools print it (`kafka-dump-log --cluster-metadata-decoder`).

Names begin in lower case, uuids are texts, byte strings are base64 with padding; fields that the version lacks and
tagged fields that hold their default are left out.
Source: `generator/.../JsonConverterGenerator.java`.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping, Sequence
from typing import Any

from kafkactl.protocol.form import Form, is_default
from kafkactl.protocol.schema.spec import FieldSpec, MessageSpec, json_name


def to_json(spec: MessageSpec, version: int, value: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON object of a decoded message: dicts, lists, texts, numbers, truth values and None only.

    Nothing is hidden: a UserScramCredentialRecord shows its keys, so it is the caller's to withhold.
    """
    return _struct(spec.fields, Form(version, spec.is_flexible(version)), value)


def json_named(value: Any) -> Any:
    """Return a value of a message with the keys of its structs as in JSON, everything else as it is."""
    if isinstance(value, Mapping):
        return {json_name(name): json_named(part) for name, part in value.items()}
    return [json_named(part) for part in value] if isinstance(value, list | tuple) else value


def _struct(fields: Sequence[FieldSpec], form: Form, value: Mapping[str, Any]) -> dict[str, Any]:
    return {
        json_name(field.name): _field(field, form, value[field.name])
        for field in fields
        if form.has(field) and not (form.tags(field) and is_default(field, value[field.name]))
    }


def _field(field: FieldSpec, form: Form, value: Any) -> Any:
    if value is None:
        return None
    if field.is_array:
        return [_one(field, form, element) for element in value]
    return _one(field, form, value)


def _one(field: FieldSpec, form: Form, value: Any) -> Any:
    if field.kind == "struct":
        return _struct(field.fields, form, value)
    if field.kind == "uuid":
        return str(value)
    if field.kind in {"bytes", "records"}:
        return base64.b64encode(value).decode("ascii")
    if field.kind == "float64" and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"  # JSON has no such numbers
    return value
