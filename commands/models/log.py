"""Answers of `kafkactl log`."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from kafkactl.commands.models.shared import Answer, Finding, Shape


class DecodeProblem(Shape):
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
    data: dict[str, Any] | None = Field(description="The fields as in Kafka's JSON (`featureLevel`), secrets left out.")
    error: DecodeProblem | None = Field(default=None, description="Only for what cannot be read.")
    file: str


class LogDump(Answer):
    """`log dump`."""

    kind: Literal["log.dump"]
    records: list[LogRecord]
    findings: list[Finding]


class SnapshotName(Shape):
    """A snapshot: it replaces all offsets below, `epoch` is that of the last of them."""

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
    cluster_id: str | None = Field(description="From the meta.properties next to or above the log.")
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


class RankedLog(Shape):
    """A log among those of the same cluster: which disk is the better one."""

    path: str
    rank: int = Field(description="1 is the best disk: highest epoch, then highest end offset of the valid part.")
    end_offset: int = Field(description="Of the part before damage or a gap, or of the newest snapshot beyond it.")
    last_epoch: int
    is_damaged: bool


class LogVerify(Answer):
    """`log verify`."""

    kind: Literal["log.verify"]
    sources: list[VerifiedLog]
    reference: str | None = Field(description="The log that the others are compared with: highest epoch, then longest.")
    ranking: list[RankedLog] = Field(description="Best disk first; empty for one source, or several clusters.")
    divergences: list[Divergence]
    findings: list[Finding]


class Provenance(Answer):
    """Where a state is from."""

    files: list[str] = Field(description="What was read, in this order.")
    snapshot: str | None
    offset: int | None = Field(description="The last record that counts; null for an empty log.")
    epoch: int | None
    timestamp_ms: int | None


class LogImage(Provenance):
    """`log image`."""

    kind: Literal["log.image"]
    sha256: str = Field(
        description="Of the canonical binary form of the state, secrets included; in a support bundle, without them."
    )
    counts: dict[str, int]
    features: dict[str, int] = Field(default_factory=dict, description="Finalized levels; only where `image` is null.")
    image: dict[str, Any] | None = Field(
        description="The state; keys and order are always the same for equal states, fields as in Kafka's JSON. Null in"
        " a support bundle without its log."
    )
    findings: list[Finding]


class Side(Shape):
    """One of two states that are compared."""

    files: list[str]
    snapshot: str | None
    offset: int | None
    epoch: int | None
    timestamp_ms: int | None


class Difference(Shape):
    """One thing that is only in one state, or not the same in both."""

    part: str
    key: str
    change: Literal["added", "removed", "changed"]
    record: str = Field(description="The Kafka record type that contains it.")
    before: dict[str, Any] = Field(
        description="The fields that differ (names of Kafka's JSON); of a thing on one side only, all."
    )
    after: dict[str, Any]


class LogDiff(Answer):
    """`log diff`."""

    kind: Literal["log.diff"]
    before: Side
    after: Side
    counts: dict[str, int] = Field(description="Differences by part.")
    differences: list[Difference]
    findings: list[Finding]


class LogLint(Provenance):
    """`log lint`."""

    kind: Literal["log.lint"]
    records: dict[str, int] = Field(description="How often each type of record was met.")
    findings: list[Finding]


class HistoryRecord(LogRecord):
    """A record, and whether it counts."""

    applied: bool | None = Field(description="false: its transaction was aborted; null: its transaction is still open.")


class LogHistory(Answer):
    """`log history`."""

    kind: Literal["log.history"]
    records: list[HistoryRecord]
    findings: list[Finding]


class LogBrowse(Answer):
    """`log browse`."""

    kind: Literal["log.browse"]
    path: str
    type: Literal["directory", "file"]
    names: list[str] | None = Field(description="What a directory holds.")
    value: Any = Field(description="What a file holds; null for a directory.")
    findings: list[Finding]
