"""Proof that records of a log are committed, and detection of a log that contradicts them (two histories).

A leader completes its election, and becomes the active controller, after a majority holds the first record of its
epoch (`KafkaRaftClient.maybeFireLeaderChange`, 3.6 and later). So the first record of an epoch, which is a control
record, is committed if a metadata record of the same epoch follows it. A snapshot is made of committed records only.

Every later leader has what was committed before. A log that has a higher epoch at or below the offset of a committed
record, or another batch at that offset and a higher epoch anywhere, was written by a leader without that record: the
two logs are of two histories, which Raft rules out as long as no disk is wiped, restored from a copy, or exchanged.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterator, Sequence

from kafkactl.core.frozen import frozen
from kafkactl.metadata.log.lineage import BatchIndex

SnapshotEnd = tuple[int, int]
"""End offset and epoch of a snapshot, as its name has them."""


@frozen
class CommittedRecord:
    """A record that is proved to be committed, and the epoch of its batch."""

    offset: int
    epoch: int


def committed_records(index: BatchIndex, snapshots: Sequence[SnapshotEnd]) -> Iterator[CommittedRecord]:
    """Yield the last record of each snapshot, and the first record of each epoch that has metadata records."""
    for offset, epoch in snapshots:
        if offset > 0:
            yield CommittedRecord(offset=offset - 1, epoch=epoch)
    yield from _led_epochs(index)


def _led_epochs(index: BatchIndex) -> Iterator[CommittedRecord]:
    """Yield the first record of each epoch whose leader became the active controller.

    The first epoch of a log that does not begin at offset 0 is left out: its beginning is not in the log.
    """
    begin: int | None = None
    is_led = False
    for at, epoch in enumerate(index.epochs):
        if at == 0 or epoch != index.epochs[at - 1]:
            is_known = at > 0 or index.base_offsets[0] == 0
            begin = index.base_offsets[at] if is_known and index.controls[at] else None
            is_led = False
        if begin is not None and not is_led and not index.controls[at]:
            is_led = True
            yield CommittedRecord(offset=begin, epoch=epoch)


def overtakes(record: CommittedRecord, index: BatchIndex, snapshots: Sequence[SnapshotEnd]) -> bool:
    """Return True if a leader of a later epoch than the record's wrote the log without that record."""
    ends = [epoch for offset, epoch in snapshots if 0 < offset <= record.offset + 1]
    if max([index.epoch_at(record.offset), *ends]) > record.epoch:
        return True
    is_there = bool(index.base_offsets) and index.base_offsets[0] <= record.offset < index.end_offset
    return is_there and index.epoch_at(record.offset) != record.epoch and index.last_epoch > record.epoch


def longest_reign_ms(index: BatchIndex, offset: int) -> int:
    """Return the longest time over which one leader wrote, of the batches from an offset on."""
    first = bisect.bisect_left(index.base_offsets, offset)
    begins: dict[int, int] = {}
    longest = 0
    for epoch, time_ms in zip(index.epochs[first:], index.times_ms[first:], strict=True):
        if time_ms > 0:
            longest = max(longest, time_ms - begins.setdefault(epoch, time_ms))
    return longest


def shares(index: BatchIndex, other: BatchIndex, offset: int) -> bool:
    """Return True if the first batch at or above an offset is the same in both logs."""
    at = bisect.bisect_left(index.base_offsets, offset)
    place = bisect.bisect_left(other.base_offsets, offset)
    if at == len(index.base_offsets) or place == len(other.base_offsets):
        return False
    return (index.base_offsets[at], index.epochs[at], index.crcs[at]) == (
        other.base_offsets[place],
        other.epochs[place],
        other.crcs[place],
    )
