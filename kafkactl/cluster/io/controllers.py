"""The addresses of the controllers, found through the nodes that are known, and a client that connects to them.

Brokers do not serve the metadata log, and show the controllers only indirectly: DescribeQuorum names the voters and
their listeners from 3.9 on (version 2); before that a broker's own configuration does (`controller.quorum.voters`), to
users with DESCRIBE_CONFIGS. A controller names the others in DescribeCluster (KIP-919) and DescribeQuorum. A
controller that is neither a voter nor registered cannot be found.
"""

from __future__ import annotations

from collections.abc import Iterator

from kafkactl.cluster.io.configured_addresses import Place, configured_controllers
from kafkactl.cluster.io.leader_source import describe_quorum
from kafkactl.cluster.quorum.observation import QuorumAnswer
from kafkactl.core.errors import KafkactlError, UnreachableError
from kafkactl.core.kafka_names import NO_LEADER
from kafkactl.core.values import Role
from kafkactl.kafka.client import Client
from kafkactl.net.transport import Address
from kafkactl.protocol.api_versions import NodeVersions, usable_version
from kafkactl.protocol.schema.definitions import message
from kafkactl.protocol.schema.rights import right_of

_NAMES_NODES = 2  # the version of DescribeQuorum that names listeners of the voters
# Reasons why a broker that accepts this user does not describe the quorum; its own configuration may name the
# controllers.
_LEFT_OPEN = frozenset({"not-authorised", "quorum-not-described", "request-not-supported", "no-active-controller"})


def controllers_of(client: Client, quorum: QuorumAnswer | None = None) -> Client:
    """Return a client of the controllers of the cluster of `client`: `client` itself, or a new one that the caller
    closes.

    Those of a new one are asked in their order, the leader first. `quorum` saves a request. Raises UnreachableError
    `controllers-not-known` if no node names a controller, or, if no broker could be reached at all, the reason for
    that.
    """
    if client.role is Role.CONTROLLER:
        return client
    failure: UnreachableError | None = None
    try:
        quorum = quorum or describe_quorum(client)
    except UnreachableError as error:
        failure = error
    places = _places(client, quorum)
    if not places:
        raise failure if failure is not None and _is_the_reason(client, failure) else _controllers_not_known(client)
    # The others do not serve the leader's log, and a paused one takes half of the time of a call.
    leader_id = NO_LEADER if quorum is None else quorum.leader_id
    ordered = sorted(places, key=lambda place: place.node_id != leader_id)
    return client.sibling(Role.CONTROLLER, tuple(place.address for place in ordered))


def _is_the_reason(client: Client, failure: UnreachableError) -> bool:
    """Return True if no controller is known because DescribeQuorum failed: from 3.9 on its answer names them."""
    if failure.id != "not-authorised":
        return failure.id not in _LEFT_OPEN
    request = message("DescribeQuorumRequest")
    answers = [answer for answer in client.versions(client.bootstrap).values() if isinstance(answer, NodeVersions)]
    return any(usable_version(request, answer, peer="a broker") >= _NAMES_NODES for answer in answers)


def _controllers_not_known(client: Client) -> UnreachableError:
    return UnreachableError(
        "no broker reports the controllers' addresses: DescribeQuorum names them from Kafka 3.9 on, and before that "
        "the brokers' own configuration does",
        id="controllers-not-known",
        next_step="Name the controllers with --bootstrap-controller. If the brokers are older than 3.9 and their "
        f"configuration may not be read: {client.login.grant([right_of('DescribeConfigs')])}",
    )


def controller_places(client: Client, quorum: QuorumAnswer | None = None) -> tuple[Place, ...]:
    """Return the controllers' addresses as far as the nodes name them, voters first; empty if they name none."""
    try:
        quorum = quorum or describe_quorum(client)
    except KafkactlError:
        quorum = None
    return _places(client, quorum)


def _places(client: Client, quorum: QuorumAnswer | None) -> tuple[Place, ...]:
    found: dict[Address, Place] = {}
    for voter in () if quorum is None else quorum.voters:
        for endpoint in voter.endpoints:
            address = Address(endpoint.host, endpoint.port)
            found.setdefault(address, Place(node_id=voter.id, address=address))
    if client.role is Role.CONTROLLER:
        for place in _described(client):
            found.setdefault(place.address, place)
    elif not found:
        found = {place.address: place for place in configured_controllers(client)}
    return tuple(found.values())


def _described(client: Client) -> Iterator[Place]:
    """Yield the registered controllers, as one of them describes the cluster, and the bootstrap addresses."""
    try:
        view = client.cluster()
    except UnreachableError:
        view = None
    for node in () if view is None else view.nodes:
        yield Place(node_id=node.id, address=node.address)
    for address in client.bootstrap:
        yield Place(node_id=None, address=address)
