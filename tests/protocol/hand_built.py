"""Definitions written for a test, in the fewest words."""

from __future__ import annotations

from typing import Any

from kafkactl.protocol.schema.build import build_message
from kafkactl.protocol.schema.spec import MessageSpec


def spec_of(*fields: dict[str, Any], valid: str = "0-3", flexible: str = "1+") -> MessageSpec:
    """Return a message called Sample; versions 1 and up are flexible by default."""
    return build_message(
        {"type": "data", "name": "Sample", "validVersions": valid, "flexibleVersions": flexible, "fields": list(fields)}
    )


def field(name: str, kind: str, versions: str = "0+", **more: Any) -> dict[str, Any]:
    """Return one field; `more` in the words of Kafka's dialect."""
    return {"name": name, "type": kind, "versions": versions, **more}
