"""Check of one metadata log: whether it is whole, and what a restart would cut from it.

`storage/verify*.py` predict the start of a node, for which they need its configuration. Here only the log is known: its
files as `metadata/io/metadata_log.py` scans them, and an index of its batches, by which `compare` compares nodes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kafkactl.core.file_read import link_step
from kafkactl.core.findings import Finding, Severity
from kafkactl.core.frozen import frozen
from kafkactl.core.values import Uuid
from kafkactl.metadata.log.lineage import BatchIndex
from kafkactl.metadata.log.scan import Contents, Stop
from kafkactl.metadata.verify.checkpoint_text import checkpoint_problem
from kafkactl.metadata.verify.folder import (
    LEADER_EPOCH_CHECKPOINT,
    TO_WRITE,
    MetadataLogFacts,
    SegmentFacts,
    SnapshotFacts,
)
from kafkactl.metadata.verify.verified_log import Cut, SnapshotEnd, VerifiedLog

_BLOCKER, _WARNING, _INFO = Severity.BLOCKER, Severity.WARNING, Severity.INFO
_TORN = ("cut", "tiny")
_LOST_SEGMENT = (
    "A voter with others fetches the records from them. The only voter would lead without them: compare its log with"
    " the brokers' copies first (`kafkactl log verify` with all of them), and recover from the one that goes furthest."
)
_NEWER = "Was the log written by a newer Kafka, or is it damaged? Read on with `kafkactl log dump`."


@frozen
class Beyond:
    """Records after the place at which a start cuts the log."""

    batches: int
    records: int
    last_offset: int | None


@frozen
class NodeLog:
    """Source of a check: a folder with the log of a node, or a single file.

    `index` is of all that can be read, `kept` of what a node that starts keeps: up to the first damage or gap.
    `node_id` and `directory_id` are None if no meta.properties names them.
    """

    path: str
    cluster_id: str | None
    facts: MetadataLogFacts
    index: BatchIndex
    beyond: Beyond
    node_id: int | None = None
    directory_id: Uuid | None = None

    @property
    def snapshot_ends(self) -> tuple[tuple[int, int], ...]:
        """End offset and epoch of each snapshot."""
        return tuple((snapshot.offset, snapshot.epoch) for snapshot in self.facts.snapshots)

    @property
    def kept(self) -> BatchIndex:
        """Return the valid prefix, which alone is compared with other logs."""
        return self.index if self.damage is None else self.index.until(self.damage[0])

    @property
    def damage(self) -> tuple[int, str] | None:
        """Return the place and reason at which the valid part ends before the log does; None if it does not.

        Below the newest snapshot a gap does not matter to a node. Damage does: the node drops the log, the snapshot is
        what is left.
        """
        cut = self.facts.damaged_segment
        found = []
        if cut is not None and cut.stop is not None and not is_unfinished_end(self, cut):
            found.append((cut.end_offset, f"it is damaged at offset {cut.end_offset}"))
        if cut is None and self.facts.lost_tail is not None:
            found.append((self.facts.end_offset, f"its last segment {self.facts.lost_tail[0]} is missing"))
        for segment in self.facts.segments:
            found += [
                (first, f"the records from offset {first} to {behind - 1} are missing")
                for first, behind in segment.gaps
                if behind > self.committed_offset
            ]
        return min(found, default=None)

    @property
    def zeros_from(self) -> int | None:
        """Return the offset at which a log ends in zeros instead of batches; None if it does not."""
        cut = self.facts.damaged_segment
        if cut is None or cut.stop is None or not cut.stop.zeros or self.damage is not None:
            return None
        return cut.end_offset

    @property
    def place(self) -> tuple[int, int]:
        """Return the rank of the node's log in its cluster: epoch, then end offset of the valid part.

        That is of the log, or of the newest sound snapshot if it lies beyond (Raft's rule for elections).
        """
        snapshot = self.facts.latest_snapshot
        log = self.kept.last_epoch, self.kept.end_offset
        if snapshot is None or snapshot.problem is not None:
            return log
        return max(log, (snapshot.epoch, snapshot.offset))

    @property
    def is_empty(self) -> bool:
        """Return True if the log holds nothing of a cluster's metadata: no data record, and no snapshot but that of a
        format."""
        contents = self._contents
        has_snapshot = any(
            snapshot.offset or (snapshot.contents or contents).records for snapshot in self.facts.snapshots
        )
        return not contents.records and not has_snapshot and not self.beyond.records

    @property
    def newest_snapshot(self) -> SnapshotFacts | None:
        """Return the newest snapshot that was not made by formatting."""
        found = self.facts.latest_snapshot
        return None if found is None or found.offset == 0 else found

    @property
    def committed_offset(self) -> int:
        """Return the offset below which everything is committed for certain, because a snapshot holds only committed
        records."""
        return max((snapshot.offset for snapshot in self.facts.snapshots), default=0)

    @property
    def _contents(self) -> Contents:
        """Return the content of the source: the segments, or the one checkpoint that was named."""
        alone = self.facts.snapshots[0].contents if self.facts.snapshots and self.facts.state == "file" else None
        return self.facts.contents if alone is None else alone

    @property
    def verified(self) -> VerifiedLog:
        """Return the source as `log.verify` shows it."""
        facts, newest, contents = self.facts, self.newest_snapshot, self._contents
        return VerifiedLog(
            path=self.path,
            cluster_id=self.cluster_id,
            segments=len(facts.segments) + len(facts.dropped_segments),
            first_offset=facts.start_offset if facts.segments else None,
            end_offset=facts.end_offset if facts.segments else None,
            last_epoch=contents.last_epoch,
            batches=contents.batches,
            records=contents.records,
            newest_snapshot=None if newest is None else SnapshotEnd(offset=newest.offset, epoch=newest.epoch),
            would_cut=_would_cut(self),
        )


def _would_cut(node: NodeLog) -> Cut | None:
    segment = node.facts.damaged_segment
    if segment is None or segment.stop is None:
        return None
    return Cut(
        file=f"{node.facts.path}/{segment.name}",
        position=segment.stop.position,
        bytes=segment.stop.lost_bytes,
        offset=segment.end_offset,
        reason=segment.stop.message,
        segments_dropped=tuple(node.facts.dropped_segments),
        readable_batches=node.beyond.batches,
        readable_records=node.beyond.records,
    )


def check_log(node: NodeLog) -> Iterator[Finding]:
    """Return damage, gaps, records that do not decode, and snapshots that are broken or missing."""
    facts = node.facts
    for name, words in facts.unreadable:
        if not words.endswith(TO_WRITE):
            yield remark("metadata-log-unreadable", _BLOCKER, f"file {facts.path}/{name}", f"{words}.")
    for segment in facts.segments:
        yield from _segment(node, segment)
    if facts.damaged_segment is None and facts.lost_tail is not None:
        name, base_offset = facts.lost_tail
        text = f"The segment {name} is missing, and its index is there: it was the last one of the log."
        yield _lost_segment(node, base_offset, text, f"file {facts.path}/{name}")
    elif facts.is_emptied:
        text = "No segment has a batch, and leader-epoch-checkpoint has epochs of batches."
        yield _lost_segment(node, 0, text, f"log {node.path}")
    if facts.mixed_offsets:
        text = "The offsets of the log do not ascend; what a node makes of it is not known."
        yield remark("metadata-log-offsets-mixed", _BLOCKER, f"log {node.path}", text)
    yield from _contents(node)
    yield from _epochs_that_fall(node)
    yield from _leader_epochs(node)
    yield from _snapshots(node)


def _segment(node: NodeLog, segment: SegmentFacts) -> Iterator[Finding]:
    facts = node.facts
    subject = f"file {facts.path}/{segment.name}"
    if segment.stop is not None:
        yield _stop(node, segment, segment.stop, subject)
    if segment.out_of_range is not None:
        text = f"The segment is named for offset {segment.base_offset} and contains offset {segment.out_of_range}."
        yield remark("segment-not-named-by-its-offset", _BLOCKER, subject, text, "Give it its old name back.")
    covered = node.committed_offset
    for first, behind in segment.gaps:
        severity = _BLOCKER if behind > covered else _INFO
        text = f"The log goes from offset {first} to {behind}: what stood between is missing."
        yield remark("metadata-log-gap", severity, subject, text, first=first, behind=behind)


def _is_last(node: NodeLog) -> bool:
    return not node.facts.dropped_segments and not node.beyond.batches


def is_unfinished_end(node: NodeLog, segment: SegmentFacts) -> bool:
    """Return True if a log only ends in zeros, or in a batch that is being written: no damage.

    Zeros in place of the first batch of a segment are damage: a segment is made when its first batch is written.
    """
    stop = segment.stop
    return stop is not None and _is_last(node) and not segment.is_wiped and (stop.zeros or stop.reason in _TORN)


def _stop(node: NodeLog, segment: SegmentFacts, stop: Stop, subject: str) -> Finding:
    """Return the place at which a start cuts the log: the end of a file that is being written, zeros, or damage."""
    beyond = node.beyond
    is_last = _is_last(node)
    evidence: dict[str, Any] = {"position": stop.position, "bytes": stop.lost_bytes, "end_offset": segment.end_offset}
    where = f"byte {stop.position}: {stop.message}"
    if is_last and segment.is_wiped:
        return _lost_segment(node, segment.base_offset, f"{where}, all zeros in place of its first batch.", subject)
    if is_last and stop.zeros:
        text = f"{where}, all zeros. A start cuts {stop.lost_bytes} bytes."
        return remark("metadata-log-zero-tail", _INFO, subject, text, **evidence)
    if is_last and stop.reason in _TORN:
        text = f"{where}. A start cuts the log there, at offset {segment.end_offset}; a running node may be writing it."
        return remark("torn-tail", _WARNING, subject, text, "Look again when the node is stopped.", **evidence)
    behind = f" {len(node.facts.dropped_segments)} later segments go with it." if node.facts.dropped_segments else ""
    lost = f" {beyond.records} records behind it can still be read, up to offset {beyond.last_offset}."
    text = (
        f"{where}. A start cuts the log there, at offset {segment.end_offset}, with a warning only."
        + behind
        + (lost if beyond.records else "")
    )
    return remark("metadata-log-damaged", _BLOCKER, subject, text, **evidence)


def _lost_segment(node: NodeLog, base_offset: int, text: str, subject: str) -> Finding:
    """Report the last segment of a log that held batches and holds none, or is not there."""
    known = max(base_offset, node.committed_offset)
    text += (
        f" The segment was made when its first batch was written, so it held records: those from offset {known} on, as"
        " far as there were any, are not in this log."
    )
    return remark(
        "metadata-log-damaged", _BLOCKER, subject, text, _LOST_SEGMENT, base_offset=base_offset, known_until=known
    )


def _contents(node: NodeLog) -> Iterator[Finding]:
    contents, subject = node.facts.contents, f"log {node.path}"
    if contents.undecodable is not None:
        broken = contents.undecodable
        text = f"offset {broken.offset}: the CRC is right, and the record does not decode: {broken.message}"
        yield remark("metadata-log-undecodable", _BLOCKER, subject, text, _NEWER, offset=broken.offset)
    if contents.unknown_control is not None:
        offset, words = contents.unknown_control
        yield remark("metadata-log-undecodable", _BLOCKER, subject, f"offset {offset}: {words}", _NEWER, offset=offset)
    if contents.open_transaction is not None:
        text = f"The transaction that began at offset {contents.open_transaction} has no end: none of it counts yet."
        step = "The next active controller aborts it; until then brokers see nothing behind it."
        yield remark("transaction-open", _INFO, subject, text, step, offset=contents.open_transaction)


def _epochs_that_fall(node: NodeLog) -> Iterator[Finding]:
    """Return batches with a falling leader epoch. It is not under their checksum, and never lower than that of the
    batch before."""
    epochs, offsets = node.index.epochs, node.index.base_offsets
    falls = [at for at in range(1, len(epochs)) if epochs[at] < epochs[at - 1] and offsets[at] < node.facts.end_offset]
    if falls:
        at, more = falls[0], f"; {len(falls) - 1} more like it" if len(falls) > 1 else ""
        text = (
            f"The batch at offset {offsets[at]} is of leader epoch {epochs[at]}, behind one of {epochs[at - 1]}{more}."
        )
        evidence: dict[str, Any] = {"offset": offsets[at], "epoch": epochs[at], "epoch_before": epochs[at - 1]}
        yield remark("leader-epoch-regression", _BLOCKER, f"log {node.path}", text, **evidence)


def _leader_epochs(node: NodeLog) -> Iterator[Finding]:
    """Compare leader-epoch-checkpoint with the log: with it a leader shows followers where to cut theirs (KIP-101).

    An entry at or after the end is dropped by a start, and what it lacks at its end is added from the batches
    (`LeaderEpochFileCache`, `LogSegment.recover`). When snapshots are cleaned the log begins at the oldest one that is
    left, and so does the first entry, though the segment that holds this offset begins before (`truncateFromStart`;
    seen on 3.3.2 to 4.4.0).
    """
    file = node.facts.small_files.get(LEADER_EPOCH_CHECKPOINT)
    if file is None or file.content is None:
        return
    problem = checkpoint_problem(file.content, parts=2)
    if problem is not None:
        text = f"A node that starts cannot read it: {problem.words}."
        yield remark("broken-leader-epoch-checkpoint", _BLOCKER, f"file {file.path}", text)
        return
    said = {int(words[0]): int(words[1]) for line in file.content.decode().splitlines()[2:] if (words := line.split())}
    cut = min(said.values(), default=-1)
    if cut in {snapshot.offset for snapshot in node.facts.snapshots}:
        first = min(said)
        said = {epoch: start for epoch, start in said.items() if epoch != first}
    else:
        first = -1
    yield from _epoch_beyond(node, said)
    for epoch, start, found in _differing(said, node.index, node.facts.end_offset, known_from=first + 1):
        where = "the epoch is missing" if found is None else f"its first batch of that epoch begins at offset {found}"
        in_file = (
            f"epoch {epoch} is missing in the file" if start is None else f"epoch {epoch} begins at {start} in the file"
        )
        text = f"leader-epoch-checkpoint does not match the log: {in_file}, and in the log {where}."
        yield remark(
            "leader-epochs-differ",
            _WARNING,
            f"file {file.path}",
            text,
            epoch=epoch,
            start_offset=start,
            log_start_offset=found,
        )
        return


def _epoch_beyond(node: NodeLog, said: Mapping[int, int]) -> Iterator[Finding]:
    """Report an epoch that begins after the end of a log without damage, and is not covered by a snapshot.

    The file is synced when an epoch begins (`LeaderEpochFileCache.assign`), the log's end is not, so that after a power
    failure the file may be newer than the log; a truncation changes the file later (`truncateFromEndAsyncFlush`). A
    leader that was just elected has an entry at the end, not after it (`initializeLeaderEpoch`).
    """
    facts = node.facts
    end = max(facts.end_offset, node.committed_offset)
    beyond = {epoch: start for epoch, start in said.items() if start > end}
    if not facts.segments or node.damage is not None or not beyond:
        return
    epoch = min(beyond)
    text = (
        f"leader-epoch-checkpoint has epoch {epoch} from offset {beyond[epoch]}, and the log ends at offset"
        f" {facts.end_offset}: it lost its end, or was truncated immediately before the node ended."
    )
    place = {"start_offset": beyond[epoch], "end_offset": facts.end_offset}
    yield remark("epoch-beyond-log", _WARNING, f"log {node.path}", text, "", epoch=epoch, **place)


def _differing(
    said: Mapping[int, int], index: BatchIndex, end_offset: int, *, known_from: int
) -> Iterator[tuple[int, int | None, int | None]]:
    """Return epochs from `known_from` on whose begin in the file is not that in the log: epoch, offset there, offset
    here."""
    first = index.first_offset
    if first is None:
        return
    begins: dict[int, int] = {}
    for epoch, offset in zip(index.epochs, index.base_offsets, strict=True):
        if offset < end_offset and epoch >= known_from:
            begins.setdefault(epoch, offset)
    last_said = max(said, default=-1)
    for epoch in sorted({*said, *begins}):
        start, found = said.get(epoch), begins.get(epoch)
        if start is None:
            if epoch < last_said and found != first:
                yield epoch, None, found
        elif first < start < end_offset and found != start:
            yield epoch, start, found


def _snapshots(node: NodeLog) -> Iterator[Finding]:
    facts, newest = node.facts, node.facts.latest_snapshot
    start = facts.start_offset if facts.segments else 0
    if start > 0 and (newest is None or newest.offset < start) and facts.state == "directory":
        text = f"The log begins at offset {start}, and no snapshot holds what came before: a node does not start on it."
        yield remark("metadata-log-without-snapshot", _BLOCKER, f"log {node.path}", text)
    # An emptied log is reported as damaged.
    if newest is not None and facts.segments and newest.offset > facts.end_offset and not facts.is_emptied:
        text = (
            f"The newest snapshot ends at offset {newest.offset}, the log at {facts.end_offset}:"
            f" a start discards the whole log and continues from the snapshot."
        )
        yield remark("snapshot-beyond-log", _WARNING, f"file {facts.path}/{newest.name}", text)
    for snapshot in facts.snapshots:
        yield from _snapshot(facts, snapshot)


def _snapshot(facts: MetadataLogFacts, snapshot: SnapshotFacts) -> Iterator[Finding]:
    subject = f"file {facts.path}/{snapshot.name}"
    if snapshot.error is not None:
        yield remark("checkpoint-unreadable", _BLOCKER, subject, f"{snapshot.error}.", link_step(snapshot.error))
        return
    problem = snapshot.damage
    if problem is not None:
        yield remark("broken-checkpoint", _BLOCKER, subject, problem)
    elif snapshot.contents is not None and (snapshot.is_cut or snapshot.stop is not None):
        where = "before its footer" if snapshot.stop is None else f"at byte {snapshot.stop.position}"
        yield remark(
            "checkpoint-truncated",
            _BLOCKER,
            subject,
            f"The checkpoint is truncated {where}; a node does not detect this.",
        )


def remark(id: str, severity: Severity, subject: str, message: str, next_step: str = "", **evidence: object) -> Finding:
    """Return a finding whose evidence is given by name."""
    return Finding(id=id, severity=severity, subject=subject, message=message, evidence=evidence, next_step=next_step)
