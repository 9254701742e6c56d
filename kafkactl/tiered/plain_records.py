"""Records as brokers write them, read fast: one in a batch, not compressed, with a short name and short metadata.

A metadata topic of a million segments has two million of them. What is unusual or wrong in any way is left to
`reading.py`; what is read here, that reads alike (a property test compares the two). Layouts: `schemas/tiered/`,
`clients/.../record/DefaultRecordBatch.java`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from kafkactl.protocol.primitives import base128
from kafkactl.protocol.record_batch import HEADER_BYTES, LENGTH_END
from kafkactl.tiered.records import BaseRecord, EpochStarts, PartitionKey, UpdateRecord
from kafkactl.tiered.states import SegmentState

# Names and numbers of user partitions by their bytes in a record: name, topic id, partition, no tagged fields.
Places: TypeAlias = dict[bytes, tuple[str, PartitionKey]]
Made: TypeAlias = BaseRecord | UpdateRecord | None  # None: it is left to the careful reader
Maker: TypeAlias = Callable[[tuple[Any, ...], bytes, Places], Made]

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
# A whole batch: offset, attributes and last offset delta, base timestamp; the number of records, the bytes before the
# record's value, its frame; the partition, the segment id and the tags of both. Then the fields of the record.
_LAYOUT_FRONT: Final = ">q13x6sq22x{}s{}s16sB"
_LAYOUT_UPDATE: Final = "iqB{}s3s"  # the length of custom metadata and these; state, tags, headers
_LAYOUT_BASE: Final = "qqiqqBiqBi"
_ONE_BYTE_LENGTH: Final = 0x7F
_NO_ATTRIBUTES: Final = bytes(6)
_AFTER_LENGTH: Final = HEADER_BYTES - LENGTH_END + 1  # from the first record to the last byte, which counts headers
_NO_HEAD: Final = b"\xff" * 16
_STATES: Final = tuple(SegmentState)
_TXN_INDEX: Final = {b"\0": False, b"\1\0\1\0": False, b"\1\0\1\1": True}


class PlainRecords(NamedTuple):
    """Records with consecutive offsets from `first_offset` up to, and without, `end_offset`; `newest_ms` is the newest
    timestamp among them."""

    first_offset: int
    end_offset: int
    newest_ms: int
    records: Sequence[BaseRecord | UpdateRecord]


class PlainReader:
    """Reader for records of partitions that it was shown once (`learn`)."""

    def __init__(self) -> None:
        self._places: Places = {}
        self._heads: dict[int, bytes] = {}
        self._layouts: dict[int, tuple[Callable[[bytes, int], tuple[Any, ...]], Maker, bytes]] = {}

    def learn(self, value: bytes | None, record: object) -> None:
        """Remember the partition of a record that was read carefully."""
        if not isinstance(record, BaseRecord | UpdateRecord) or value is None:
            return
        if value[:3] in (_BASE_FRAME, _UPDATE_FRAME) and value[3] < 0x80:
            end = 4 + value[3] + _AFTER_NAME
            if value[end - 1] == 0:
                self._places[value[3:end]] = record.topic, record.key

    def take(self, data: bytes, positions: Sequence[int], first: int) -> tuple[PlainRecords | None, int]:
        """Return plain records from `positions[first]` on, None if there are none; and the next position."""
        made: list[BaseRecord | UpdateRecord] = []
        layouts, places = self._layouts, self._places
        expected = newest = -1
        at, last = first, len(positions) - 1
        try:
            while at <= last:
                position = positions[at]
                layout = layouts.get(positions[at + 1] - position) if at < last else None
                record = None
                if layout is not None:
                    unpack, make, front = layout
                    values = unpack(data, position)
                    offset, time_ms = values[0], values[2]
                    record = make(values, front, places)
                if record is None:
                    offset, time_ms, record = self._single(data, position)
                if offset != expected and (made or offset < 0):
                    break
                if record is None:
                    break
                made.append(record)
                expected = offset + 1
                if time_ms > newest:  # noqa: PLR1730  # a call for each record
                    newest = time_ms
                at += 1
        except (struct.error, IndexError):
            pass  # at the end of the data: the careful reader says what it is
        return (PlainRecords(expected - len(made), expected, newest, made) if made else None), at

    def _single(self, data: bytes, position: int) -> tuple[int, int, Made]:
        """Return offset, timestamp and record of a batch of any size.

        Later batches of the same layout are read faster.
        """
        offset, length, attributes, last_delta, time_ms, count = _BATCH.unpack_from(data, position)
        head = self._heads.get(length) or self._head(length)
        begin = position + HEADER_BYTES
        start = begin + len(head)
        last = begin + length - _AFTER_LENGTH
        if attributes or last_delta or count != 1 or data[begin:start] != head or data[last]:
            return offset, time_ms, None
        after = start + 4 + data[start + 3] + _AFTER_NAME
        frame, place = data[start : start + 3], data[start + 3 : after]
        named = self._places.get(place)
        if named is None or frame not in _MAKERS:
            return offset, time_ms, None
        record = _MAKERS[frame](data, after, last, named)
        if record is not None:
            self._learn_layout(record, LENGTH_END + length, head + frame, len(place))
        return offset, time_ms, record

    def _learn_layout(self, record: BaseRecord | UpdateRecord, size: int, front: bytes, place_bytes: int) -> None:
        if size in self._layouts:
            return
        custom = record.custom_metadata
        begin = _LAYOUT_FRONT.format(len(front) + 4, place_bytes)
        front = b"\0\0\0\1" + front
        if isinstance(record, UpdateRecord):
            layout = struct.Struct(begin + _LAYOUT_UPDATE.format(0 if custom is None else len(custom)))
            make: Maker = _plain_update
        elif len(record.leader_epochs) == 1 and custom is None:
            layout = struct.Struct(begin + _LAYOUT_BASE + ("7s" if record.txn_index_empty else "4s"))
            make = _plain_base
        else:
            return
        if layout.size == size:
            self._layouts[size] = layout.unpack_from, make, front

    def _head(self, length: int) -> bytes:
        """Return the bytes before the value in the only record of a batch of `length` bytes.

        For a length that cannot be one such record: bytes that no record begins with.
        """
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
        epochs = ((epoch, first),)
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
    """Return several epochs in ascending order, and their end; None for any other form."""
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


def _plain_update(values: tuple[Any, ...], expected: bytes, places: Places) -> Made:
    """Return an update from a batch whose layout fits."""
    _, attributes, _, front, place, segment_id, tags, broker_id, time_ms, length, custom, end = values
    state = _UPDATE_ENDS.get(end)
    if state is None or attributes != _NO_ATTRIBUTES or front != expected or tags:
        return None
    if not length:
        if custom:
            return None
        custom = None
    elif length != len(custom) + 1 or length > _ONE_BYTE_LENGTH:
        return None
    named = places.get(place)
    if named is None:
        return None
    topic, key = named
    return tuple.__new__(UpdateRecord, (topic, key, segment_id, broker_id, time_ms, custom, state))


def _plain_base(values: tuple[Any, ...], expected: bytes, places: Places) -> Made:
    """Return a base record with one epoch and without custom metadata from a batch whose layout fits."""
    (
        _, attributes, _, front, place, segment_id, tags, start, last, broker_id, max_ms, time_ms, count, epoch, first,
        epoch_tags, size, end,
    ) = values  # fmt: skip
    found = _BASE_ENDS.get(end)
    if found is None or attributes != _NO_ATTRIBUTES or front != expected or tags or count != 2 or epoch_tags:
        return None
    named = places.get(place)
    if named is None:
        return None
    if not 0 <= start <= last:
        return None
    state, txn_index_empty = found
    topic, key = named
    return tuple.__new__(
        BaseRecord,
        (
            topic, key, segment_id, start, last, broker_id, max_ms, time_ms, ((epoch, first),), size, None, state,
            txn_index_empty,
        ),
    )  # fmt: skip


# The last bytes of a batch: (of base records: no custom metadata,) a state, tags, no headers.
_UPDATE_ENDS: Final = {bytes((state, 0, 0)): state for state in SegmentState}
_BASE_ENDS: Final = {
    bytes((0, state)) + tags + b"\0": (state, is_empty)
    for state in SegmentState
    for tags, is_empty in _TXN_INDEX.items()
}
_MAKERS: Final[dict[bytes, Callable[[bytes, int, int, tuple[str, PartitionKey]], BaseRecord | UpdateRecord | None]]] = {
    _BASE_FRAME: _base,
    _UPDATE_FRAME: _update,
}
