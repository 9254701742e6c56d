"""Report from the answer of `kafkactl tiered report`: findings and their cost, then the topics, worst first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from kafkactl.core.wording import counted, plural, size_text
from kafkactl.report.model import TONES, Bars, Block, Cell, Facts, Report, Section, Series, Table
from kafkactl.report.timeline import clock
from kafkactl.tiered.page.strips import metadata_strip, orphan_bars, strip_of
from kafkactl.tiered.page.verdict import meaning_of, verdict_of

if TYPE_CHECKING:
    from kafkactl.core.findings import Finding
    from kafkactl.tiered.audit.run import AuditTotals, PartitionStatus
    from kafkactl.tiered.bucket import BucketRead
    from kafkactl.tiered.forecast import Candidate, PartitionForecast
    from kafkactl.tiered.judgements import TieredReport
    from kafkactl.tiered.pictures import OrphanAges, Picture

SHOWN_FINDINGS: Final = 40
SHOWN_ALIKE: Final = 3  # of one id
ROWS: Final = 100
TOPIC_BARS: Final = 20
_TONES: Final = {"blocker": "bad", "warning": "warn", "info": "plain"}


def tiered_report_of(report: TieredReport, *, written_by: str = "kafkactl") -> Report:
    """Return the page of an audit and a forecast."""
    findings = report.findings
    topics = _topics(report)
    sections = tuple(_section(number, topic) for number, topic in enumerate(topics.values()))
    return Report(
        title="Tiered storage report",
        verdict=verdict_of(findings),
        meaning=meaning_of(findings),
        source=_source(report),
        sections=sections,
        cluster=tuple(_metadata(report)),
        assumptions=report.assumptions,
        written_by=written_by,
        overview=_overview(sections, topics.values(), report),
        closing="Read from what is listed under sources. Nothing was written to a cluster or a store.",
        cluster_title="The metadata topic, and what the next leaders would do",
        findings=tuple(_shown(findings)),
        summary=tuple(_summary(report)),
    )


class _Topic:
    """Findings about one topic that is drawn."""

    def __init__(self, name: str, topic_id: str) -> None:
        self.name, self.topic_id = name, topic_id
        self.pictures: list[Picture] = []
        self.partitions: list[PartitionStatus] = []
        self.findings: list[Finding] = []
        self.ages: OrphanAges | None = None


def _topics(report: TieredReport) -> dict[str, _Topic]:
    """Return the topics in the order of the pictures, the most severe first."""
    found: dict[str, _Topic] = {}
    for picture in report.pictures:
        topic = found.setdefault(picture.topic_id, _Topic(picture.topic, picture.topic_id))
        topic.pictures.append(picture)
    for partition in report.audit.partitions:
        if partition.topic_id in found:
            found[partition.topic_id].partitions.append(partition)
    for finding in report.findings:
        topic_id = finding.evidence.get("topic_id")
        if topic_id in found:
            found[topic_id].findings.append(finding)
    for ages in report.orphan_ages:
        if ages.topic_id in found:
            found[ages.topic_id].ages = ages
    return found


def _source(report: TieredReport) -> Facts:
    source, totals = report.audit.source, report.audit.totals
    read = source.metadata_partitions
    bucket = source.bucket
    whole = sum(found.complete for found in read)
    rows = [
        ("sources", ", ".join([*source.paths, *(["the live cluster"] if source.cluster else [])])),
        ("observed at", None if source.observed_at_ms is None else f"{clock(source.observed_at_ms)} UTC"),
        ("remote log", f"{', '.join(_counted(totals))}; {size_text(totals.bytes)} complete"),
        ("metadata topic", f"{totals.records:,} records, {whole} of {len(read)} partitions whole"),
        ("listing of the store", "none: objects were not judged" if bucket is None else _bucket(bucket)),
        ("engine", report.audit.engine),
    ]
    return Facts(rows=tuple((name, Cell(text)) for name, text in rows if text is not None))


def _counted(totals: AuditTotals) -> Iterator[str]:
    sums = totals.topics, totals.partitions, totals.segments
    for count, noun in zip(sums, ("topic", "partition", "segment"), strict=True):
        yield f"{count:,} {plural(noun, count)}"


def _bucket(bucket: BucketRead) -> str:
    layout = f", layout {bucket.layout}" if bucket.layout else ", no key names a segment"
    return f"{bucket.path}: {bucket.objects:,} objects, {size_text(bucket.bytes)}{layout}"


def _overview(sections: Iterable[Section], topics: Iterable[_Topic], report: TieredReport) -> Table:
    rows = tuple(
        (
            Cell(section.title),
            Cell(section.verdict, TONES[section.verdict]),
            Cell(f"{len(topic.partitions):,}"),
            Cell(f"{sum(partition.segments for partition in topic.partitions):,}"),
            Cell(size_text(sum(partition.bytes for partition in topic.partitions))),
            Cell(topic.findings[0].id if topic.findings else "none"),
        )
        for section, topic in zip(sections, topics, strict=True)
    )
    every = {partition.topic_id for partition in report.audit.partitions}
    return Table(
        title="Topics, the worst first",
        columns=("topic", "verdict", "partitions", "segments", "complete", "first finding"),
        rows=rows,
        more=len(every) - len(rows),
    )


def _summary(report: TieredReport) -> Iterator[Block]:
    findings = report.findings
    if findings:
        yield _by_kind(findings)
    yield from _bytes_by_finding(findings, report)
    yield from _bytes_by_topic(report)


def _by_kind(findings: Sequence[Finding]) -> Table:
    rows = []
    for id, severity in dict.fromkeys((finding.id, finding.severity) for finding in findings):
        those = [finding.evidence for finding in findings if (finding.id, finding.severity) == (id, severity)]
        rows.append(
            (
                Cell(id),
                Cell(severity.value, _TONES[severity]),
                Cell(f"{len(those):,}"),
                _sum(those, "segments_total"),
                _sum(those, "objects_total"),
                Cell(size_text(sum(evidence["bytes"] for evidence in those if "bytes" in evidence)))
                if any("bytes" in evidence for evidence in those)
                else Cell("-"),
            )
        )
    columns = ("finding", "severity", "times", "segments", "objects", "bytes")
    return Table(title="Findings by kind", columns=columns, rows=tuple(rows))


def _sum(those: Iterable[Mapping[str, Any]], name: str) -> Cell:
    known = [evidence[name] for evidence in those if name in evidence]
    return Cell(f"{sum(known):,}" if known else "-")


def _bytes_by_finding(findings: Sequence[Finding], report: TieredReport) -> Iterator[Bars]:
    """Yield the cost of each reason, as a part of all bytes. A segment may be in several findings, so the bars have no
    meaningful sum.
    """
    costs: Counter[str] = Counter()
    for finding in findings:
        costs[finding.id] += finding.evidence.get("bytes", 0)
    total = sum(partition.bytes + partition.orphans.bytes for partition in report.audit.partitions)
    rows = [(id, (count, max(0, total - count))) for id, count in costs.most_common() if count]
    if rows:
        by_id = ", ".join(f"{id} {size_text(values[0])}" for id, values in rows)
        yield Bars(
            title="Bytes by reason",
            text=f"The bytes that the findings of each kind are about: {by_id}. One segment may be in several.",
            series=(Series("bytes", "warn"), Series("all others", "good")),
            rows=tuple(rows),
            stacked=True,
            unit="bytes",
        )


def _bytes_by_topic(report: TieredReport) -> Iterator[Bars]:
    sums: dict[tuple[str, str], list[int]] = {}
    for partition in report.audit.partitions:
        found = sums.setdefault((partition.topic, partition.topic_id), [0, 0, 0])
        gone = partition.exists is False
        found[2 if gone else 0] += partition.bytes
        found[1] += partition.orphans.bytes
    ordered = sorted(sums.items(), key=lambda entry: (-sum(entry[1]), entry[0]))
    rows = [(name, tuple(values)) for (name, _), values in ordered[:TOPIC_BARS] if sum(values)]
    rest = ordered[TOPIC_BARS:]
    if rest:
        summed = tuple(sum(values[at] for _, values in rest) for at in range(3))
        rows.append((f"{len(rest):,} other {plural('topic', len(rest))}", summed))
    if rows:
        complete, orphaned, gone_bytes = (sum(values[at] for values in sums.values()) for at in range(3))
        yield Bars(
            title="Bytes by topic",
            text=f"{size_text(complete)} in complete segments of topics that exist or are not known to be deleted, "
            f"{size_text(orphaned)} in orphaned copies, {size_text(gone_bytes)} of deleted topics, by the sizes that "
            "the metadata topic has. One value: all of it is complete; several: in the order of the legend.",
            series=(Series("complete"), Series("orphaned copies", "warn"), Series("of a deleted topic", "bad")),
            rows=tuple(rows),
            stacked=True,
            unit="bytes",
        )


def _shown(findings: Sequence[Finding]) -> Iterator[Mapping[str, Any]]:
    """Yield the first few of each kind, and a line that counts the others."""
    met: Counter[str] = Counter()
    left: Counter[str] = Counter()
    shown = 0
    severity = "info"
    for finding in findings:
        met[finding.id] += 1
        if met[finding.id] <= SHOWN_ALIKE and shown < SHOWN_FINDINGS:
            shown += 1
            yield finding.to_dict()
        else:
            if not left:
                severity = finding.severity.value
            left[finding.id] += 1
    if left:
        total = sum(left.values())
        by_id = ", ".join(f"{count:,} {id}" for id, count in left.most_common(10))
        text = f"{total:,} more {plural('finding', total)} of these kinds: {by_id}"
        yield {"id": "", "severity": severity, "subject": "", "message": text, "next_step": "All of them: -o json."}


def _section(number: int, topic: _Topic) -> Section:
    blocks: list[Block] = [_topic_facts(topic)]
    if topic.findings:
        blocks.append(_topic_findings(topic.findings))
    blocks += [strip_of(picture) for picture in topic.pictures]
    if topic.ages is not None:
        blocks.append(orphan_bars(topic.ages))
    verdict = verdict_of(topic.findings)
    if verdict == "sound" and not all(picture.whole for picture in topic.pictures):
        verdict = "unknown"
    return Section(
        anchor=f"topic-{number + 1}", title=topic.name, about="", verdict=verdict, findings=(), blocks=tuple(blocks)
    )


def _topic_facts(topic: _Topic) -> Facts:
    states: Counter[str] = Counter()
    for partition in topic.partitions:
        states.update(partition.by_state)
    exists = topic.partitions[0].exists if topic.partitions else None
    drawn, every = len(topic.pictures), len(topic.partitions)
    holes = sum(hole.to_offset - hole.from_offset + 1 for partition in topic.partitions for hole in partition.holes)
    rows = [
        ("topic id", Cell(topic.topic_id)),
        ("exists", Cell({True: "yes", False: "no, it was deleted", None: "not known"}[exists])),
        (
            "partitions",
            Cell(f"{every:,}" + (f", of which {drawn} are drawn, the worst first" if drawn < every else "")),
        ),
        ("segments", Cell(", ".join(f"{count:,} {state}" for state, count in sorted(states.items())) or "none")),
        ("bytes, complete", Cell(size_text(sum(partition.bytes for partition in topic.partitions)))),
        ("offsets in holes", Cell(f"{holes:,}", "bad" if holes else "plain")),
    ]
    return Facts(rows=tuple(rows))


def _topic_findings(findings: Sequence[Finding]) -> Table:
    rows = tuple(
        (
            Cell(finding.id),
            Cell(finding.severity.value, _TONES[finding.severity]),
            Cell(str(finding.evidence.get("partition", "-"))),
            Cell(finding.message),
        )
        for finding in findings[:ROWS]
    )
    columns = ("finding", "severity", "partition", "what")
    return Table(title="Findings of this topic", columns=columns, rows=rows, more=len(findings) - len(rows))


def _metadata(report: TieredReport) -> Iterator[Block]:
    strip = metadata_strip(report.audit.source.metadata_partitions, report.findings)
    if strip is not None:
        yield strip
    if report.forecast is not None:
        yield from _forecast(report.forecast)


def _forecast(partitions: Sequence[PartitionForecast]) -> Iterator[Block]:
    every = [(partition, candidate) for partition in partitions for candidate in partition.candidates]
    harmful = [entry for entry in every if entry[1].harms]
    yield Facts(
        rows=(
            ("replicas that could lead", Cell(f"{len(every):,} of {counted(len(partitions), 'partition')}")),
            ("that would do harm", Cell(f"{len(harmful):,}", "bad" if harmful else "good")),
        )
    )
    harmful.sort(key=lambda entry: (entry[1].alive is False, -_lost_bytes(entry[1])))
    if harmful:
        yield Table(
            title="Replicas that would do harm as leader",
            columns=("partition", "broker", "alive", "metadata consumer", "log start then", "no longer readable"),
            rows=tuple(_candidate(partition, candidate) for partition, candidate in harmful[:ROWS]),
            more=len(harmful) - min(len(harmful), ROWS),
        )


def _lost_bytes(candidate: Candidate) -> int:
    return 0 if candidate.unreachable is None else candidate.unreachable.size


def _candidate(partition: PartitionForecast, candidate: Candidate) -> tuple[Cell, ...]:
    lost, start, consumer = candidate.unreachable, candidate.log_start, candidate.consumer
    case = partition.case
    return (
        Cell(f"{case.topic}-{case.key.partition}"),
        Cell(f"{candidate.broker_id}{' (leads now)' if candidate.leads_now else ''}"),
        Cell({True: "yes", False: "no", None: "not known"}[candidate.alive]),
        Cell(consumer, "plain" if consumer == "healthy" else "bad"),
        Cell("not known" if start is None else f"{start:,}", "plain" if lost is None else "bad"),
        Cell("-" if lost is None else f"{lost.first:,} to {lost.last:,}, {size_text(lost.size)}"),
    )
