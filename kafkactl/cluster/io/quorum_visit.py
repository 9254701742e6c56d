"""Visit to a node: its complete view of the quorum, over a connection of its own.

A visit does not raise for anything that the node answers or fails to answer: a missing fact is None, and `error` or
`denied` has the reason. No request changes anything, and none is made as a replica (Fetch is sent with replica id -1,
which the leader does not list as an observer).

What a controller answers, by release (measured): DescribeQuorum only the leader; DescribeCluster from 3.7 on, with
ALTER on the cluster; DescribeConfigs from 3.7 on. A node describes only its own configuration. Asked for another
node's, it names its own id in the error ("Unexpected broker id, expected 3 ..."), which is how the node at an address
is identified. A follower names the leader that it follows only in its response to Fetch (KIP-595, from version 12).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

from kafkactl.change.clock import Deadline
from kafkactl.cluster.io.configured_addresses import BOOTSTRAP_SERVERS, STATIC_VOTERS, own_settings_request
from kafkactl.cluster.node import ClusterNode
from kafkactl.cluster.quorum.observation import QuorumAnswer, answer_error, quorum_answer
from kafkactl.core.errors import KafkactlError, UnreachableError
from kafkactl.core.frozen import changed, frozen
from kafkactl.core.values import Role
from kafkactl.kafka.cluster_view import ClusterView, cluster_view, describe_cluster_body, role_of
from kafkactl.kafka.connection import Connection
from kafkactl.kafka.quorum_requests import QUORUM_REQUEST, empty_fetch
from kafkactl.net.transport import Address
from kafkactl.protocol.api_versions import NodeVersions, usable_version
from kafkactl.protocol.schema.definitions import message
from kafkactl.protocol.schema.error_codes import error_code
from kafkactl.protocol.schema.rights import CLUSTER_DENIED, Login, server_text

AUTO_JOIN = "controller.quorum.auto.join.enable"
FETCH_TIMEOUT = "controller.quorum.fetch.timeout.ms"
_ROLES = "process.roles"
_SETTINGS = ("node.id", _ROLES, AUTO_JOIN, FETCH_TIMEOUT, STATIC_VOTERS, BOOTSTRAP_SERVERS)

_INVALID_REQUEST = 42
_NOT_LEADER = 6
_SENDS_ITS_LEADER = 12
_OWN_ID = r"expected ([0-9]{1,9}) or empty string"  # compiled when it is first used
# Errors of a node that no longer runs, or hangs.
_SILENT = frozenset({"connection-refused", "connection-timed-out", "connection-closed", "connection-failed"})


@frozen
class Visit:
    """Answer of the node at one address.

    `error` is the reason why not everything could be asked. `expected_id` is the node that is expected there, `node_id`
    the id that the node reported; None if unknown. `denied` names the requests that the user of `login` may not make.
    `leader_id` and `leader_epoch` are the leader that a follower follows, None if it was not asked or does not report
    it. `still_follows`: it was observed to fetch from that leader, which leads although it cannot be asked.
    """

    address: Address
    expected_id: int | None = None
    error: KafkactlError | None = None
    versions: NodeVersions | None = None
    node_id: int | None = None
    answer: QuorumAnswer | None = None
    view: ClusterView | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    leader_id: int | None = None
    leader_epoch: int | None = None
    still_follows: bool = False
    denied: tuple[str, ...] = ()
    login: Login = field(default_factory=Login)

    @property
    def answers(self) -> bool | None:
        """Return True if a Kafka node answered, False if nothing answered, None if a process could not be asked."""
        if self.versions is not None:
            return True
        return False if self.error is not None and self.error.id in _SILENT else None

    @property
    def role(self) -> Role | None:
        """Return the kind of listener; None if no node answered."""
        return None if self.versions is None else role_of(self.versions)

    @property
    def id(self) -> int | None:
        """Return the id of the node: the one that it reported, else the expected one."""
        return self.node_id if self.node_id is not None else self.expected_id

    @property
    def auto_join(self) -> bool | None:
        """Return True if the node adds itself as a voter (KIP-853, from 4.2); None if its settings are unknown."""
        if AUTO_JOIN in self.settings:
            return self.settings[AUTO_JOIN] == "true"
        # Its settings were read and do not have this one: a release before 4.2.
        return False if self.settings else None


def visit_node(
    connection: Connection, *, expected_id: int | None, identify: bool, deadline: Deadline, ask_quorum: bool = True
) -> Visit:
    """Ask a node for the cluster, the quorum and, with `identify`, its id and its settings.

    A broker answers the first and the last on its own, but does not answer for the quorum while there is no leader.
    """
    seen = Visit(
        address=connection.address, expected_id=expected_id, versions=connection.versions, login=connection.login
    )
    try:
        seen = _cluster(connection, seen, deadline)
        if identify and seen.role is Role.BROKER:
            seen = _identity(connection, seen, deadline)
        if ask_quorum:
            seen = ask_quorum_of(connection, seen, deadline)
        if identify and seen.role is Role.CONTROLLER:
            seen = _identity(connection, seen, deadline)
        return seen
    except KafkactlError as error:
        return changed(seen, error=error)


def node_of(visit: Visit, node_id: int, role: Role) -> ClusterNode:
    """Return a node as a visit of its address shows the node."""
    is_named = visit.node_id == node_id
    return ClusterNode(
        id=node_id,
        role=role,
        answers=visit.answers,
        versions=visit.versions,
        named_itself=is_named,
        cluster_id=None if visit.view is None else visit.view.cluster_id,
        roles=_roles(visit) if is_named else None,
        leader_id=visit.leader_id,
        leader_epoch=visit.leader_epoch,
        auto_join=visit.auto_join,
    )


def _roles(visit: Visit) -> frozenset[Role] | None:
    words = [word.strip() for word in visit.settings.get(_ROLES, "").split(",")]
    return frozenset(Role(word) for word in words if word in tuple(Role)) or None


def of_cluster(cluster_id: str | None, seen: Visit) -> Visit:
    """Return the visit; if the node reports another cluster than `cluster_id`, only that error and nothing else of the
    node.

    The id of that cluster is kept, so that the address is not used as that of a node of this one.
    """
    if seen.view is None or cluster_id in (None, seen.view.cluster_id):
        return seen
    error = UnreachableError(
        f"{seen.address} answers as a node of the cluster {seen.view.cluster_id}, not of {cluster_id}",
        id="node-of-another-cluster",
    )
    return Visit(
        address=seen.address,
        expected_id=seen.expected_id,
        node_id=seen.node_id,
        error=error,
        versions=seen.versions,
        view=changed(seen.view, nodes=(), controller_id=-1),
    )


def are_out_of_reach(visits: Sequence[Visit]) -> bool:
    """Return True if a broker reports a leader but no controller answers: controllers are unreachable from here."""
    controllers = [visit for visit in visits if visit.expected_id is not None and visit.role is not Role.BROKER]
    return (
        any(visit.answer for visit in visits) and bool(controllers) and not any(visit.versions for visit in controllers)
    )


def believed_leader(connection: Connection, seen: Visit, deadline: Deadline) -> Visit:
    """Return the visit with the leader that the node follows, from the answer to a Fetch without records."""
    if not _sends_its_leader(connection):
        return seen
    try:
        response = connection.ask("Fetch", empty_fetch(), deadline=deadline)
    except KafkactlError:
        return seen
    if response.body["ErrorCode"] == CLUSTER_DENIED:
        return changed(seen, denied=(*seen.denied, "Fetch"))
    leaders = [partition["CurrentLeader"] for topic in response.body["Responses"] for partition in topic["Partitions"]]
    if not leaders or leaders[0]["LeaderEpoch"] < 0:
        return seen
    return changed(seen, leader_id=leaders[0]["LeaderId"], leader_epoch=leaders[0]["LeaderEpoch"])


def _sends_its_leader(connection: Connection) -> bool:
    try:
        version = usable_version(message("FetchRequest"), connection.versions, peer=str(connection.address))
    except UnreachableError:
        return False
    return version >= _SENDS_ITS_LEADER


def ask_quorum_of(connection: Connection, seen: Visit, deadline: Deadline) -> Visit:
    """Return the visit with the node's answer about the quorum, if the node leads. Raises UnreachableError."""
    response = connection.ask("DescribeQuorum", QUORUM_REQUEST, deadline=deadline)
    if not _has_partition(response.body):
        return changed(seen, error=_not_described(connection.address, -1, "the answer names no partition"))
    code, text = answer_error(response.body)
    if code == _NOT_LEADER:
        return seen
    if code == CLUSTER_DENIED:
        return changed(seen, denied=(*seen.denied, "DescribeQuorum"))
    if code:
        return changed(seen, error=_not_described(connection.address, code, text))
    asked = f"{'controller' if seen.role is Role.CONTROLLER else 'broker'} {connection.address}"
    answer = quorum_answer(response.body, version=response.version, asked=asked)
    if seen.role is Role.CONTROLLER:
        return changed(seen, answer=answer, leader_id=answer.leader_id, leader_epoch=answer.leader_epoch)
    return changed(seen, answer=answer)


