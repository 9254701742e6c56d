"""The nodes of a live cluster: its registrations and what each node answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkactl.adapters.kafka.features import view as feature_view
from kafkactl.adapters.kafka.features.silence import silent_nodes
from kafkactl.adapters.kafka.features.view import FeatureView
from kafkactl.answers import json_of
from kafkactl.features.cluster import nodes
from kafkactl.findings import Finding
from kafkactl.frozen import frozen
from kafkactl.operations.nodes.patience import NO_LIMIT, patience_ms

if TYPE_CHECKING:
    from kafkactl.adapters.kafka.client import Client
    from kafkactl.features.cluster.answer import NodeDict


@frozen
class NodeList:
    """Every node that is registered, votes or answers."""

    view: FeatureView

    @property
    def nodes(self) -> list[NodeDict]:
        """A row for each node id."""
        return [row.to_dict() for row in nodes.list_nodes(self.view.state)]

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What could not be seen, and why; and how nodes that do not answer are silent."""
        return (*self.view.findings, *silent_nodes(self.view))

    to_dict = json_of(
        "cluster_id=view.state.cluster_id", "active_controller=view.state.active_controller", "nodes",
        "findings", kind="nodes.list",
    )  # fmt: skip


def list_nodes(client: Client, *, timeout_ms: float = NO_LIMIT) -> NodeList:
    """Show the nodes of a live cluster; a silent node costs a fifth of `timeout_ms` at most.

    Raises UnreachableError where no node answers.
    """
    patience = patience_ms(feature_view.PATIENCE_MS, timeout_ms)
    return NodeList(view=feature_view.observe_features(client, patience_ms=patience))
