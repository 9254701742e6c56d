"""Records of the metadata log for tests: given by the fields that matter, the others at their defaults."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kafkactl.core.values import Uuid
from kafkactl.metadata.image.model import LogRecord
from kafkactl.protocol.control_records import decode_control_record
from kafkactl.protocol.form import default_value
from kafkactl.protocol.log.frame import MetadataRecord, decode_record
from kafkactl.protocol.record_batch import decode_batches
from kafkactl.protocol.schema.definitions import message


def uuid(number: int) -> Uuid:
    return Uuid(number.to_bytes(16, "big"))


def record(name: str, **fields: Any) -> MetadataRecord:
    """Return the newest version of `name`; `Entity` and the like are given as the codec has them."""
    spec = message(f"{name}Record")
    data = {field.name: default_value(field) for field in spec.fields}
    assert not set(fields) - set(data), set(fields) - set(data)
    assert spec.api_key is not None
    return MetadataRecord(
        type=spec.name, api_key=spec.api_key, version=spec.valid_versions.highest, data={**data, **fields}
    )


def placed(*records: MetadataRecord, first: int = 0) -> list[LogRecord]:
    return [LogRecord(offset, 1, 1000 + offset, entry) for offset, entry in enumerate(records, first)]


VERSION = record("FeatureLevel", Name="metadata.version", FeatureLevel=25)
TOPIC = record("Topic", Name="foo", TopicId=uuid(7))


def partition(number: int = 0, **fields: Any) -> MetadataRecord:
    """Return a partition of foo with replicas 1, 2, 3, all in sync."""
    usual = {"Replicas": [1, 2, 3], "Isr": [1, 2, 3], "Leader": 1, "LeaderEpoch": 3, "PartitionEpoch": 7}
    usual["Directories"] = [uuid(101), uuid(102), uuid(103)]
    return record("Partition", PartitionId=number, TopicId=uuid(7), **{**usual, **fields})


def change(number: int = 0, **fields: Any) -> MetadataRecord:
    return record("PartitionChange", PartitionId=number, TopicId=uuid(7), **fields)


def broker(id: int = 1, epoch: int = 0, **fields: Any) -> MetadataRecord:
    return record("RegisterBroker", BrokerId=id, BrokerEpoch=epoch, IncarnationId=uuid(id), **fields)


def records_of(data: bytes) -> Iterator[LogRecord]:
    """Yield all records of a segment or checkpoint that is sound."""
    for batch in decode_batches(data):
        for entry in batch.records:
            if batch.header.is_control:
                decoded: Any = decode_control_record(entry.key, entry.value)
            else:
                assert entry.value is not None
                decoded = decode_record(entry.value)
            yield LogRecord(entry.offset, batch.header.partition_leader_epoch, entry.timestamp_ms, decoded)