def _has_partition(body: Mapping[str, Any]) -> bool:
    return bool(body["ErrorCode"]) or any(topic["Partitions"] for topic in body["Topics"][:1])


def _cluster(connection: Connection, seen: Visit, deadline: Deadline) -> Visit:
    """Add the cluster's id and the registered nodes, if the node reports them."""
    assert seen.role is not None
    try:
        version = usable_version(message("DescribeClusterRequest"), connection.versions, peer=str(connection.address))
    except UnreachableError:
        return seen  # controllers before 3.7
    body = describe_cluster_body(seen.role, version)
    response = connection.ask("DescribeCluster", body, deadline=deadline, version=version)
    if response.body["ErrorCode"] == CLUSTER_DENIED:
        login = seen.login.named_by(response.body["ErrorMessage"])
        return changed(seen, denied=(*seen.denied, "DescribeCluster"), login=login)
    if response.body["ErrorCode"]:
        return seen  # below metadata.version 3.7-IV0 controllers do not report it
    return changed(seen, view=cluster_view(response.body, role=seen.role, version=version))


def _identity(connection: Connection, seen: Visit, deadline: Deadline) -> Visit:
    """Return the identity and settings of a node; it is asked by its expected id, and its answer corrects the id."""
    if not connection.versions.knows(message("DescribeConfigsRequest").api_key or 0):
        leads = seen.answer is not None and seen.role is Role.CONTROLLER
        return changed(seen, node_id=seen.leader_id) if leads else seen
    supposed = _supposed_id(seen)
    for _ in range(2):
        result = _own_settings(connection, supposed, deadline)
        code, text = result["ErrorCode"], server_text(result["ErrorMessage"])
        if not code:
            settings = {config["Name"]: config["Value"] or "" for config in result["Configs"]}
            return changed(seen, node_id=supposed, settings=settings)
        if code == CLUSTER_DENIED:
            return changed(seen, denied=(*seen.denied, "DescribeConfigs"))
        matched = re.search(_OWN_ID, text) if code == _INVALID_REQUEST else None
        if matched is None:
            return seen
        supposed = int(matched[1])
        seen = changed(seen, node_id=supposed)
    return seen


