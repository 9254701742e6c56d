"""The nodes of a cluster from DescribeCluster, and whether a listener is a broker's or a controller's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any

from kafkactl.adapters.net.transport import Address
from kafkactl.errors import UnreachableError
from kafkactl.frozen import frozen
from kafkactl.protocol.api_versions import NodeVersions

# Every release from 3.3 on accepts Vote on controller listeners only, so it distinguishes the kinds of listeners.
_VOTE = 52
NOT_LEADER_OR_FOLLOWER, NOT_CONTROLLER = 6, 41
NOT_THE_LEADER = frozenset({NOT_LEADER_OR_FOLLOWER, NOT_CONTROLLER})


class Role(Enum):
    """The kind of nodes that a client connects to; the value is DescribeCluster's endpoint type (KIP-919)."""

    BROKER = 1
    CONTROLLER = 2

    @property
    def word(self) -> str:
        """As Kafka writes it in `process.roles`."""
        return self.name.lower()

    @property
    def option(self) -> str:
        """The option that names nodes of this kind."""
        return "--bootstrap-server" if self is Role.BROKER else "--bootstrap-controller"


@frozen
class Node:
    """A node and where it answers. `fenced` is None where the release does not tell, and of controllers."""

    id: int
    address: Address
    rack: str | None = None
    fenced: bool | None = None


@frozen
class ClusterView:
    """What one node says about its cluster.

    Controllers name those that are registered, stale ones included, and as `controller_id` the active one, or -1. A
    broker names live brokers (with fenced ones from 4.0 on), and as `controller_id` any broker: not the active one.
    """

    cluster_id: str
    controller_id: int
    nodes: tuple[Node, ...]

    def node(self, node_id: int) -> Node | None:
        """The node with that id, if it was named."""
        return next((node for node in self.nodes if node.id == node_id), None)


def role_of(versions: NodeVersions) -> Role:
    """The kind of listener that described itself like this."""
    return Role.CONTROLLER if versions.knows(_VOTE) else Role.BROKER


def check_role(address: Address, versions: NodeVersions, expected: Role) -> None:
    """Raise UnreachableError `wrong-endpoint-type` where a port is of the other kind."""
    found = role_of(versions)
    if found is not expected:
        raise UnreachableError(
            f"{address} is a {found.word} listener, a {expected.word}'s is needed",
            id="wrong-endpoint-type",
            next_step=f"Name it with {found.option}, or use a port of a {expected.word} listener.",
        )


def describe_cluster_body(role: Role, version: int) -> dict[str, Any]:
    """The DescribeCluster request of this version: endpoint types since version 1, fenced brokers since 2."""
    body: dict[str, Any] = {"EndpointType": role.value} if version >= 1 else {}
    return body | ({"IncludeFencedBrokers": True} if version >= 2 else {})


def cluster_view(body: Mapping[str, Any], *, role: Role, version: int) -> ClusterView:
    """The value of a DescribeCluster answer without error."""
    tells_fenced = version >= 2 and role is Role.BROKER
    nodes = tuple(
        Node(
            id=broker["BrokerId"],
            address=Address(broker["Host"], broker["Port"]),
            rack=broker["Rack"],
            fenced=broker["IsFenced"] if tells_fenced else None,
        )
        for broker in body["Brokers"]
    )
    return ClusterView(
        cluster_id=body["ClusterId"],
        controller_id=body["ControllerId"],
        nodes=tuple(sorted(nodes, key=lambda node: node.id)),
    )


def error_codes_in(body: object) -> Iterator[int]:
    """Every error code other than 0 in an answer, from the top level down to single topics or features."""
    if isinstance(body, Mapping):
        if body.get("ErrorCode"):
            yield body["ErrorCode"]
        for value in body.values():
            yield from error_codes_in(value)
    elif isinstance(body, list):
        for value in body:
            yield from error_codes_in(value)


def is_not_the_leader(body: Mapping[str, Any]) -> bool:
    """Whether a node says that the question is for the active controller, and that it is not it (or no longer)."""
    return any(code in NOT_THE_LEADER for code in error_codes_in(body))
