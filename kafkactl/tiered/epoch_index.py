"""The segments of one user partition by leader epoch, as a broker holds them: what it can find, delete and go on from.

For each epoch a sorted map from the segment's first offset in that epoch to the segment, a set of segments that are
known but not mapped, and the highest offset that was ever copied. Source: `RemoteLogLeaderEpochState.java`,
`RemoteLogMetadataCache.java`; a segment that was copied again by a later leader is KAFKA-15168.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator

from kafkactl.tiered.records import BaseRecord, EpochStarts, UpdateRecord
from kafkactl.tiered.states import SegmentState

_WORTH_COMPACTING = 64


class Segment:
    """A segment by the records of its id, changed in place while records are folded.

    Offsets `first_record` and `last_record` are those of its records in `metadata_partition`. `delete_starts` counts
    its DELETE_SEGMENT_STARTED records, the first of which has the time `deleting_since_ms`. `copied_again` says that a
    later base record begins at the same offset. `mapped` and `listed` count the epochs in whose map it is, and in
    which it is known without being mapped.
    """

    __slots__ = (
        "broker_id",
        "copied_again",
        "custom_metadata",
        "delete_starts",
        "deleting_since_ms",
        "end_offset",
        "event_timestamp_ms",
        "first_record",
        "forgotten_by",
        "last_record",
        "leader_epochs",
        "listed",
        "mapped",
        "max_timestamp_ms",
        "metadata_partition",
        "records",
        "segment_id",
        "size",
        "start_offset",
        "state",
        "txn_index_empty",
    )

    def __init__(self, record: BaseRecord, metadata_partition: int, offset: int) -> None:
        self.segment_id = record.segment_id
        self.metadata_partition = metadata_partition
        self.first_record = self.last_record = offset
        self.records = 0
        self.delete_starts = self.deleting_since_ms = 0
        self.mapped = self.listed = 0
        self.copied_again = False
        self.forgotten_by: str | None = None
        self.describe(record)

    def describe(self, record: BaseRecord) -> None:
        """Take in what a base record says."""
        self.start_offset = record.start_offset
        self.end_offset = record.end_offset
        self.leader_epochs: EpochStarts = record.leader_epochs
        self.size = record.size
        self.max_timestamp_ms = record.max_timestamp_ms
        self.txn_index_empty = record.txn_index_empty
        self.update(record)

    def update(self, record: BaseRecord | UpdateRecord) -> None:
        """Take in what every record says; absent custom metadata replaces present, too."""
        self.broker_id = record.broker_id
        self.event_timestamp_ms = record.event_timestamp_ms
        self.custom_metadata = record.custom_metadata
        self.state: SegmentState = record.state

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

    def copy_started(self, segment: Segment) -> None:
        """A copy begins."""
        self._list(segment)

    def copy_finished(self, start: int, end: int, segment: Segment) -> None:
        """A copy is complete: what it takes over moves out of the map, what stood at the same start is overwritten."""
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
        self.entries[start] = segment
        segment.mapped += 1
        self._unlist(segment)
        if self.highest is None or end > self.highest:
            self.highest = end

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

    def _last(self) -> int | None:
        keys = self._keys
        while keys and keys[-1] not in self.entries:
            keys.pop()
        return keys[-1] if keys else None

    def _compact(self) -> None:
        if len(self._keys) > 2 * len(self.entries) + _WORTH_COMPACTING:
            self._keys = sorted(self.entries)
