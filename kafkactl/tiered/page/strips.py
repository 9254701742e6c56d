"""Pictures of the remote log as data: where the offsets of a partition are, and what was read of the metadata topic."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from kafkactl.core.wording import age_text, counted, first_few, plural, size_text
from kafkactl.report.model import Bars, Lane, Series, Span, Strip

if TYPE_CHECKING:
    from kafkactl.core.findings import Finding
    from kafkactl.tiered.judgements import MetadataPartition
    from kafkactl.tiered.pictures import Lane as Offsets
    from kafkactl.tiered.pictures import LocalLog, OrphanAges, OrphansOfAge, OtherSegments, Picture

LANES: Final = 50  # metadata partitions in a picture
_NAMED_RANGES: Final = 4  # ranges that a text names
_NAMED_PARTITIONS: Final = 8  # metadata partitions that a text names
# What no reader is served from: how it is named, and its tone.
_OTHERS: Final[Mapping[str, tuple[str, str]]] = {
    "orphan-copy": ("orphaned copies", "warn"),
    "copy-in-progress": ("copies that may be running", "dim"),
    "dangling-delete": ("deletes without an end", "warn"),
    "superseded": ("superseded: copied again", "dim"),
    "out-of-lineage": ("out of lineage", "dim"),
    "dropped-from-epoch-index": ("in no epoch's index", "warn"),
    "below-log-start": ("below the log start", "dim"),
    "lost-with-metadata": ("lost with deleted metadata", "bad"),
    "partition-delete-record": ("forgotten: partition-delete", "bad"),
}


def strip_of(picture: Picture) -> Strip:
    """Return the offsets of one partition: remote, local, both, holes, and segments that serve no reader."""
    first, last = picture.from_offset, picture.to_offset
    others = [_other_lane(other) for other in picture.others]
    local = picture.local
    lanes = [_remote_lane(picture), *([] if local is None else [_local_lane(picture, local)]), *others]
    marks = (
        (picture.log_start_offset, "log start"),
        (picture.highest_offset, "highest copied"),
        (picture.next_upload_offset, "next upload"),
    )
    return Strip(
        title=f"{picture.topic}-{picture.partition}",
        text=" ".join(_sentences(picture)),
        first=first,
        last=last,
        lanes=tuple(lanes),
        marks=tuple((offset, words) for offset, words in marks if offset is not None and offset >= 0),
        legend=tuple(_legend(picture)),
    )


def _legend(picture: Picture) -> Iterator[tuple[str, str]]:
    both, local = picture.in_both.offsets, picture.local
    if picture.remote.offsets > both:
        yield ("only remote" if local is not None else "remote"), "t-plain"
    if both:
        yield "remote and local", "t-good"
    if local is not None and local.offsets != both:
        yield "only local", "t-dim"
    if picture.holes.offsets:
        yield "hole", "gone"


def _remote_lane(picture: Picture) -> Lane:
    remote, holes, both = picture.remote, picture.holes, picture.in_both
    spans = [_span(part, "plain", "remote") for part in remote.ranges]
    spans += [_span(part, "good", "remote and local") for part in both.ranges]
    spans += [_span(part, "gone", "hole") for part in holes.ranges]
    lost = f", {holes.offsets:,} in holes" if holes.offsets else ""
    return Lane(name="remote", value=f"{_offsets(remote.offsets)}{lost}", spans=tuple(spans))


def _local_lane(picture: Picture, local: LocalLog) -> Lane:
    first, last = local.from_offset, local.to_offset
    spans = []
    if last is None or last >= first:
        spans.append(Span(first, picture.to_offset if last is None else last, "dim", f"local: from {first:,} on"))
    spans += [_span(part, "good", "remote and local") for part in picture.in_both.ranges]
    value = f"from {first:,} on" if local.offsets is None else _offsets(local.offsets)
    return Lane(name="local", value=value, spans=tuple(spans))


def _other_lane(other: OtherSegments) -> Lane:
    name, tone = _OTHERS[other.what]
    spans = tuple(_span(part, tone, name) for part in other.lane.ranges)
    return Lane(name=name, value=_segments(other), spans=spans)


def _span(part: Sequence[int], form: str, words: str) -> Span:
    return Span(part[0], part[1], form, f"{words}: {_range(part)}")


def _sentences(picture: Picture) -> Iterator[str]:
    """Yield the numbers of a picture in sentences."""
    remote, local, both, holes = picture.remote, picture.local, picture.in_both, picture.holes
    yield f"Offsets {picture.from_offset:,} to {picture.to_offset:,}:"
    if local is None:
        yield f"{remote.offsets:,} remote; the local log is not known."
    else:
        only = None if local.offsets is None else local.offsets - both.offsets
        kept = "the rest of the local log, whose end is not known," if only is None else f"{only:,}"
        yield f"{remote.offsets - both.offsets:,} only remote, {both.offsets:,} remote and local,"
        yield f"{kept} only local."
        yield f"The local log begins at {local.from_offset:,}."
    if holes.offsets:
        yield f"{_offsets(holes.offsets)} in {counted(holes.ranges_total, 'hole')}: {_ranges(holes)}."
    elif not picture.whole:
        yield "Part of its metadata was not read: which holes and orphans there are is not known."
    elif picture.exists is not False:
        yield "No holes." if picture.log_start_offset is not None else "No holes between the segments."
    for other in picture.others:
        yield f"{_OTHERS[other.what][0].capitalize()}: {_segments(other)}, offsets {_ranges(other.lane)}."
    if picture.exists is False:
        yield "The topic is deleted: no broker deletes these segments."


def _segments(other: OtherSegments | OrphanAges) -> str:
    return f"{other.segments:,} {plural('segment', other.segments)}, {size_text(other.bytes)}"


def _offsets(count: int) -> str:
    return f"{count:,} {plural('offset', count)}"


def _range(part: Sequence[int]) -> str:
    return f"{part[0]:,} to {part[1]:,}"


def _ranges(lane: Offsets) -> str:
    shown = ", ".join(_range(part) for part in lane.ranges[:_NAMED_RANGES])
    more = lane.ranges_total - min(_NAMED_RANGES, len(lane.ranges))
    return f"{shown} and {more:,} more" if more > 0 else shown


def orphan_bars(ages: OrphanAges) -> Bars:
    """Return the orphaned copies of a topic by age."""
    oldest = "" if ages.oldest_ms is None else f"; the oldest is {age_text(ages.oldest_ms)} old"
    by_age = "; ".join(
        f"{_age_name(part)}: {part.segments:,} with {size_text(part.bytes)}" for part in ages.by_age if part.segments
    )
    return Bars(
        title="Age of orphaned copies",
        text=f"{_segments(ages)} whose copy began and never ended{oldest}. By age: {by_age or 'not known'}.",
        series=(Series("segments", "warn"),),
        rows=tuple((_age_name(part), (part.segments,)) for part in ages.by_age),
    )


def _age_name(part: OrphansOfAge) -> str:
    if part.below_ms is None:
        return f"{age_text(part.from_ms)} and older"
    return f"{age_text(part.from_ms)} to {age_text(part.below_ms)}" if part.from_ms else (
        f"under {age_text(part.below_ms)}"
    )  # fmt: skip


_AT: Final = {
    "poison-record": ("bad", "a record at which metadata consumers end"),
    "partition-delete-record": ("bad", "DELETE_PARTITION_FINISHED of a partition that exists"),
    "damaged-metadata-log": ("bad", "damaged bytes"),
    "diverged-metadata-replicas": ("bad", "other bytes in another replica"),
    "unread-metadata-batch": ("warn", "a batch that was not read"),
}
_FAULTS: Final = frozenset({*_AT, "metadata-log-start-moved", "metadata-view-incomplete"})


def metadata_strip(partitions: Sequence[MetadataPartition], findings: Iterable[Finding]) -> Strip | None:
    """Return the offsets read of each metadata partition, those with findings first; None without any offset."""
    by_partition: dict[int, list[Finding]] = {}
    for finding in findings:
        at = finding.evidence.get("metadata_partition")
        if finding.id in _FAULTS and at is not None:
            by_partition.setdefault(at, []).append(finding)
    rows = {row.partition: row for row in partitions}
    absent = [at for at in by_partition if at not in rows]
    ordered = sorted({*rows, *absent}, key=lambda at: (at not in by_partition, at))
    ends = [max(row.end_offset, row.expected_end_offset or 0) for row in partitions]
    ends += [finding.evidence.get("expected_end_offset") or 0 for at in absent for finding in by_partition[at]]
    last = max(ends, default=0) - 1
    if last < 0:
        return None
    drawn = {at: _metadata_spans(rows.get(at), by_partition.get(at, ()), last) for at in ordered[:LANES]}
    records = sum(row.records for row in partitions)
    count = counted(len(partitions), "metadata partition")
    whole = sum(row.complete for row in partitions)
    words = {at: _words(drawn.get(at, ())) for at in ordered if at in by_partition}
    faults = [f"partition {at}: {'; '.join(texts)}" for at, texts in words.items() if texts]
    faults_text = f" In {first_few(faults, _NAMED_PARTITIONS)}." if faults else ""
    more = f" The first {LANES} of {len(ordered):,} are drawn." if len(ordered) > LANES else ""
    return Strip(
        title="Records of the metadata topic",
        text=f"{records:,} {plural('record', records)} in {count}, {whole} of which read to the end that is known."
        f"{faults_text}{more}",
        first=0,
        last=last,
        lanes=tuple(
            Lane(name=f"partition {at}", value=_records(rows.get(at)), spans=tuple(spans))
            for at, spans in drawn.items()
        ),
        legend=(("read", "t-plain"), ("deleted, or not read", "gone"), ("a record or bytes that harm", "t-bad")),
        more=max(len(ordered) - LANES, 0),
    )


def _records(row: MetadataPartition | None) -> str:
    return "not read" if row is None else f"{row.records:,} {plural('record', row.records)}"


def _words(spans: Iterable[Span]) -> list[str]:
    return [span.text for span in spans if span.form != "plain"]


def _metadata_spans(row: MetadataPartition | None, findings: Iterable[Finding], last: int) -> list[Span]:
    if row is None:
        return [Span(0, last, "gone", "not read")]
    start, end, expected = row.log_start_offset, row.end_offset, row.expected_end_offset
    spans = []
    if end > start:
        spans.append(Span(start, end - 1, "plain", f"read: {start:,} to {end - 1:,}"))
    if start > 0:
        spans.append(Span(0, start - 1, "gone", f"offsets below {start:,} are deleted"))
    if expected is not None and expected > end:
        spans.append(Span(end, expected - 1, "gone", f"offsets {end:,} to {expected - 1:,} were not read"))
    for finding in findings:
        form = _AT.get(finding.id)
        offset = finding.evidence.get("offset")
        if form is not None and isinstance(offset, int):
            spans.append(Span(offset, offset, form[0], f"offset {offset:,} has {form[1]}"))
    return spans
