"""Offsets that a reader finds in the remote log, and the holes.

A reader asks for an offset in the epoch that its lineage has there, and gets the segment at or below it in the map of
that epoch; if that segment ends before the offset it gets nothing, even if an earlier one reaches farther
(`RemoteLogMetadataCache.remoteLogSegmentMetadata`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from typing import TypeVar

from kafkactl.core.answers import by_fields
from kafkactl.core.frozen import frozen
from kafkactl.tiered.audit.case import PartitionCase
from kafkactl.tiered.states import COPIED, COPYING

Found = TypeVar("Found")


@frozen(kw_only=False)
class Hole:
    """Offsets that no reader finds in remote storage, both ends included."""

    from_offset: int
    to_offset: int
    local: bool | None
    """True if the local log still contains the offsets."""

    to_dict = by_fields


def _once(function: Callable[[PartitionCase], Found]) -> Callable[[PartitionCase], Found]:
    """Compute the ranges of a partition once: several findings and a status use them."""

    @wraps(function)
    def remembered(case: PartitionCase) -> Found:
        if function.__name__ not in case.remembered:
            case.remembered[function.__name__] = function(case)
        found: Found = case.remembered[function.__name__]
        return found

    return remembered


@_once
def covered(case: PartitionCase) -> list[tuple[int, int]]:
    """Return the ranges of offsets that can be read from remote storage, ascending and not touching each other."""
    return joined(_by_lineage(case) if case.lineage is not None else _by_segments(case))


def _by_lineage(case: PartitionCase) -> Iterator[tuple[int, int]]:
    assert case.lineage is not None
    for epoch, start, end in case.lineage.ranges():
        state = case.log.epochs.get(epoch)
        if state is None:
            continue
        entries = state.in_order()
        for at, (first, segment) in enumerate(entries):
            last = segment.end_in(epoch)
            if at + 1 < len(entries):
                last = min(last, entries[at + 1][0] - 1)
            if end is not None:
                last = min(last, end - 1)
            if segment.state is COPIED and max(first, start) <= last:
                yield max(first, start), last


def _by_segments(case: PartitionCase) -> Iterator[tuple[int, int]]:
    for segment in case.log.segments():
        if segment.state is COPIED and segment.mapped:
            yield segment.start_offset, segment.end_offset


def joined(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the ranges with both ends included, ascending; ranges that touch or overlap as one."""
    found: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if found and first <= found[-1][1] + 1:
            found[-1] = found[-1][0], max(last, found[-1][1])
        else:
            found.append((first, last))
    return found


@_once
def gaps(case: PartitionCase) -> list[Hole]:
    """Return the offsets from the log start on that no segment covers: up to the local log, and between segments."""
    ranges = covered(case)
    start, local = case.log_start, case.local_start
    begin = start if start is not None else ranges[0][0] if ranges else None
    if begin is None:
        return []
    last = ranges[-1][1] if ranges else begin - 1
    if start is not None and local is not None:
        last = max(last, local - 1)
    found = []
    position = begin
    for first, end in ranges:
        if first > position:
            found.append((position, min(first - 1, last)))
        position = max(position, end + 1)
    if position <= last:
        found.append((position, last))
    if case.is_cut:
        found = _without_running(found, case)
    return [hole for first, end in found for hole in _split(first, end, local)]


def _without_running(found: Iterable[tuple[int, int]], case: PartitionCase) -> list[tuple[int, int]]:
    """Return the holes without the segments whose copy may have ended in the batch that is cut."""
    running = joined(
        (segment.start_offset, segment.end_offset) for segment in case.log.segments() if segment.state is COPYING
    )
    for start, end in running:
        parts = [part for first, last in found for part in ((first, min(last, start - 1)), (max(first, end + 1), last))]
        found = [(first, last) for first, last in parts if first <= last]
    return list(found)


def _split(first: int, last: int, local: int | None) -> Iterator[Hole]:
    """Yield the parts of a range before and after the start of the local log."""
    if local is None:
        yield Hole(first, last, None)
        return
    if first < local:
        yield Hole(first, min(last, local - 1), False)
    if last >= local:
        yield Hole(max(first, local), last, True)


@_once
def hole_below_highest(case: PartitionCase) -> Hole | None:
    """Return the offsets after the end of the remote log that no leader will copy: below the highest offset.

    None if the next local segment covers the first of them, or if a segment that is out of lineage or being deleted
    contains it.
    """
    highest, next_upload, start = case.highest, case.next_upload, case.log_start
    if highest is None or next_upload is None or start is None or case.is_tiered is False:
        return None
    ranges = covered(case)
    first = max(ranges[-1][1] + 1 if ranges else start, start)
    last = highest
    base = next_segment_base(case.replica_log.segments if case.replica_log else None, next_upload)
    if base is not None:
        last = min(last, base - 1)
    if first > last or _is_held(case, first):
        return None
    local = case.local_start
    return Hole(first, last, None if local is None else first >= local)


def _is_held(case: PartitionCase, offset: int) -> bool:
    return any(
        segment.start_offset <= offset <= segment.end_offset
        and (segment.state > COPIED or (segment.state is COPIED and not case.in_lineage(segment)))
        for segment in case.log.segments()
    )


def next_segment_base(segments: tuple[tuple[int, int], ...] | None, offset: int) -> int | None:
    """Return the base offset of the local segment with this offset; None if it is not known or not there."""
    return max((base for base, _ in segments or () if base <= offset), default=None)
