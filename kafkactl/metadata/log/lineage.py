"""Lineage of logs: replicas compared batch by batch, by base offset, leader epoch and CRC.

Followers copy batches whole, so two nodes that agree on an offset and an epoch have the same bytes there (the log
matching of Raft). The first batch in which they differ is where one of them went its own way.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field

from kafkactl.cluster.quorum.voter_sets import NO_VOTERS, VoterIds, voters_after
from kafkactl.core.frozen import frozen
from kafkactl.protocol.log.batch_runs import BatchRun
from kafkactl.protocol.record_batch import LENGTH_END

# Base offset, leader epoch, CRC, attributes, last offset delta, largest timestamp.
_HEADER = struct.Struct(">q4xixIhi8xq")
_CONTROL_BIT = 0x20


@dataclass(slots=True)
class BatchIndex:
    """The batches of one node's log, some 30 bytes each: their identity, kind and time. Offsets ascend.

    `controls` has 1 for a control batch, 0 for a batch of metadata records; `times_ms` the largest timestamp of each.
    `voter_sets` has each voter set of the log, after the offset at which its batch begins.
    """

    base_offsets: array[int] = field(default_factory=lambda: array("q"))
    epochs: array[int] = field(default_factory=lambda: array("i"))
    crcs: array[int] = field(default_factory=lambda: array("L"))
    controls: array[int] = field(default_factory=lambda: array("b"))
    times_ms: array[int] = field(default_factory=lambda: array("q"))
    end_offset: int = 0
    voter_sets: list[tuple[int, VoterIds]] = field(default_factory=list)

    def add(self, run: BatchRun) -> None:
        """Take in the batches of a run. One that begins below the last is left out: it can be compared with nothing."""
        for position in run.positions:
            base_offset, epoch, crc, attributes, last_delta, time_ms = _HEADER.unpack_from(run.data, position)
            if base_offset < self.end_offset and self.base_offsets:
                continue
            self.base_offsets.append(base_offset)
            self.epochs.append(epoch)
            self.crcs.append(crc)
            self.controls.append(1 if attributes & _CONTROL_BIT else 0)
            if attributes & _CONTROL_BIT:
                self._add_voters(run.data, position, base_offset)
            self.times_ms.append(time_ms)
            self.end_offset = base_offset + last_delta + 1

    def _add_voters(self, data: bytes, position: int, offset: int) -> None:
        """Read the voters of a control batch."""
        end = position + LENGTH_END + int.from_bytes(data[position + LENGTH_END - 4 : position + LENGTH_END], "big")
        voters = voters_after(data[position:end], self.voters)
        if voters != self.voters:
            self.voter_sets.append((offset, voters))

    def until(self, offset: int) -> BatchIndex:
        """Return the batches that end below an offset; this index itself if all do."""
        import bisect

        if offset >= self.end_offset:
            return self
        count = bisect.bisect_left(self.base_offsets, offset)
        kept = BatchIndex(
            self.base_offsets[:count],
            self.epochs[:count],
            self.crcs[:count],
            self.controls[:count],
            self.times_ms[:count],
        )
        kept.end_offset = offset if count else 0
        kept.voter_sets = [entry for entry in self.voter_sets if entry[0] < offset]
        return kept

    @property
    def voters(self) -> VoterIds:
        """Return the voters at the end of the log, as far as the log names them; empty if it does not."""
        return self.voter_sets[-1][1] if self.voter_sets else NO_VOTERS

    @property
    def last_epoch(self) -> int:
        """Return the leader epoch of the last batch; -1 for an empty log."""
        return self.epochs[-1] if self.epochs else -1

    def epoch_at(self, offset: int) -> int:
        """Return the epoch of the last batch that begins at or below an offset; -1 if there is none."""
        import bisect

        at = bisect.bisect_right(self.base_offsets, offset)
        return self.epochs[at - 1] if at else -1

    @property
    def first_offset(self) -> int | None:
        """Return the offset of the first batch."""
        return self.base_offsets[0] if self.base_offsets else None


def index_of(runs: Iterable[object]) -> BatchIndex:
    """Return the index of a walk (`batch_runs.walk_runs`); damage is passed over."""
    index = BatchIndex()
    for run in runs:
        if isinstance(run, BatchRun):
            index.add(run)
    return index


@frozen
class Divergence:
    """Two logs part at `offset`: the batch there in each, `None` for an epoch where a log has no batch with it."""

    offset: int
    epoch: int | None
    other_epoch: int | None

    @property
    def same_epoch(self) -> bool:
        """Return True if both logs name the same leader as the writer, which cannot be."""
        return self.epoch == self.other_epoch


def divergence(batch: BatchIndex, other: BatchIndex) -> Divergence | None:
    """Return the first place at which the logs differ, within the offsets that both have; None if there is none."""
    if not batch.base_offsets or not other.base_offsets:
        return None
    start = max(batch.base_offsets[0], other.base_offsets[0])
    end = min(batch.end_offset, other.end_offset)
    left, right = _from(batch, start), _from(other, start)
    while left < len(batch.base_offsets) and right < len(other.base_offsets):
        offset, other_offset = batch.base_offsets[left], other.base_offsets[right]
        if min(offset, other_offset) >= end:
            return None
        same = offset == other_offset and batch.epochs[left] == other.epochs[right]
        if not same or batch.crcs[left] != other.crcs[right]:
            return Divergence(
                offset=min(offset, other_offset),
                epoch=batch.epochs[left] if offset <= other_offset else None,
                other_epoch=other.epochs[right] if other_offset <= offset else None,
            )
        left, right = left + 1, right + 1
    return None


def _from(index: BatchIndex, offset: int) -> int:
    """Return the first batch that begins at or after an offset."""
    import bisect

    return bisect.bisect_left(index.base_offsets, offset)
