"""The segments of one user partition by leader epoch, as a broker caches them to read, delete and continue to copy.

Each epoch has a sorted map from the segment's first offset in that epoch to the segment, a set of segments that are
known but not mapped, and the highest offset that was ever copied. Source: `RemoteLogLeaderEpochState.java`,
`RemoteLogMetadataCache.java`; a segment that was copied again by a later leader is KAFKA-15168.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import ClassVar, Final, Literal

from kafkactl.tiered.numbers import INT_BYTES, INTS_EACH, LONG_BYTES, LONGS_EACH, SegmentNumbers, put_ints, put_longs
from kafkactl.tiered.records import BaseRecord, EpochStarts, UpdateRecord
from kafkactl.tiered.states import SegmentState

_NO_SEGMENTS: Final[dict[bytes, Segment]] = {}  # never changed: most epochs have no segment that is not mapped
_BELOW_ALL: Final = -(2**63) - 1  # no offset is that low
_WORTH_COMPACTING: Final = 64
_STATES: Final = tuple(SegmentState)

EpochIndex = Literal["referenced", "unreferenced", "none"]
Forgetting = Literal["partition-delete-record", "metadata-log-start"]


class _Rare:
    """Values that few segments have. `epochs` are the leader epochs of a segment that has several of them, or whose
    epoch does not begin with it; else None."""

    __slots__ = ("copied_again", "delete_starts", "deleting_since_ms", "epochs", "forgotten_by", "refused_deletes")

    def __init__(self) -> None:
        self.copied_again = False
        self.delete_starts = self.deleting_since_ms = self.refused_deletes = 0
        self.epochs: EpochStarts | None = None
        self.forgotten_by: Forgetting | None = None


_USUAL: Final = _Rare()
_START, _END, _NEWEST, _EVENT, _FIRST, _LAST = range(LONGS_EACH)  # of 64 bits
_SIZE, _BROKER, _PARTITION, _TXN_INDEX_EMPTY, _EPOCH = range(INTS_EACH)  # of 32 bits


class Segment:
    """A segment by the records of its id, changed in place while records are folded.

    Offsets `first_record` and `last_record` are those of its records in `metadata_partition`. `delete_starts` counts
    its DELETE_SEGMENT_STARTED records, the first of which has the time `deleting_since_ms`; `refused_deletes` counts
    those after one of the same broker: the first of a new leader says nothing about the store. `copied_again` says that
    a later base record begins at the same offset. `mapped` and `listed` count the epochs in whose map it is, and in
    which it is known without being mapped. There are millions: what is nearly always the same is not held as objects
    of its own, and numbers are a row of `SegmentNumbers` if they are not changed by every record.
    """

    __slots__ = ("_at", "_rare", "_rows", "custom_metadata", "listed", "mapped", "records", "segment_id", "state")

    # What there is of every segment as numbers, in the order of `of_numbers`.
    NUMBERS: ClassVar = (
        "metadata_partition", "first_record", "last_record", "records", "delete_starts", "deleting_since_ms",
        "refused_deletes", "mapped", "listed", "copied_again", "broker_id", "start_offset", "end_offset", "size",
        "max_timestamp_ms", "event_timestamp_ms", "state", "txn_index_empty", "first_epoch",
    )  # fmt: skip

    def __init__(self, record: BaseRecord, metadata_partition: int, offset: int, numbers: SegmentNumbers) -> None:
        self.records = 1
        self.mapped = self.listed = 0
        self._rare = _USUAL
        (
            _, _, self.segment_id, start, end, broker_id, newest_ms, event_ms, epochs, size, self.custom_metadata,
            self.state, txn_index_empty,
        ) = record  # fmt: skip
        epoch, first = epochs[0]
        rows, at = self._rows, self._at = numbers.take()
        put_longs(rows.longs, at * LONG_BYTES, start, end, newest_ms, event_ms, offset, offset)
        put_ints(rows.ints, at * INT_BYTES, size, broker_id, metadata_partition, txn_index_empty, epoch)
        if first != start or len(epochs) > 1:
            self._own().epochs = epochs

    @classmethod
    def of_numbers(cls, segment_id: bytes, values: Sequence[int], numbers: SegmentNumbers) -> Segment:
        """Return a segment with these NUMBERS and one epoch, without custom metadata, not forgotten."""
        made = cls.__new__(cls)
        (
            metadata_partition, first_record, last_record, made.records, delete_starts, deleting_since_ms,
            refused_deletes, made.mapped, made.listed, copied_again, broker_id, start, end, size, newest_ms, event_ms,
            state, txn_index_empty, epoch,
        ) = values  # fmt: skip
        made.segment_id = segment_id
        rows, at = made._rows, made._at = numbers.take()
        put_longs(rows.longs, at * LONG_BYTES, start, end, newest_ms, event_ms, first_record, last_record)
        put_ints(rows.ints, at * INT_BYTES, size, broker_id, metadata_partition, txn_index_empty, epoch)
        made.state = _STATES[state]
        made.custom_metadata = None
        made._rare = _USUAL
        if delete_starts or deleting_since_ms or copied_again:
            made._rare = _Rare()
            made._rare.delete_starts, made._rare.deleting_since_ms = delete_starts, deleting_since_ms
            made._rare.refused_deletes, made._rare.copied_again = refused_deletes, bool(copied_again)
        return made

    def give_up(self) -> None:
        """Leave its row of numbers to another segment. Nothing may look at this one any more."""
        self._rows.give_up(self._at)
        del self._rows

    @property
    def start_offset(self) -> int:
        """Return the first offset of the segment."""
        return self._rows.longs[self._at + _START]

    @property
    def end_offset(self) -> int:
        """Return the last offset of the segment."""
        return self._rows.longs[self._at + _END]

    @property
    def size(self) -> int:
        """Return the bytes of the segment's log object."""
        return self._rows.ints[self._at + _SIZE]

    @property
    def max_timestamp_ms(self) -> int:
        """Return the newest timestamp of its records."""
        return self._rows.longs[self._at + _NEWEST]

    @property
    def event_timestamp_ms(self) -> int:
        """Return the time of the last effective record."""
        return self._rows.longs[self._at + _EVENT]

    @property
    def metadata_partition(self) -> int:
        """Return the metadata partition with its records."""
        return self._rows.ints[self._at + _PARTITION]

    @property
    def first_record(self) -> int:
        """Return the offset of its first record in the metadata partition."""
        return self._rows.longs[self._at + _FIRST]

    @property
    def last_record(self) -> int:
        """Return the offset of its last record in the metadata partition."""
        return self._rows.longs[self._at + _LAST]

    @property
    def broker_id(self) -> int:
        """Return the broker that wrote the record that counted last."""
        return self._rows.ints[self._at + _BROKER]

    @property
    def txn_index_empty(self) -> bool:
        """Return True if no transaction was aborted in it."""
        return self._rows.ints[self._at + _TXN_INDEX_EMPTY] != 0

    @property
    def copied_again(self) -> bool:
        """Return True if a later base record begins at the same offset."""
        return self._rare.copied_again

    @copied_again.setter
    def copied_again(self, copied_again: bool) -> None:
        self._own().copied_again = copied_again

    @property
    def delete_starts(self) -> int:
        """Return the number of DELETE_SEGMENT_STARTED records."""
        return self._rare.delete_starts

    @property
    def deleting_since_ms(self) -> int:
        """Return the time of the first of them."""
        return self._rare.deleting_since_ms

    @property
    def refused_deletes(self) -> int:
        """Return the number of DELETE_SEGMENT_STARTED records that repeat one of the same broker."""
        return self._rare.refused_deletes

    @property
    def forgotten_by(self) -> Forgetting | None:
        """Return the reason why brokers forgot the segment; None if they did not."""
        return self._rare.forgotten_by

    @forgotten_by.setter
    def forgotten_by(self, why: Forgetting | None) -> None:
        self._own().forgotten_by = why

    def delete_begins(self, time_ms: int, *, again: bool = False) -> None:
        """Record a DELETE_SEGMENT_STARTED record; `again` if it repeats one of the same broker."""
        rare = self._own()
        rare.refused_deletes += again
        if not rare.delete_starts:
            rare.deleting_since_ms = time_ms
        rare.delete_starts += 1

    def _own(self) -> _Rare:
        if self._rare is _USUAL:
            self._rare = _Rare()
        return self._rare

    @property
    def leader_epochs(self) -> EpochStarts:
        """Return (leader epoch, its first offset in the segment), ascending."""
        epochs = self._rare.epochs
        return ((self.first_epoch, self.start_offset),) if epochs is None else epochs

    @leader_epochs.setter
    def leader_epochs(self, epochs: EpochStarts) -> None:
        epoch, first = epochs[0]
        self._rows.ints[self._at + _EPOCH] = epoch
        if first != self.start_offset or len(epochs) > 1:
            self._own().epochs = epochs
        elif self._rare.epochs is not None:
            self._rare.epochs = None

    @property
    def first_epoch(self) -> int:
        """Return the first of its leader epochs."""
        return self._rows.ints[self._at + _EPOCH]

    @property
    def only_epoch(self) -> int | None:
        """Return the leader epoch of a segment that has one, from its start; None for any other."""
        return self._rows.ints[self._at + _EPOCH] if self._rare.epochs is None else None

    @property
    def ends(self) -> tuple[int, int]:
        """Return the first and the last offset of the segment."""
        longs, at = self._rows.longs, self._at
        return longs[at + _START], longs[at + _END]

    @property
    def order(self) -> tuple[int, int, int]:
        """Return the sort key of the segment: its start offset, and the position of its first record."""
        rows, at = self._rows, self._at
        return rows.longs[at + _START], rows.ints[at + _PARTITION], rows.longs[at + _FIRST]

    @property
    def epoch_numbers(self) -> Sequence[int]:
        """Return the leader epochs of the segment without their offsets."""
        epochs = self._rare.epochs
        return (self._rows.ints[self._at + _EPOCH],) if epochs is None else [epoch for epoch, _ in epochs]

    def repeat(self, record: BaseRecord, offset: int) -> None:
        """Take in another base record of its id."""
        (
            _, _, _, start, end, broker_id, newest_ms, event_ms, epochs, size, self.custom_metadata, self.state,
            txn_index_empty,
        ) = record  # fmt: skip
        longs, ints, at = self._rows.longs, self._rows.ints, self._at
        longs[at + _START], longs[at + _END], longs[at + _NEWEST] = start, end, newest_ms
        longs[at + _EVENT], longs[at + _LAST] = event_ms, offset
        ints[at + _SIZE], ints[at + _BROKER], ints[at + _TXN_INDEX_EMPTY] = size, broker_id, txn_index_empty
        self.records += 1
        self.leader_epochs = epochs

    def update(self, record: UpdateRecord, offset: int) -> None:
        """Take in what a later record says; absent custom metadata replaces present, too."""
        _, _, _, broker_id, event_ms, self.custom_metadata, self.state = record
        self.records += 1
        rows, at = self._rows, self._at
        rows.ints[at + _BROKER] = broker_id
        longs = rows.longs
        longs[at + _EVENT], longs[at + _LAST] = event_ms, offset

    @property
    def epoch_index(self) -> EpochIndex:
        """Return `referenced` by the map of an epoch, `unreferenced` but known in one, or `none`: no broker sees it."""
        return "referenced" if self.mapped else "unreferenced" if self.listed else "none"

    def start_in(self, epoch: int) -> int:
        """Return the first offset of the segment in one of its epochs."""
        epochs = self._rare.epochs
        return self.start_offset if epochs is None else next(start for known, start in epochs if known == epoch)

    def end_in(self, epoch: int) -> int:
        """Return the last offset of the segment in one of its epochs."""
        for at, (known, _) in enumerate(self.leader_epochs):
            if known == epoch and at + 1 < len(self.leader_epochs):
                return self.leader_epochs[at + 1][1] - 1
        return self.end_offset


