"""A record of the metadata log as JSON.

The form is that of Kafka's JSON converters (`generator/.../JsonConverterGenerator.java`): field names begin in lower
case, uuids are base64 text, byte strings base64, tagged fields are present only if they do not hold their default. In
one respect it is stricter: fields that are tagged in the record's version stand after all others.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from kafkactl.core.safe_text import json_text
from kafkactl.protocol.form import Form
from kafkactl.protocol.json_form import to_json
from kafkactl.protocol.log.frame import MetadataRecord
from kafkactl.protocol.redact import redacted
from kafkactl.protocol.schema.definitions import message
from kafkactl.protocol.schema.spec import MessageSpec, json_name


def record_json(record: MetadataRecord, *, hide: bool) -> dict[str, Any]:
    """Return a record as a value of JSON's types. With `hide` secrets are left out."""
    spec = message(record.type)
    shown = to_json(spec, record.version, record.data)
    ordered = tagged_last(spec, record.version, shown)
    return redacted(record.type, ordered) if hide else ordered


def tagged_last(spec: MessageSpec, version: int, shown: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys with those of tagged fields in this version last."""
    tagged = _tagged(spec.name, version)
    return {name: shown[name] for name in sorted(shown, key=tagged.__contains__)} if tagged else dict(shown)


@functools.cache
def _tagged(name: str, version: int) -> frozenset[str]:
    spec = message(name)
    form = Form(version, spec.is_flexible(version))
    return frozenset(json_name(field.name) for field in spec.fields if form.tags(field))


def compact_json(value: Any) -> str:
    """Return JSON without blanks; letters beyond ASCII stand as they are, what is not safe to show as an escape."""
    return json_text(value, compact=True)
