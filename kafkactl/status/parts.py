"""Functions that the areas share: an area that could not be asked, the worst of several verdicts, lists of ids."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from kafkactl.cluster.node import NotAsked
from kafkactl.core.findings import Finding, Severity, warning
from kafkactl.core.wording import first_few
from kafkactl.status.answer import AreaStatus, StatusVerdict

_IDS_SHOWN: Final = 9


def unknown_area(area: str, why: NotAsked, counts: Iterable[str], command: str | None) -> AreaStatus:
    """Return the status of an area that could not be asked: every count is unknown, the reason is a finding."""
    return AreaStatus(
        area=area,
        verdict=StatusVerdict.UNKNOWN,
        text=f"not known: {why.reason}",
        headline=f"the state of {area.replace('-', ' ')} is not known: {why.reason}",
        counts=dict.fromkeys(counts),
        findings=(warning("status-not-known", area, why.reason, why.step),),
        command=command,
    )


def heavier(verdict: StatusVerdict, findings: Iterable[Finding]) -> StatusVerdict:
    """Return `watch` instead of `ok` if a finding is more than information."""
    is_noted = any(finding.severity is not Severity.INFO for finding in findings)
    return StatusVerdict.WATCH if verdict is StatusVerdict.OK and is_noted else verdict


def ids_text(ids: Iterable[int]) -> str:
    """Return node ids as `1,3,4`, the first few of many."""
    names = [str(id) for id in sorted(ids)]
    return ",".join(names) if len(names) <= _IDS_SHOWN else first_few(names, _IDS_SHOWN)


def joined(parts: Iterable[str | None]) -> str:
    """Return the parts of a line with a dot between them."""
    return " · ".join(part for part in parts if part)


def area_of(
    area: str,
    verdict: StatusVerdict,
    text: str,
    *,
    headlines: Iterable[str],
    counts: Mapping[str, int | str | None],
    findings: tuple[Finding, ...] = (),
    command: str | None,
) -> AreaStatus:
    """Return an area whose headline is the first of the sentences, or its text without one."""
    headline = None if verdict is StatusVerdict.OK else next(iter(headlines), text)
    return AreaStatus(
        area=area, verdict=verdict, text=text, headline=headline, counts=counts, findings=findings, command=command
    )