def _supposed_id(seen: Visit) -> int:
    if seen.expected_id is not None:
        return seen.expected_id
    if seen.leader_id is not None:
        return seen.leader_id
    nodes = () if seen.view is None else seen.view.nodes
    return next((node.id for node in nodes if node.address == seen.address), 0)


def _own_settings(connection: Connection, node_id: int, deadline: Deadline) -> Mapping[str, Any]:
    response = connection.ask("DescribeConfigs", own_settings_request(node_id, _SETTINGS), deadline=deadline)
    results = response.body["Results"]
    if not results:
        return {"ErrorCode": -1, "ErrorMessage": None, "Configs": []}
    result: Mapping[str, Any] = results[0]
    return result


def _not_described(address: Address, code: int, text: str) -> UnreachableError:
    return UnreachableError(
        f"{address} does not describe the quorum: {error_code(code).name}",
        id="quorum-not-described",
        cause=text or None,
    )


def nodes_of(visits: Iterable[Visit], cluster_id: str | None = None) -> Iterator[ClusterNode]:
    """Yield the facts of each node from its best visit: an answered one, at a controller's listener if possible.

    A node of another cluster than `cluster_id` has the ids of nodes of this one, and says nothing of them.
    """
    best: dict[int, Visit] = {}
    for visit in visits:
        # An address where another node answers says nothing about the node that was expected there.
        id = visit.id
        if id is not None and (id not in best or _weight(visit, cluster_id) > _weight(best[id], cluster_id)):
            best[id] = visit
    for id, visit in sorted(best.items()):
        yield node_of(visit, id, visit.role or Role.CONTROLLER)


def is_stranger(visit: Visit, cluster_id: str | None) -> bool:
    """Return True if the node at this address belongs to another cluster."""
    return visit.view is not None and cluster_id not in (None, visit.view.cluster_id)


def _weight(visit: Visit, cluster_id: str | None) -> tuple[bool, bool, bool, bool]:
    return (
        not is_stranger(visit, cluster_id),
        visit.answers is True,
        visit.role is Role.CONTROLLER,
        visit.answers is None,
    )
