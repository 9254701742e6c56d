"""The answer of `kafkactl status`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Final

from kafkactl.core.answers import by_fields, json_of
from kafkactl.core.findings import Finding
from kafkactl.core.frozen import frozen
from kafkactl.storage.discovery import FoundBy


class StatusVerdict(StrEnum):
    """Verdict of an area and of the whole cluster."""

    OK = "ok"
    WATCH = "watch"
    PROBLEM = "problem"
    UNKNOWN = "unknown"


@frozen
class AreaStatus:
    """Verdict of one area."""

    area: str
    verdict: StatusVerdict
    text: str
    """Facts of the area in one line."""
    headline: str | None = None
    """Sentence about the problem; null if the verdict is ok."""
    counts: Mapping[str, int | str | None]
    """Numbers of the area; null for an unknown number."""
    findings: tuple[Finding, ...] = ()
    command: str | None
    """Next command that shows more, with its connection options."""

    to_dict = by_fields


@frozen
class FoundNodes:
    """Way in which the cluster was found."""

    by: FoundBy
    """Source of the address: connection options, a context, a named file, a process of this host, a usual place."""
    files: tuple[str, ...] = ()
    """Configuration files of nodes on this host that were used."""

    to_dict = by_fields


@frozen
class ClusterStatus:
    """Status of a cluster, one entry an area; areas that were not asked are left out."""

    cluster_id: str | None
    cluster: str | None
    """Name of the context; null without one."""
    kafka_versions: tuple[str, ...]
    """Releases that run, with their patch level if it is known."""
    time_ms: int
    found: FoundNodes
    verdict: StatusVerdict
    headline: str
    """The verdict in words."""
    areas: tuple[AreaStatus, ...]

    @property
    def needs_attention(self) -> bool:
        """Return True if an area is in a state that costs availability now."""
        return self.verdict is StatusVerdict.PROBLEM

    to_dict = json_of(
        "cluster_id", "cluster", "kafka_versions", "time_ms", "found", "verdict", "headline", "areas", kind="status"
    )


DECISIVE: Final = frozenset({"quorum", "brokers", "partitions"})
"""Areas without which a cluster cannot be called healthy."""


def whole_verdict(areas: Iterable[AreaStatus]) -> StatusVerdict:
    """Return the verdict of a cluster from those of its areas."""
    areas = tuple(areas)
    verdicts = {area.verdict for area in areas}
    known = {area.area for area in areas if area.verdict is not StatusVerdict.UNKNOWN}
    if StatusVerdict.PROBLEM in verdicts:
        return StatusVerdict.PROBLEM
    if not known >= DECISIVE:
        return StatusVerdict.UNKNOWN
    return StatusVerdict.OK if verdicts <= {StatusVerdict.OK} else StatusVerdict.WATCH


_WEIGHT: Final = (StatusVerdict.PROBLEM, StatusVerdict.UNKNOWN, StatusVerdict.WATCH, StatusVerdict.OK)


_UNKNOWN: Final = StatusVerdict.UNKNOWN


def worst_first(areas: Iterable[AreaStatus]) -> tuple[AreaStatus, ...]:
    """Return the areas with those that are worst first; areas of equal verdict keep their order."""
    return tuple(sorted(areas, key=lambda area: _WEIGHT.index(area.verdict)))


def whole_headline(areas: Iterable[AreaStatus]) -> str:
    """Return the sentence about the area that decides the verdict of the whole."""
    areas = tuple(areas)
    verdict = whole_verdict(areas)
    bad = [area for area in worst_first(areas) if area.verdict is not StatusVerdict.OK]
    if not bad:
        return "nothing is wrong in what was asked"
    deciding = [area for area in bad if area.verdict is verdict and (verdict is not _UNKNOWN or area.area in DECISIVE)]
    first = (deciding or bad)[0]
    return first.headline or first.text
