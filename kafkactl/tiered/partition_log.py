"""User partition: its segments, its epoch index, and the records that a broker drops.

Source: `RemoteLogMetadataCache.java` and `RemotePartitionMetadataStore.java`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from kafkactl.tiered.epoch_index import EpochState, Segment
from kafkactl.tiered.numbers import SegmentNumbers
from kafkactl.tiered.records import BaseRecord, PartitionKey, UpdateRecord
from kafkactl.tiered.states import COPIED, COPYING, DELETED, DELETING, SegmentState, is_legal

ILLEGAL: Final = "illegal-transition"
WITHOUT_BASE: Final = "update-without-base"
POISON: Final = "poison-record"
AFTER_DELETE: Final = "after-partition-delete"
FORGOTTEN_BY_DELETE: Final = "partition-delete-record"
FORGOTTEN_BY_LOG_START: Final = "metadata-log-start"

MOST_DROPS = 1000  # that are kept of one partition, with their places


class Drop(NamedTuple):
    """A record that brokers drop. `before` is the state that the segment had, None without a base record."""

    why: str
    metadata_partition: int
    offset: int
    segment_id: bytes
    before: SegmentState | None
    after: SegmentState


class PartitionLog:
    """State of one user partition by its records.

    `records_in` counts them by metadata partition, `deleted` has the ids that are DELETE_SEGMENT_FINISHED where they
    are kept. `forgotten` are the segments that a partition-delete record made brokers forget.
    """

    __slots__ = (
        "_copies",
        "_numbers",
        "deleted",
        "drop_counts",
        "drops",
        "epochs",
        "first_ms",
        "forgotten",
        "key",
        "records_in",
        "table",
        "topic",
    )

    def __init__(
        self, topic: str, key: PartitionKey, *, keep_deleted: bool, numbers: SegmentNumbers | None = None
    ) -> None:
        self.topic = topic
        self.key = key
        self._numbers = numbers or SegmentNumbers()
        self.table: dict[bytes, Segment] = {}
        self.epochs: dict[int, EpochState] = {}
        self.forgotten: list[Segment] = []
        self.deleted: dict[bytes, Segment] | None = {} if keep_deleted else None
        self.records_in: dict[int, int] = {}
        self.first_ms: int | None = None  # the earliest time of a record, by the brokers' clocks
        self.drops: list[Drop] = []
        self.drop_counts: dict[str, int] = {}
        self._copies: dict[int, Segment | list[Segment]] = {}  # COPY_SEGMENT_STARTED by start offset

    def segments(self) -> Iterator[Segment]:
        """Yield the segments without DELETE_SEGMENT_FINISHED, including forgotten ones."""
        yield from self.table.values()
        yield from self.forgotten

    def is_copying(self, segment_id: bytes) -> bool:
        """Return True if a segment is COPY_SEGMENT_STARTED."""
        segment = self.table.get(segment_id)
        return segment is not None and segment.state is COPYING

    def count(self, topic: str, metadata_partition: int, event_timestamp_ms: int, records: int = 1) -> None:
        """Count records of this partition."""
        self.topic = topic
        self.first_ms = event_timestamp_ms if self.first_ms is None else min(self.first_ms, event_timestamp_ms)
        self.records_in[metadata_partition] = self.records_in.get(metadata_partition, 0) + records

    def add(self, record: BaseRecord, metadata_partition: int, offset: int) -> str | None:
        """Return a base record in state COPY_SEGMENT_STARTED; why brokers drop it, None if they do not."""
        segment_id, start = record.segment_id, record.start_offset
        segment = self.table.get(segment_id)
        before = None if segment is None else segment.state
        if not is_legal(before, record.state):
            return self._drop(ILLEGAL, metadata_partition, offset, record, before)
        if segment is None:
            segment = self.table[segment_id] = Segment(record, metadata_partition, offset, self._numbers)
            if self.deleted:
                self.deleted.pop(segment_id, None)
        else:
            self._copy_over(segment)
            segment.repeat(record, offset)
        if start in self._copies:
            self._copy_again(segment, is_new=before is None)
        else:
            self._copies[start] = segment
        for epoch, _ in record.leader_epochs:
            state = self.epochs.get(epoch)
            if state is None:
                state = self.epochs[epoch] = EpochState(epoch)
            state.hold(segment)
        return None

    def update(self, record: UpdateRecord, metadata_partition: int, offset: int) -> str | None:
        """Return a later record of a segment; why brokers drop it, None if they do not."""
        segment, state = self.table.get(record.segment_id), record.state
        if segment is None:
            return self._drop(WITHOUT_BASE, metadata_partition, offset, record, None)
        before = segment.state
        if not is_legal(before, state):
            return self._drop(ILLEGAL, metadata_partition, offset, record, before)
        if before is COPYING and state is not COPYING:
            self._copy_over(segment)
        again = before is DELETING and segment.broker_id == record.broker_id
        segment.update(record, offset)
        if state is COPIED:
            only = segment.only_epoch
            if only is not None:
                self.epochs[only].copy_finished(*segment.ends, segment)
                return None
            for epoch, start in segment.leader_epochs:
                self.epochs[epoch].copy_finished(start, segment.end_in(epoch), segment)
        elif state is DELETING:
            segment.delete_begins(record.event_timestamp_ms, again=again)
            for epoch in segment.epoch_numbers:
                self.epochs[epoch].delete_started(segment)
        elif state is DELETED:
            for epoch in segment.epoch_numbers:
                self.epochs[epoch].delete_finished(segment)
            del self.table[record.segment_id]
            if self.deleted is not None:
                self.deleted[record.segment_id] = segment
            elif not segment.mapped:  # an epoch whose map has it still shows it
                segment.give_up()
        return None

    def forget(self) -> int:
        """Drop everything, as brokers do at DELETE_PARTITION_FINISHED. Return the number of segments."""
        for state in self.epochs.values():
            state.clear()
        self.epochs = {}
        count = len(self.table)
        for segment in self.table.values():
            segment.forgotten_by = FORGOTTEN_BY_DELETE
            self.forgotten.append(segment)
        self.table, self._copies = {}, {}
        return count

    def _copy_again(self, segment: Segment, *, is_new: bool) -> None:
        """Mark unfinished copies that begin at the same offset."""
        copies = self._copies_at(segment.start_offset)
        if is_new:
            for earlier in copies:
                earlier.copied_again = True
        self._copies[segment.start_offset] = [*copies, segment]

    def _copies_at(self, start_offset: int) -> Sequence[Segment]:
        copies = self._copies.get(start_offset)
        return () if copies is None else copies if isinstance(copies, list) else (copies,)

    def _copy_over(self, segment: Segment) -> None:
        at = segment.start_offset
        copies = self._copies.get(at)
        if isinstance(copies, list) and len(copies) > 1:
            copies.remove(segment)
        else:
            del self._copies[at]

    def _drop(
        self,
        why: str,
        metadata_partition: int,
        offset: int,
        record: BaseRecord | UpdateRecord,
        before: SegmentState | None,
    ) -> str:
        self.drop_counts[why] = self.drop_counts.get(why, 0) + 1
        if len(self.drops) < MOST_DROPS:
            self.drops.append(Drop(why, metadata_partition, offset, record.segment_id, before, record.state))
        return why
