"""Findings about the segments of living topics, and the leftovers of deleted ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kafkactl.core.findings import Finding, blocker, note, warning
from kafkactl.core.wording import counted, size_text
from kafkactl.tiered.audit.case import AuditCase, PartitionCase
from kafkactl.tiered.audit.coverage import gaps, hole_below_highest
from kafkactl.tiered.audit.findings import place_of, segment_evidence, subject_of
from kafkactl.tiered.epoch_index import Segment
from kafkactl.tiered.states import COPIED, COPYING, DELETING

YOUNG_DELETE_MS: Final = 60_000
DUE, PARKED = "due", "parked"


def segment_findings(case: AuditCase) -> Iterator[Finding]:
    """Yield all findings about segments."""
    for partition in case.partitions:
        if partition.exists is False:
            if partition.is_whole:
                yield from _leftover(partition)
            continue
        if partition.is_whole:
            yield from _deletes(partition)
            yield from _holes(partition)
            yield from _copies(partition)
        yield from _copied(partition)


def _leftover(partition: PartitionCase) -> Iterator[Finding]:
    segments = list(partition.log.segments())
    if segments:
        size = size_text(sum(segment.size for segment in segments))
        yield warning(
            "leftover-of-deleted-topic",
            subject_of(partition),
            f"{counted(len(segments), 'segment')} ({size}) of a deleted topic: no broker deletes what is left of it",
            "List their objects with `kafkactl tiered leftovers`, and delete them with the store's own tool.",
            **place_of(partition),
            **segment_evidence(partition.case, segments),
        )


def _deletes(partition: PartitionCase) -> Iterator[Finding]:
    deleting = partition.in_state[DELETING]
    if not deleting:
        return
    # Of a parked one the attempts are over: the store may have healed since.
    repeated = [segment for segment in deleting if segment.refused_deletes and _pending(partition, segment) == DUE]
    below = below_log_start(partition)
    case = partition.case
    if repeated and below:
        yield blocker(
            "log-start-runs-away",
            subject_of(partition),
            f"deletes are being refused ({repeated[0].delete_starts} attempts on one segment), and the log start has "
            f"passed {counted(len(below), 'complete segment')}: retention removes data that it should keep",
            "Set retention.bytes=-1 on the topic until the store deletes again; then set it back.",
            **place_of(partition),
            **segment_evidence(case, [*repeated, *below]),
        )
    elif repeated:
        yield warning(
            "deletes-refused",
            subject_of(partition),
            f"the delete of {counted(len(repeated), 'segment')} was begun more than once: the store refuses",
            **place_of(partition),
            **segment_evidence(case, repeated),
        )
    yield _dangling(partition, deleting)


def _dangling(partition: PartitionCase, deleting: list[Segment]) -> Finding:
    case = partition.case
    pending = {segment: _pending(partition, segment) for segment in deleting}
    evidence = {**place_of(partition), **segment_evidence(case, deleting)}
    for segment, shown in zip(deleting, evidence["segments"], strict=False):
        shown["pending"] = pending[segment]
    first = DUE if DUE in pending.values() else PARKED
    without_objects = case.bucket is not None and not any(case.bucket.count(found.segment_id) for found in deleting)
    young = case.now_ms is not None and all(
        case.now_ms - segment.deleting_since_ms < YOUNG_DELETE_MS for segment in deleting
    )
    words = {
        DUE: "the leader retries it with each retention pass",
        PARKED: "it lies inside the kept range, so that nothing retries it before retention passes it",
    }
    make = note if without_objects or young else warning
    return make(
        "dangling-delete",
        subject_of(partition),
        f"{counted(len(deleting), 'segment')} in DELETE_SEGMENT_STARTED without an end: {words[first]}",
        "" if make is note else "See the leader's log for errors of the store. Delete no object by hand.",
        **evidence,
        pending=first,
    )


def _pending(partition: PartitionCase, segment: Segment) -> str:
    """Return whether the next retention pass of the leader deletes the segment.

    A pass ascends and stops at the first segment that it keeps; in 4.x it retries deletes before that one, wanted by
    retention or not, in 3.9 it does not (measured: the scene "a delete begun on the first segment").
    Among segments of one start offset those of the epoch index come first (`RemoteLogLeaderEpochState.java`,
    `listAllRemoteLogSegments`; docs/decisions/0022-tiered.md).
    """
    start = partition.log_start
    if start is not None and segment.end_offset < start:
        return DUE
    retries = start is None or segment.delete_starts > 1 or any(other.txn_index_empty for other in partition.segments)
    kept = any(
        other.state is COPIED
        and other.mapped
        and other.start_offset <= segment.start_offset
        and (start is None or other.end_offset >= start)
        for other in partition.segments
    )
    return DUE if retries and not kept else PARKED


def below_log_start(partition: PartitionCase) -> list[Segment]:
    """Complete segments that lie wholly before the log start."""
    start = partition.log_start
    if start is None:
        return []
    return [segment for segment in partition.in_state[COPIED] if segment.end_offset < start]


def _holes(partition: PartitionCase) -> Iterator[Finding]:
    found = gaps(partition)
    if found:
        first = found[0]
        lost = sum(hole.to_offset - hole.from_offset + 1 for hole in found)
        local = all(hole.local is True for hole in found)
        ends = "until local retention passes they can still be read locally" if local else "they cannot be read"
        if not local and partition.lost_head:
            # The records of their segments may be what was deleted: leaders that run still know them.
            ends = "no broker that restarts knows a segment with them; the present leader may, until then"
        yield blocker(
            "gap",
            subject_of(partition),
            f"{counted(lost, 'offset')} from {first.from_offset} on are in no segment that a reader finds: {ends}",
            "Consume what is still local. Nothing copies these offsets again.",
            **place_of(partition),
            **first.to_dict(),
            ranges=[hole.to_dict() for hole in found],
        )
    hole = hole_below_highest(partition)
    if hole is not None:
        yield blocker(
            "hole-below-highest",
            subject_of(partition),
            f"the remote log ends at {hole.from_offset - 1}, and the highest offset that was ever copied is "
            f"{partition.highest}: offsets {hole.from_offset} to {hole.to_offset} are never copied again",
            **place_of(partition),
            **hole.to_dict(),
        )


def _copies(partition: PartitionCase) -> Iterator[Finding]:
    copying = partition.in_state[COPYING]
    orphans = {segment: why for segment in copying if (why := orphan_reason(partition, segment)) is not None}
    running = [segment for segment in copying if segment not in orphans]
    case = partition.case
    if orphans:
        found = list(orphans)
        without_objects = case.bucket is not None and not any(case.bucket.count(part.segment_id) for part in found)
        evidence = segment_evidence(case, found)
        for segment, shown in zip(found, evidence["segments"], strict=False):
            shown["why"] = orphans[segment]
        yield (note if without_objects else warning)(
            "orphan-copy",
            subject_of(partition),
            f"the copy of {counted(len(found), 'segment')} ({size_text(evidence['bytes'])}) began and never ended: no "
            "broker continues it, and only retention removes what is there",
            ""
            if without_objects
            else "Leave them to retention, or list their objects with "
            "`kafkactl tiered leftovers --include orphan-copy`.",
            **place_of(partition),
            **evidence,
        )
    if running:
        yield note(
            "copy-in-progress",
            subject_of(partition),
            f"{counted(len(running), 'segment')} in COPY_SEGMENT_STARTED: the copy may be running",
            **place_of(partition),
            **segment_evidence(case, running),
        )


def orphan_reason(partition: PartitionCase, segment: Segment) -> str | None:
    """Return the reason why an unfinished copy is an orphan; None if the copy may be running."""
    case = partition.case
    certain = certain_orphan(partition, segment)
    if certain is not None:
        return certain
    age = None if case.now_ms is None else case.now_ms - segment.event_timestamp_ms
    return "older-than-copy-timeout" if age is not None and age > case.choices.copy_timeout_ms else None


def certain_orphan(partition: PartitionCase, segment: Segment) -> str | None:
    """Return the proof that the copy has stopped; None without one."""
    if segment.copied_again:
        return "copied-again"
    if partition.case.view.alive(segment.broker_id) is False:
        return "copier-down"
    if partition.leader is not None and partition.leader != segment.broker_id:
        return "copier-not-leader"
    if partition.log_end is not None and segment.start_offset >= partition.log_end:
        return "after-log-end"
    return None


def _copied(partition: PartitionCase) -> Iterator[Finding]:
    complete = partition.in_state[COPIED]
    unmapped = [segment for segment in complete if not segment.mapped]
    case, place, subject = partition.case, place_of(partition), subject_of(partition)
    dropped = [segment for segment in unmapped if segment.epoch_index == "none"]
    if dropped:
        yield warning(
            "dropped-from-epoch-index",
            subject,
            f"{counted(len(dropped), 'complete segment')} in the index of no leader epoch: retention never sees such a "
            "segment, and only the deletion of the topic removes it",
            "Leave what is there. It costs storage until the topic is deleted.",
            **place,
            **segment_evidence(case, dropped),
        )
    start = partition.log_start
    below = below_log_start(partition)
    outside = [
        segment
        for segment in complete
        if not partition.in_lineage(segment) and (start is None or segment.end_offset >= start)
    ]
    if outside:
        text = f"{counted(len(outside), 'segment')} outside the leader epochs of the leader's log: left to retention"
        yield note("out-of-lineage", subject, text, **place, **segment_evidence(case, outside))
    taken = [segment for segment in unmapped if segment.epoch_index == "unreferenced"]
    if taken:
        text = f"{counted(len(taken), 'segment')} that a later leader copied again: left to retention"
        yield note("superseded", subject, text, **place, **segment_evidence(case, taken))
    if below:
        text = f"{counted(len(below), 'segment')} below the log start {start}, waiting for deletion"
        yield note("below-log-start", subject, text, **place, **segment_evidence(case, below))
