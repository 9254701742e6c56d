"""Answer of `nodes list`: every node that is registered, votes or answers, one row a node id.

A combined node is one row with both roles; so are a live controller and the registration of a broker that once had
its id. `seen_as` keeps the roles apart if it matters.
"""

from __future__ import annotations

from collections.abc import Mapping

from kafkactl.cluster.registrations import BrokerRegistration
from kafkactl.cluster.state import ClusterState, Member
from kafkactl.core.answers import by_fields
from kafkactl.core.frozen import frozen
from kafkactl.core.values import Endpoint, Role
from kafkactl.protocol.schema.spec import Versions


@frozen
class SeenAs:
    """A node id in one role: a controller and the registration of a broker may have the same id."""

    role: Role
    registered: bool | None
    answers: bool | None
    fetches: bool | None
    """True if the node fetched from the leader while the leader was watched."""
    evidence: str | None
    """Evidence for or against fetches of the node."""
    stale: bool

    to_dict = by_fields


@frozen
class NodeRow:
    """A node id. None is a fact that could not be observed, or does not apply."""

    id: int
    roles: tuple[Role, ...]
    registered: bool | None
    """None if the metadata log could not be read."""
    fenced: bool | None
    """Fenced state of a registered broker."""
    in_controlled_shutdown: bool | None
    """Controlled shutdown of a registered broker."""
    answers: bool | None
    """True if the node answers at its address, and no other node in its place. None: it could not be asked."""
    fetches: bool | None
    """True if the node fetched the metadata log while the leader was watched. None: unknown."""
    voter: bool
    """True if the node is a voter of the metadata quorum."""
    stale: bool
    """True if the node is registered and, by all evidence, gone."""
    directory_ids: tuple[str, ...]
    endpoints: tuple[Endpoint, ...]
    features: Mapping[str, Versions]
    """Features as the node answered, else as it is registered."""
    epoch: int | None
    """The broker epoch of a registered broker."""
    kafka_version: str | None
    """The release, derived from the range of metadata.version."""
    seen_as: tuple[SeenAs, ...]

    to_dict = by_fields


def list_nodes(state: ClusterState) -> tuple[NodeRow, ...]:
    """Return a row for every node id, lowest first."""
    by_id: dict[int, list[Member]] = {}
    for member in state.members:
        by_id.setdefault(member.id, []).append(member)
    return tuple(_row(state, node_id, tuple(by_id[node_id])) for node_id in sorted(by_id))


def _row(state: ClusterState, node_id: int, members: tuple[Member, ...]) -> NodeRow:
    known = state.registrations
    broker = None if known is None else known.brokers.get(node_id)
    best = min(members, key=lambda member: (member.answered is None, member.listed is None, member.role.value))
    return NodeRow(
        id=node_id,
        roles=tuple(member.role for member in members),
        registered=None if known is None else any(member.registered for member in members),
        fenced=None if broker is None else broker.fenced,
        in_controlled_shutdown=None if broker is None else broker.in_controlled_shutdown,
        answers=_any([member.answers for member in members]),
        fetches=_any([member.fetches for member in members]),
        voter=any(member.voter for member in members),
        stale=any(member.stale for member in members),
        directory_ids=_directory_ids(state, node_id, broker),
        endpoints=_endpoints(state, node_id),
        features=dict(sorted((best.supported or {}).items())),
        epoch=None if broker is None else broker.epoch,
        kafka_version=None if best.release is None else best.release.name,
        seen_as=tuple(
            SeenAs(
                role=member.role,
                registered=member.registered,
                answers=member.answers,
                fetches=member.fetches,
                evidence=member.evidence,
                stale=member.stale,
            )
            for member in members
        ),
    )


def _any(answers: list[bool | None]) -> bool | None:
    if True in answers:
        return True
    return False if False in answers else None


def _directory_ids(state: ClusterState, node_id: int, broker: BrokerRegistration | None) -> tuple[str, ...]:
    """Return the directory ids of a broker's registration, then the quorum's id of the metadata log."""
    found = [] if broker is None else list(broker.directory_ids)
    found += [
        node.directory_id
        for node in (*(state.voters or ()), *state.observers)
        if node.id == node_id and node.directory_id is not None
    ]
    return tuple(dict.fromkeys(str(address) for address in found))


def _endpoints(state: ClusterState, node_id: int) -> tuple[Endpoint, ...]:
    known = state.registrations
    found: list[Endpoint] = []
    if known is not None and node_id in known.brokers:
        found += known.brokers[node_id].endpoints
    if known is not None and node_id in known.controllers:
        found += known.controllers[node_id].endpoints
    for role in Role:
        node = state.node(role, node_id)
        found += [] if node is None else node.endpoints
    return tuple(dict.fromkeys(found))
