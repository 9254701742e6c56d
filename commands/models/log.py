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


class SnapshotName(Shape):
    """A snapshot: it stands for all offsets below, `epoch` is that of the last of them."""

    offset: int
    epoch: int


class Cut(Shape):
    """Where a starting node cuts the log, and what goes with it."""

    file: str
    position: int = Field(description="The first byte that goes.")
    bytes: int
    offset: int = Field(description="The first offset that goes.")
    reason: str
    segments_dropped: list[str]
    readable_batches: int = Field(description="What behind the cut can still be read.")
    readable_records: int


class VerifiedLog(Shape):
    """The log of one node, or a single file."""

    path: str
    cluster_id: str | None = Field(description="From the meta.properties beside or above the log.")
    segments: int
    first_offset: int | None
    end_offset: int | None = Field(description="One behind the last offset that a restart leaves.")
    last_epoch: int | None
    batches: int
    records: int = Field(description="Without control records.")
    newest_snapshot: SnapshotName | None
    would_cut: Cut | None


class Divergence(Shape):
    """Where a log parts from the reference; an epoch is null where a log has no batch that begins there."""

    path: str
    offset: int
    epoch: int | None
    reference_epoch: int | None
    offsets_behind: int


class LogVerify(Answer):
    """`log verify`."""

    kind: Literal["log.verify"]
    sources: list[VerifiedLog]
    reference: str | None = Field(description="The log that the others are compared with: highest epoch, then longest.")
    divergences: list[Divergence]
    findings: list[Finding]
