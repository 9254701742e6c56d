"""Proof that a level is in force: every node is asked, and every node shows it.

Only levels are compared. Epochs differ between nodes of equal features (a broker's grows with every metadata batch, a
controller's restarts with it, and the conversion of the quorum moves none), so they are shown and never judged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kafkactl.cluster.node import ClusterNode, NotAsked, Silence
from kafkactl.cluster.state import ClusterState, Member
from kafkactl.core.answers import by_fields
from kafkactl.core.findings import Finding, blocker, blockers, warning
from kafkactl.core.frozen import frozen
from kafkactl.core.values import Role


@frozen
class NodeProof:
    """Levels of one node; `levels` is None if it did not answer, 0 in it means not finalized."""

    node_id: int
    role: Role
    finalized_epoch: int | None
    levels: Mapping[str, int] | None

    to_dict = by_fields


@frozen
class Proof:
    """Levels of all nodes. `holds`: every live node has every level."""

    nodes: tuple[NodeProof, ...]
    findings: tuple[Finding, ...]

    @property
    def holds(self) -> bool:
        """Return True if nothing contradicts it and nothing is missing."""
        return any(node.levels is not None for node in self.nodes) and not blockers(self.findings)


def prove(state: ClusterState, wanted: Mapping[str, int]) -> Proof:
    """Check that every node has the requested levels.

    A node that does not answer leaves the proof open, unless it is gone anyway (`Member.stale`).
    """
    nodes = tuple(_shown(node, wanted) for node in state.nodes)
    members = {(member.role, member.id): member for member in state.members}
    findings = []
    for node in state.nodes:
        findings += list(_judge(node, members[node.role, node.id], wanted))
    unasked = [member for member in state.members if state.node(member.role, member.id) is None]
    findings += [_unasked(member) for member in unasked if member.answers is not False]
    if not state.brokers_known:
        findings.append(_brokers_unasked())
    if not state.controllers_known:
        findings.append(_controllers_unasked(state.leader_error or state.log_error))
    return Proof(nodes=nodes, findings=tuple(findings))


def _shown(node: ClusterNode, wanted: Mapping[str, int]) -> NodeProof:
    versions, levels = node.versions, node.levels
    return NodeProof(
        node_id=node.id,
        role=node.role,
        finalized_epoch=None if versions is None or versions.finalized_epoch < 0 else versions.finalized_epoch,
        levels=None if levels is None else {name: levels.get(name, 0) for name in wanted},
    )


def _judge(node: ClusterNode, member: Member, wanted: Mapping[str, int]) -> Iterator[Finding]:
    if node.versions is None:
        yield _gone(node) if member.stale else _silent(node, member)
        return
    levels = node.levels
    if levels is None:
        yield _never_shows(node) if _is_mute(member) else _no_levels_yet(node)
        return
    wrong = {name: levels.get(name, 0) for name, level in wanted.items() if levels.get(name, 0) != level}
    if wrong:
        yield blocker(
            "feature-level-not-on-node",
            node.name,
            f"{node.name} shows " + ", ".join(f"{name} {level} (not {wanted[name]})" for name, level in wrong.items()),
            "Wait until it has read the metadata log; if it stays so, look in its log.",
            levels=wrong,
            wanted={name: wanted[name] for name in wrong},
        )


def _silent(node: ClusterNode, member: Member) -> Finding:
    asked = "did not answer" if node.answers is False else "could not be asked"
    if member.fetches:
        asked += f", and is alive: it {member.evidence or 'fetches from the leader'}"
    elif node.silence is Silence.HANGS:
        asked += ", and its address takes connections: its process may be paused"
    why = node.not_asked
    return blocker(
        "node-not-proved",
        node.name,
        f"{node.name} {asked}; its feature levels are unknown" + ("" if why is None else f": {why.reason}"),
        "" if why is None else why.step,
        answers=node.answers,
        fetches=member.fetches,
    )


def _no_levels_yet(node: ClusterNode) -> Finding:
    return blocker(
        "node-not-proved",
        node.name,
        f"{node.name} answers and shows no levels: it has not read the metadata log yet",
        "Ask again in a moment.",
        answers=True,
    )


def _is_mute(member: Member) -> bool:
    return member.role is Role.CONTROLLER and member.release is not None and not member.release.controllers_show_levels


def _never_shows(node: ClusterNode) -> Finding:
    return warning(
        "node-levels-unknown",
        node.name,
        f"{node.name} is a controller of Kafka 3.3, which never shows its levels: it is left out of the proof",
        answers=True,
    )


def _gone(node: ClusterNode) -> Finding:
    return warning(
        "node-gone",
        node.name,
        f"{node.name} is registered and gone, and is left out of the proof",
        answers=node.answers,
    )


def _brokers_unasked() -> Finding:
    return blocker("brokers-not-known", "cluster", "no node names the brokers, so none was asked")


def _controllers_unasked(why: NotAsked | None) -> Finding:
    reason = "no node names the controllers" if why is None else why.reason
    return blocker(
        "controllers-not-known",
        "cluster",
        f"the controllers are not known, so none was asked: {reason}",
        "" if why is None else why.step,
    )


def _unasked(member: Member) -> Finding:
    return blocker(
        "node-not-proved",
        member.name,
        f"{member.name} is part of the cluster and was not asked",
        "Ask it; kafkactl found no address of it that it could use.",
        answers=None,
    )
