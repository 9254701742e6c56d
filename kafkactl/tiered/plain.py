"""Records as brokers write them, read fast: one in a batch, not compressed, with a short name and short metadata.

A metadata topic of a million segments has two million of them. What is unusual or wrong in any way is left to
`reading.py`; what is read here, that reads alike (a property test compares the two). Layouts: `schemas/tiered/`,
`clients/.../record/DefaultRecordBatch.java`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, TypeAlias

from kafkactl.protocol.primitives import base128
from kafkactl.protocol.record_batch import HEADER_BYTES, LENGTH_END
from kafkactl.tiered.records import BaseRecord, EpochStarts, PartitionKey, UpdateRecord
from kafkactl.tiered.states import SegmentState

# Names and numbers of user partitions by their bytes in a record: name, topic id, partition, no tagged fields.
Places: TypeAlias = dict[bytes, tuple[str, PartitionKey]]

# Base offset, length, attributes, last offset delta, base timestamp, number of records.
_BATCH: Final = struct.Struct(">qi9xhiq22xi")
# Sizes of records whose own length takes two bytes, and that of their value one or two.
_LEAST_RECORD, _MOST_RECORD = 64, 8191
_ONE_BYTE: Final = 63
_BEFORE_VALUE: Final = b"\0\0\0\1"  # attributes, timestamp delta, offset delta, no key
_BASE_FRAME, _UPDATE_FRAME = b"\1\0\0", b"\1\1\0"
_AFTER_NAME: Final = 16 + 4 + 1 - 1  # id, partition, tags; the length of a compact string is one more than its bytes
_BASE: Final = struct.Struct(">qqiqqB")
_ONE_EPOCH: Final = struct.Struct(">iqBiB")  # epoch, offset, tags; then size, and the length of custom metadata
_EPOCH: Final = struct.Struct(">iqB")
_SIZE: Final = struct.Struct(">iB")
_UPDATE: Final = struct.Struct(">iqB")
_AFTER_LENGTH: Final = HEADER_BYTES - LENGTH_END + 1  # from the first record to the last byte, which counts headers
_NO_HEAD: Final = b"\xff" * 16
_STATES: Final = tuple(SegmentState)
_TXN_INDEX: Final = {b"\0": False, b"\1\0\1\0": False, b"\1\0\1\1": True}


class PlainRecords(NamedTuple):
    """Records with consecutive offsets from `first_offset` up to, and without, `end_offset`, None those that were not
    wanted; `newest_ms` is the newest timestamp among them."""

    first_offset: int
    end_offset: int
    newest_ms: int
    records: Sequence[BaseRecord | UpdateRecord | None]


class PlainReader:
    """Reads records of partitions that it was shown once (`learn`), of those alone that are `wanted` where it is
    given."""

    def __init__(self, wanted: Callable[[PartitionKey], bool] | None = None) -> None:
        self._wanted = wanted
        self._places: Places = {}
        self._passed: set[bytes] = set()
        self._heads: dict[int, bytes] = {}

    def learn(self, value: bytes | None, record: object) -> None:
        """Remember the partition of a record that was read carefully."""
        if not isinstance(record, BaseRecord | UpdateRecord) or value is None:
            return
        if value[:3] in (_BASE_FRAME, _UPDATE_FRAME) and value[3] < 0x80:
            end = 4 + value[3] + _AFTER_NAME
            if value[end - 1] == 0:
                if self._wanted is None or self._wanted(record.key):
                    self._places[value[3:end]] = record.topic, record.key
                else:
                    self._passed.add(value[3:end])

    def take(self, data: bytes, positions: Sequence[int], first: int) -> tuple[PlainRecords | None, int]:
        """Plain records from `positions[first]` on, None where there are none; and which position comes next."""
        made: list[BaseRecord | UpdateRecord | None] = []
        passed = self._passed
        heads, places, batch = self._heads, self._places, _BATCH.unpack_from
        begin = expected = newest = -1
        at = first
        try:
            while at < len(positions):
                position = positions[at]
                offset, length, attributes, last_delta, time_ms, count = batch(data, position)
                if attributes or last_delta or count != 1 or offset < 0 or (offset != expected and made):
                    break
                head = heads.get(length) or self._head(length)
                position += HEADER_BYTES
                start = position + len(head)
                last = position + length - _AFTER_LENGTH
                if data[position:start] != head or data[last]:
                    break
                after = start + 4 + data[start + 3] + _AFTER_NAME
                place = places.get(data[start + 3 : after])
                make = _MAKERS.get(data[start : start + 3])
                record = None if place is None or make is None else make(data, after, last, place)
                if record is None and data[start + 3 : after] not in passed:
                    break
                made.append(record)
                expected = offset + 1
                begin = expected - len(made)
                newest = max(newest, time_ms)
                at += 1
        except (struct.error, IndexError):
            pass  # at the end of the data: the careful reader says what it is
        return (PlainRecords(begin, expected, newest, made) if made else None), at

    def _head(self, length: int) -> bytes:
        """What stands before the value in the only record of a batch of this length. Where there is no such record it
        is what no record begins with."""
        size = length - (HEADER_BYTES - LENGTH_END) - 2
        value = size - len(_BEFORE_VALUE) - 2
        value -= value > _ONE_BYTE
        head = _NO_HEAD
        if _LEAST_RECORD <= size <= _MOST_RECORD:
            head = base128(size << 1) + _BEFORE_VALUE + base128(value << 1)
        self._heads[length] = head
        return head


def _update(data: bytes, at: int, end: int, place: tuple[str, PartitionKey]) -> UpdateRecord | None:
    broker_id, time_ms, custom_length = _UPDATE.unpack_from(data, at + 17)
    rest = at + 30
    custom = None
    if custom_length:
        if custom_length > 0x7F:
            return None
        custom = data[rest : rest + custom_length - 1]
        rest += custom_length - 1
    state = data[rest]
    if rest + 2 != end or state > 3 or data[rest + 1] or data[at + 16]:
        return None
    topic, key = place
    return tuple.__new__(
        UpdateRecord, (topic, key, data[at : at + 16], broker_id, time_ms, custom, _STATES[state])
    )  # fmt: skip


def _base(data: bytes, at: int, end: int, place: tuple[str, PartitionKey]) -> BaseRecord | None:
    start_offset, end_offset, broker_id, max_ms, time_ms, count = _BASE.unpack_from(data, at + 17)
    epochs: EpochStarts
    if count == 2:
        epoch, first, tags, size, custom_length = _ONE_EPOCH.unpack_from(data, at + 54)
        rest = at + 72
        epochs = ((epoch, start_offset if first == start_offset else first),)  # one number, not two of a million
    else:
        found = _epochs(data, at + 54, count)
        if found is None:
            return None
        epochs, rest = found
        size, custom_length = _SIZE.unpack_from(data, rest)
        rest += 5
        tags = 0
    custom = None
    if custom_length:
        if custom_length > 0x7F:
            return None
        custom = data[rest : rest + custom_length - 1]
        rest += custom_length - 1
    state = data[rest]
    txn_index_empty = _TXN_INDEX.get(data[rest + 1 : end])
    if txn_index_empty is None or state > 3 or tags or data[at + 16] or not 0 <= start_offset <= end_offset:
        return None
    topic, key = place
    return tuple.__new__(
        BaseRecord,
        (
            topic, key, data[at : at + 16], start_offset, end_offset, broker_id, max_ms, time_ms, epochs, size, custom,
            _STATES[state], txn_index_empty,
        ),
    )  # fmt: skip


def _epochs(data: bytes, at: int, count: int) -> tuple[EpochStarts, int] | None:
    """Several epochs in ascending order, and where they end."""
    if not 2 < count < 0x80:
        return None
    found: list[tuple[int, int]] = []
    for _ in range(count - 1):
        epoch, first, tags = _EPOCH.unpack_from(data, at)
        if tags or (found and found[-1][0] >= epoch):
            return None
        found.append((epoch, first))
        at += _EPOCH.size
    return tuple(found), at


_MAKERS: Final[dict[bytes, Callable[[bytes, int, int, tuple[str, PartitionKey]], BaseRecord | UpdateRecord | None]]] = {
    _BASE_FRAME: _base,
    _UPDATE_FRAME: _update,
}
