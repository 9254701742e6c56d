"""The nodes of a cluster from DescribeCluster, and whether a listener is a broker's or a controller's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from kafkactl.change.clock import Deadline
from kafkactl.core.errors import RefusedError, UnreachableError
from kafkactl.core.frozen import frozen
from kafkactl.core.values import Role
from kafkactl.kafka.quorum_requests import empty_fetch
from kafkactl.net.transport import Address
from kafkactl.protocol.api_versions import NodeVersions, usable_version
from kafkactl.protocol.schema.definitions import message

if TYPE_CHECKING:
    from kafkactl.kafka.connection import Connection

# Every release from 3.3 on accepts Vote on controller listeners only, so it distinguishes the kinds of listeners.
_VOTE = 52
NOT_LEADER_OR_FOLLOWER, NOT_CONTROLLER = 6, 41
NOT_THE_LEADER = frozenset({NOT_LEADER_OR_FOLLOWER, NOT_CONTROLLER})
_INCONSISTENT_CLUSTER_ID = 104
_FETCH_NAMES_CLUSTER = 12  # KIP-595
_ALTER = 7  # AclOperation
_NOT_SAID = -(1 << 31)  # of the authorized operations: they were not asked for


@frozen
class Node:
    """Node and its address. `fenced` is None for controllers, and if the release does not report it."""

    id: int
    address: Address
    rack: str | None = None
    fenced: bool | None = None


@frozen
class ClusterView:
    """Cluster as one node describes it.

    Controllers name those that are registered, stale ones included, and as `controller_id` the active one, or -1. A
    broker names live brokers (with fenced ones from 4.0 on), and as `controller_id` any broker: not the active one.
    `may_alter`: whether this user has the right Alter on the cluster; None if the node does not say.
    """

    cluster_id: str
    controller_id: int
    nodes: tuple[Node, ...]
    may_alter: bool | None = None

    def node(self, node_id: int) -> Node | None:
        """Return the node with that id, if it was named."""
        return next((node for node in self.nodes if node.id == node_id), None)


def role_of(versions: NodeVersions) -> Role:
    """Return the kind of listener that described itself like this."""
    return Role.CONTROLLER if versions.knows(_VOTE) else Role.BROKER


def check_role(address: Address, versions: NodeVersions, expected: Role) -> None:
    """Raise UnreachableError `wrong-endpoint-type` if a port is of the other kind."""
    found = role_of(versions)
    if found is not expected:
        raise UnreachableError(
            f"{address} is a {found.word} listener, a {expected.word}'s is needed",
            id="wrong-endpoint-type",
            next_step=f"Name it with {found.option}, or use a port of a {expected.word} listener.",
        )


def check_quorum_known(answers: Mapping[Address, NodeVersions]) -> None:
    """Raise UnreachableError `zookeeper-mode` if every node that answers is a broker in ZooKeeper mode."""
    if not answers or not all(versions.is_zookeeper_mode for versions in answers.values()):
        return
    names = ", ".join(map(str, answers))
    raise UnreachableError(f"{names}: brokers in ZooKeeper mode, which know of no metadata quorum", id="zookeeper-mode")


def describe_cluster_body(role: Role, version: int) -> dict[str, Any]:
    """Return the DescribeCluster request of this version: endpoint types since version 1, fenced brokers since 2."""
    body: dict[str, Any] = {"IncludeClusterAuthorizedOperations": True}
    body |= {"EndpointType": role.endpoint_type} if version >= 1 else {}
    return body | ({"IncludeFencedBrokers": True} if version >= 2 else {})


def cluster_view(body: Mapping[str, Any], *, role: Role, version: int) -> ClusterView:
    """Return the value of a DescribeCluster answer without error."""
    has_fenced = version >= 2 and role is Role.BROKER
    nodes = tuple(
        Node(
            id=broker["BrokerId"],
            address=Address(broker["Host"], broker["Port"]),
            rack=broker["Rack"],
            fenced=broker["IsFenced"] if has_fenced else None,
        )
        for broker in body["Brokers"]
    )
    return ClusterView(
        cluster_id=body["ClusterId"],
        controller_id=body["ControllerId"],
        nodes=tuple(sorted(nodes, key=lambda node: node.id)),
        may_alter=_may_alter(body.get("ClusterAuthorizedOperations", _NOT_SAID), role),
    )


def _may_alter(operations: int, role: Role) -> bool | None:
    """Return whether Alter is among the operations, a bit each; 0 is the answer to a user without Describe.

    A controller describes its cluster only to users with Alter.
    """
    if operations == _NOT_SAID:
        return True if role is Role.CONTROLLER else None
    return bool(operations >> _ALTER & 1)


def error_codes_in(body: object) -> Iterator[int]:
    """Yield every error code other than 0 in an answer, from the top level down to single topics or features."""
    if isinstance(body, Mapping):
        if body.get("ErrorCode"):
            yield body["ErrorCode"]
        for value in body.values():
            yield from error_codes_in(value)
    elif isinstance(body, list):
        for value in body:
            yield from error_codes_in(value)


def is_not_the_leader(body: Mapping[str, Any]) -> bool:
    """Return True if a node answers that it is not the active controller, to which the request must go."""
    return any(code in NOT_THE_LEADER for code in error_codes_in(body))


def check_planned_for(planned: str | None, found: str | None, *, who: str) -> None:
    """Raise RefusedError `cluster-id-mismatch` if a change is planned for a cluster and `who` is of another one."""
    if None not in (planned, found) and found != planned:
        raise RefusedError(
            f"{who}: belongs to the cluster {found}, the change was planned for the cluster {planned}",
            id="cluster-id-mismatch",
            next_step="The request was not sent. Find out which node answers at this address, then run the command "
            "again.",
        )


def check_same_cluster(connection: Connection, role: Role, cluster_id: str, deadline: Deadline) -> None:
    """Make sure that the process at the other end of a connection belongs to this cluster, before it gets a change.

    Most requests that change something carry no cluster id, and an address may have passed to another cluster since it
    was looked at. A controller that does not describe its cluster (before 3.7, or without the right) is asked by a
    Fetch that names the id (KIP-595); one that answers neither of them is let pass. Raises RefusedError
    `cluster-id-mismatch`, UnreachableError; nothing was changed in either case.
    """
    found = _cluster_id_of(connection, role, deadline)
    if found is None and role is Role.CONTROLLER and _refuses_cluster(connection, cluster_id, deadline):
        found = "another one"
    check_planned_for(cluster_id, found, who=str(connection.address))


def _cluster_id_of(connection: Connection, role: Role, deadline: Deadline) -> str | None:
    spec = message("DescribeClusterRequest")
    if not connection.versions.knows(spec.api_key or 0):
        return None
    version = usable_version(spec, connection.versions, peer=str(connection.address))
    body = describe_cluster_body(role, version)
    response = connection.ask("DescribeCluster", body, deadline=deadline, version=version)
    return None if response.body["ErrorCode"] else str(response.body["ClusterId"])


def _refuses_cluster(connection: Connection, cluster_id: str, deadline: Deadline) -> bool:
    spec = message("FetchRequest")
    if not connection.versions.knows(spec.api_key or 0):
        return False
    version = usable_version(spec, connection.versions, peer=str(connection.address))
    if version < _FETCH_NAMES_CLUSTER:
        return False
    response = connection.ask("Fetch", empty_fetch(cluster_id), deadline=deadline, version=version)
    return bool(response.body["ErrorCode"] == _INCONSISTENT_CLUSTER_ID)
