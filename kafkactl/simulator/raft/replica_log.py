"""The log of a running node: what it read from its disk, kept up to date with what it writes.

Follows `KafkaMetadataLog`, `ReplicatedLog`, `LeaderEpochFileCache`, and for voters and kraft.version
`KRaftControlRecordStateMachine` and `VoterSetHistory`: both are taken from records at once, committed or not.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TypeVar

from kafkactl.simulator.raft.disk import Disk
from kafkactl.simulator.raft.log import (
    Batch,
    KRaftVersion,
    RecordKind,
    Snapshot,
    SnapshotId,
    Voters,
)
from kafkactl.simulator.raft.voters import NO_VOTERS, VoterSet

VALID, DIVERGING, SNAPSHOT = range(3)
Value = TypeVar("Value")


class ReplicaLog:
    """Batches with the epochs in which they were written, snapshots, and the history of voters.

    `read_end` is the offset up to which control records were read. As in Kafka
    (`KRaftControlRecordStateMachine.nextOffset`), a truncation does not lower it. Records that a new leader writes
    below it are not read before the next start, so a node may use an older voter set than the one in its log.

    `high_watermark` is the log's own: no truncation goes below it. `epochs` and `epoch_starts` are two columns of one
    table: each epoch with records, and its first offset.
    """

    __slots__ = (
        "_ends",
        "batches",
        "end",
        "epoch_starts",
        "epochs",
        "high_watermark",
        "kraft_versions",
        "last_epoch",
        "read_end",
        "snapshots",
        "start",
        "static_voters",
        "voter_sets",
    )

    def __init__(self, disk: Disk, static_voters: VoterSet | None) -> None:
        self.static_voters = static_voters or NO_VOTERS
        self.batches: list[Batch] = []
        self._ends: list[int] = []
        self.start = self.end = self.high_watermark = disk.start
        self.epochs: list[int] = []
        self.epoch_starts: list[int] = []
        self.snapshots = list(disk.snapshots)
        self.voter_sets: list[tuple[int, VoterSet]] = []
        self.kraft_versions: list[tuple[int, int]] = []
        self.last_epoch = 0
        self._take(disk.batches)
        self._load_history()
        self._set_last_epoch()

    @property
    def voters(self) -> VoterSet:
        """Return the last voter set of the log; without one, the configured set."""
        return self.voter_sets[-1][1] if self.voter_sets else self.static_voters

    @property
    def voters_offset(self) -> int | None:
        """Return the offset of the record that made it, -1 from the snapshot 0-0, None from the configuration."""
        return self.voter_sets[-1][0] if self.voter_sets else None

    @property
    def kraft_version(self) -> int:
        """Return the last level of kraft.version, 0 if none was ever written."""
        return self.kraft_versions[-1][1] if self.kraft_versions else 0

    def _load_history(self) -> None:
        self.voter_sets.clear()
        self.kraft_versions.clear()
        begin = self.start
        if self.snapshots:
            snapshot = self.snapshots[-1]
            begin = snapshot.id.end_offset
            if snapshot.kraft_version:
                self.kraft_versions.append((begin - 1, snapshot.kraft_version))
            if snapshot.voters:
                self.voter_sets.append((begin - 1, snapshot.voters))
        for batch in self.batches:
            if batch.base >= begin:
                self._note_control(batch)
        self.read_end = max(begin, self.end)

    def _note_control(self, batch: Batch) -> None:
        if batch.kind is not RecordKind.CONTROL:
            return
        for offset, record in enumerate(batch.content, batch.base):
            if isinstance(record, Voters):
                self.voter_sets.append((offset, record.voters))
            elif isinstance(record, KRaftVersion):
                self.kraft_versions.append((offset, record.level))

    def history_at(self, offset: int) -> tuple[int, VoterSet | None]:
        """Return the level of kraft.version and the voter set that hold at this offset (`voterSetAtOffset`)."""
        levels = [level for at, level in self.kraft_versions if at <= offset]
        sets = [voters for at, voters in self.voter_sets if at <= offset]
        return (levels[-1] if levels else 0), (sets[-1] if sets else None)

    @property
    def latest_snapshot_id(self) -> SnapshotId | None:
        """Return the newest snapshot."""
        return self.snapshots[-1].id if self.snapshots else None

    def snapshot(self, snapshot_id: SnapshotId) -> Snapshot | None:
        """Return this snapshot; None if the log does not have it."""
        return next((snapshot for snapshot in self.snapshots if snapshot.id == snapshot_id), None)

    def end_of_epoch(self, epoch: int) -> tuple[int, int]:
        """Return the last epoch up to this one that has records, and where the next begins (`endOffsetForEpoch`)."""
        if self.epochs and self.epochs[-1] == epoch:
            return epoch, self.end
        later = bisect_right(self.epochs, epoch)
        if later == len(self.epochs):
            return self.last_epoch, self.end
        found = (self.epochs[later - 1] if later else epoch), self.epoch_starts[later]
        if self.snapshots and not later and self.snapshots[0].id.end_offset == found[1]:
            return self.snapshots[0].id.epoch, found[1]
        return found

    def validate(self, offset: int, epoch: int) -> tuple[int, int, int]:
        """Check that a log which ends at this offset in this epoch is a prefix of this log.

        Return VALID; or DIVERGING with the epoch and offset to truncate to; or SNAPSHOT with the epoch and end offset
        of the snapshot to fetch (`ReplicatedLog.validateOffsetAndEpoch`).
        """
        if self.start == 0 and offset == 0:
            return VALID, 0, 0
        if self.snapshots:
            earliest = self.snapshots[0].id
            if offset < self.start or (offset == self.start and epoch != earliest.epoch) or epoch < earliest.epoch:
                latest = self.snapshots[-1].id
                return SNAPSHOT, latest.epoch, latest.end_offset
        end_epoch, end = self.end_of_epoch(epoch)
        if end_epoch != epoch or end < offset:
            return DIVERGING, end_epoch, end
        return VALID, epoch, offset

    def read(self, offset: int, max_bytes: int) -> tuple[Batch, ...]:
        """Return batches from this offset on, at least one if there is any, and no more than fit."""
        if offset >= self.end:
            return ()
        first = last = bisect_right(self._ends, offset)
        size = 0
        for batch in self.batches[first:]:
            size += batch.size
            if size > max_bytes and last > first:
                break
            last += 1
        return tuple(self.batches[first:last])

    def begin_epoch(self, epoch: int) -> None:
        """Begin a leader's epoch at the end of its log (`initializeLeaderEpoch`)."""
        self._enter_epoch(epoch, self.end)
        self.last_epoch = epoch

    def append(self, batches: tuple[Batch, ...]) -> None:
        """Add batches at the end. Raises ValueError if the first does not begin there."""
        if batches and batches[0].base != self.end:
            raise ValueError(f"a batch at offset {batches[0].base} cannot follow the log's end {self.end}")
        self._take(batches)
        for batch in batches:
            if batch.end > self.read_end:
                self._note_control(batch)
                self.read_end = batch.end

    def _take(self, batches: tuple[Batch, ...] | list[Batch]) -> None:
        for batch in batches:
            self.batches.append(batch)
            self._ends.append(batch.end)
            if batch.epoch != self.last_epoch or not self.epochs:
                self._enter_epoch(batch.epoch, max(batch.base, self.start))
                self.last_epoch = batch.epoch
            self.end = batch.end

    def _enter_epoch(self, epoch: int, offset: int) -> None:
        if self.epochs and self.epochs[-1] >= epoch:
            return
        if self.epoch_starts and self.epoch_starts[-1] == offset:  # an epoch that ended without a record
            self.epochs.pop()
            self.epoch_starts.pop()
        self.epochs.append(epoch)
        self.epoch_starts.append(offset)

    def truncation_point(self, epoch: int, end_offset: int) -> int:
        """Return the offset to truncate to when the leader's log diverges at this end of this epoch
        (`truncateToEndOffset`)."""
        if epoch == 0:
            return min(end_offset, self.end)
        local_epoch, local_end = self.end_of_epoch(epoch)
        return min(local_end, end_offset) if local_epoch == epoch else local_end

    def truncate(self, offset: int) -> None:
        """Remove all records from this offset on, and voters and kraft versions with them."""
        while self._ends and self._ends[-1] > offset:
            self._ends.pop()
            self.batches.pop()
        while self.epoch_starts and self.epoch_starts[-1] >= offset:
            self.epochs.pop()
            self.epoch_starts.pop()
        self.end = min(self.end, offset)
        for history in (self.voter_sets, self.kraft_versions):
            while history and history[-1][0] >= offset:
                history.pop()
        self._set_last_epoch()

    def start_at(self, snapshot_id: SnapshotId) -> None:
        """Forget all records; the log begins, and ends, where this snapshot does (`truncateFullyAndStartAt`)."""
        self.batches.clear()
        self._ends.clear()
        self.epochs.clear()
        self.epoch_starts.clear()
        self.start = self.end = self.high_watermark = snapshot_id.end_offset
        self.snapshots = [snapshot for snapshot in self.snapshots if snapshot.id >= snapshot_id]
        if self.read_end < self.start:
            self._load_history()
        self._set_last_epoch()

    def is_beyond_end(self, snapshot_id: SnapshotId) -> bool:
        """Return True if the snapshot holds more than the log, which is then worthless (`truncateToLatestSnapshot`)."""
        latest = self.epochs[-1] if self.epochs else 0
        return snapshot_id.epoch > latest or (snapshot_id.epoch == latest and snapshot_id.end_offset > self.end)

    def add_snapshot(self, snapshot: Snapshot) -> None:
        """Add a snapshot that was written completely."""
        self.snapshots.append(snapshot)
        self.snapshots.sort(key=lambda known: known.id)

    def clean(self, snapshot_id: SnapshotId) -> None:
        """Forget what this snapshot makes needless: older snapshots and the records that all of it holds."""
        offset = snapshot_id.end_offset
        count = bisect_right(self._ends, offset)
        del self.batches[:count], self._ends[:count]
        self.start = offset
        while len(self.epochs) > 1 and self.epoch_starts[1] <= offset:
            del self.epochs[0], self.epoch_starts[0]
        if self.epochs and self.epoch_starts[0] < offset:
            self.epoch_starts[0] = offset
        self.snapshots = [snapshot for snapshot in self.snapshots if snapshot.id >= snapshot_id]
        self.voter_sets[:] = _since(self.voter_sets, offset)
        self.kraft_versions[:] = _since(self.kraft_versions, offset)

    def _set_last_epoch(self) -> None:
        if self.epochs:
            self.last_epoch = self.epochs[-1]
        else:
            newest = self.latest_snapshot_id
            self.last_epoch = 0 if newest is None else newest.epoch


def _since(history: list[tuple[int, Value]], offset: int) -> list[tuple[int, Value]]:
    """Return the entries of a history for a log that begins at this offset: the last entry up to it, and later ones."""
    earlier = [entry for entry in history if entry[0] <= offset]
    return earlier[-1:] + history[len(earlier) :]
