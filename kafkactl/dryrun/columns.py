"""Batches of a metadata log as columns: partition records by key and body, every other record as it stands.

Nearly all records are PartitionRecords and PartitionChangeRecords, and what they say behind the topic id has mostly
been said before. So their columns are dictionary encoded: `key` (the partition number and topic id as in the record,
20 bytes) and `body` (api key, version, and the bytes behind the ids). Whatever is no such record, or cannot be read as
one, keeps its bytes and its place, to be replayed one by one.
"""

from __future__ import annotations

import functools
from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import pyarrow as pa

from kafkactl.dryrun.before import type_of
from kafkactl.errors import DecodeError
from kafkactl.frozen import frozen
from kafkactl.metadata.frame import FRAME_VERSION, decode_record
from kafkactl.metadata.replay_batches import BATCH_HEAD, UNUSUAL_BITS, framed
from kafkactl.protocol.record_batch import HEADER_BYTES, LENGTH_END

VALUE, BATCH = 0, 1  # kinds of `others`: the value of a record, a whole batch that is unusual
PARTITION, CHANGE = 3, 5
KEY_BYTES: Final = 20
_HEAD_END: Final = 3 + KEY_BYTES
_NEWEST: Final = 2  # version of both partition records


@frozen
class Window:
    """Which records are replayed: offsets from `first` on and below `end`; earlier ones are counted.

    Partition records within the `withheld` ranges of offsets (first and last), and those of `exact` topics (raw ids),
    stay as they stand; with `all_exact` all of them do.
    """

    first: int
    end: int
    withheld: tuple[tuple[int, int], ...] = ()
    exact: frozenset[bytes] = frozenset()
    all_exact: bool = False

    def keeps(self, offset: int) -> bool:
        """Whether the record at an offset is withheld."""
        at = bisect_right(self.withheld, (offset, 1 << 63))
        return at > 0 and self.withheld[at - 1][1] >= offset

    def may_keep(self, first: int, last: int) -> bool:
        """Whether one of a range may be."""
        return any(begin <= last and end >= first for begin, end in self.withheld)


class Other(NamedTuple):
    """A record, or a batch, as it stands. `position` is that of its batch in the file, `number` its place in it."""

    position: int
    number: int
    kind: int
    offset: int
    epoch: int
    timestamp_ms: int
    content: bytes


@dataclass(slots=True)
class Columns:
    """What was decoded; the columns have a row for each partition record, in the order of the log.

    `before` counts the types of the records before the window.
    """

    keys: dict[bytes, int] = field(default_factory=dict)
    bodies: dict[bytes, int] = field(default_factory=dict)
    key: array[int] = field(default_factory=lambda: array("i"))
    body: array[int] = field(default_factory=lambda: array("i"))
    offset: array[int] = field(default_factory=lambda: array("q"))
    others: list[Other] = field(default_factory=list)
    before: Counter[str] = field(default_factory=Counter)

    def partitions(self) -> pa.RecordBatch:
        """The partition records as Arrow columns: offset, key, body."""
        return pa.record_batch(
            {
                "offset": pa.array(self.offset, pa.int64()),
                "key": pa.DictionaryArray.from_arrays(
                    pa.array(self.key, pa.int32()), pa.array(list(self.keys), pa.binary(KEY_BYTES))
                ),
                "body": pa.DictionaryArray.from_arrays(
                    pa.array(self.body, pa.int32()), pa.array(list(self.bodies), pa.binary())
                ),
            }
        )


def decode(data: bytes, positions: Sequence[int], base: int, window: Window, *, partitions: bool) -> Columns:
    """The batches at these positions of `data`, whole and of a right CRC; `base` is the place of `data` in the file.

    With `partitions` the partition records, as columns or as they stand; without, everything but them.
    """
    found = Columns()
    for at in positions:
        offset, length, epoch, attributes, delta, timestamp, _, count = BATCH_HEAD.unpack_from(data, at)
        last, stop = offset + delta, at + LENGTH_END + length
        if offset >= window.end:
            continue
        places = None
        if not attributes & UNUSUAL_BITS and delta == count - 1 and last < window.end:
            places = framed(data, at + HEADER_BYTES, stop, count)
        if places and last < window.first:
            if not partitions:
                values = iter(places)
                found.before.update(type_of(data[a:z]) for a, z in zip(values, values, strict=True))
        elif not places or offset < window.first:
            if not partitions:
                found.others.append(Other(base + at, 0, BATCH, offset, epoch, timestamp, data[at:stop]))
        elif partitions:
            _take_partitions(found, data, places, Other(base + at, 0, VALUE, offset, epoch, timestamp, b""), window)
        else:
            _take_others(found, data, places, Other(base + at, 0, VALUE, offset, epoch, timestamp, b""))
    return found


