"""The segments of one user partition by leader epoch, as a broker caches them to read, delete and continue to copy.

Each epoch has a sorted map from the segment's first offset in that epoch to the segment, a set of segments that are
known but not mapped, and the highest offset that was ever copied. Source: `RemoteLogLeaderEpochState.java`,
`RemoteLogMetadataCache.java`; a segment that was copied again by a later leader is KAFKA-15168.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar, Final

from kafkactl.tiered.numbers import PER_SEGMENT, SegmentNumbers
from kafkactl.tiered.records import BaseRecord, EpochStarts, UpdateRecord
from kafkactl.tiered.states import SegmentState

_WORTH_COMPACTING = 64
_STATES: Final = tuple(SegmentState)


class _Rare:
    """What few segments have."""

    __slots__ = ("copied_again", "delete_starts", "deleting_since_ms", "forgotten_by")

    def __init__(self) -> None:
        self.copied_again = False
        self.delete_starts = self.deleting_since_ms = 0
        self.forgotten_by: str | None = None


_USUAL: Final = _Rare()
_END, _SIZE, _NEWEST, _EVENT, _FIRST, _LAST = range(PER_SEGMENT)


class Segment:
    """A segment by the records of its id, changed in place while records are folded.

    Offsets `first_record` and `last_record` are those of its records in `metadata_partition`. `delete_starts` counts
    its DELETE_SEGMENT_STARTED records, the first of which has the time `deleting_since_ms`. `copied_again` says that a
    later base record begins at the same offset. `mapped` and `listed` count the epochs in whose map it is, and in
    which it is known without being mapped. There are millions: what is nearly always the same is not held as objects
    of its own, and large numbers are a row of `SegmentNumbers`.
    """

    __slots__ = (
        "_at",
        "_epochs",
        "_numbers",
        "_rare",
        "broker_id",
        "custom_metadata",
        "listed",
        "mapped",
        "metadata_partition",
        "records",
        "segment_id",
        "start_offset",
        "state",
        "txn_index_empty",
    )

    # What there is of every segment as numbers, in the order of `of_numbers`.
    NUMBERS: ClassVar = (
        "metadata_partition", "first_record", "last_record", "records", "delete_starts", "deleting_since_ms", "mapped",
        "listed", "copied_again", "broker_id", "start_offset", "end_offset", "size", "max_timestamp_ms",
        "event_timestamp_ms", "state", "txn_index_empty", "first_epoch",
    )  # fmt: skip

    def __init__(self, record: BaseRecord, metadata_partition: int, offset: int, numbers: SegmentNumbers) -> None:
        self.metadata_partition = metadata_partition
        self.records = 1
        self.mapped = self.listed = 0
        self._rare = _USUAL
        (
            _, _, self.segment_id, self.start_offset, end_offset, self.broker_id, newest_ms, event_ms, epochs, size,
            self.custom_metadata, self.state, self.txn_index_empty,
        ) = record  # fmt: skip
        self._numbers = numbers
        self._at = numbers.take((end_offset, size, newest_ms, event_ms, offset, offset))
        is_usual = len(epochs) == 1 and epochs[0][1] == self.start_offset
        self._epochs: int | EpochStarts = epochs[0][0] if is_usual else epochs

    @classmethod
    def of_numbers(cls, segment_id: bytes, values: Sequence[int], numbers: SegmentNumbers) -> Segment:
        """One with these NUMBERS and one epoch, without custom metadata, not forgotten."""
        made = cls.__new__(cls)
        (
            made.metadata_partition, first_record, last_record, made.records, delete_starts, deleting_since_ms,
            made.mapped, made.listed, copied_again, made.broker_id, made.start_offset, end_offset, size, newest_ms,
            event_ms, state, txn_index_empty, made._epochs,
        ) = values  # fmt: skip
        made.segment_id = segment_id
        made._numbers = numbers
        made._at = numbers.take((end_offset, size, newest_ms, event_ms, first_record, last_record))
        made.state = _STATES[state]
        made.txn_index_empty = bool(txn_index_empty)
        made.custom_metadata = None
        made._rare = _USUAL
        if delete_starts or deleting_since_ms or copied_again:
            made._rare = _Rare()
            made._rare.delete_starts, made._rare.deleting_since_ms = delete_starts, deleting_since_ms
            made._rare.copied_again = bool(copied_again)
        return made

    def give_up(self) -> None:
        """Leave its row of numbers to another segment. Nothing may look at this one any more."""
        self._numbers.give_up(self._at)
        del self._numbers

    @property
    def end_offset(self) -> int:
        """Its last offset."""
        return self._numbers.values[self._at + _END]

    @property
    def size(self) -> int:
        """Bytes of its log object."""
        return self._numbers.values[self._at + _SIZE]

    @property
    def max_timestamp_ms(self) -> int:
        """The newest timestamp of its records."""
        return self._numbers.values[self._at + _NEWEST]

    @property
    def event_timestamp_ms(self) -> int:
        """When the record was written that counted last."""
        return self._numbers.values[self._at + _EVENT]

    @property
    def first_record(self) -> int:
        """The offset of its first record in the metadata partition."""
        return self._numbers.values[self._at + _FIRST]

    @property
    def last_record(self) -> int:
        """The offset of its last record in the metadata partition."""
        return self._numbers.values[self._at + _LAST]

    @property
    def copied_again(self) -> bool:
        """Whether a later base record begins at the same offset."""
        return self._rare.copied_again

    @copied_again.setter
    def copied_again(self, copied_again: bool) -> None:
        self._own().copied_again = copied_again

    @property
    def delete_starts(self) -> int:
        """How many DELETE_SEGMENT_STARTED records it has."""
        return self._rare.delete_starts

    @property
    def deleting_since_ms(self) -> int:
        """The time of the first of them."""
        return self._rare.deleting_since_ms

    @property
    def forgotten_by(self) -> str | None:
        """What made brokers forget it."""
        return self._rare.forgotten_by

    @forgotten_by.setter
    def forgotten_by(self, why: str | None) -> None:
        self._own().forgotten_by = why

    def delete_begins(self, time_ms: int) -> None:
        """A DELETE_SEGMENT_STARTED record."""
        rare = self._own()
        if not rare.delete_starts:
            rare.deleting_since_ms = time_ms
        rare.delete_starts += 1

    def _own(self) -> _Rare:
        if self._rare is _USUAL:
            self._rare = _Rare()
        return self._rare

    @property
    def leader_epochs(self) -> EpochStarts:
        """(leader epoch, its first offset in the segment), ascending."""
        epochs = self._epochs
        return ((epochs, self.start_offset),) if isinstance(epochs, int) else epochs

    @leader_epochs.setter
    def leader_epochs(self, epochs: EpochStarts) -> None:
        is_usual = len(epochs) == 1 and epochs[0][1] == self.start_offset
        self._epochs = epochs[0][0] if is_usual else epochs

    @property
    def first_epoch(self) -> int:
        """The first of its leader epochs."""
        return self._epochs if isinstance(self._epochs, int) else self._epochs[0][0]

    @property
    def only_epoch(self) -> int | None:
        """The leader epoch of a segment that has one, from its start; None for any other."""
        return self._epochs if isinstance(self._epochs, int) else None

    def repeat(self, record: BaseRecord, offset: int) -> None:
        """Take in another base record of its id."""
        (
            _, _, _, self.start_offset, end_offset, self.broker_id, newest_ms, event_ms, self.leader_epochs, size,
            self.custom_metadata, self.state, self.txn_index_empty,
        ) = record  # fmt: skip
        self.records += 1
        values, at = self._numbers.values, self._at
        values[at + _END], values[at + _SIZE], values[at + _NEWEST] = end_offset, size, newest_ms
        values[at + _EVENT], values[at + _LAST] = event_ms, offset

    def update(self, record: UpdateRecord, offset: int) -> None:
        """Take in what a later record says; absent custom metadata replaces present, too."""
        _, _, _, self.broker_id, event_ms, self.custom_metadata, self.state = record
        self.records += 1
        values, at = self._numbers.values, self._at
        values[at + _EVENT], values[at + _LAST] = event_ms, offset

    @property
    def epoch_index(self) -> str:
        """`referenced` by the map of an epoch, `unreferenced` but known in one, or `none`: no broker sees it."""
        return "referenced" if self.mapped else "unreferenced" if self.listed else "none"

    def end_in(self, epoch: int) -> int:
        """The last offset of the segment in one of its epochs."""
        for at, (known, _) in enumerate(self.leader_epochs):
            if known == epoch and at + 1 < len(self.leader_epochs):
                return self.leader_epochs[at + 1][1] - 1
        return self.end_offset


class EpochState:
    """One leader epoch of a user partition. `highest` is None before the first finished copy, and never falls."""

    __slots__ = ("_keys", "entries", "highest", "unreferenced")

    def __init__(self) -> None:
        self.entries: dict[int, Segment] = {}
        self.unreferenced: dict[bytes, Segment] = {}
        self.highest: int | None = None
        self._keys: list[int] = []  # ascending; those that are not in `entries` any more are dropped late

    @classmethod
    def of(cls, entries: dict[int, Segment], unreferenced: Iterable[Segment], highest: int | None) -> EpochState:
        """An epoch as it was: `entries` in the order of their offsets."""
        made = cls()
        made.entries, made.highest, made._keys = entries, highest, list(entries)
        made.unreferenced = {segment.segment_id: segment for segment in unreferenced}
        return made

    def copy_started(self, segment: Segment) -> None:
        """A copy begins."""
        if segment.segment_id not in self.unreferenced:
            self.unreferenced[segment.segment_id] = segment
            segment.listed += 1

    def copy_finished(self, start: int, end: int, segment: Segment) -> None:
        """A copy is complete: segments that it covers leave the map; an entry with the same start is overwritten."""
        keys = self._keys
        if not keys or keys[-1] < start:
            keys.append(start)
        else:
            self._make_room(start, end)
        self.entries[start] = segment
        segment.mapped += 1
        self._unlist(segment)
        if self.highest is None or end > self.highest:
            self.highest = end

    def _make_room(self, start: int, end: int) -> None:
        while (last := self._last()) is not None and last >= start and (self.highest is None or self.highest <= end):
            taken = self.entries.pop(last)
            self._keys.pop()
            taken.mapped -= 1
            self._list(taken)
        before = self.entries.get(start)
        if before is not None:
            before.mapped -= 1
        elif not self._keys or self._keys[-1] < start:
            self._keys.append(start)
        else:
            at = bisect_left(self._keys, start)
            if self._keys[at] != start:
                insort(self._keys, start)

    def delete_started(self, start: int, segment: Segment) -> None:
        """The segment can no longer be found by offset."""
        if self.entries.get(start) is segment:
            del self.entries[start]
            segment.mapped -= 1
            self._compact()
        self._list(segment)

    def delete_finished(self, segment: Segment) -> None:
        """The segment is forgotten. It stays in the map if its DELETE_SEGMENT_STARTED did not take it out."""
        self._unlist(segment)

    def in_order(self) -> list[tuple[int, Segment]]:
        """The map in the order of its offsets."""
        return sorted(self.entries.items())

    def known(self) -> Iterator[Segment]:
        """Every segment that a broker lists for this epoch."""
        yield from self.entries.values()
        yield from self.unreferenced.values()

    def clear(self) -> None:
        """Forget everything, the highest offset included."""
        for segment in self.entries.values():
            segment.mapped -= 1
        for segment in self.unreferenced.values():
            segment.listed -= 1
        self.entries, self.unreferenced, self.highest, self._keys = {}, {}, None, []

    def _list(self, segment: Segment) -> None:
        if segment.segment_id not in self.unreferenced:
            self.unreferenced[segment.segment_id] = segment
            segment.listed += 1

    def _unlist(self, segment: Segment) -> None:
        if self.unreferenced.pop(segment.segment_id, None) is not None:
            segment.listed -= 1
            if not self.unreferenced:
                self.unreferenced = {}  # one that was emptied keeps its table

    def _last(self) -> int | None:
        keys = self._keys
        while keys and keys[-1] not in self.entries:
            keys.pop()
        return keys[-1] if keys else None

    def _compact(self) -> None:
        if len(self._keys) > 2 * len(self.entries) + _WORTH_COMPACTING:
            self._keys = sorted(self.entries)