class EpochState:
    """A leader epoch of a user partition. `highest` is None before the first finished copy, and never falls.

    The map is a list in the order of the segments' first offsets in the epoch. They leave it at its head nearly always:
    there it has a gap of `_gone` places, which are dropped together. There are hundreds of thousands of epochs with few
    segments each, which a map as a dictionary would take three times as much memory for.
    """

    __slots__ = ("_gone", "_last", "_mapped", "_number", "highest", "unreferenced")

    def __init__(self, number: int) -> None:
        self.unreferenced = _NO_SEGMENTS
        self.highest: int | None = None
        self._number = number
        self._mapped: list[Segment | None] = []
        self._gone = 0
        self._last = _BELOW_ALL  # the first offset of the last segment in the map

    @classmethod
    def of(cls, number: int, mapped: list[Segment], unreferenced: Sequence[Segment], highest: int | None) -> EpochState:
        """Return an epoch as it was: `mapped` in order."""
        made = cls(number)
        made._mapped, made.highest = [*mapped], highest
        made._find_last()
        if unreferenced:
            made.unreferenced = {segment.segment_id: segment for segment in unreferenced}
        return made

    def hold(self, segment: Segment) -> None:
        """Add a segment that is not in the map, or no longer, as from the start of its copy on."""
        if not self.unreferenced:
            self.unreferenced = {segment.segment_id: segment}
            segment.listed += 1
        elif segment.segment_id not in self.unreferenced:
            self.unreferenced[segment.segment_id] = segment
            segment.listed += 1

    def copy_finished(self, start: int, end: int, segment: Segment) -> None:
        """Add a complete copy: segments that it covers leave the map; an entry with the same start is overwritten."""
        if start > self._last:
            self._mapped.append(segment)
            self._last = start
        else:
            self._put(start, end, segment)
        segment.mapped += 1
        self._unlist(segment)
        if self.highest is None or end > self.highest:
            self.highest = end

    def _put(self, start: int, end: int, segment: Segment) -> None:
        """Insert a segment into the map where another begins at the same offset or later."""
        while self._last >= start and (self.highest is None or self.highest <= end):
            taken = self._mapped.pop()
            assert taken is not None
            self._find_last()
            taken.mapped -= 1
            self.hold(taken)
        at = self._place(start)
        found = self._mapped[at] if at < len(self._mapped) else None
        if found is not None and found.start_in(self._number) == start:
            found.mapped -= 1
            self._mapped[at] = segment
        else:
            self._mapped.insert(at, segment)
        self._last = max(self._last, start)

    def delete_started(self, segment: Segment) -> None:
        """Remove the segment from the search by offset."""
        mapped, at = self._mapped, self._gone
        if at < len(mapped) and mapped[at] is segment:
            segment.mapped -= 1
            if at == 0 and len(mapped) <= _WORTH_COMPACTING:
                del mapped[0]
                if not mapped:
                    self._mapped, self._last = [], _BELOW_ALL  # one that was emptied may keep its space
            else:
                mapped[at] = None
                self._gone = at + 1
                self._compact()
        elif mapped:
            at = self._place(segment.start_in(self._number))
            if at < len(mapped) and mapped[at] is segment:
                segment.mapped -= 1
                del mapped[at]
                if at == len(mapped):
                    self._find_last()
        self.hold(segment)

    def delete_finished(self, segment: Segment) -> None:
        """Forget the segment. It stays in the map if its DELETE_SEGMENT_STARTED did not remove it."""
        self._unlist(segment)

    def in_order(self) -> list[tuple[int, Segment]]:
        """Return the map in the order of its offsets."""
        return [(segment.start_in(self._number), segment) for segment in self.mapped()]

    def mapped(self) -> list[Segment]:
        """Return the segments of the map in its order."""
        return [segment for segment in self._mapped if segment is not None]

    def known(self) -> Iterator[Segment]:
        """Yield every segment that a broker lists for this epoch."""
        yield from self.mapped()
        yield from self.unreferenced.values()

    def clear(self) -> None:
        """Forget everything, the highest offset included."""
        for segment in self.mapped():
            segment.mapped -= 1
        for segment in self.unreferenced.values():
            segment.listed -= 1
        self._mapped, self._gone, self._last = [], 0, _BELOW_ALL
        self.unreferenced, self.highest = _NO_SEGMENTS, None

    def _unlist(self, segment: Segment) -> None:
        if self.unreferenced and self.unreferenced.pop(segment.segment_id, None) is not None:
            segment.listed -= 1
            if not self.unreferenced:
                self.unreferenced = _NO_SEGMENTS  # one that was emptied keeps its table

    def _place(self, start: int) -> int:
        """Return the index in the list of a segment that begins at an offset, or at which it would be inserted."""
        return bisect_left(self._mapped, start, self._gone, key=self._start_of)

    def _start_of(self, segment: Segment | None) -> int:
        assert segment is not None  # no place after the gap is empty
        return segment.start_in(self._number)

    def _find_last(self) -> None:
        last = self._mapped[-1] if self._mapped else None
        self._last = _BELOW_ALL if last is None else last.start_in(self._number)

    def _compact(self) -> None:
        """Drop the gap if it is as long as what is left, so that a delete costs little in a map of any length."""
        mapped, gone = self._mapped, self._gone
        if gone == len(mapped):
            self._mapped, self._gone, self._last = [], 0, _BELOW_ALL
        elif gone > len(mapped) // 2:
            del mapped[:gone]
            self._gone = 0
