"""The plan of a feature change: what moves, in which steps, what blocks it.

Rule: one step is one UpdateFeatures request. metadata.version goes up before what depends on it and down after
it; kraft.version is a step of its own and the last (what it does cannot be undone and hides behind the failure of
another feature). A plan with a blocker has no steps. Nothing is remembered between steps: the cluster is read again
and planned again, so that an interrupted change goes on where it stood.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

from kafkactl.cluster.state import ClusterState
from kafkactl.core.answers import json_of
from kafkactl.core.findings import Finding, Outcome, blocker, blockers, planned_outcome
from kafkactl.core.frozen import frozen
from kafkactl.core.kafka_names import KRAFT_VERSION, METADATA_VERSION
from kafkactl.features.plan.case import Case, make_case
from kafkactl.features.plan.change import FeatureChange, UpgradeType, upgrade_type
from kafkactl.features.plan.checks_levels import (
    check_dependencies,
    check_directions,
    check_metadata_version,
    check_migration,
    check_patches,
    check_promises,
    check_semantics,
    dependencies,
)
from kafkactl.features.plan.checks_nodes import check_nodes, unknown_features
from kafkactl.features.plan.checks_quorum import check_kraft_version, check_majority, check_view
from kafkactl.features.plan.min_insync import check_min_insync
from kafkactl.features.plan.request import FeatureRequest, Operation
from kafkactl.protocol.catalog.consequences import level_name

_CHECKS = (
    check_view,
    check_majority,
    check_directions,
    check_nodes,
    check_metadata_version,
    check_kraft_version,
    check_dependencies,
    check_patches,
    check_migration,
    check_promises,
    check_semantics,
    check_min_insync,
)
_CHECKS_OF_NOTHING = (check_kraft_version,)
_KINDS: Final[Mapping[UpgradeType, Literal["upgrade", "safe-downgrade", "unsafe-downgrade"]]] = {
    UpgradeType.UPGRADE: "upgrade",
    UpgradeType.SAFE_DOWNGRADE: "safe-downgrade",
    UpgradeType.UNSAFE_DOWNGRADE: "unsafe-downgrade",
}


@frozen
class FeatureStep:
    """An UpdateFeatures request."""

    number: int
    changes: tuple[FeatureChange, ...]
    type: UpgradeType

    @property
    def levels(self) -> dict[str, int]:
        """Return the levels it asks for, by feature."""
        return {change.name: change.after for change in self.changes}

    @property
    def text(self) -> str:
        """Return the text of the step for the plan and for the progress."""
        return ", ".join(
            f"{change.name} {level_name(change.name, change.before)} -> {level_name(change.name, change.after)}"
            for change in self.changes
        )

    @property
    def kind(self) -> Literal["upgrade", "safe-downgrade", "unsafe-downgrade"]:
        """Return the type of the request in words."""
        return _KINDS[self.type]

    to_dict = json_of("number", "features=levels", "type=kind")


@frozen
class FeaturePlan:
    """Plan of a request on a cluster. `levels` are those of all features when it was planned."""

    cluster_id: str | None
    request: FeatureRequest
    levels: Mapping[str, int]
    changes: tuple[FeatureChange, ...]
    steps: tuple[FeatureStep, ...]
    findings: tuple[Finding, ...]

    @property
    def outcome(self) -> Outcome:
        """Return `refused`, `nothing-to-do` or `planned`: the outcome of a dry run."""
        return planned_outcome(self.findings, bool(self.steps))

    @property
    def irreversible(self) -> tuple[FeatureChange, ...]:
        """Return the changes that cannot be undone."""
        return tuple(change for change in self.changes if change.moves and not change.reversible)


def plan_change(state: ClusterState, request: FeatureRequest) -> FeaturePlan:
    """Return the plan to the requested levels, with all blockers."""
    case = make_case(state, request)
    checks = _CHECKS if _matters(case) else _CHECKS_OF_NOTHING
    findings = tuple(finding for check in checks for finding in check(case))
    return FeaturePlan(
        cluster_id=state.cluster_id,
        request=request,
        levels=dict(state.finalized),
        changes=case.changes,
        steps=() if blockers(findings) else _steps(case),
        findings=findings,
    )


def check_unmoved(plan: FeaturePlan, state: ClusterState) -> list[Finding]:
    """Return blockers if the cluster is not the one that was planned for, or its levels moved since.

    UpdateFeatures has no compare-and-set: of two operators the last one wins. So levels are compared right before a
    request is sent.
    """
    if state.cluster_id != plan.cluster_id:
        return [
            blocker(
                "cluster-changed",
                "cluster",
                f"the plan was made for cluster {plan.cluster_id}, and {state.cluster_id} answers",
                "Plan again.",
                planned=plan.cluster_id,
                found=state.cluster_id,
            )
        ]
    names = sorted({*plan.levels, *state.finalized})
    moved = [name for name in names if plan.levels.get(name, 0) != state.finalized.get(name, 0)]
    return [
        blocker(
            "feature-level-moved",
            f"feature {name}",
            f"{name} went from {plan.levels.get(name, 0)} to {state.finalized.get(name, 0)} since the plan was made: "
            "another operator or tool changes levels",
            "Ask who, then plan again.",
            planned=plan.levels.get(name, 0),
            found=state.finalized.get(name, 0),
        )
        for name in moved
    ]


def _matters(case: Case) -> bool:
    """Return True unless the request is fulfilled already; an unknown meaning or state is handled as unfulfilled."""
    return bool(case.moving or unknown_features(case)) or case.state.active_controller is None


def _steps(case: Case) -> tuple[FeatureStep, ...]:
    """Return the requests in order: by rank, kraft.version last and alone."""
    ranks: dict[int, list[FeatureChange]] = {}
    for change in case.moving:
        if change.name != KRAFT_VERSION:
            ranks.setdefault(_rank(case, change.name), []).append(change)
    groups = [tuple(ranks[rank]) for rank in sorted(ranks)]
    if case.request.operation is not Operation.UPGRADE:
        groups.reverse()
    kraft = case.change(KRAFT_VERSION)
    if kraft is not None:
        groups.append((kraft,))
    kind = upgrade_type(case.request)
    return tuple(FeatureStep(number=n, changes=group, type=kind) for n, group in enumerate(groups, start=1))


def _rank(case: Case, name: str) -> int:
    """Return 0 for metadata.version, else one more than the highest rank among what the higher of its levels needs."""
    if name == METADATA_VERSION:
        return 0
    change = case.change(name)
    level = 0 if change is None else max(change.before, change.after)
    moving = {change.name for change in case.moving}
    needed = [other for other in dependencies(case, name, level) if other in moving]
    return 1 + max((_rank(case, other) for other in needed), default=0)
