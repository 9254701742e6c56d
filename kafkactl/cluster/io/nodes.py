"""Observation of every node of a cluster at its own address: supported versions, levels, and identity.

An address is not proof of a node: the node that answers there is asked for its id and its cluster. Another node, or one
of another cluster, is not the node that is registered with that address. A node that does not report its id (before
3.7, or to a user without DESCRIBE_CONFIGS) is still used, and marked as not having named itself. The way in which an
address fails is kept, because a refused connection, a connection that cannot be made and one that is accepted but not
answered mean different things for the process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from kafkactl.change.clock import Deadline
from kafkactl.cluster.io.configured_addresses import Place
from kafkactl.cluster.io.places import Seat
from kafkactl.cluster.io.quorum_visit import Visit, node_of, visit_node
from kafkactl.cluster.node import ClusterNode, NotAsked, Silence
from kafkactl.core.errors import KafkactlError
from kafkactl.core.findings import Finding, warning
from kafkactl.core.frozen import changed, frozen
from kafkactl.core.values import Role
from kafkactl.kafka.attempts import all_at_once
from kafkactl.kafka.client import Client
from kafkactl.kafka.other_login import login_step
from kafkactl.net.transport import Address, connect
from kafkactl.protocol.catalog.releases import known_releases
from kafkactl.protocol.schema.rights import right_of

# Errors of a node that no longer runs, or hangs. A closed connection may be a listener that expects TLS, and a name may
# be known only within the cluster: neither is evidence about the node.
_SILENT = frozenset({"connection-refused", "connection-timed-out", "connection-failed"})
_CONNECT_MS = 1_000.0
Visits = Mapping[Address, Visit]


@frozen
class NodesNamed:
    """The nodes at addresses given at the start that no node advertises: those that name themselves, the addresses of
    those that answer `unnamed`, and the errors of `silent` ones."""

    places: tuple[Place, ...] = ()
    unnamed: tuple[Address, ...] = ()
    silent: tuple[tuple[Address, KafkactlError], ...] = ()


_NONE_NAMED = NodesNamed()


def named_at_start(client: Client, found: Sequence[Seat], *, node_timeout_ms: float) -> NodesNamed:
    """Ask the nodes at addresses of the start that no node advertises for their ids. Raises nothing.

    Such an address is a port that a bastion forwards, or a load balancer. One that was silent until now has a quarter
    of `node_timeout_ms`: it may be that of a node that hangs and that no other node names.
    """
    advertised = {at for seat in found if seat.role is client.role for at in seat.addresses}
    asked = dict.fromkeys(at for at in client.bootstrap if at not in advertised)
    visits = _visits(client, asked, node_timeout_ms, silent_ms=node_timeout_ms / 4)
    answering = [visit for visit in visits.values() if visit.versions is not None and visit.role is client.role]
    named = [visit for visit in answering if visit.node_id is not None]
    return NodesNamed(
        places=tuple(Place(node_id=visit.node_id, address=visit.address) for visit in named),
        unnamed=tuple(visit.address for visit in answering if visit.node_id is None),
        silent=tuple((at, visit.error) for at, visit in visits.items() if visit.error and visit.versions is None),
    )


def ask_nodes(
    client: Client,
    found: Sequence[Seat],
    *,
    cluster_id: str | None,
    node_timeout_ms: float,
    again: bool = True,
    start: NodesNamed = _NONE_NAMED,
) -> tuple[tuple[ClusterNode, ...], tuple[Finding, ...]]:
    """Return the report of each node at its first answering address, and the findings about the others.

    All are asked at once; one that hangs costs `node_timeout_ms`. `cluster_id` None: it is not compared. With `again`
    nodes that `client` has asked before are asked again for their ranges, on new connections. `start` are nodes at
    addresses that none advertises: they show if the silence of advertised addresses is evidence. Raises nothing.
    """
    expected: dict[Address, int | None] = {}
    for seat in found:
        for address in seat.addresses:
            expected.setdefault(address, seat.id)
    roles = {address: seat.role for seat in reversed(found) for address in seat.addresses}
    visits = _visits(client, expected, node_timeout_ms, roles=roles, again=again)
    stuck = [at for at, visit in visits.items() if visit.error is not None and visit.error.id == "connection-timed-out"]
    unasked = [at for at in stuck if visits[at].versions is None]
    taken = _takes_connections(client, unasked, min(_CONNECT_MS, node_timeout_ms / 4))
    nodes: list[ClusterNode] = []
    findings: list[Finding] = []
    accepted = {roles[at] for at, visit in visits.items() if visit.versions is not None and visit.error is None}

    def step_of(error: KafkactlError, asked: Role) -> str:
        return login_step(error, asked=asked, named=client.role, accepted=accepted)

    for seat in found:
        node, finding = _node(seat, visits, taken, cluster_id, step_of)
        nodes.append(node)
        findings += [] if finding is None else [finding]
    why = _out_of_reach(client, found, visits, start)
    return (tuple(nodes), tuple(findings)) if why is None else _without_silence(client, nodes, findings, why)


def _out_of_reach(client: Client, found: Sequence[Seat], visits: Visits, start: NodesNamed) -> NotAsked | None:
    """Return why silence at advertised addresses is not evidence about the nodes, if a node that answers shows it.

    A node that answers only at an address of the start is alive, although its own address is silent. One that does not
    report its id may be any of the nodes, if none answers at an address of its own.
    """
    seats = [seat for seat in found if seat.role is client.role]
    reached = {place.address: place.node_id for place in start.places}
    for seat in seats:
        own = [at for at in seat.addresses if at not in reached]
        here = [at for at in seat.addresses if at in reached]
        if own and here and not any(visits[at].versions for at in own):
            return NotAsked(
                reason=f"addresses that nodes advertise are out of reach from here: {seat.role.value} {seat.id} "
                f"answers at {here[0]} and not at {own[0]}",
                step=f"Name every {seat.role.value} with {client.role.option} by an address that leads to it from "
                "here, or run the command where the advertised addresses can be reached.",
            )
    if start.unnamed and not any(visits[at].versions for seat in seats for at in seat.addresses):
        at = ", ".join(map(str, start.unnamed))
        return NotAsked(
            reason=f"its own address is out of reach from here, and the {client.role.word} that answers at {at} does "
            "not say which node it is",
            step=f"Let that node say who it is: {client.login.grant([right_of('DescribeConfigs')])}",
        )
    return None


def _without_silence(
    client: Client, nodes: Sequence[ClusterNode], findings: Sequence[Finding], why: NotAsked
) -> tuple[tuple[ClusterNode, ...], tuple[Finding, ...]]:
    """Return the nodes, with those that are silent at their own address as unknown."""
    silent = [
        node.name
        for node in nodes
        if node.role is client.role and node.answers is False and node.silence is not Silence.ELSEWHERE
    ]
    seen = [changed(node, answers=None, silence=None, not_asked=why) if node.name in silent else node for node in nodes]
    added = [warning("node-not-asked", name, f"{name} could not be asked: {why.reason}", why.step) for name in silent]
    return tuple(seen), (*findings, *added)


def _visits(
    client: Client,
    expected: Mapping[Address, int | None],
    node_timeout_ms: float,
    *,
    roles: Mapping[Address, Role] | None = None,
    again: bool = False,
    silent_ms: float | None = None,
) -> Visits:
    """Return the answer of each address; `roles` are the kinds of nodes expected there, by default the client's.

    A node that did not answer the client before has `silent_ms`, by default `node_timeout_ms` like all others.
    """
    if not expected:
        return {}
    roles = roles or {}
    limit_ms = node_timeout_ms if silent_ms is None else silent_ms
    connected = client.open_connection if again else client.kept_connection

    def ask(address: Address, deadline: Deadline) -> Visit:
        if client.is_silent(address):
            deadline = deadline.at_most(limit_ms)
        with connected(address, deadline, role=roles.get(address)) as connection:
            return visit_node(
                connection, expected_id=expected[address], identify=True, ask_quorum=False, deadline=deadline
            )

    # All judgements of levels need the releases.
    deadline = Deadline.after(node_timeout_ms, client.clock)
    found = all_at_once(list(expected), ask, deadline, meanwhile=known_releases)
    return {
        address: result
        if isinstance(result, Visit)
        else Visit(address=address, expected_id=expected[address], error=result)
        for address, result in found.items()
    }


def _takes_connections(client: Client, addresses: Sequence[Address], limit_ms: float) -> frozenset[Address]:
    """Return the addresses that accept connections: the operating system accepts them for a hanging process.

    It does not if the queue of connections that wait for the process is full; that is known after `limit_ms`.
    """

    def knock(address: Address, deadline: Deadline) -> bool:
        connect(address, deadline=deadline, setup_timeout_ms=limit_ms, wrapper=None).close()
        return True

    found = all_at_once(addresses, knock, Deadline.after(limit_ms, client.clock))
    return frozenset(address for address, taken in found.items() if taken is True)


def _node(
    seat: Seat,
    visits: Visits,
    taken: frozenset[Address],
    cluster_id: str | None,
    step_of: Callable[[KafkactlError, Role], str],
) -> tuple[ClusterNode, Finding | None]:
    """Return the node by the first of its addresses that answers as the expected node.

    `step_of` returns the next step for an error of a kind of node.
    """
    seen = [visits[address] for address in seat.addresses]
    node = ClusterNode(id=seat.id, role=seat.role, answers=None, endpoints=seat.endpoints)
    answering = [visit for visit in seen if visit.versions is not None and visit.role is seat.role]
    own = next((visit for visit in answering if _stranger(visit, seat, cluster_id) is None), None)
    if own is not None:
        return changed(node_of(own, seat.id, seat.role), endpoints=seat.endpoints), None
    if answering:
        finding = _elsewhere(node, answering[0], _stranger(answering[0], seat, cluster_id) or "")
        return changed(node, answers=False, silence=Silence.ELSEWHERE), finding
    errors = [visit.error for visit in seen if visit.error is not None and visit.versions is None]
    if errors and all(error.id in _SILENT for error in errors) and len(errors) == len(seen):
        return changed(node, answers=False, silence=_silence(seat.addresses, errors, taken)), None
    heard = [error for error in errors if error.id not in _SILENT]
    why, evidence = _not_asked(node, seat, heard, step_of(heard[0], seat.role) if heard else "")
    message = f"{node.name} could not be asked: {why.reason}"
    return changed(node, not_asked=why), warning("node-not-asked", node.name, message, why.step, **evidence)


def _stranger(visit: Visit, seat: Seat, cluster_id: str | None) -> str | None:
    """Return the name of another node that answers at the address; None for the expected node, or an unknown one."""
    if visit.view is not None and cluster_id not in (None, visit.view.cluster_id):
        return f"a node of the cluster {visit.view.cluster_id}"
    return None if visit.node_id in (None, seat.id) else f"node {visit.node_id}"


def _silence(addresses: Iterable[Address], errors: Sequence[KafkactlError], taken: frozenset[Address]) -> Silence:
    if any(address in taken for address in addresses):
        return Silence.HANGS
    return Silence.REFUSED if all(error.id == "connection-refused" for error in errors) else Silence.UNREACHED


def _elsewhere(node: ClusterNode, visit: Visit, who: str) -> Finding:
    return warning(
        "another-node-at-address",
        node.name,
        f"{who} answers at {visit.address}, the address of {node.name}: its answer says nothing of {node.name}",
        f"Compare {visit.address} with the listeners of both nodes.",
        address=str(visit.address),
        found=visit.node_id,
    )


def _not_asked(
    node: ClusterNode, seat: Seat, errors: Sequence[KafkactlError], step: str
) -> tuple[NotAsked, dict[str, Any]]:
    at = ", ".join(str(address) for address in seat.addresses)
    if not seat.addresses:
        reason, step = "no node shows its address", "Name it with --bootstrap-server or --bootstrap-controller."
    elif errors:
        reason = errors[0].message
    else:
        reason, step = f"no {node.role.value} answers at {at}", f"Compare {at} with the node's `listeners`."
    evidence = {"addresses": [str(address) for address in seat.addresses], "errors": [error.id for error in errors]}
    return NotAsked(reason=reason, step=step), evidence
