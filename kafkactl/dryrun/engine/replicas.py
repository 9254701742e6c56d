"""Logs of several nodes of one cluster: which of them is replayed, and where the others went their own way.

One is folded and the rest compared with it batch by batch, which costs a CRC pass each. By Raft's rule the log counts
that could win an election against all others, and of each log only what a starting node would keep of it: the batches
before the first damage or gap.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Protocol

from kafkactl.core.findings import Finding, warning
from kafkactl.core.frozen import frozen
from kafkactl.core.values import Uuid
from kafkactl.dryrun.engine.commit_bound import commit_bound, lineage_of
from kafkactl.dryrun.engine.local import LogFile
from kafkactl.metadata.log.lineage import BatchIndex
from kafkactl.metadata.verify.histories import divergence_findings
from kafkactl.protocol.batch_scan import Damage
from kafkactl.protocol.log.batch_runs import BatchRun, walk_runs


class Source(Protocol):
    """A log as `metadata.io.source.LogSource` gives it."""

    @property
    def name(self) -> str:
        """Return the operator's name for it."""

    @property
    def segments(self) -> Sequence[LogFile]:
        """Return the segments in order."""

    @property
    def checkpoints(self) -> Sequence[LogFile]:
        """Return the checkpoints in order."""

    @property
    def node_id(self) -> int | None:
        """Return the node of the log, None if it is not known."""

    @property
    def directory_id(self) -> Uuid | None:
        """Return the directory of the log, None if it is not known."""


@frozen
class Replica:
    """Log of one node by its batches, as far as they are sound. `sound_end` is the first offset that a starting node
    would not keep, `damage` why it ends before the log does (None if it does not); `epoch` is that of the last
    batch before it.

    `snapshot_ends` are end offset and epoch of each checkpoint; `can_begin`: checkpoint or segments reach back far
    enough. `node_id` and `directory_id` say whose log it is, None if that is not known.
    """

    path: str
    index: BatchIndex
    epoch: int
    sound_end: int
    damage: str | None
    snapshot_ends: tuple[tuple[int, int], ...]
    can_begin: bool
    node_id: int | None = None
    directory_id: Uuid | None = None

    @property
    def kept(self) -> BatchIndex:
        """Return the index up to the end of the sound part."""
        return self.index


def replica_of(source: Source) -> Replica:
    """Read a log through, record by record unread. Raises what its pieces raise."""
    walked = _Walk()
    for position, segment in enumerate(source.segments):
        is_last = position + 1 == len(source.segments)
        walked.read(segment.name, walk_runs(segment.pieces(), file=segment.name), is_last=is_last)
    ends = [(log_file.base_offset or 0, log_file.epoch or 0) for log_file in source.checkpoints]
    newest = max(ends, default=(0, -1))
    begin = min(
        (log_file.base_offset for log_file in source.segments if log_file.base_offset is not None), default=None
    )
    end, epoch = walked.sound
    return Replica(
        path=source.name,
        index=walked.index,
        epoch=max(epoch, newest[1]),
        sound_end=max(end, newest[0]),
        damage=walked.damage,
        snapshot_ends=tuple(ends),
        can_begin=begin == 0 or (newest[0] > 0 and (begin is None or begin <= newest[0])),
        node_id=source.node_id,
        directory_id=source.directory_id,
    )


def farthest(replicas: Sequence[Replica]) -> int:
    """Return the place of the log to replay; among equals the first that is whole."""

    def rank(at: int) -> tuple[object, ...]:
        replica = replicas[at]
        return replica.can_begin, replica.epoch, replica.sound_end, replica.damage is None, -at

    return max(range(len(replicas)), key=rank)


def compared(replicas: Sequence[Replica], chosen: int) -> tuple[Finding, ...]:
    """Report logs that were not chosen: damage, and where they differ from the chosen log."""
    return (*_damages(replicas, chosen), *divergence_findings(replicas, replicas[chosen]))


def proved(replicas: Sequence[Replica], voters: Mapping[int, Uuid | None]) -> int | None:
    """Return the last offset that these logs prove to be committed; None if they prove none.

    `voters` are the voters' ids, with the directory id if the voter set has one: the log of another directory of
    that node is not the voter's.
    """
    logs = [(_voter(replica, voters), lineage_of(replica.index, replica.sound_end)) for replica in replicas]
    return commit_bound(logs, len(voters))


def _voter(replica: Replica, voters: Mapping[int, Uuid | None]) -> int | None:
    """Return the voter whose log a replica is, None for that of any other node or directory."""
    node_id = replica.node_id
    if node_id is None or node_id not in voters:
        return None
    return node_id if voters[node_id] in (None, replica.directory_id) else None


def _damages(replicas: Sequence[Replica], chosen: int) -> Iterator[Finding]:
    for at, replica in enumerate(replicas):
        if replica.damage is not None and at != chosen:
            yield warning(
                "replica-not-whole",
                f"log {replica.path}",
                f"{replica.damage}; a node that starts on it cuts it at offset {replica.sound_end}, and another"
                " replica was replayed",
                offset=replica.sound_end,
            )
        if not replica.can_begin:
            yield warning(
                "replica-start-missing",
                f"log {replica.path}",
                "neither its segments nor a checkpoint reach back to the beginning, so it cannot be replayed",
            )


class _Walk:
    """The batches of one log, and up to where they are sound."""

    def __init__(self) -> None:
        self.index = BatchIndex()
        self.damage: str | None = None
        self.sound = (0, -1)

    def read(self, segment: str, runs: Iterable[BatchRun | Damage], *, is_last: bool) -> None:
        """Read the next segment. Bytes that are not a batch are a torn end if nothing follows them, else damage."""
        held: Damage | None = None
        for run in runs:
            if held is not None:
                self._note(segment, held)
            held = run if isinstance(run, Damage) else None
            if isinstance(run, BatchRun):
                self._add(segment, run)
        if held is not None and not (is_last and held.may_be_tail):
            self._note(segment, held)

    def _add(self, segment: str, run: BatchRun) -> None:
        index = self.index
        for position in run.positions:
            if self.damage is not None:
                return
            end, offset = index.end_offset, int.from_bytes(run.data[position : position + 8], "big", signed=True)
            if index.base_offsets and offset > end:
                self.damage = f"the records from offset {end} to {offset - 1} are missing in {segment}"
                return
            index.add(BatchRun(run.data, run.base, [position]))
            self.sound = index.end_offset, index.last_epoch

    def _note(self, segment: str, damage: Damage) -> None:
        if self.damage is None:
            self.damage = f"{segment} is damaged at byte {damage.position}"
