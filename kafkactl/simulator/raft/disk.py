"""Writes of a node, and the part of them that survives a crash.

A write is carried out by `Disk.apply`. Its class says whether it is durable when it is done (`synced`): then the node
waits for the device, and whatever follows it in the list of effects happens after that. Other writes are in the page
cache until the next `FlushLog`: a crash of the machine may lose any tail of them (`Disk.lose_unsynced`), a crash of
the process none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from kafkactl.core.kafka_names import NO_LEADER
from kafkactl.core.values import ZERO_UUID, Uuid
from kafkactl.simulator.raft.effects import WRITE
from kafkactl.simulator.raft.log import Batch, Snapshot, SnapshotId


@dataclass(slots=True)
class QuorumState:
    """The file `quorum-state` (QuorumStateData). An id of -1 is none; a missing file is epoch 0, no leader, no vote."""

    leader_epoch: int = 0
    leader_id: int = NO_LEADER
    voted_id: int = -1
    voted_directory_id: Uuid = ZERO_UUID


@dataclass(slots=True)
class WriteQuorumState:
    """Replacement of `quorum-state`: write a temporary file, sync, rename, sync the folder (FileQuorumStateStore)."""

    state: QuorumState
    effect: ClassVar[int] = WRITE
    synced: ClassVar[bool] = True


@dataclass(slots=True)
class AppendLog:
    """Append of batches, not synced."""

    batches: tuple[Batch, ...]
    effect: ClassVar[int] = WRITE
    synced: ClassVar[bool] = False


@dataclass(slots=True)
class FlushLog:
    """Sync of everything that was appended."""

    effect: ClassVar[int] = WRITE
    synced: ClassVar[bool] = True


@dataclass(slots=True)
class TruncateLog:
    """Removal of all records from `offset` on (UnifiedLog.truncateTo, which syncs the truncated segment)."""

    offset: int
    effect: ClassVar[int] = WRITE
    synced: ClassVar[bool] = True


@dataclass(slots=True)
class WriteSnapshot:
    """Write of a whole snapshot, renamed into place (FileRawSnapshotWriter.freeze, which syncs both)."""

    snapshot: Snapshot
    effect: ClassVar[int] = WRITE
    synced: ClassVar[bool] = True


@dataclass(slots=True)
class StartLogAt:
    """Empty log that begins at this snapshot's end (truncateFullyAndStartAt)."""

    snapshot_id: SnapshotId
    effect: ClassVar[int] = WRITE
    synced: ClassVar[bool] = True


@dataclass(slots=True)
class CleanLog:
    """Deletion of batches and snapshots below an existing snapshot (KafkaMetadataLog.deleteBeforeSnapshot)."""

    snapshot_id: SnapshotId
    effect: ClassVar[int] = WRITE
    synced: ClassVar[bool] = False


Write = WriteQuorumState | AppendLog | FlushLog | TruncateLog | WriteSnapshot | StartLogAt | CleanLog


@dataclass(slots=True)
class Disk:
    """The metadata directory of one replica.

    `synced_end` is the end of the log that survives every crash. `snapshots` ascend. A disk that was formatted with
    initial voters has the snapshot 0-0 with them; one that was formatted without has none.
    """

    quorum_state: QuorumState | None = None
    batches: list[Batch] = field(default_factory=list)
    start: int = 0
    synced_end: int = 0
    snapshots: list[Snapshot] = field(default_factory=list)

    @property
    def end(self) -> int:
        """Return the offset after the last record."""
        return self.batches[-1].end if self.batches else self.start

    def apply(self, write: Write) -> None:
        """Carry out one write."""
        _APPLIED[type(write)](self, write)

    def lose_unsynced(self, kept: int) -> None:
        """Apply a crash of the machine: only the first `kept` of the unsynced batches remain.

        Raises ValueError if `kept` is negative or more than there are.
        """
        unsynced = sum(batch.base >= self.synced_end for batch in self.batches)
        if not 0 <= kept <= unsynced:
            raise ValueError(f"{kept} of {unsynced} batches that were not synced cannot be kept")
        del self.batches[len(self.batches) - unsynced + kept :]
        self.synced_end = self.end


def _write_quorum_state(disk: Disk, write: WriteQuorumState) -> None:
    disk.quorum_state = write.state


def _append(disk: Disk, write: AppendLog) -> None:
    disk.batches.extend(write.batches)


def _flush(disk: Disk, _write: FlushLog) -> None:
    disk.synced_end = disk.end


def _truncate(disk: Disk, write: TruncateLog) -> None:
    disk.batches[:] = kept_below(disk.batches, write.offset)
    disk.synced_end = disk.end


def _write_snapshot(disk: Disk, write: WriteSnapshot) -> None:
    disk.snapshots.append(write.snapshot)
    disk.snapshots.sort(key=lambda snapshot: snapshot.id)


def _start_at(disk: Disk, write: StartLogAt) -> None:
    disk.batches.clear()
    disk.start = disk.synced_end = write.snapshot_id.end_offset
    disk.snapshots[:] = [snapshot for snapshot in disk.snapshots if snapshot.id >= write.snapshot_id]


def _clean(disk: Disk, write: CleanLog) -> None:
    offset = write.snapshot_id.end_offset
    disk.batches[:] = [batch for batch in disk.batches if batch.end > offset]
    disk.start = offset
    disk.synced_end = max(disk.synced_end, disk.start)
    disk.snapshots[:] = [snapshot for snapshot in disk.snapshots if snapshot.id >= write.snapshot_id]


def kept_below(batches: list[Batch], offset: int) -> list[Batch]:
    """Return the batches that a truncation to `offset` leaves.

    Kafka truncates at batches, so one around it goes, too.
    """
    return [batch for batch in batches if batch.end <= offset]


_APPLIED: Mapping[type[Any], Callable[[Disk, Any], None]] = {
    WriteQuorumState: _write_quorum_state,
    AppendLog: _append,
    FlushLog: _flush,
    TruncateLog: _truncate,
    WriteSnapshot: _write_snapshot,
    StartLogAt: _start_at,
    CleanLog: _clean,
}
