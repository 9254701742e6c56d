"""Answers of a node about itself: its identity, and, kept as bytes, ApiVersions and DescribeQuorum.

A broker on ZooKeeper does not offer DescribeQuorum and hangs up on who asks all the same (and logs an error); that is
its answer. Nothing here changes anything.
"""

from __future__ import annotations

from collections.abc import Mapping

from kafkactl._version import __version__
from kafkactl.change.clock import Deadline
from kafkactl.core.errors import EncodeError, KafkactlError, UnreachableError
from kafkactl.core.frozen import frozen
from kafkactl.core.values import Role
from kafkactl.kafka.attempts import all_at_once
from kafkactl.kafka.cluster_view import role_of
from kafkactl.kafka.connection import Access, Connection, connect
from kafkactl.kafka.quorum_requests import QUORUM_REQUEST
from kafkactl.migration.io.identity import identify
from kafkactl.migration.observed.fields import RawAnswer
from kafkactl.migration.observed.observation import IdentitySeen
from kafkactl.migration.observed.raw_observation import CLOSED
from kafkactl.migration.observed.reading import DESCRIBE_QUORUM
from kafkactl.net.transport import Address
from kafkactl.protocol.api_versions import request_body
from kafkactl.protocol.codec import encode_message
from kafkactl.protocol.framing import Response
from kafkactl.protocol.schema.definitions import message


@frozen
class NodeAnswers:
    """Answers of a node.

    None: not asked, or no answer; `quorum_error` is `closed` if the node closed the connection.
    """

    role: Role
    api_versions: RawAnswer | None
    describe_quorum: RawAnswer | None = None
    quorum_error: str | None = None
    identity: IdentitySeen | None = None


def ask_nodes(
    expected: Mapping[Address, int],
    access: Access,
    deadline: Deadline,
    *,
    asks_zookeeper_brokers: bool,
    cluster_id: str | None = None,
) -> dict[Address, NodeAnswers | KafkactlError]:
    """Return the answers of all of these nodes, asked at once; an error is the reason why a node gave no answer at all.

    `expected` gives the node id that the inventory has for an address, `cluster_id` the cluster that it should be of.
    """
    return all_at_once(
        tuple(expected),
        lambda address, by: _ask(
            address, access, by, expected_id=expected[address], cluster_id=cluster_id, asks_all=asks_zookeeper_brokers
        ),
        deadline,
    )


def _ask(
    address: Address, access: Access, deadline: Deadline, *, expected_id: int, cluster_id: str | None, asks_all: bool
) -> NodeAnswers:
    connection = connect(address, access, deadline)
    with connection:
        version = connection.versions.version
        response = connection.ask("ApiVersions", request_body(__version__), deadline=deadline, version=version)
        role = role_of(connection.versions)
        identity, refusal = identify(connection, expected_id=expected_id, cluster_id=cluster_id, deadline=deadline)
        # On a connection that was lost the next question would end as on a broker that hangs up on it.
        quorum, error = (None, None) if refusal is not None else _quorum(connection, deadline, asks_all=asks_all)
        return NodeAnswers(
            role=role,
            api_versions=_raw(response),
            describe_quorum=quorum,
            quorum_error=error,
            identity=identity,
        )


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
    """Return the bytes of an answer: the codec encodes again what it has read."""
    try:
        body = encode_message(message(f"{response.name}Response"), response.version, response.body)
    except EncodeError:
        return None
    return RawAnswer(version=response.version, body=body)
