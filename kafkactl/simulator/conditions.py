"""Conditions of `expect` and `wait` on a world, and the observed value when one fails."""

from __future__ import annotations

import operator as comparisons
from collections.abc import Callable, Mapping
from typing import Any, Final

from kafkactl.simulator.actions import NO_ANSWER, NotPossibleError, Operator
from kafkactl.simulator.machine import Machine
from kafkactl.simulator.script import Condition
from kafkactl.simulator.views import epoch_of, failover_us, latest_voters
from kafkactl.simulator.words import shown_duration
from kafkactl.simulator.world import World

_RELATIONS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "<": comparisons.lt,
    "<=": comparisons.le,
    "=": comparisons.eq,
    ">=": comparisons.ge,
    ">": comparisons.gt,
}


def holds(condition: Condition, operator: Operator) -> bool:
    """Return True if a condition holds now. A node that cannot be named (`leader` of none) makes it false."""
    try:
        found = _HOLDS[condition.kind](condition, operator)
    except NotPossibleError:
        found = False
    return found is not condition.negated


def found_instead(condition: Condition, operator: Operator) -> str:
    """Return a text about the present state that the condition asks for."""
    return _FOUND[condition.kind](operator)


def _leader(condition: Condition, operator: Operator) -> bool:
    leader = _serving(operator.world)
    return leader is not None and (condition.value is None or operator.machine(condition.value) is leader)


def _serving(world: World) -> Machine | None:
    """Return the leader, if it can commit: it knows its high watermark and a majority of its voters can reach it."""
    leader = world.leader()
    if leader is None or leader.process is None or leader.process.high_watermark < 0:
        return None
    cuts, voters = world.network.cuts, leader.process.voters
    reached = 0
    for machine in world.machines.values():
        if voters.is_voter(machine.id, machine.directory) and machine.runs and not machine.is_paused:
            is_cut = (leader.id, machine.id) in cuts or (machine.id, leader.id) in cuts
            reached += machine is leader or not is_cut
    return leader if reached >= voters.majority else None


def _epoch(condition: Condition, operator: Operator) -> bool:
    return _RELATIONS[condition.relation](epoch_of(operator.world), condition.value)


def _elections(condition: Condition, operator: Operator) -> bool:
    return _RELATIONS[condition.relation](_since_mark(operator), condition.value)


def _since_mark(operator: Operator) -> int:
    return sum(at > operator.mark_us for at, _, _ in operator.world.elections)


def _failover(condition: Condition, operator: Operator) -> bool:
    found = failover_us(operator.world, operator.mark_us)
    return found is not None and _RELATIONS[condition.relation](found, condition.value)


def _voters(condition: Condition, operator: Operator) -> bool:
    wanted = {operator.machine(ref).id for ref in condition.value}
    return wanted == set(latest_voters(operator.world).by_id)


def _committed(_condition: Condition, operator: Operator) -> bool:
    return not operator.world.appended and not operator.world.lost


def _answer(condition: Condition, operator: Operator) -> bool:
    answers = operator.world.answers
    given = answers[-1][1] if answers and not operator.waits else None
    return given not in (None, NO_ANSWER) if condition.value is None else given == condition.value


def _role(condition: Condition, operator: Operator) -> bool:
    ref, role = condition.value
    found: bool = operator.machine(ref).role() == role
    return found


def _broken(condition: Condition, operator: Operator) -> bool:
    violations = operator.world.monitor.violations
    return any(condition.value in (None, violation.invariant) for violation in violations)


_HOLDS: Final[Mapping[str, Callable[[Condition, Operator], bool]]] = {
    "leader": _leader,
    "epoch": _epoch,
    "elections": _elections,
    "failover": _failover,
    "voters": _voters,
    "committed": _committed,
    "answer": _answer,
    "role": _role,
    "broken": _broken,
}


def _leader_found(operator: Operator) -> str:
    world = operator.world
    leader, serving = world.leader(), _serving(world)
    if serving is not None:
        return f"node {serving.id} leads"
    return "no node leads" if leader is None else f"node {leader.id} leads and cannot commit"


def _epoch_found(operator: Operator) -> str:
    return f"epoch {epoch_of(operator.world)}"


def _elections_found(operator: Operator) -> str:
    return f"{_since_mark(operator)} elections since the mark"


def _failover_found(operator: Operator) -> str:
    found = failover_us(operator.world, operator.mark_us)
    return "no election since the mark" if found is None else f"the next leader after {shown_duration(found)}"


def _voters_found(operator: Operator) -> str:
    return f"voters {latest_voters(operator.world)}"


def _committed_found(operator: Operator) -> str:
    world = operator.world
    waiting = sum(taken.records for taken in world.appended)
    return f"{world.committed} records committed, {waiting} not committed, {world.lost} replaced by others"


def _answer_found(operator: Operator) -> str:
    if operator.waits:
        return "no answer yet"
    return operator.world.answers[-1][1] if operator.world.answers else "nothing was asked"


def _roles_found(operator: Operator) -> str:
    return ", ".join(f"node {node} {machine.role()}" for node, machine in operator.world.machines.items())


def _broken_found(operator: Operator) -> str:
    found = operator.world.monitor.violations
    return f"{found[0].invariant} broken" if found else "every invariant holds"


_FOUND: Final[Mapping[str, Callable[[Operator], str]]] = {
    "leader": _leader_found,
    "epoch": _epoch_found,
    "elections": _elections_found,
    "failover": _failover_found,
    "voters": _voters_found,
    "committed": _committed_found,
    "answer": _answer_found,
    "role": _roles_found,
    "broken": _broken_found,
}
