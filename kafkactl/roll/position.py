"""`roll status`: the position of the cluster, and of each node: its release, if it is back, if it may be stopped.

The order is that of an operator who did not start the roll: problems, nodes that are done, the next command.
"""

from __future__ import annotations

from typing import Final

from kafkactl.core.answers import by_fields, json_of
from kafkactl.core.findings import Finding, Severity, blockers, each_once
from kafkactl.core.frozen import frozen
from kafkactl.core.values import Role
from kafkactl.protocol.catalog.releases import Release
from kafkactl.roll.case import RollCase
from kafkactl.roll.checks import evidence
from kafkactl.roll.checks.cluster import ROWS
from kafkactl.roll.gates import gates_before, passes
from kafkactl.roll.journal import RollRecord
from kafkactl.roll.next_action import next_action
from kafkactl.roll.observation import STRANGERS, RollNode
from kafkactl.roll.order import is_restarted
from kafkactl.roll.phase import Phase, phase_of
from kafkactl.roll.releases import rules_of
from kafkactl.roll.rollback_path import RollbackPath, rollback_path
from kafkactl.roll.start_gates import AFTER, gates_after

_SHOWN: Final = ("stale-broker-registration", "stale-controller-registration", "node-left-out")
"""Warnings of the check that a status shows: nodes that are not among its rows."""


@frozen
class NodePosition:
    """A node in a roll."""

    id: int
    roles: tuple[Role, ...]
    release: str | None
    done: bool | None
    """True if it runs the goal. Null without a goal, or if its release is unknown."""
    back: bool | None
    """True if all gates after a start hold."""
    may_stop: bool | None
    """True if all gates before a stop hold now. Null if evidence is missing and nothing known forbids a stop."""
    why: tuple[Finding, ...]
    """Reasons why the node is not back, and what a stop would cost or why it is forbidden."""

    to_dict = by_fields


@frozen
class OpenStepShown:
    """The step of the journal that is not settled."""

    number: int
    action: str
    nodes: tuple[int, ...]
    since_ms: int

    to_dict = by_fields


@frozen
class RollStatus:
    """Answer of `roll status`."""

    phase: Phase | None
    """Null if the release of no node is known, or the patch release on which it depends."""
    goal: str | None
    nodes: tuple[NodePosition, ...]
    open_step: OpenStepShown | None
    journal: RollRecord | None
    next_action: str
    """The one next command or action."""
    rollback: RollbackPath
    findings: tuple[Finding, ...]

    @property
    def has_problems(self) -> bool:
        """Return True if a node is not back or not that of the cluster, or a gate of the open step is violated."""
        if any(finding.id in STRANGERS for finding in self.findings):
            return True
        if any(node.back is False for node in self.nodes):
            return True
        step = self.open_step
        return step is not None and any(node.may_stop is False for node in self.nodes if node.id in step.nodes)

    to_dict = json_of(
        "phase", "goal", "nodes", "open_step", "journal", "next_action", "way_back=rollback", "findings",
        kind="roll.status",
    )  # fmt: skip


def roll_status(case: RollCase) -> RollStatus:
    """Return the position of the cluster and of each node."""
    nodes = tuple(_position(case, node) for node in case.observation.nodes)
    phase = phase_of(case)
    record = case.record
    step = None if record is None else record.open_step
    found = each_once(item.finding for row in ROWS for item in row.find(case))
    shown = [finding for finding in found if finding.severity is Severity.BLOCKER or finding.id in _SHOWN]
    lacking = [item.finding for item in evidence.check_evidence(case)]
    way = rollback_path(case)
    return RollStatus(
        phase=phase,
        goal=case.request.to,
        nodes=nodes,
        open_step=None
        if step is None
        else OpenStepShown(number=step.number, action=step.action, nodes=step.nodes, since_ms=step.since_ms),
        journal=record,
        next_action=next_action(
            case,
            phase,
            [node.id for node in nodes if node.back is False],
            {node.id: _before_stop(node) for node in nodes if node.may_stop is not True},
            way,
        ),
        rollback=way,
        findings=(*case.observation.findings, *shown, *lacking),
    )


def _before_stop(node: NodePosition) -> list[Finding]:
    """Return the reasons why a node may not be stopped, without those why it is not back."""
    return [finding for finding in blockers(node.why) if finding.id not in AFTER]


def _position(case: RollCase, node: RollNode) -> NodePosition:
    """Return the position of a node."""
    record = case.record
    step = None if record is None else record.open_step
    mark = None if step is None or node.id not in step.nodes else step.mark(node.id)
    is_started = step is not None and node.id in step.nodes and step.action in ("start", "wait")
    after = gates_after(case, node, mark if is_started else None, release=_expected(case, node) if is_started else None)
    before = gates_before(case, [node.id])
    stranger = [found for found in case.observation.findings if found.id in STRANGERS and found.subject == node.name]
    back = passes([*stranger, *(finding for gate in after for finding in gate.findings)])
    stop = [*stranger, *(finding for gate in before for finding in gate.findings)]
    lacks = blockers(finding for gate in after for finding in gate.findings) if back is not True else []
    running = case.versions.get(node.id)
    return NodePosition(
        id=node.id,
        roles=node.roles,
        release=None if running is None else str(running),
        done=_done(case, node),
        back=back,
        may_stop=passes(stop),
        why=each_once([*lacks, *stop]),
    )


def _expected(case: RollCase, node: RollNode) -> Release | None:
    return rules_of(case.target_of(node)) if case.goal is not None else None


def _done(case: RollCase, node: RollNode) -> bool | None:
    if case.goal is not None:
        return case.ran_goal(node)
    record = case.record
    if record is not None and record.is_under_way and record.marks:
        return is_restarted(case, node)
    return None
