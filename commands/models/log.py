"""Answers of `kafkactl log`."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from kafkactl.commands.models.shared import Answer, Finding, Shape


class DecodeTrouble(Shape):
    """Why a record cannot be read."""

    id: str
    message: str
    value: str | None = Field(description="Its bytes as base64, with --show-secrets.")


class LogRecord(Shape):
    """One record; under `-o jsonl` each is a line of its own."""

    offset: int
    epoch: int
    timestamp_ms: int
    kind: Literal["record", "control", "undecodable"]
    type: str | None = Field(description="As in Kafka's definitions; null where the record cannot be read.")
    version: int | None
    data: dict[str, Any] | None = Field(description="The fields of Kafka's definition, secrets left out.")
    error: DecodeTrouble | None = Field(default=None, description="Only for what cannot be read.")
    file: str


class LogDump(Answer):
    """`log dump`."""

    kind: Literal["log.dump"]
    records: list[LogRecord]
    findings: list[Finding]
