"""Pictures of the remote log in a report, as values: place of each offset, and ages of orphaned copies.

Lists are bounded whatever the number of segments; the sums next to them count every segment.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from kafkactl.core.answers import by_fields, json_of
from kafkactl.core.findings import Finding
from kafkactl.core.frozen import frozen
from kafkactl.tiered.audit.case import PartitionCase
from kafkactl.tiered.audit.coverage import Hole, covered, joined
from kafkactl.tiered.audit.run import PartitionStatus
from kafkactl.tiered.audit.segment_findings import orphan_reason
from kafkactl.tiered.epoch_index import Segment
from kafkactl.tiered.partition_log import FORGOTTEN_BY_DELETE, FORGOTTEN_BY_LOG_START
from kafkactl.tiered.states import COPIED, COPYING, DELETING

ORPHAN: Final = "orphan-copy"
MOST_RANGES: Final = 200  # more would be too narrow to see in a picture
_MINUTE_MS: Final = 60_000
_HOUR_MS: Final = 60 * _MINUTE_MS
_DAY_MS: Final = 24 * _HOUR_MS
AGES_MS: Final = (10 * _MINUTE_MS, _HOUR_MS, _DAY_MS, 7 * _DAY_MS, 30 * _DAY_MS)

Ranges = list[tuple[int, int]]


@frozen
class Lane:
    """Offsets as ranges [first, last], the nearest joined if there are many."""

    offsets: int
    ranges_total: int
    ranges: tuple[tuple[int, int], ...]

    to_dict = by_fields


NO_OFFSETS: Final = Lane(offsets=0, ranges_total=0, ranges=())


@frozen
class OtherSegments:
    """Segments that no reader is served from; `what` is the id of the finding about them."""

    what: str
    segments: int
    bytes: int
    lane: Lane

    to_dict = json_of("what", "segments", "bytes", "**lane")


@frozen
class LocalLog:
    """The local log; a disk does not show where it ends."""

    from_offset: int
    to_offset: int | None
    offsets: int | None

    to_dict = by_fields


@frozen
class Picture:
    """The offsets of a partition, as they are drawn."""

    topic: str
    topic_id: str
    partition: int
    exists: bool | None
    whole: bool
    """True if no record of the partition can be missing from the sources."""
    from_offset: int
    to_offset: int
    remote: Lane
    """Offsets that readers find in remote storage."""
    local: LocalLog | None
    both: Lane | None
    holes: Lane
    others: tuple[OtherSegments, ...]
    log_start_offset: int | None
    local_log_start_offset: int | None
    log_end_offset: int | None
    highest_offset: int | None
    next_upload_offset: int | None

    @property
    def in_both(self) -> Lane:
        """Return the offsets that are remote and local; none if the local log is unknown."""
        return self.both or NO_OFFSETS

    to_dict = by_fields


@frozen
class OrphansOfAge:
    """Orphaned copies from one age to another; None for no limit."""

    from_ms: int
    below_ms: int | None
    segments: int
    bytes: int

    to_dict = by_fields


@frozen
class OrphanAges:
    """The orphaned copies of a topic."""

    topic: str
    topic_id: str
    segments: int
    bytes: int
    oldest_ms: int | None
    by_age: tuple[OrphansOfAge, ...]

    to_dict = by_fields


def picture_of(partition: PartitionCase, holes: Sequence[Hole]) -> Picture:
    """Return the offset ranges of a partition. `holes` are those of its status in the audit.

    Ranges are (first offset, last offset). `local` and `both` are None if the local log start is not known;
    `others` are segments that no reader is served from, by the id of the finding about them.
    """
    remote = covered(partition)
    local = _local(partition)
    lost = [(hole.from_offset, hole.to_offset) for hole in holes]
    others = _others(partition)
    every = [*remote, *lost, *(part for found in others.values() for part in _ranges(found))]
    edges = (partition.log_start, partition.local_start, partition.highest, partition.next_upload)
    known = [offset for offset in edges if offset is not None and offset >= 0]
    ends = [*known, *(last for _, last in every), *([] if partition.log_end is None else [partition.log_end - 1])]
    return Picture(
        topic=partition.topic,
        topic_id=partition.topic_id,
        partition=partition.key.partition,
        exists=partition.exists,
        whole=partition.is_whole,
        from_offset=min([*known, *(first for first, _ in every)], default=0),
        to_offset=max(ends, default=0),
        remote=_lane(remote),
        local=local,
        both=None if local is None else _lane(_common(remote, local)),
        holes=_lane(lost),
        others=tuple(_other(what, found) for what, found in others.items()),
        log_start_offset=partition.log_start,
        local_log_start_offset=partition.local_start,
        log_end_offset=partition.log_end,
        highest_offset=partition.highest,
        next_upload_offset=partition.next_upload,
    )


def _lane(ranges: Ranges) -> Lane:
    offsets = sum(last - first + 1 for first, last in ranges)
    return Lane(offsets=offsets, ranges_total=len(ranges), ranges=tuple(few(ranges)))


def _other(what: str, segments: Sequence[Segment]) -> OtherSegments:
    return OtherSegments(
        what=what,
        segments=len(segments),
        bytes=sum(segment.size for segment in segments),
        lane=_lane(joined(_ranges(segments))),
    )


def few(ranges: Ranges, most: int = MOST_RANGES) -> Ranges:
    """Return ascending ranges, the nearest neighbours joined until `most` are left.

    >>> few([(0, 1), (3, 4), (90, 99)], most=2)
    [(0, 4), (90, 99)]
    """
    if len(ranges) <= most:
        return ranges
    between = [after[0] - before[1] for before, after in itertools.pairwise(ranges)]
    order = sorted(range(len(between)), key=lambda at: (-between[at], at))
    cuts = frozenset(order[: most - 1])
    found = [ranges[0]]
    for at, following in enumerate(ranges[1:]):
        if at in cuts:
            found.append(following)
        else:
            found[-1] = found[-1][0], max(found[-1][1], following[1])
    return found


def _local(partition: PartitionCase) -> LocalLog | None:
    """Return the local log; None if its start is not known. A disk does not show where a log ends."""
    start, end = partition.local_start, partition.log_end
    if start is None:
        return None
    return LocalLog(
        from_offset=start,
        to_offset=None if end is None else end - 1,
        offsets=None if end is None else max(end - start, 0),
    )


def _common(remote: Ranges, local: LocalLog) -> Ranges:
    start, end = local.from_offset, local.to_offset
    cut = ((max(first, start), last if end is None else min(last, end)) for first, last in remote)
    return [(first, last) for first, last in cut if first <= last]


def _unserved(partition: PartitionCase, segment: Segment) -> Iterator[str]:
    """Yield the ids of the findings that a segment is in for serving no reader."""
    if segment.state is COPYING:
        is_orphan = partition.is_whole and orphan_reason(partition, segment) is not None
        yield ORPHAN if is_orphan else "copy-in-progress"
    elif segment.state is DELETING:
        yield "dangling-delete"
    elif segment.state is COPIED:
        start = partition.log_start
        if start is not None and segment.end_offset < start:
            yield "below-log-start"
        elif not partition.in_lineage(segment):
            yield "out-of-lineage"
        if segment.epoch_index != "referenced":
            yield "superseded" if segment.epoch_index == "unreferenced" else "dropped-from-epoch-index"


_FORGOTTEN: Final = {FORGOTTEN_BY_LOG_START: "lost-with-metadata", FORGOTTEN_BY_DELETE: "partition-delete-record"}


def _others(partition: PartitionCase) -> dict[str, list[Segment]]:
    found: dict[str, list[Segment]] = {}
    for segment in partition.segments:
        for what in _unserved(partition, segment):
            found.setdefault(what, []).append(segment)
    for segment in partition.forgotten:
        found.setdefault(_FORGOTTEN[segment.forgotten_by or ""], []).append(segment)
    return found


def _ranges(segments: Iterable[Segment]) -> Ranges:
    return [(segment.start_offset, segment.end_offset) for segment in segments]


def orphan_ages(partitions: Iterable[PartitionCase]) -> list[OrphanAges]:
    """Return the orphaned copies of each topic by age, topics in the order of their partitions."""
    found: dict[tuple[str, str], list[tuple[int | None, Segment]]] = {}
    for partition in partitions:
        if partition.exists is False:
            continue
        now = partition.case.now_ms
        copying = (segment for segment in partition.segments if segment.state is COPYING)
        for segment in copying:
            if ORPHAN not in _unserved(partition, segment):
                continue
            age = None if now is None else max(now - segment.event_timestamp_ms, 0)
            found.setdefault((partition.topic, partition.topic_id), []).append((age, segment))
    return [
        OrphanAges(
            topic=topic,
            topic_id=topic_id,
            segments=len(orphans),
            bytes=sum(segment.size for _, segment in orphans),
            oldest_ms=max((age for age, _ in orphans if age is not None), default=None),
            by_age=tuple(_by_age(orphans)),
        )
        for (topic, topic_id), orphans in found.items()
    ]


def _by_age(orphans: Sequence[tuple[int | None, Segment]]) -> Iterator[OrphansOfAge]:
    """Return the counts up to each age; the last has no limit."""
    least = 0
    for limit in (*AGES_MS, None):
        inside = [
            segment for age, segment in orphans if age is not None and least <= age and (limit is None or age < limit)
        ]
        yield OrphansOfAge(
            from_ms=least,
            below_ms=limit,
            segments=len(inside),
            bytes=sum(segment.size for segment in inside),
        )
        least = limit or least


MOST_TOPICS: Final = 20
MOST_PARTITIONS: Final = 6  # of one topic
MOST_QUIET: Final = 2  # of a topic without findings


def worth_drawing(statuses: Iterable[PartitionStatus], findings: Iterable[Finding]) -> list[PartitionStatus]:
    """Return the partitions of a report: those with the worst findings, then the largest; a few topics and a few of
    each.

    `statuses` are the partitions of an audit, `findings` its findings, the worst first.
    """
    ranks: dict[tuple[str, int], int] = {}
    for rank, finding in enumerate(findings):
        place = finding.evidence.get("topic_id"), finding.evidence.get("partition")
        if isinstance(place[0], str) and isinstance(place[1], int):
            ranks.setdefault((place[0], place[1]), rank)
    last = max(ranks.values(), default=-1) + 1
    topics: dict[str, list[_Ranked]] = {}
    for status in statuses:
        rank = ranks.get((status.topic_id, status.partition), last)
        topics.setdefault(status.topic_id, []).append(_Ranked(rank, -status.bytes, status.partition, status))
    ordered = sorted(topics.values(), key=_topic_rank)
    chosen = []
    for partitions in ordered[:MOST_TOPICS]:
        found = sorted(partitions, key=lambda ranked: ranked[:3])
        with_findings = sum(ranked.rank < last for ranked in found)
        chosen += [ranked.status for ranked in found[: min(max(with_findings, MOST_QUIET), MOST_PARTITIONS)]]
    return chosen


class _Ranked(NamedTuple):
    """A partition by its worst finding, then its size."""

    rank: int
    less_bytes: int
    partition: int
    status: PartitionStatus


def _topic_rank(partitions: Sequence[_Ranked]) -> tuple[int, int, str]:
    return (
        min(ranked.rank for ranked in partitions),
        sum(ranked.less_bytes for ranked in partitions),
        partitions[0].status.topic,
    )
