"""Addresses of every node of a cluster, for each of its roles, gathered from all sources.

A broker's DescribeCluster names brokers by the listener that was asked, so that comes first; registrations name all
listeners, of which some may not accept this client. Controllers are named by DescribeQuorum (voters, 3.9 on), by
another controller (registered ones, 3.7 on), by the log, and by the brokers' configuration of a static quorum.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kafkactl.cluster.io.configured_addresses import Place
from kafkactl.cluster.quorum.observation import QuorumAnswer
from kafkactl.cluster.registrations import Registrations
from kafkactl.core.frozen import frozen
from kafkactl.core.values import Endpoint, Role
from kafkactl.kafka.cluster_view import ClusterView
from kafkactl.net.transport import Address


@frozen
class Seat:
    """A node in one role. `addresses` are tried in their order; empty if its address is unknown."""

    id: int
    role: Role
    addresses: tuple[Address, ...]
    endpoints: tuple[Endpoint, ...]


def seats(
    *,
    quorum: QuorumAnswer | None,
    view: ClusterView | None,
    listener: Role,
    registrations: Registrations | None,
    places: Iterable[Place] = (),
    own: Iterable[Place] = (),
) -> tuple[Seat, ...]:
    """Return every broker and controller that a source names, by role and id.

    `own` are nodes of the kind of `listener` that named themselves at an address given at the start.
    """
    found: dict[tuple[Role, int], tuple[list[Address], list[Endpoint]]] = {}

    def add(role: Role, node_id: int, addresses: Iterable[Address], endpoints: Iterable[Endpoint] = ()) -> None:
        known = found.setdefault((role, node_id), ([], []))
        known[0].extend(addresses)
        known[1].extend(endpoints)

    for voter in () if quorum is None else quorum.voters:
        add(Role.CONTROLLER, voter.id, _addresses(voter.endpoints), voter.endpoints)
    for node in () if view is None else view.nodes:
        add(listener, node.id, [node.address])
    for role, node_id, endpoints in _registered(registrations):
        add(role, node_id, _addresses(endpoints), endpoints)
    for place in places:
        if place.node_id is not None:
            add(Role.CONTROLLER, place.node_id, [place.address])
    for place in own:
        if place.node_id is not None:
            add(listener, place.node_id, [place.address])
    return tuple(
        Seat(id=key[1], role=key[0], addresses=tuple(dict.fromkeys(at)), endpoints=tuple(dict.fromkeys(named)))
        for key, (at, named) in sorted(found.items(), key=lambda item: (item[0][0].value, item[0][1]))
    )


def _registered(known: Registrations | None) -> Iterator[tuple[Role, int, tuple[Endpoint, ...]]]:
    if known is None:
        return
    for broker in known.brokers.values():
        yield Role.BROKER, broker.id, broker.endpoints
    for controller in known.controllers.values():
        yield Role.CONTROLLER, controller.id, controller.endpoints


def _addresses(endpoints: Iterable[Endpoint]) -> list[Address]:
    return [Address(endpoint.host, endpoint.port) for endpoint in endpoints]
