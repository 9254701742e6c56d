"""Gates of nodes that were started together, and the reason for a closed one: these nodes, another broker, the
quorum."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kafkactl.core.findings import Finding
from kafkactl.roll.case import RollCase
from kafkactl.roll.gates import RollGate, down_brokers, passes
from kafkactl.roll.liveness import is_alive, lacks_leader
from kafkactl.roll.mark import NodeMark
from kafkactl.roll.observation import RollNode
from kafkactl.roll.releases import is_same, rules_of, version_in
from kafkactl.roll.start_gates import ISR_WHOLE, gates_after

Marks = Mapping[int, NodeMark]


def return_gates(
    case: RollCase, node_ids: Iterable[int], marks: Marks, *, is_strict: bool = True
) -> tuple[RollGate, ...]:
    """Return the gates of all these nodes. Strictly, every replica of their partitions has to be in sync."""
    found: list[RollGate] = []
    for node_id in node_ids:
        node = case.observation.node(node_id)
        if node is not None:
            release = rules_of(case.target_of(node)) if _starts_goal(case, node) else None
            own = gates_after(case, node, marks.get(node_id), release=release)
            lenient = own if is_strict else gates_after(case, node, None, release=release)
            found += [gate if gate.id != ISR_WHOLE else loose for gate, loose in zip(own, lenient, strict=True)]
    return tuple(found)


def findings_of(gates: Iterable[RollGate]) -> list[Finding]:
    """Return the findings of gates."""
    return [finding for gate in gates for finding in gate.findings]


def late_nodes(case: RollCase, node_ids: Sequence[int], marks: Marks) -> list[int]:
    """Return the nodes that are not back themselves; all of them if each one is."""
    late = [
        node_id
        for node_id in node_ids
        if passes(findings_of(return_gates(case, [node_id], marks, is_strict=False))) is not True
    ]
    return late or list(node_ids)


def lacks_only_others(case: RollCase, node_ids: Sequence[int], marks: Marks) -> bool:
    """Return True if the nodes themselves are back, and an ISR lacks only another broker that is down."""
    if not set(down_brokers(case)).difference(node_ids):
        return False
    return passes(findings_of(return_gates(case, node_ids, marks, is_strict=False))) is True


def waits_for_voters(case: RollCase, node_ids: Sequence[int]) -> bool:
    """Return True if the quorum has no leader, and a voter that is not among these nodes is down."""
    if not lacks_leader(case):
        return False
    voters = set(case.voter_ids) or {node.id for node in case.observation.controllers}
    return any(is_alive(case, id) is False for id in voters if id not in node_ids)


def are_brokers(case: RollCase, node_ids: Sequence[int]) -> bool:
    """Return True if all of these are brokers, which exit after a minute without a leader; a controller does not."""
    nodes = [case.observation.node(node_id) for node_id in node_ids]
    return all(node is not None and node.is_broker for node in nodes)


def _starts_goal(case: RollCase, node: RollNode) -> bool:
    """Return True unless the next start of a node is known to run another release than the goal."""
    installed = version_in(node.installed)
    return case.goal is not None and node in case.nodes and (installed is None or is_same(installed, case.goal))
