"""The area `partitions`: without a leader, under and at min ISR, out of sync."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kafkactl.cluster.node import NotAsked
from kafkactl.core.findings import Finding, blocker, warning
from kafkactl.core.wording import first_few, plural
from kafkactl.metadata.image.health import PartitionHealth
from kafkactl.status.answer import AreaStatus, StatusVerdict
from kafkactl.status.next_command import Target
from kafkactl.status.observation import Observation
from kafkactl.status.parts import area_of, joined, unknown_area

AREA: Final = "partitions"
COUNTS: Final = (
    "partitions", "without_leader", "under_min_isr", "at_min_isr", "out_of_sync", "reassigning", "not_preferred",
)  # fmt: skip
# Kind of count, id of its finding, and the words after the number of partitions.
_KINDS: Final = (
    ("without_leader", "leaderless-partition", "without a leader"),
    ("under_min_isr", "partitions-under-min-isr", "under min ISR"),
    ("at_min_isr", "partitions-at-min-isr", "at min ISR"),
    ("out_of_sync", "replicas-out-of-sync", "with replicas out of sync"),
)
_PROBLEMS: Final = frozenset({"without_leader", "under_min_isr"})
_NAMED: Final = 5


def partitions_area(observation: Observation, target: Target) -> AreaStatus:
    """Return the status of the partitions."""
    found = observation.partitions
    if (why := observation.not_copied) is not None:
        return unknown_area(AREA, why, COUNTS, target.migration_command())
    if isinstance(found, NotAsked):
        return unknown_area(AREA, found, COUNTS, target.command(["quorum", "describe"]))
    health = found.health
    bad = {kind: count for kind, _, _ in _KINDS if (count := _worrying(health, kind))}
    verdict = StatusVerdict.OK
    if bad:
        verdict = StatusVerdict.PROBLEM if _PROBLEMS & bad.keys() else StatusVerdict.WATCH
    if verdict is not StatusVerdict.PROBLEM and None in (health.under_min_isr, health.at_min_isr):
        verdict = StatusVerdict.UNKNOWN
    words = ["log", "lint", "--from-cluster"]
    command = target.command(words if found.source == "log" else ["nodes", "list"])
    return area_of(
        AREA,
        verdict,
        _text(health),
        headlines=_headlines(health, bad),
        counts={name: getattr(health, name) for name in COUNTS},
        findings=(*_own_findings(health, bad), *found.findings),
        command=command,
    )


def _worrying(health: PartitionHealth, kind: str) -> int:
    """Return the number of partitions of a kind."""
    count: int | None = getattr(health, kind)
    return count or 0


def _text(health: PartitionHealth) -> str:
    unknown = health.under_min_isr is None
    return joined(
        (
            str(health.partitions),
            f"{health.without_leader} without leader",
            "min ISR not known" if unknown else f"{health.under_min_isr} under min ISR",
            f"{health.at_min_isr} at min ISR" if health.at_min_isr else None,
            f"{health.out_of_sync} out of sync" if health.out_of_sync else None,
            f"{health.reassigning} reassigning" if health.reassigning else None,
        )
    )


def _headlines(health: PartitionHealth, bad: dict[str, int]) -> Iterator[str]:
    for kind, _, words in _KINDS:
        if kind in bad:
            names = first_few(health.named.get(kind, ()), 3, count=bad[kind])
            yield f"{bad[kind]} of {health.partitions} {plural('partition', health.partitions)} {words}: {names}"
    yield "min.insync.replicas is not known, nor what is under min ISR"


def _own_findings(health: PartitionHealth, bad: dict[str, int]) -> Iterator[Finding]:
    for kind, id, words in _KINDS:
        if kind in bad:
            names = health.named.get(kind, ())
            make = blocker if kind in _PROBLEMS else warning
            text = f"{bad[kind]} {plural('partition', bad[kind])} {words}: {first_few(names, _NAMED, count=bad[kind])}"
            yield make(id, "partitions", text, count=bad[kind], partitions=list(names))
