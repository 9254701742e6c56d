"""What a node answers for itself, kept as bytes: ApiVersions, DescribeQuorum, and of a broker the id of its cluster.

A broker on ZooKeeper does not offer DescribeQuorum and hangs up on who asks all the same (and logs an error); that is
its answer. Nothing here changes anything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kafkactl._version import __version__
from kafkactl.adapters.attempts import all_at_once
from kafkactl.adapters.clock import Deadline
from kafkactl.adapters.cluster_view import Role, describe_cluster_body, role_of
from kafkactl.adapters.connection import Access, Connection, connect
from kafkactl.adapters.controllers import QUORUM_REQUEST
from kafkactl.adapters.transport import Address
from kafkactl.errors import EncodeError, KafkactlError, UnreachableError
from kafkactl.frozen import frozen
from kafkactl.migration.observation_raw import CLOSED, RawAnswer
from kafkactl.migration.observation_reading import DESCRIBE_QUORUM
from kafkactl.protocol.api_versions import request_body, usable_version
from kafkactl.protocol.codec import encode_message
from kafkactl.protocol.framing import Response
from kafkactl.schema.definitions import message


@frozen
class NodeAnswers:
    """What a node said. None: not asked, or no answer came; `quorum_error` is `closed` where it hung up."""

    role: Role
    api_versions: RawAnswer | None
    describe_quorum: RawAnswer | None = None
    quorum_error: str | None = None
    cluster_id: str | None = None


def ask_nodes(
    addresses: Sequence[Address], access: Access, deadline: Deadline, *, asks_zookeeper_brokers: bool
) -> dict[Address, NodeAnswers | KafkactlError]:
    """The answers of all of these nodes, asked at once; an error is why a node was not met at all."""
    return all_at_once(
        addresses,
        lambda address, by: _ask(address, access, by, asks_all=asks_zookeeper_brokers),
        deadline,
    )


def _ask(address: Address, access: Access, deadline: Deadline, *, asks_all: bool) -> NodeAnswers:
    connection = connect(address, access, deadline)
    with connection:
        version = connection.versions.version
        response = connection.ask("ApiVersions", request_body(__version__), deadline=deadline, version=version)
        role = role_of(connection.versions)
        cluster_id = _cluster_id(connection, deadline) if role is Role.BROKER else None
        quorum, error = _quorum(connection, deadline, asks_all=asks_all)
        return NodeAnswers(
            role=role,
            api_versions=_raw(response),
            describe_quorum=quorum,
            quorum_error=error,
            cluster_id=cluster_id,
        )


def _cluster_id(connection: Connection, deadline: Deadline) -> str | None:
    """As DescribeCluster tells it; None where the node does not, which it owes to nobody."""
    try:
        version = usable_version(message("DescribeClusterRequest"), connection.versions, peer=str(connection.address))
        body: Mapping[str, Any] = describe_cluster_body(Role.BROKER, version)
        answer = connection.ask("DescribeCluster", body, deadline=deadline, version=version).body
    except UnreachableError:
        return None
    return None if answer["ErrorCode"] else answer["ClusterId"]


def _quorum(connection: Connection, deadline: Deadline, *, asks_all: bool) -> tuple[RawAnswer | None, str | None]:
    is_offered = connection.versions.knows(DESCRIBE_QUORUM)
    if not (is_offered or asks_all):
        return None, None
    try:
        version = None if is_offered else message("DescribeQuorumRequest").valid_versions.lowest
        response = connection.ask("DescribeQuorum", QUORUM_REQUEST, deadline=deadline, version=version)
    except UnreachableError as error:
        return None, CLOSED if error.id == "connection-closed" else None
    return _raw(response), None


def _raw(response: Response) -> RawAnswer | None:
    """The bytes of an answer: the codec gives back what it has read."""
    try:
        body = encode_message(message(f"{response.name}Response"), response.version, response.body)
    except EncodeError:
        return None
    return RawAnswer(version=response.version, body=body)