def _take_others(found: Columns, data: bytes, places: list[int], first: Other) -> None:
    values = iter(places)
    for index, (start, stop) in enumerate(zip(values, values, strict=True)):
        if not _is_partition(data, start, stop):
            content = data[start:stop]
            found.others.append(first._replace(number=index, offset=first.offset + index, content=content))


def _is_partition(data: bytes, start: int, stop: int) -> bool:
    return (
        data[start + 1] in (CHANGE, PARTITION)
        and data[start] == FRAME_VERSION
        and data[start + 2] <= _NEWEST
        and stop - start >= _HEAD_END
    )


def _take_partitions(found: Columns, data: bytes, places: list[int], first: Other, window: Window) -> None:
    keys, bodies, exact = found.keys, found.bodies, window.exact
    add_key, add_body, add_offset = found.key.append, found.body.append, found.offset.append
    offset = first.offset
    careful = window.all_exact or window.may_keep(offset, offset + len(places) // 2)
    values = iter(places)
    for start, stop in zip(values, values, strict=True):
        if _is_partition(data, start, stop):
            key = data[start + 3 : start + _HEAD_END]
            stays = (careful and (window.all_exact or window.keeps(offset))) or (exact and key[4:] in exact)
            body = data[start + 1 : start + 3] + data[start + _HEAD_END : stop]
            if not stays and (body in bodies or body_of(body) is not None):
                add_key(keys.setdefault(key, len(keys)))
                add_body(bodies.setdefault(body, len(bodies)))
                add_offset(offset)
            else:
                index = offset - first.offset
                found.others.append(first._replace(number=index, offset=offset, content=data[start:stop]))
        offset += 1


# --- bodies -------------------------------------------------------------------------------------------------------

LISTS: Final = ("Replicas", "Isr", "RemovingReplicas", "AddingReplicas")
LATE_LISTS: Final = ("EligibleLeaderReplicas", "LastKnownElr")


class Body(NamedTuple):
    """What a partition record says behind its ids, in the order of a `PartitionState` without the two epochs.

    None stands for what a change leaves alone. `is_unusual`: what it does depends on more than its own words (a change
    of replicas or of directories alone), or Kafka would refuse it.
    """

    is_reset: bool
    is_unusual: bool
    leader_epoch: int
    partition_epoch: int
    fields: tuple[Any, ...]


@functools.lru_cache(maxsize=200_000)
def body_of(body: bytes) -> Body | None:
    """The meaning of a body; None where it cannot be decoded."""
    try:
        data = decode_record(bytes([FRAME_VERSION]) + body[:2] + bytes(KEY_BYTES) + body[2:]).data
    except DecodeError:
        return None
    is_reset = body[0] == PARTITION
    lists = [None if data[name] is None else tuple(data[name]) for name in LISTS]
    late = [None if data[name] is None else tuple(data[name]) for name in LATE_LISTS]
    directories = None if data["Directories"] is None else b"".join(one.raw for one in data["Directories"])
    leader, recovery = data["Leader"], data["LeaderRecoveryState"]
    if is_reset:
        late = [one or () for one in late]
        unusual = recovery not in (0, 1)
    else:
        unusual = recovery not in (-1, 0, 1) or (directories is None) != (lists[0] is None)
        leader, recovery = (None if leader == -2 else leader), (None if recovery == -1 else recovery)
    if lists[0] is not None:
        directories = directories or b""
        if not any(directories):
            directories = bytes(16 * len(lists[0]))
        unusual = unusual or len(directories) != 16 * len(lists[0])
    epochs = (data["LeaderEpoch"], data["PartitionEpoch"]) if is_reset else (0, 0)
    return Body(is_reset, unusual, epochs[0], epochs[1], (*lists, leader, recovery, directories, *late))


def batches_in(data: bytes) -> Iterator[int]:
    """Where the batches begin in a stretch of whole ones."""
    at = 0
    while at + HEADER_BYTES <= len(data):
        yield at
        at += LENGTH_END + int.from_bytes(data[at + 8 : at + LENGTH_END], "big", signed=True)
