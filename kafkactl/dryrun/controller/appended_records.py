"""The records that the controller would append, in its words and with their real bytes.

An operation of the controller appends its records as one batch; two operations within 25 ms can share one, which
saves 61 bytes and is not foreseen. Changes of partitions are kept short (`PartitionChange`) and become records when
they are asked for: an operation can have a million.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypedDict

from kafkactl.core.answers import by_fields
from kafkactl.core.frozen import frozen
from kafkactl.core.values import Uuid
from kafkactl.dryrun.controller.election import PartitionChange, change_data
from kafkactl.dryrun.controller.rules import Rules
from kafkactl.dryrun.lazy_sequence import Later
from kafkactl.protocol.codec import Message
from kafkactl.protocol.compiled import encoder
from kafkactl.protocol.form import default_value
from kafkactl.protocol.log.frame import FRAME_VERSION, MetadataRecord
from kafkactl.protocol.primitives import base128
from kafkactl.protocol.record_batch import HEADER_BYTES, encode_batch
from kafkactl.protocol.record_size import value_record_size
from kafkactl.protocol.schema.definitions import message

MOST_IN_A_BATCH = 10_000  # records of one operation that may be split (QuorumController.MAX_RECORDS_PER_BATCH)


class PartitionUpdate(NamedTuple):
    """A partition's change before it is written as a record."""

    topic_id: Uuid
    partition: int
    change: PartitionChange


class Operation(NamedTuple):
    """Operation of the controller in one step: a name for people, and its records in their order."""

    name: str
    items: tuple[MetadataRecord | PartitionUpdate, ...]


def record(type: str, data: Message, version: int = 0) -> MetadataRecord:
    """Return a record by its name in Kafka; omitted fields have their defaults."""
    spec = message(type)
    assert spec.api_key is not None, type
    whole = {field.name: data[field.name] if field.name in data else default_value(field) for field in spec.fields}
    return MetadataRecord(type=type, api_key=spec.api_key, version=version, data=whole)


def records_of(operations: Iterable[Operation], rules: Rules) -> Iterator[MetadataRecord]:
    """Yield all records in their order."""
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
    """Return the records as the log would have them, from `offset` on: what a replay of the state after it reads."""
    found = []
    for chunk in _chunks(operations):
        framed = [(None, encoded(_record(item, rules))) for item in chunk]
        found.append(encode_batch(framed, base_offset=offset, timestamp_ms=timestamp_ms, partition_leader_epoch=epoch))
        offset += len(framed)
    return b"".join(found)


class AppendedRecord(TypedDict):
    """A record as `log dump` writes it."""

    offset: int
    epoch: int
    timestamp_ms: int
    kind: Literal["record"]
    type: str
    version: int
    data: dict[str, Any]


@frozen
class Appended:
    """Records that the controller would append to the log.

    `records` are the records themselves as JSON, only if they were asked for.
    """

    count: int
    bytes: int
    """Size of the records with their batches, one for each operation."""
    by_type: Mapping[str, int]
    records: Sequence[AppendedRecord] | None = None
    """Records themselves, only with --records."""

    to_dict = by_fields


class LaterOperations(Later[Operation]):
    """Operations that are made when they are asked for; `measure` gives their size without making them."""

    def __init__(
        self, length: int, made: Callable[[], Iterable[Operation]], measure: Callable[[Rules], Appended]
    ) -> None:
        super().__init__(length, made)
        self.measure = measure


def measured(operations: Iterable[Operation], rules: Rules) -> Appended:
    """Return the size of what would be appended."""
    if isinstance(operations, LaterOperations):
        return operations.measure(rules)
    by_type: Counter[str] = Counter()
    size = 0
    of_change: dict[PartitionChange, int] = {}  # whichever partition they are about
    for chunk in _chunks(operations):
        size += HEADER_BYTES
        for delta, item in enumerate(chunk):
            if isinstance(item, MetadataRecord):
                by_type[item.type] += 1
                value = value_bytes(item, rules)
            else:
                by_type["PartitionChangeRecord"] += 1
                found = of_change.get(item.change)
                if found is None:
                    found = of_change[item.change] = value_bytes(item, rules)
                value = found
            size += value_record_size(delta, value)
    return Appended(count=by_type.total(), bytes=size, by_type=dict(sorted(by_type.items())))


def value_bytes(item: MetadataRecord | PartitionUpdate, rules: Rules) -> int:
    """Return the size of a record's value. That of a change is the same whichever partition it is about."""
    return len(encoded(_record(item, rules)))


def encoded(framed: MetadataRecord) -> bytes:
    """Return the framed bytes of a record."""
    content = encoder(message(framed.type), framed.version)(framed.data)
    return bytes([FRAME_VERSION]) + base128(framed.api_key) + base128(framed.version) + content


def _record(item: MetadataRecord | PartitionUpdate, rules: Rules) -> MetadataRecord:
    if isinstance(item, MetadataRecord):
        return item
    data = change_data(item.topic_id, item.partition, item.change)
    return record("PartitionChangeRecord", data, rules.version_of("PartitionChangeRecord"))


def _chunks(operations: Iterable[Operation]) -> Iterator[tuple[MetadataRecord | PartitionUpdate, ...]]:
    for operation in operations:
        for at in range(0, len(operation.items), MOST_IN_A_BATCH):
            yield operation.items[at : at + MOST_IN_A_BATCH]
