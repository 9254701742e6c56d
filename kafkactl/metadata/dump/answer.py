"""Answers of commands that print the records of a metadata log one by one."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

from kafkactl.core.findings import Finding


class DecodeProblem(TypedDict):
    """Reason why a record cannot be read."""

    id: str
    message: str
    value: str | None
    """Bytes of the record as base64, with --show-secrets."""


class DumpedRecord(TypedDict):
    """Record; under `-o jsonl` each is a line of its own."""

    offset: int
    epoch: int
    timestamp_ms: int
    kind: Literal["record", "control", "undecodable"]
    type: str | None
    """Type, as in Kafka's definitions; None if the record cannot be read."""
    version: int | None
    data: dict[str, Any] | None
    """The fields as in Kafka's JSON (`featureLevel`), secrets left out."""
    error: NotRequired[DecodeProblem | None]
    """Only for what cannot be read."""
    file: str


class HistoryRecord(DumpedRecord):
    """A record, and whether it counts."""

    applied: bool | None
    """false: its transaction was aborted; None: its transaction is still open."""


class LogDump(TypedDict):
    """The answer `log.dump`."""

    records: list[DumpedRecord]
    findings: list[Finding]


class LogHistory(TypedDict):
    """The answer `log.history`."""

    records: list[HistoryRecord]
    findings: list[Finding]
