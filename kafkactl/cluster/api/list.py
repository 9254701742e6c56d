"""The nodes of a live cluster: its registrations and what each node answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kafkactl.cluster import nodes
from kafkactl.cluster.api.node_timeout import DESCRIBE_MS, NO_LIMIT, node_timeout_ms
from kafkactl.cluster.io import view as state_view
from kafkactl.cluster.io.silence import silent_nodes
from kafkactl.cluster.migration import unfinished_migration
from kafkactl.cluster.nodes import NodeRow
from kafkactl.cluster.quorum.identity import two_processes
from kafkactl.cluster.state import ClusterState
from kafkactl.core.answers import by_fields
from kafkactl.core.findings import Finding
from kafkactl.core.frozen import frozen

if TYPE_CHECKING:
    from kafkactl.kafka.client import Client


@frozen
class NodeList:
    """Nodes that are registered, vote or answer, one row a node id.

    `findings` are the facts that could not be observed, with reasons, and the kind of silence of nodes that do not
    answer.
    """

    cluster_id: str | None
    active_controller: int | None
    nodes: tuple[NodeRow, ...]
    findings: tuple[Finding, ...]
    """Findings about unobservable facts, with the reasons."""

    to_dict = by_fields


def list_nodes(client: Client, *, timeout_ms: float = NO_LIMIT) -> NodeList:
    """Show the nodes of a live cluster; a silent node costs a fifth of `timeout_ms` at most.

    Raises UnreachableError if no node answers.
    """
    limit_ms = node_timeout_ms(DESCRIBE_MS, timeout_ms)
    view = state_view.observe_cluster_state(client, node_timeout_ms=limit_ms)
    return NodeList(
        cluster_id=view.state.cluster_id,
        active_controller=view.state.active_controller,
        nodes=nodes.list_nodes(view.state),
        findings=(*view.findings, *silent_nodes(view), *unfinished_migration(view.state), *_shared_ids(view.state)),
    )


def _shared_ids(state: ClusterState) -> Iterator[Finding]:
    """Yield the ids of voters that are alive under which an observer with another directory fetches, too."""
    alive = {voter.id: voter for voter in state.voters or () if voter.alive or voter.id == state.active_controller}
    for observer in state.observers:
        voter = alive.get(observer.id)
        if voter is None or not observer.alive or None in (voter.directory_id, observer.directory_id):
            continue
        if voter.directory_id != observer.directory_id:
            yield two_processes(observer.id, voter.directory_id, observer.directory_id)
