"""The feature levels of a live cluster, described: what is finalized, and what each node supports.

Apart from the changes of levels, because a command that only describes starts twice as fast without what they import.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkactl.cluster.api.node_timeout import DESCRIBE_MS, NO_LIMIT, node_timeout_ms
from kafkactl.cluster.describe import FeatureSeen, MemberSeen, describe_features, describe_members, kafka_lines
from kafkactl.cluster.io.silence import silent_nodes
from kafkactl.cluster.io.view import check_not_empty, observe_cluster_state
from kafkactl.cluster.migration import unfinished_migration
from kafkactl.cluster.state import ClusterState
from kafkactl.core.answers import json_of
from kafkactl.core.errors import UnreachableError
from kafkactl.core.findings import Finding
from kafkactl.core.frozen import changed, frozen
from kafkactl.protocol.catalog.releases import newest_release
from kafkactl.protocol.catalog.update_rules import update_rules

if TYPE_CHECKING:
    from kafkactl.kafka.client import Client


@frozen
class FeatureDescription:
    """The levels that are finalized, and those that each node supports.

    `lines` are what kafka-features.sh prints, of the first node that answers: the active controller, else any.
    """

    cluster_id: str | None
    """None if no node reports it."""
    finalized_epoch: int | None
    """Epoch of the active controller; not comparable between nodes."""
    active_controller: int | None
    nodes: tuple[MemberSeen, ...]
    features: tuple[FeatureSeen, ...]
    findings: tuple[Finding, ...]
    lines: tuple[str, ...] = ()

    to_dict = json_of(
        "cluster_id", "finalized_epoch", "active_controller", "nodes", "features", "findings",
        kind="features.describe",
    )  # fmt: skip


def describe(client: Client, *, node_id: int | None = None, timeout_ms: float = NO_LIMIT) -> FeatureDescription:
    """Return the features of a live cluster as all nodes show them, or as node `node_id` alone does.

    A silent node costs a fifth of `timeout_ms` at most. Raises UnreachableError if no node answers
    (`no-node-answered`), or that node does not (`node-not-found`, `node-does-not-answer`).
    """
    view = observe_cluster_state(client, with_log=False, node_timeout_ms=node_timeout_ms(DESCRIBE_MS, timeout_ms))
    check_not_empty(view)
    found = (*view.findings, *silent_nodes(view), *unfinished_migration(view.state))
    if node_id is None:
        return _described(view.state, found)
    findings = tuple(finding for finding in found if finding.subject.endswith(f" {node_id}"))
    return _described(_of_node(view.state, node_id), findings)


def _described(state: ClusterState, findings: tuple[Finding, ...]) -> FeatureDescription:
    features = describe_features(state)
    return FeatureDescription(
        cluster_id=state.cluster_id,
        finalized_epoch=state.finalized_epoch,
        active_controller=state.active_controller,
        nodes=describe_members(state),
        features=features,
        findings=findings,
        lines=tuple(_kafka_lines(state, features)),
    )


def _kafka_lines(state: ClusterState, features: tuple[FeatureSeen, ...]) -> list[str]:
    answering = [member for member in state.members if member.answered is not None]
    answering.sort(key=lambda member: member.id != state.active_controller)
    asked = answering[0].answered if answering else None
    padded = update_rules(state.controller_release or newest_release()).describe_is_padded
    return kafka_lines(features, state.finalized_epoch, asked or {}, padded=padded)


def _of_node(state: ClusterState, node_id: int) -> ClusterState:
    """Return the cluster as this node alone shows it."""
    nodes = tuple(node for node in state.nodes if node.id == node_id)
    answering = [node for node in nodes if node.versions is not None]
    if answering:
        node = answering[0]
        assert node.versions is not None
        return changed(
            state,
            nodes=(node,),
            registrations=None,
            quorum=None,
            finalized=dict(node.versions.finalized),
            finalized_epoch=node.versions.finalized_epoch if node.versions.finalized_epoch >= 0 else None,
        )
    known = ", ".join(str(number) for number in sorted({node.id for node in state.nodes}))
    raise UnreachableError(
        f"node {node_id} does not answer" if nodes else f"no node {node_id} is known here; there are {known}",
        id="node-does-not-answer" if nodes else "node-not-found",
        next_step="See `kafkactl features describe` without --node-id.",
    )
