"""The audit: all findings in order, and where each partition's remote log stands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from kafkactl.core.answers import by_fields
from kafkactl.core.findings import Finding
from kafkactl.core.frozen import frozen
from kafkactl.tiered.audit.case import AuditCase, PartitionCase
from kafkactl.tiered.audit.coverage import Hole, gaps, hole_below_highest
from kafkactl.tiered.audit.findings import in_order
from kafkactl.tiered.audit.metadata_findings import metadata_findings
from kafkactl.tiered.audit.object_findings import object_findings
from kafkactl.tiered.audit.segment_findings import orphan_reason, segment_findings
from kafkactl.tiered.audit.topic_findings import topic_findings
from kafkactl.tiered.states import COPIED, COPYING, SegmentState


def audit_findings(case: AuditCase) -> list[Finding]:
    """Return all findings, the most severe first."""
    return in_order([*topic_findings(case), *metadata_findings(case), *segment_findings(case), *object_findings(case)])


@frozen
class HighestOffset:
    """The highest offset that was ever copied in an epoch."""

    leader_epoch: int
    highest_offset: int

    to_dict = by_fields


@frozen
class Orphans:
    """Copies that began and never ended."""

    segments: int
    bytes: int

    to_dict = by_fields


@frozen
class PartitionStatus:
    """State of the remote log of a partition."""

    topic: str
    topic_id: str
    partition: int
    exists: bool | None
    metadata_partition: int | None
    leader: int | None
    """-1 for none."""
    segments: int
    """Ids that are neither DELETE_SEGMENT_FINISHED nor forgotten."""
    by_state: Mapping[str, int]
    bytes: int
    """Bytes of COPY_SEGMENT_FINISHED segments."""
    remote_start_offset: int | None
    remote_end_offset: int | None
    highest_offsets: tuple[HighestOffset, ...]
    highest_offset: int | None
    """Highest offset by the leader's epochs; -1 if no segment was copied."""
    next_upload_offset: int | None
    log_start_offset: int | None
    local_log_start_offset: int | None
    log_end_offset: int | None
    holes: tuple[Hole, ...]
    orphans: Orphans

    to_dict = by_fields


@frozen
class AuditTotals:
    """Sums over the partitions that are shown; `records` are those of the metadata topic."""

    topics: int
    partitions: int
    segments: int
    bytes: int
    records: int
    by_state: Mapping[str, int]

    to_dict = by_fields


def partition_status(partition: PartitionCase) -> PartitionStatus:
    """Return the state of the remote log of one partition."""
    copied = partition.in_state[COPIED]
    readable = [segment for segment in copied if segment.mapped]
    orphans = [
        segment
        for segment in partition.in_state[COPYING]
        if partition.is_whole and orphan_reason(partition, segment) is not None
    ]
    return PartitionStatus(
        topic=partition.topic,
        topic_id=partition.topic_id,
        partition=partition.key.partition,
        exists=partition.exists,
        metadata_partition=partition.metadata_partition,
        leader=partition.leader,
        segments=len(partition.segments),
        by_state={state.name: len(found) for state, found in partition.in_state.items() if found},
        bytes=sum([segment.size for segment in copied]),
        remote_start_offset=readable[0].start_offset if readable else None,
        remote_end_offset=max([segment.end_offset for segment in readable], default=None),
        highest_offsets=tuple(
            HighestOffset(leader_epoch=epoch, highest_offset=state.highest)
            for epoch, state in sorted(partition.log.epochs.items())
            if state.highest is not None
        ),
        highest_offset=partition.highest,
        next_upload_offset=partition.next_upload,
        log_start_offset=partition.log_start,
        local_log_start_offset=partition.local_start,
        log_end_offset=partition.log_end,
        holes=_holes(partition),
        orphans=Orphans(segments=len(orphans), bytes=sum(segment.size for segment in orphans)),
    )


def _holes(partition: PartitionCase) -> tuple[Hole, ...]:
    if partition.exists is False or not partition.is_whole:
        return ()
    found = gaps(partition)
    below = hole_below_highest(partition)
    if below is not None:
        found = [hole for hole in found if not _is_within(hole, below)] + [below]
    return tuple(sorted(found, key=lambda hole: (hole.from_offset, hole.to_offset)))


def _is_within(hole: Hole, other: Hole) -> bool:
    return other.from_offset <= hole.from_offset <= hole.to_offset <= other.to_offset


def totals(case: AuditCase, shown: Sequence[PartitionStatus]) -> AuditTotals:
    """Return the sums over the partitions that are shown."""
    by_state: Counter[str] = Counter()
    for partition in shown:
        by_state.update(partition.by_state)
    return AuditTotals(
        topics=len({partition.topic_id for partition in shown}),
        partitions=len(shown),
        segments=sum(partition.segments for partition in shown),
        bytes=sum(partition.bytes for partition in shown),
        records=sum(facts.records for facts in case.ledger.logs.values()),
        by_state={state.name: by_state[state.name] for state in SegmentState if by_state[state.name]},
    )
