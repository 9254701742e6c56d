"""Identity of the node at an address: cluster, node id and role from the node's own answer. Read-only.

A broker names its cluster to every client (DescribeCluster, from 2.8 on). A controller does so from 3.7 on; any
controller refuses a Fetch that names another cluster than its own (KIP-595). A node describes only its own
configuration, and names itself if it is asked for another's; controllers do so from 3.7 on, and before only the
leader is known by its DescribeQuorum answer (`quorum_visit`).
"""

from __future__ import annotations

from typing import Final

from kafkactl.change.clock import Deadline
from kafkactl.cluster.io.quorum_visit import Visit, visit_node
from kafkactl.core.errors import KafkactlError, UnreachableError
from kafkactl.core.frozen import changed
from kafkactl.core.values import Role
from kafkactl.kafka.cluster_view import role_of
from kafkactl.kafka.connection import Connection
from kafkactl.kafka.quorum_requests import empty_fetch
from kafkactl.migration.observed.observation import IdentitySeen
from kafkactl.protocol.api_versions import usable_version
from kafkactl.protocol.schema.definitions import message

_NAMES_A_CLUSTER: Final = 12  # Fetch, from this version on
_DENIED, _OTHER_CLUSTER = 31, 104
_NOT_DESCRIBED: Final = "quorum-not-described"


def identify(
    connection: Connection, *, expected_id: int, cluster_id: str | None, deadline: Deadline
) -> tuple[IdentitySeen, KafkactlError | None]:
    """Return the identity of a node, and why not everything could be asked; `cluster_id` is the expected cluster."""
    describes_itself = connection.versions.knows(message("DescribeConfigsRequest").api_key or 0)
    asks_quorum = role_of(connection.versions) is Role.CONTROLLER and not describes_itself
    met = visit_node(connection, expected_id=expected_id, identify=True, deadline=deadline, ask_quorum=asks_quorum)
    seen = _identity(met)
    error = None if met.error is not None and met.error.id == _NOT_DESCRIBED else met.error  # that was an answer
    if error is None and met.role is Role.CONTROLLER and met.view is None and cluster_id is not None:
        seen = _by_fetch(connection, seen, cluster_id, deadline)
    return seen, error


def _identity(met: Visit) -> IdentitySeen:
    nodes = () if met.view is None else met.view.nodes
    return IdentitySeen(
        role=met.role,
        cluster_id=None if met.view is None else met.view.cluster_id or None,
        node_id=met.node_id,
        endpoints={node.id: str(node.address) for node in nodes},
        denied=met.denied,
    )


def _by_fetch(connection: Connection, seen: IdentitySeen, cluster_id: str, deadline: Deadline) -> IdentitySeen:
    """Ask as no replica, of epoch 0 and so for no records; the cluster's id is looked at before anything else."""
    try:
        version = usable_version(message("FetchRequest"), connection.versions, peer=str(connection.address))
        if version < _NAMES_A_CLUSTER:
            return seen
        response = connection.ask("Fetch", empty_fetch(cluster_id), deadline=deadline, version=version)
    except UnreachableError:
        return seen
    code = response.body["ErrorCode"]
    if code == _DENIED:
        return changed(seen, denied=(*seen.denied, "Fetch"))
    return changed(seen, asked_cluster_id=cluster_id, is_of_asked=code != _OTHER_CLUSTER)
