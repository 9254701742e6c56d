"""Common blocks of the `kafkactl tiered` pages: heading, totals, and a row for each partition."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from kafkactl.commands.rendering.page import Cell, Page, Word
from kafkactl.core.answers import json_of
from kafkactl.core.findings import Severity
from kafkactl.core.frozen import frozen
from kafkactl.core.wording import counted, size_text
from kafkactl.tiered.page.verdict import PROBLEMS, SOUND, WARNINGS, meaning_of, verdict_of

if TYPE_CHECKING:
    from kafkactl.core.findings import Finding
    from kafkactl.tiered.answers import RemoteSegment
    from kafkactl.tiered.api.pages import TieredReport
    from kafkactl.tiered.api.verbs import Audit, Forecast
    from kafkactl.tiered.audit.run import AuditTotals, PartitionStatus
    from kafkactl.tiered.forecast import Candidate, PartitionForecast

MOST_SHOWN = 50  # partitions
MOST_ALIKE = 20  # findings of one id
_HOLES = 3


@frozen
class WithFiles:
    """An answer with what the command wrote of it: the page `html`, and the folder of the tables `details`."""

    html: str | None
    """The page that was written."""
    answer: Audit | TieredReport
    details: str | None
    """The folder of the tables; None if none was named."""

    to_dict = json_of("html", "**answer", "details")


def audit_page(page: Page, audit: Audit) -> None:
    """Show an audit."""
    _audit(page, audit, audit.findings)
    assumed(page, audit.assumptions)


def report_page(page: Page, report: TieredReport, written: Iterable[tuple[str, Cell]]) -> None:
    """Show the audit of a report with the findings of its forecast, and the files that were `written`."""
    _audit(page, report.audit, report.findings, written)
    assumed(page, report.assumptions)


def _audit(page: Page, audit: Audit, findings: Sequence[Finding], written: Iterable[tuple[str, Cell]] = ()) -> None:
    _heading(page, findings)
    page.line(_totals_line(audit.totals))
    page.fields(written)
    _findings(page, findings)
    _partition_groups(page, audit.partitions, findings)


def assumed(page: Page, assumptions: Iterable[str]) -> None:
    """Show the assumptions."""
    for assumption in assumptions:
        page.line(f"Assumed: {assumption}")


def _heading(page: Page, findings: Sequence[Finding]) -> None:
    """Show the verdict of the findings, limited by what was read."""
    verdict = verdict_of(findings)
    if verdict == PROBLEMS:
        count = sum(finding.severity is Severity.BLOCKER for finding in findings)
        page.heading(f"The remote log has {counted(count, 'problem')}", "bad")
    elif verdict == WARNINGS:
        count = sum(finding.severity is Severity.WARNING for finding in findings)
        page.heading(f"Nothing is lost; {counted(count, 'warning')}", "warn")
    elif verdict == SOUND:
        page.heading("The remote log is sound", "good")
    else:
        page.heading(meaning_of(findings).removesuffix("."), "warn")


def _findings(page: Page, findings: Sequence[Finding]) -> None:
    """Show the first findings of each kind, and the number of others."""
    met: Counter[tuple[str, Severity]] = Counter()
    kept, left = [], Counter[str]()
    for finding in findings:
        kind = finding.id, finding.severity
        met[kind] += 1
        if met[kind] <= MOST_ALIKE:
            kept.append(finding)
        else:
            left[finding.id] += 1
    page.findings(kept)
    if left:
        by_id = ", ".join(f"{count} {id}" for id, count in left.items())
        page.line(Word(f"Not shown: {counted(left.total(), 'finding')}: {by_id} (-o json has all)", "dim"))


def _totals_line(sums: AuditTotals) -> str:
    """Return the sums of an audit."""
    return (
        f"{counted(sums.topics, 'topic')}, {counted(sums.partitions, 'partition')}, "
        f"{counted(sums.segments, 'segment')}, {size_text(sums.bytes)} complete, {counted(sums.records, 'record')}"
    )


def _partition_groups(page: Page, partitions: Sequence[PartitionStatus], findings: Iterable[Finding]) -> None:
    """Show the remote logs of partitions with a finding or a hole, and the number of others."""
    ranks: dict[tuple[Any, Any], int] = {}
    for rank, finding in enumerate(findings):
        evidence = finding.evidence
        ranks.setdefault((evidence.get("topic_id"), evidence.get("partition")), rank)
    places = [(ranks.get((found.topic_id, found.partition)), found) for found in partitions]
    groups = [
        (len(ranks) if rank is None else rank, found) for rank, found in places if rank is not None or found.holes
    ]
    groups.sort(key=lambda entry: entry[0])
    page.groups((_partition_title(found), [_partition_row(found)]) for _, found in groups[:MOST_SHOWN])
    left, quiet = max(len(groups) - MOST_SHOWN, 0), len(partitions) - len(groups)
    rest = [f"{counted(left, 'more partition')} with a finding"] if left else []
    rest += [f"{counted(quiet, 'partition')} without a finding"] if quiet else []
    if rest:
        page.line(Word(f"Not shown: {', '.join(rest)} (-o json has all)", "dim"))


def _partition_title(found: PartitionStatus) -> Word:
    deleted = ", topic deleted" if found.exists is False else ""
    sums = f"{counted(found.segments, 'segment')}, {size_text(found.bytes)} complete{deleted}"
    return Word(f"{found.topic}-{found.partition}: {sums}", "strong")


def _partition_row(found: PartitionStatus) -> tuple[Cell, ...]:
    start, end = found.remote_start_offset, found.remote_end_offset
    holes = found.holes
    shown = ", ".join(f"{hole.from_offset}-{hole.to_offset}" for hole in holes[:_HOLES])
    more = f" and {len(holes) - _HOLES} more" if len(holes) > _HOLES else ""
    return (
        _value("log start", found.log_start_offset),
        "remote none" if start is None else f"remote {start}-{end}",
        _value("local from", found.local_log_start_offset),
        _value("next upload", found.next_upload_offset),
        Word(f"holes {shown}{more}", "bad") if holes else "no holes" if found.log_start_offset is not None else "",
    )


def _value(name: str, value: int | None) -> str:
    return f"{name} {'?' if value is None else value}"


def segment_groups(page: Page, segments: Sequence[RemoteSegment]) -> None:
    """Show segments by partition, a line each; the id stays in one piece."""
    grouped: dict[tuple[str, str, int], list[RemoteSegment]] = {}
    for segment in segments:
        grouped.setdefault((segment.topic, segment.topic_id, segment.partition), []).append(segment)
    ids: dict[tuple[str, int], set[str]] = {}
    for topic, topic_id, partition in grouped:
        ids.setdefault((topic, partition), set()).add(topic_id)
    page.groups(
        (
            # The same name with two ids is normal after a topic was deleted and made again.
            Word(f"{topic}-{partition}{f' ({topic_id})' if len(ids[topic, partition]) > 1 else ''}", "strong"),
            [_segment_row(segment) for segment in found],
        )
        for (topic, topic_id, partition), found in grouped.items()
    )


def _segment_row(segment: RemoteSegment) -> tuple[Cell, ...]:
    index, forgotten = segment.epoch_index, segment.forgotten_by
    finished = segment.state == "COPY_SEGMENT_FINISHED"
    notes = (
        [f"forgotten by {forgotten}"]
        if forgotten
        else [f"epoch index: {index}"]
        if finished and index != "referenced"
        else []
    )
    return (
        segment.segment_id,
        f"{segment.start_offset}-{segment.end_offset}",
        size_text(segment.bytes),
        Word(segment.state, "plain" if finished else "warn"),
        Word(", ".join(notes), "warn"),
    )


def forecast_heading(page: Page, found: Forecast) -> None:
    """Show the verdict of the forecast, limited by what was read."""
    harmful = {(harm.evidence["topic_id"], harm.evidence["partition"]) for harm in found.harms}
    candidates = [candidate for partition in found.partitions for candidate in partition.candidates]
    if harmful:
        page.heading(f"{counted(len(harmful), 'partition')} would be harmed by a replica that leads next", "bad")
    elif found.findings or not candidates:
        page.heading("What replicas would do as leader is not known, or only in part", "warn")
    elif any(candidate.log_start is None or candidate.consumer == "unknown" for candidate in candidates):
        page.heading("No replica is known to do harm as leader; not everything is known", "warn")
    else:
        page.heading("No replica would do harm as leader", "good")


def candidate_groups(page: Page, partitions: Sequence[PartitionForecast]) -> None:
    """Show the behaviour of each replica as leader; partitions with a harmful replica come first."""
    ordered = sorted(partitions, key=lambda found: not any(candidate.harms for candidate in found.candidates))
    page.groups(
        (
            Word(f"{case.topic}-{case.key.partition}: {_value('log start', case.log_start)}", "strong"),
            [_candidate_row(candidate) for candidate in candidates],
        )
        for case, candidates in ((found.case, found.candidates) for found in ordered[:MOST_SHOWN])
    )
    if len(ordered) > MOST_SHOWN:
        page.line(Word(f"Not shown: {counted(len(ordered) - MOST_SHOWN, 'partition')} (-o json has all)", "dim"))


def _candidate_row(candidate: Candidate) -> tuple[Cell, ...]:
    lost, alive = candidate.unreachable, {True: "alive", False: "down", None: "alive?"}[candidate.alive]
    words, tone = _CONSUMERS.get(candidate.consumer) or _UPLOADS[candidate.uploads]
    return (
        f"broker {candidate.broker_id}",
        "leads" if candidate.leads_now else alive,
        Word(words, tone),
        _value("log start", candidate.log_start),
        _value("next upload", candidate.next_upload),
        Word(f"loses {lost.first}-{lost.last}", "bad") if lost else "",
    )


_CONSUMERS = {"stopped": ("consumer stopped", "bad"), "stops-at-restart": ("stops at restart", "bad")}
_UPLOADS = {
    "continues": ("uploads", "good"),
    "disabled": ("uploads disabled", "dim"),
    "stopped": ("uploads stopped", "bad"),
    "unknown": ("uploads unknown", "dim"),
}
