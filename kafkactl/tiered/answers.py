"""Answers of the `tiered` commands: segments, and records as plain values."""

from __future__ import annotations

import base64
from typing import Any, Literal, TypedDict, cast

from kafkactl.core.answers import by_fields
from kafkactl.core.findings import Finding
from kafkactl.core.frozen import frozen
from kafkactl.core.values import Uuid
from kafkactl.protocol.json_form import to_json
from kafkactl.protocol.schema.definitions import remote_log_record
from kafkactl.tiered.audit.case import PartitionCase
from kafkactl.tiered.epoch_index import EpochIndex, Forgetting, Segment
from kafkactl.tiered.reading import PlacedRecord

WhyNotApplied = Literal[
    "illegal-transition", "update-without-base", "poison-record", "after-partition-delete", "below-log-start"
]
StateName = Literal[
    "COPY_SEGMENT_STARTED", "COPY_SEGMENT_FINISHED", "DELETE_SEGMENT_STARTED", "DELETE_SEGMENT_FINISHED"
]


@frozen(kw_only=False)
class EpochStart:
    """A leader epoch and its first offset in a segment."""

    leader_epoch: int
    start_offset: int

    to_dict = by_fields


@frozen
class RemoteSegment:
    """A segment by its records in the metadata topic."""

    topic: str
    topic_id: str
    partition: int
    segment_id: str
    state: StateName
    start_offset: int
    end_offset: int
    bytes: int
    leader_epochs: tuple[EpochStart, ...]
    broker_id: int
    """Broker of the last effective record, as the state and both times."""
    event_timestamp_ms: int
    max_timestamp_ms: int
    custom_metadata: str | None
    """Base64."""
    txn_index_empty: bool
    metadata_partition: int
    first_offset: int
    """Offset of the first of its records in the metadata partition."""
    last_offset: int
    records: int
    epoch_index: EpochIndex
    """State in the index: in the map of an epoch; known in one without being in its map; in no epoch."""
    forgotten_by: Forgetting | None

    to_dict = by_fields


def segment_answer(partition: PartitionCase, segment: Segment) -> RemoteSegment:
    """Return a segment with everything that its records say."""
    custom = segment.custom_metadata
    return RemoteSegment(
        topic=partition.topic,
        topic_id=partition.topic_id,
        partition=partition.key.partition,
        segment_id=str(Uuid(segment.segment_id)),
        state=cast("StateName", segment.state.name),
        start_offset=segment.start_offset,
        end_offset=segment.end_offset,
        bytes=segment.size,
        leader_epochs=tuple(EpochStart(epoch, start) for epoch, start in segment.leader_epochs),
        broker_id=segment.broker_id,
        event_timestamp_ms=segment.event_timestamp_ms,
        max_timestamp_ms=segment.max_timestamp_ms,
        custom_metadata=None if custom is None else base64.b64encode(custom).decode("ascii"),
        txn_index_empty=segment.txn_index_empty,
        metadata_partition=segment.metadata_partition,
        first_offset=segment.first_record,
        last_offset=segment.last_record,
        records=segment.records,
        epoch_index=segment.epoch_index,
        forgotten_by=segment.forgotten_by,
    )


class ReadProblem(TypedDict):
    """Reason why a record cannot be read."""

    id: str
    message: str


class RemoteRecord(TypedDict):
    """A record of the metadata topic; under `-o jsonl` each is a line of its own."""

    metadata_partition: int
    offset: int
    epoch: int
    timestamp_ms: int
    kind: Literal["record", "undecodable"]
    type: str | None
    version: int | None
    data: dict[str, Any] | None
    """The fields as in Kafka's JSON."""
    error: ReadProblem | None
    file: str
    applied: bool
    """True if a broker that starts now applies the record."""
    why: WhyNotApplied | None


class RemoteHistory(TypedDict):
    """The answer `tiered.history`."""

    records: list[RemoteRecord]
    findings: list[Finding]


class RemoteSegments(TypedDict):
    """The answer `tiered.segments`."""

    engine: Literal["local", "spark"]
    segments: list[RemoteSegment]
    findings: tuple[Finding, ...]
    assumptions: tuple[str, ...]
    details: str | None
    """The folder of the tables; None if none was named."""


def record_answer(metadata_partition: int, placed: PlacedRecord, why: str | None) -> RemoteRecord:
    """Return a record of the metadata topic; `why` brokers do not apply the record, None if they do."""
    frame, error = placed.frame, placed.error
    return {
        "metadata_partition": metadata_partition,
        "offset": placed.offset,
        "epoch": placed.epoch,
        "timestamp_ms": placed.timestamp_ms,
        "kind": "record" if error is None else "undecodable",
        "type": None if frame is None else frame.type,
        "version": None if frame is None else frame.version,
        "data": None if frame is None else to_json(remote_log_record(frame.api_key), frame.version, frame.data),
        "error": None if error is None else {"id": error.id, "message": error.message},
        "file": placed.file,
        "applied": why is None,
        "why": cast("WhyNotApplied | None", why),
    }
