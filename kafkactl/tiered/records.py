"""The records of `__remote_log_metadata` as values, refused if a broker's metadata consumer would stop at them.

A record whose bytes decode can still be one that no broker can hold: the constructors of Kafka's own classes refuse
some values, and that ends the consumer like bytes that do not decode. Sources: `RemoteLogMetadataSerde.java`,
`RemoteLogSegmentMetadata.java`, `RemoteLogMetadata.java`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from kafkactl.core.errors import DecodeError
from kafkactl.core.values import Uuid
from kafkactl.protocol.log.frame import MetadataRecord, decode_record
from kafkactl.protocol.schema.definitions import remote_log_record
from kafkactl.tiered.states import PartitionDeleteState, SegmentState

_BASE, _UPDATE, _PARTITION_DELETE = range(3)
_NOT_IN_TOPIC: Final = "a snapshot record, which belongs to a broker's cache file and stops a metadata consumer"

EpochStarts: TypeAlias = tuple[tuple[int, int], ...]  # (leader epoch, its first offset in the segment), ascending


class PartitionKey(NamedTuple):
    """A user partition. The id of the topic identifies it: a topic that was made again keeps only its name."""

    topic_id: bytes
    partition: int


class BaseRecord(NamedTuple):
    """RemoteLogSegmentMetadataRecord: a copy begins. Times in milliseconds, `size` in bytes."""

    topic: str
    key: PartitionKey
    segment_id: bytes
    start_offset: int
    end_offset: int
    broker_id: int
    max_timestamp_ms: int
    event_timestamp_ms: int
    leader_epochs: EpochStarts
    size: int
    custom_metadata: bytes | None
    state: SegmentState
    txn_index_empty: bool


class UpdateRecord(NamedTuple):
    """RemoteLogSegmentMetadataUpdateRecord: a segment changes its state."""

    topic: str
    key: PartitionKey
    segment_id: bytes
    broker_id: int
    event_timestamp_ms: int
    custom_metadata: bytes | None
    state: SegmentState


class PartitionDeleteRecord(NamedTuple):
    """RemotePartitionDeleteMetadataRecord: the remote log of a partition is to go, or gone."""

    topic: str
    key: PartitionKey
    broker_id: int
    event_timestamp_ms: int
    state: PartitionDeleteState


RemoteRecord: TypeAlias = BaseRecord | UpdateRecord | PartitionDeleteRecord


def decode_frame(value: bytes | None, *, file: str | None = None, base: int = 0) -> MetadataRecord:
    """Return the message in the value of a record. Raises DecodeError, also `record-without-value`."""
    if value is None:
        raise DecodeError("the record has no value", id="record-without-value", offset=base, file=file)
    return decode_record(value, file=file, base=base, find=remote_log_record)


def remote_record(record: MetadataRecord, *, file: str | None = None, base: int = 0) -> RemoteRecord:
    """Return the value that a broker makes of a message.

    Raises DecodeError `invalid-remote-log-metadata` if it refuses.
    """

    def refuse(reason: str) -> DecodeError:
        return DecodeError(reason, id="invalid-remote-log-metadata", offset=base, path=record.type, file=file)

    data = record.data
    try:
        if record.api_key == _BASE:
            made = _base(data)
            problem = _base_problem(made)
            if problem is not None:
                raise refuse(problem)
            return made
        if record.api_key == _UPDATE:
            return _update(data)
        if record.api_key == _PARTITION_DELETE:
            return _partition_delete(data)
    except ValueError as error:
        raise refuse(str(error)) from error
    raise refuse(_NOT_IN_TOPIC)


def _base(data: Mapping[str, Any]) -> BaseRecord:
    segment = data["RemoteLogSegmentId"]
    topic, key = _partition(segment["TopicIdPartition"])
    return BaseRecord(
        topic,
        key,
        segment["Id"].raw,
        data["StartOffset"],
        data["EndOffset"],
        data["BrokerId"],
        data["MaxTimestampMs"],
        data["EventTimestampMs"],
        tuple(sorted({entry["LeaderEpoch"]: entry["Offset"] for entry in data["SegmentLeaderEpochs"]}.items())),
        data["SegmentSizeInBytes"],
        data["CustomMetadata"],
        SegmentState(data["RemoteLogSegmentState"]),
        data["TxnIndexEmpty"],
    )


def _base_problem(record: BaseRecord) -> str | None:
    if record.start_offset < 0:
        return f"the start offset is {record.start_offset}"
    if record.end_offset < record.start_offset:
        return f"the end offset {record.end_offset} is below the start offset {record.start_offset}"
    return None if record.leader_epochs else "the segment has no leader epoch"


def _update(data: Mapping[str, Any]) -> UpdateRecord:
    segment = data["RemoteLogSegmentId"]
    topic, key = _partition(segment["TopicIdPartition"])
    return UpdateRecord(
        topic,
        key,
        segment["Id"].raw,
        data["BrokerId"],
        data["EventTimestampMs"],
        data["CustomMetadata"],
        SegmentState(data["RemoteLogSegmentState"]),
    )


def _partition_delete(data: Mapping[str, Any]) -> PartitionDeleteRecord:
    topic, key = _partition(data["TopicIdPartition"])
    state = PartitionDeleteState(data["RemotePartitionDeleteState"])
    return PartitionDeleteRecord(topic, key, data["BrokerId"], data["EventTimestampMs"], state)


def _partition(data: Mapping[str, Any]) -> tuple[str, PartitionKey]:
    topic_id: Uuid = data["Id"]
    return data["Name"], PartitionKey(topic_id.raw, data["Partition"])
