"""The four goals of a change of the quorum, made of what an operator says."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from kafkactl.core.values import Endpoint, ReplicaKey
from kafkactl.quorum.change.ports import Goal
from kafkactl.quorum.guard import Circumstances
from kafkactl.quorum.plan import plan_addition, plan_conversion, plan_reassignment, plan_removal
from kafkactl.quorum.target import parse_target

MAX_LAG = 1_000


def reassignment(target: str, *, overrides: Collection[str] = (), max_lag: int = MAX_LAG, replan: bool = False) -> Goal:
    """Return the goal of exactly these voters. Raise InputError for a text that is not a target."""
    wanted = parse_target(target)
    voters = [
        str(member.node_id) if member.directory_id is None else f"{member.node_id}@{member.directory_id}"
        for member in wanted
    ]
    return Goal(
        description={"verb": "reassign", "target": voters},
        plan=lambda state, around: plan_reassignment(state, wanted, around),
        node_ids=frozenset(member.node_id for member in wanted),
        circumstances=_circumstances(overrides, max_lag),
        replan=replan,
        is_journey=True,
    )


def addition(
    key: ReplicaKey, endpoints: Sequence[Endpoint], *, overrides: Collection[str] = (), max_lag: int = MAX_LAG
) -> Goal:
    """Return the goal of an additional voter at these endpoints."""
    at = tuple(endpoints)
    return Goal(
        description={"verb": "add-controller", "id": key.node_id, "directory_id": str(key.directory_id)},
        plan=lambda state, around: plan_addition(state, key, at, around),
        node_ids=frozenset({key.node_id}),
        endpoints={key: at},
        circumstances=_circumstances(overrides, max_lag),
    )


def removal(key: ReplicaKey, *, overrides: Collection[str] = (), max_lag: int = MAX_LAG) -> Goal:
    """Return the goal of the removal of this voter."""
    return Goal(
        description={"verb": "remove-controller", "id": key.node_id, "directory_id": str(key.directory_id)},
        plan=lambda state, around: plan_removal(state, key, around),
        circumstances=_circumstances(overrides, max_lag),
    )


def conversion(*, overrides: Collection[str] = ()) -> Goal:
    """Return a dynamic quorum instead of a static one."""
    return Goal(
        description={"verb": "convert"},
        plan=plan_conversion,
        circumstances=_circumstances(overrides, MAX_LAG),
        asks_brokers=True,
    )


def _circumstances(overrides: Collection[str], max_lag: int) -> Circumstances:
    return Circumstances(overrides=frozenset(overrides), max_lag=max_lag)
