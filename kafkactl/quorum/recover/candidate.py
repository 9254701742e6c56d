"""Valid prefix of a disk's metadata log, from offset 0 or from its newest valid snapshot.

The rule is what a node that starts would keep (`LogLoader`, `KafkaMetadataLog.truncateToLatestSnapshot`): the first bad
batch ends the log, a snapshot beyond the end stands alone, and nothing after a gap is reached. A broken snapshot is
none; an older one with the log after it may still be.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kafkactl.core.frozen import frozen
from kafkactl.metadata.log.lineage import BatchIndex
from kafkactl.metadata.verify.check import NodeLog, is_unfinished_end


@frozen
class Snapshot:
    """A snapshot by name: end offset and epoch; `problem` says why it does not hold a whole state."""

    name: str
    offset: int
    epoch: int
    problem: str | None = None


@frozen
class Candidate:
    """Usable part of a metadata log: everything below `end_offset`, the last of it of `last_epoch`.

    `snapshot` is the name of the one that the state begins with, None for offset 0; `snapshot_offset` its end. `damage`
    says why files of the log hold more than that, None if they do not; `files_end` is as far as they reach.
    """

    end_offset: int
    last_epoch: int
    snapshot: str | None
    snapshot_offset: int
    files_end: int
    damage: str | None = None

    @property
    def place(self) -> tuple[int, int]:
        """Return the last epoch, then the end offset (Raft's order of logs)."""
        return self.last_epoch, self.end_offset


def candidate_of(node: NodeLog, snapshots: Sequence[Snapshot]) -> Candidate | None:
    """Return the candidate of a folder; None if nothing of its log counts.

    `snapshots` are all but that of the format (offset 0), those that were not read without a problem.
    """
    found = list(_choices(node, snapshots))
    if not found:
        return None
    best = max(found, key=lambda candidate: (candidate.place, candidate.snapshot_offset))
    return Candidate(
        end_offset=best.end_offset,
        last_epoch=best.last_epoch,
        snapshot=best.snapshot,
        snapshot_offset=best.snapshot_offset,
        files_end=_files_end(node, snapshots),
        damage=_lost_segment(node, best.end_offset) or _damage(node, snapshots, best.end_offset),
    )


def _choices(node: NodeLog, snapshots: Sequence[Snapshot]) -> Iterator[Candidate]:
    """Yield the state from offset 0, and the state from each sound snapshot."""
    runs = [] if node.facts.mixed_offsets else list(_runs(node))
    for first, end in runs:
        if first == 0 and end > 0:
            yield _choice(node.index, end, None, 0, -1)
    for snapshot in snapshots:
        if snapshot.problem is not None:
            continue
        end = next((end for first, end in runs if first <= snapshot.offset <= end), snapshot.offset)
        yield _choice(node.index, end, snapshot.name, snapshot.offset, snapshot.epoch)


def _choice(index: BatchIndex, end: int, name: str | None, offset: int, epoch: int) -> Candidate:
    last_epoch = index.until(end).last_epoch if end > offset else epoch
    return Candidate(
        end_offset=end, last_epoch=last_epoch, snapshot=name, snapshot_offset=offset, files_end=end, damage=None
    )


def _runs(node: NodeLog) -> Iterator[tuple[int, int]]:
    """Yield the stretches without a gap of what a start keeps: first offset, and the one after the last."""
    facts = node.facts
    if not facts.segments:
        return
    first = facts.segments[0].first_offset
    begins = facts.start_offset if first is None else first
    for segment in facts.segments:
        for missing, behind in segment.gaps:
            yield begins, missing
            begins = behind
    yield begins, facts.end_offset


def _files_end(node: NodeLog, snapshots: Sequence[Snapshot]) -> int:
    last = node.beyond.last_offset
    ends = [node.index.end_offset, 0 if last is None else last + 1, *(snapshot.offset for snapshot in snapshots)]
    return max(ends)


def _lost_segment(node: NodeLog, end: int) -> str | None:
    """Return why the last segment, which held records, adds nothing to what is used."""
    cut, missing = node.facts.damaged_segment, node.facts.lost_tail
    if cut is not None and cut.is_wiped and end >= cut.base_offset:
        return f"zeros are in place of the segment {cut.name}: records from offset {end} on may be missing"
    if cut is None and missing is not None and end >= node.facts.end_offset:
        return f"the last segment {missing[0]} is missing: records from offset {end} on may be missing, too"
    return None


def _damage(node: NodeLog, snapshots: Sequence[Snapshot], end: int) -> str | None:
    """Return why the files contain more than is used; None for an unfinished last batch, which is not damage."""
    cut = node.facts.damaged_segment
    if cut is not None and cut.stop is not None and not is_unfinished_end(node, cut):
        beyond = _files_end(node, ()) > end or cut.end_offset >= end
        if beyond:
            return f"a bad batch at offset {cut.end_offset} ends the log ({cut.name}: {cut.stop.message})"
    broken = [snapshot for snapshot in snapshots if snapshot.problem is not None and snapshot.offset > end]
    if broken:
        return f"the snapshot {broken[-1].name} is broken: {broken[-1].problem}"
    if node.facts.mixed_offsets:
        return "the offsets of the log do not ascend"
    gaps = [gap for segment in node.facts.segments for gap in segment.gaps if gap[0] == end]
    if gaps:
        return f"the records from offset {gaps[0][0]} to {gaps[0][1] - 1} are missing"
    if node.index.end_offset > end:
        return f"the log begins at offset {node.facts.start_offset}, and no snapshot holds what came before"
    return None
