"""Answer of `roll check`: all findings that stop or harm a roll at once, node by node."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Final

from kafkactl.core.answers import by_fields, json_of
from kafkactl.core.findings import Finding, Severity, each_once
from kafkactl.core.frozen import frozen
from kafkactl.core.values import Role
from kafkactl.protocol.catalog.releases import Release
from kafkactl.roll.case import RollCase, Way
from kafkactl.roll.checks import binaries, cluster, evidence, tiered
from kafkactl.roll.checks.row import CheckRow
from kafkactl.roll.levels import LevelFit, level_fits
from kafkactl.roll.rollback_path import RollbackPath, rollback_path
from kafkactl.roll.start import StartFailure, forecast_start

ROWS: Final[tuple[CheckRow, ...]] = (*binaries.ROWS, *tiered.ROWS, *cluster.ROWS, *evidence.ROWS)
_WEIGHT: Final = {Severity.BLOCKER: 0, Severity.WARNING: 1, Severity.INFO: 2}


@frozen
class CheckedNode:
    """A node, and the forecast of its start under the release while all other nodes stay as they are."""

    id: int
    roles: tuple[Role, ...]
    release: str | None
    """The release that runs; a line such as 4.3 if only its feature ranges are known."""
    will_start: bool | None
    """True if it comes up, is registered and unfenced. Null if something is unknown and nothing known forbids it."""
    expected_failure: StartFailure | None
    unknown: tuple[str, ...]
    """Facts that are missing for a definite answer."""
    findings: tuple[Finding, ...]

    to_dict = by_fields


@frozen
class RollCheck:
    """Answer of `roll check`."""

    way: Way
    from_releases: Mapping[str, str | None]
    """The release of each node before the roll, by node id."""
    to: str | None
    """The release that is rolled to; null for a restart."""
    nodes: tuple[CheckedNode, ...]
    levels: tuple[LevelFit, ...]
    """Finalized levels and the range of the release; of a restart the range of the oldest release that runs."""
    findings: tuple[Finding, ...]
    rollback: RollbackPath

    @property
    def has_blockers(self) -> bool:
        """Return True if something stops the roll."""
        return any(finding.severity is Severity.BLOCKER for finding in self.findings)

    to_dict = json_of(
        "way", "from=from_releases", "to", "nodes", "levels", "findings", "way_back=rollback", kind="roll.check"
    )  # fmt: skip


def check_roll(case: RollCase) -> RollCheck:
    """Return everything that stops or harms the roll."""
    found = [item for row in ROWS for item in row.find(case)]
    of_node: dict[int, list[Finding]] = defaultdict(list)
    for item in found:
        for node_id in item.nodes:
            of_node[node_id].append(item.finding)
    findings = sorted(each_once(item.finding for item in found), key=lambda finding: _WEIGHT[finding.severity])
    nodes = []
    for node in case.observation.nodes:
        forecast = forecast_start(case, node)
        running = case.versions.get(node.id)
        nodes.append(
            CheckedNode(
                id=node.id,
                roles=node.roles,
                release=None if running is None else str(running),
                will_start=forecast.will_start,
                expected_failure=forecast.failure,
                unknown=forecast.unknown,
                findings=tuple(of_node[node.id]),
            )
        )
    release = _release_of_levels(case)
    return RollCheck(
        way=case.way,
        from_releases={str(node.id): node.release for node in nodes},
        to=case.request.to,
        nodes=tuple(nodes),
        levels=() if release is None or not case.has_log else level_fits(release, case.levels),
        findings=(*case.observation.findings, *findings),
        rollback=rollback_path(case),
    )


def _release_of_levels(case: RollCase) -> Release | None:
    known = [release for node in case.observation.nodes if (release := case.target_rules(node)) is not None]
    return min(known, key=lambda release: release.numbers, default=None)


def accepted(finding: Finding, words: frozenset[str]) -> bool:
    """Return True if a warning was accepted: by its id, or its id at the node that it is about."""
    if finding.severity is not Severity.WARNING:
        return False
    nodes = {str(finding.evidence["node"])} if "node" in finding.evidence else set()
    return finding.id in words or any(f"{finding.id}@{node}" in words for node in nodes)


def open_warnings(check: RollCheck, words: frozenset[str]) -> tuple[Finding, ...]:
    """Return the warnings that were not accepted: a run stops at them."""
    return tuple(
        finding for finding in check.findings if finding.severity is Severity.WARNING and not accepted(finding, words)
    )
