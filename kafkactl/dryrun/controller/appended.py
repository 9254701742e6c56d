"""The records that the controller would append, in its words and with their real bytes.

An operation of the controller appends its records as one batch; two operations within 25 ms can share one, which
saves 61 bytes and is not foreseen. Changes of partitions are kept short (`PartitionChange`) and become records when
they are asked for: an operation can have a million.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from kafkactl.dryrun.answer import AppendedDict
from kafkactl.dryrun.controller.election import PartitionChange, change_data
from kafkactl.dryrun.controller.rules import Rules
from kafkactl.frozen import frozen
from kafkactl.metadata.log.frame import FRAME_VERSION, MetadataRecord
from kafkactl.protocol.codec import Message
from kafkactl.protocol.compiled import encoder
from kafkactl.protocol.form import default_value
from kafkactl.protocol.primitives import base128
from kafkactl.protocol.record_batch import HEADER_BYTES, encode_batch
from kafkactl.schema.definitions import message
from kafkactl.values import Uuid

MOST_IN_A_BATCH = 10_000  # records of one operation that may be split (QuorumController.MAX_RECORDS_PER_BATCH)


class Changed(NamedTuple):
    """A partition's change before it is written as a record."""

    topic_id: Uuid
    partition: int
    change: PartitionChange


class Operation(NamedTuple):
    """What the controller does in one go: a name for people, and its records in their order."""

    name: str
    items: tuple[MetadataRecord | Changed, ...]


def record(type: str, data: Message, version: int = 0) -> MetadataRecord:
    """A record by its name in Kafka; fields that are left out have their defaults."""
    spec = message(type)
    assert spec.api_key is not None, type
    whole = {field.name: data[field.name] if field.name in data else default_value(field) for field in spec.fields}
    return MetadataRecord(type=type, api_key=spec.api_key, version=version, data=whole)


def records_of(operations: Iterable[Operation], rules: Rules) -> Iterator[MetadataRecord]:
    """All records in their order."""
    alike: dict[PartitionChange, MetadataRecord] = {}  # of another partition
    for operation in operations:
        for item in operation.items:
            if isinstance(item, MetadataRecord):
                yield item
                continue
            known = alike.get(item.change)
            if known is None:
                known = alike[item.change] = _record(item, rules)
            data = {**known.data, "PartitionId": item.partition, "TopicId": item.topic_id}
            yield MetadataRecord(type=known.type, api_key=known.api_key, version=known.version, data=data)


def batches(operations: Iterable[Operation], rules: Rules, *, offset: int, epoch: int, timestamp_ms: int) -> bytes:
    """The records as the log would have them, from `offset` on: what a replay of the state after it reads."""
    found = []
    for chunk in _chunks(operations):
        framed = [(None, encoded(_record(item, rules))) for item in chunk]
        found.append(encode_batch(framed, base_offset=offset, timestamp_ms=timestamp_ms, partition_leader_epoch=epoch))
        offset += len(framed)
    return b"".join(found)


@frozen
class Appended:
    """How much would be appended: records, bytes with their batches, and records by type."""

    count: int
    bytes: int
    by_type: Mapping[str, int]

    def to_dict(self) -> AppendedDict:
        """As in `effects.records_appended`."""
        return {"count": self.count, "bytes": self.bytes, "by_type": dict(self.by_type), "records": None}


def measured(operations: Iterable[Operation], rules: Rules) -> Appended:
    """The size of what would be appended."""
    by_type: Counter[str] = Counter()
    size = 0
    of_change: dict[PartitionChange, int] = {}  # whichever partition they are about
    for chunk in _chunks(operations):
        size += HEADER_BYTES
        for delta, item in enumerate(chunk):
            if isinstance(item, MetadataRecord):
                by_type[item.type] += 1
                value = len(encoded(item))
            else:
                by_type["PartitionChangeRecord"] += 1
                found = of_change.get(item.change)
                if found is None:
                    found = of_change[item.change] = len(encoded(_record(item, rules)))
                value = found
            size += _record_size(delta, value)
    return Appended(count=by_type.total(), bytes=size, by_type=dict(sorted(by_type.items())))


def encoded(framed: MetadataRecord) -> bytes:
    """The framed bytes of a record."""
    content = encoder(message(framed.type), framed.version)(framed.data)
    return bytes([FRAME_VERSION]) + base128(framed.api_key) + base128(framed.version) + content


def _record(item: MetadataRecord | Changed, rules: Rules) -> MetadataRecord:
    if isinstance(item, MetadataRecord):
        return item
    data = change_data(item.topic_id, item.partition, item.change)
    return record("PartitionChangeRecord", data, rules.version_of("PartitionChangeRecord"))


def _chunks(operations: Iterable[Operation]) -> Iterator[tuple[MetadataRecord | Changed, ...]]:
    for operation in operations:
        for at in range(0, len(operation.items), MOST_IN_A_BATCH):
            yield operation.items[at : at + MOST_IN_A_BATCH]


def _record_size(delta: int, value: int) -> int:
    """The bytes of a record without key and headers: length, attributes, time delta, offset delta, key, value."""
    content = 1 + 1 + _varint_size(delta << 1) + 1 + _varint_size(value << 1) + value + 1
    return _varint_size(content << 1) + content


def _varint_size(value: int) -> int:
    return 1 if value < 0x80 else (value.bit_length() + 6) // 7
