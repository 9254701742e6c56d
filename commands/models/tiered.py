"""Answers of `kafkactl tiered`. Null is what is not known, or does not apply."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from kafkactl.commands.models.shared import Answer, Finding, Shape

State = Literal["COPY_SEGMENT_STARTED", "COPY_SEGMENT_FINISHED", "DELETE_SEGMENT_STARTED", "DELETE_SEGMENT_FINISHED"]

Engine = Literal["local", "spark"]
_DETAILS = "The folder of the tables; null where none was named."


class EpochStart(Shape):
    """A leader epoch and its first offset in a segment."""

    leader_epoch: int
    start_offset: int


class RemoteSegment(Shape):
    """A segment by its records in the metadata topic."""

    topic: str
    topic_id: str
    partition: int
    segment_id: str
    state: State
    start_offset: int
    end_offset: int
    bytes: int
    leader_epochs: list[EpochStart]
    broker_id: int = Field(description="Of the last record that counted, as the state and both times.")
    event_timestamp_ms: int
    max_timestamp_ms: int
    custom_metadata: str | None = Field(description="Base64.")
    txn_index_empty: bool
    metadata_partition: int
    first_offset: int = Field(description="Of its records in the metadata partition.")
    last_offset: int
    records: int
    epoch_index: Literal["referenced", "unreferenced", "none"] = Field(
        description="In the map of an epoch; known in one without being in its map; in no epoch."
    )
    forgotten_by: Literal["partition-delete-record", "metadata-log-start"] | None


class TieredSegments(Answer):
    """`tiered segments`."""

    kind: Literal["tiered.segments"]
    engine: Engine
    segments: list[RemoteSegment]
    findings: list[Finding]
    assumptions: list[str]
    details: str | None = Field(description=_DETAILS)


class ReadProblem(Shape):
    """Why a record cannot be read."""

    id: str
    message: str


class RemoteRecord(Shape):
    """A record of the metadata topic; under `-o jsonl` each is a line of its own."""

    metadata_partition: int
    offset: int
    epoch: int
    timestamp_ms: int
    kind: Literal["record", "undecodable"]
    type: str | None
    version: int | None
    data: dict[str, Any] | None = Field(description="The fields as in Kafka's JSON.")
    error: ReadProblem | None
    file: str
    applied: bool = Field(description="Whether brokers that start now apply it.")
    why: (
        Literal[
            "illegal-transition", "update-without-base", "poison-record", "after-partition-delete", "below-log-start"
        ]
        | None
    )


class TieredHistory(Answer):
    """`tiered history`."""

    kind: Literal["tiered.history"]
    records: list[RemoteRecord]
    findings: list[Finding]


class BucketRead(Shape):
    """The listing of the store."""

    path: str
    format: str
    layout: str | None = Field(description="Null where no key names a segment.")
    objects: int
    bytes: int


class MetadataPartition(Shape):
    """A partition of the metadata topic, as it was read."""

    partition: int
    paths: list[str]
    log_start_offset: int
    end_offset: int
    expected_end_offset: int | None
    records: int
    complete: bool


class AuditSource(Shape):
    """The sources of an audit."""

    paths: list[str]
    cluster: bool
    observed_at_ms: int | None
    bucket: BucketRead | None
    metadata_partitions: list[MetadataPartition]
    configured_partitions: int | None


class AuditTotals(Shape):
    """Sums over the partitions that are shown; `records` are those of the metadata topic."""

    topics: int
    partitions: int
    segments: int
    bytes: int
    records: int
    by_state: dict[str, int]


class HighestOffset(Shape):
    """The highest offset that was ever copied in an epoch."""

    leader_epoch: int
    highest_offset: int


class Hole(Shape):
    """Offsets that no reader finds in remote storage, both ends included."""

    from_offset: int
    to_offset: int
    local: bool | None = Field(description="Whether the local log still has them.")


class Orphans(Shape):
    """Copies that began and never ended."""

    segments: int
    bytes: int


class RemotePartition(Shape):
    """Where the remote log of a partition stands."""

    topic: str
    topic_id: str
    partition: int
    exists: bool | None
    metadata_partition: int | None
    leader: int | None = Field(description="-1 for none.")
    segments: int = Field(description="Ids that are neither DELETE_SEGMENT_FINISHED nor forgotten.")
    by_state: dict[str, int]
    bytes: int = Field(description="Of COPY_SEGMENT_FINISHED segments.")
    remote_start_offset: int | None
    remote_end_offset: int | None
    highest_offsets: list[HighestOffset]
    highest_offset: int | None = Field(description="By the leader's epochs; -1 where nothing was copied.")
    next_upload_offset: int | None
    log_start_offset: int | None
    local_log_start_offset: int | None
    log_end_offset: int | None
    holes: list[Hole]
    orphans: Orphans


class TieredAudit(Answer):
    """`tiered audit`."""

    kind: Literal["tiered.audit"]
    html: str | None = Field(description="The page that was written.")
    engine: Engine
    source: AuditSource
    totals: AuditTotals
    partitions: list[RemotePartition]
    findings: list[Finding] = Field(description="By severity, then by what they cost.")
    findings_total: int
    assumptions: list[str]
    details: str | None = Field(description=_DETAILS)


class StoppedBy(Shape):
    """The record that ends a metadata consumer."""

    metadata_partition: int
    offset: int


class Unreachable(Shape):
    """What consumers would lose."""

    from_offset: int
    to_offset: int
    segments: int
    bytes: int


class Candidate(Shape):
    """A replica as leader, having read the metadata topic from its start."""

    broker_id: int
    leads_now: bool
    alive: bool | None
    reads_metadata_partitions: list[int]
    knows_segments: bool
    consumer: Literal["healthy", "stops-at-restart", "stopped", "unknown"]
    stopped_by: StoppedBy | None
    uploads: Literal["continues", "stopped", "disabled", "unknown"]
    highest_offset: int | None
    log_start_offset: int | None
    next_upload_offset: int | None
    next_segment_base_offset: int | None
    unreachable: Unreachable | None


class ForecastPartition(Shape):
    """A partition and its replicas."""

    topic: str
    topic_id: str
    partition: int
    leader: int | None
    log_start_offset: int | None
    candidates: list[Candidate]


class TieredForecast(Answer):
    """`tiered forecast`."""

    kind: Literal["tiered.forecast"]
    partitions: list[ForecastPartition]
    findings: list[Finding]
    assumptions: list[str]


class Lane(Shape):
    """Offsets as ranges [first, last], the nearest joined where there are many."""

    offsets: int
    ranges_total: int
    ranges: list[list[int]]


class OtherSegments(Lane):
    """Segments that no reader is served from; `what` is the id of the finding about them."""

    what: str
    segments: int
    bytes: int


class LocalLog(Shape):
    """The local log; a disk does not show where it ends."""

    from_offset: int
    to_offset: int | None
    offsets: int | None


class Picture(Shape):
    """The offsets of a partition, as they are drawn."""

    topic: str
    topic_id: str
    partition: int
    exists: bool | None
    whole: bool = Field(description="Whether no record of the partition can be missing from what was read.")
    from_offset: int
    to_offset: int
    remote: Lane = Field(description="What readers find in remote storage.")
    local: LocalLog | None
    both: Lane | None
    holes: Lane
    others: list[OtherSegments]
    log_start_offset: int | None
    local_log_start_offset: int | None
    log_end_offset: int | None
    highest_offset: int | None
    next_upload_offset: int | None


class OrphansOfAge(Shape):
    """Orphaned copies from one age to another; null for no limit."""

    from_ms: int
    below_ms: int | None
    segments: int
    bytes: int


class OrphanAges(Shape):
    """The orphaned copies of a topic."""

    topic: str
    topic_id: str
    segments: int
    bytes: int
    oldest_ms: int | None
    by_age: list[OrphansOfAge]


class TieredReport(TieredAudit):
    """`tiered report`: an audit with a forecast and what is drawn."""

    kind: Literal["tiered.report"]  # type: ignore[assignment]
    findings: list[Finding] = Field(description="Of audit and forecast, by severity.")
    forecast: list[ForecastPartition] | None = Field(description="Null where no replica is known.")
    pictures: list[Picture] = Field(description="Of the partitions that are drawn: the worst, then the largest.")
    orphan_ages: list[OrphanAges]


class LeftoverObject(Shape):
    """An object that may go."""

    key: str
    bytes: int
    segment_id: str
    reason: Literal["unknown-object", "object-after-delete-finished", "leftover-of-deleted-topic", "orphan-copy"]


class TieredLeftovers(Answer):
    """`tiered leftovers`."""

    kind: Literal["tiered.leftovers"]
    engine: Engine
    outcome: Literal["done", "refused"]
    objects: list[LeftoverObject]
    objects_total: int
    bytes: int
    by_reason: dict[str, int]
    left_out_for_age: int = Field(description="Objects younger than --older-than.")
    left_out_unproven: int = Field(description="Objects that a record may name that was not read.")
    findings: list[Finding]
    next_step: str
    details: str | None = Field(description=_DETAILS)


class TieredObserve(Answer):
    """`tiered observe`."""

    kind: Literal["tiered.observe"]
    folder: str
    time_ms: int | None
    cluster_id: str | None
    topics: int | None
    source: AuditSource
    findings: list[Finding]
    assumptions: list[str]
