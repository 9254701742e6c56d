"""What the tables of `kafkactl tiered` have in common: the heading, the totals, a line a partition."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kafkactl.commands.rendering.page import Page
from kafkactl.report.tiered.verdict import PROBLEMS, SOUND, WARNINGS, meaning_of, verdict_of
from kafkactl.wording import counted, size_text


def heading(page: Page, findings: Sequence[Mapping[str, Any]]) -> None:
    """What the findings come to, never better than what was read allows."""
    verdict = verdict_of(findings)
    if verdict == PROBLEMS:
        count = sum(finding["severity"] == "blocker" for finding in findings)
        page.heading(f"The remote log has {counted(count, 'problem')}", "bad")
    elif verdict == WARNINGS:
        count = sum(finding["severity"] == "warning" for finding in findings)
        page.heading(f"Nothing is lost; {counted(count, 'warning')}", "warn")
    elif verdict == SOUND:
        page.heading("The remote log is sound", "good")
    else:
        page.heading(meaning_of(findings).removesuffix("."), "warn")


def totals_line(sums: Mapping[str, Any]) -> str:
    """The sums of an audit."""
    nouns = ("topic", "partition", "segment")
    return (
        f"{', '.join(counted(sums[f'{noun}s'], noun) for noun in nouns)}, {size_text(sums['bytes'])} complete, "
        f"{counted(sums['records'], 'record')}"
    )


def partition_table(page: Page, partitions: Iterable[Mapping[str, Any]]) -> None:
    """Where the remote log of each partition stands; those without segments and holes are left out."""
    page.table(
        ("partition", "segments", "bytes", "remote", "highest", "next upload", "log start", "local start", "holes"),
        (_row(partition) for partition in partitions if partition["segments"] or partition["holes"]),
    )


def _row(partition: Mapping[str, Any]) -> tuple[Any, ...]:
    start, end = partition["remote_start_offset"], partition["remote_end_offset"]
    return (
        f"{partition['topic']}-{partition['partition']}",
        partition["segments"],
        partition["bytes"],
        None if start is None else f"{start}-{end}",
        partition["highest_offset"],
        partition["next_upload_offset"],
        partition["log_start_offset"],
        partition["local_log_start_offset"],
        " ".join(f"{hole['from_offset']}-{hole['to_offset']}" for hole in partition["holes"]) or None,
    )
