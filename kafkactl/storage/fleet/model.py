"""A fleet as the rules see it, and the words in which they speak of it."""

from __future__ import annotations

from collections.abc import Iterable

from kafkactl.core.frozen import frozen
from kafkactl.core.values import Endpoint, host_port
from kafkactl.core.wording import first_few, plural
from kafkactl.protocol.catalog.releases import Release
from kafkactl.storage.config.node_config import NodeConfig
from kafkactl.storage.fleet.inventory import Inventory, InventoryNode, VoterRole

FLEET = "fleet"


@frozen
class FleetNode:
    """A node as the rules see it: its line in the inventory, its configuration, its binary."""

    entry: InventoryNode
    config: NodeConfig
    release: Release

    @property
    def subject(self) -> str:
        """Return the subject by which findings name the node."""
        return f"node {self.entry.id}"

    @property
    def is_controller(self) -> bool:
        """Return True if the node has the controller role."""
        return "controller" in self.config.roles

    @property
    def is_static(self) -> bool:
        """Return True if the configuration names the voters (controller.quorum.voters), which decides in Kafka."""
        return bool(self.config.static_voters)


@frozen
class Fleet:
    """The whole fleet, as far as its configurations could be read; `release` is the one that decides the layout."""

    inventory: Inventory
    release: Release
    nodes: tuple[FleetNode, ...]

    @property
    def controllers(self) -> tuple[FleetNode, ...]:
        """Return the nodes with the controller role."""
        return tuple(node for node in self.nodes if node.is_controller)

    @property
    def is_static(self) -> bool:
        """Return True if the quorum is static for most nodes; `mixed-quorum-mode` reports if they disagree."""
        deciding = self.controllers or self.nodes
        return 2 * sum(node.is_static for node in deciding) > len(deciding)


def voter_roles(fleet: Fleet) -> dict[int, VoterRole]:
    """Return the role of each controller of a dynamic quorum at the first start, by node id.

    Without a word in the inventory all are initial voters; if one is standalone, or if the cluster exists
    already, the others join later.
    """
    standalone = any(node.entry.voter is VoterRole.STANDALONE for node in fleet.controllers)
    default = VoterRole.LATER if standalone or fleet.inventory.existing_cluster else VoterRole.INITIAL
    return {node.entry.id: node.entry.voter or default for node in fleet.controllers}


def nodes_text(ids: Iterable[int]) -> str:
    """Return `nodes 1, 2, 3`, cut short after ten."""
    every = [str(node_id) for node_id in ids]
    return f"{plural('node', len(every))} {first_few(every, 10)}"


def host_of(endpoint: Endpoint) -> str:
    """Return the host for comparing: lower case, without the brackets of IPv6."""
    return endpoint.host.strip("[]").lower()


def address_of(endpoint: Endpoint) -> str:
    """Return `host:port` for comparing and showing; an empty host is this machine."""
    return host_port(host_of(endpoint) or "localhost", endpoint.port)
