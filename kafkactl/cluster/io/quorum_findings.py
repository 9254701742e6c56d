"""Findings of an observed quorum: nodes and disks without an answer, and answers that contradict each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kafkactl.cluster.io.configured_addresses import STATIC_VOTERS
from kafkactl.cluster.io.followed_leader import forwarded_addresses, unreached_leaders
from kafkactl.cluster.io.quorum_visit import Visit, are_out_of_reach, is_stranger
from kafkactl.cluster.quorum.identity import check_disks
from kafkactl.cluster.quorum.observation import DiskSeen
from kafkactl.cluster.quorum.state import VOTERS_ELSEWHERE, Mode, QuorumState, Replica
from kafkactl.cluster.quorum.voters import address_key
from kafkactl.core.findings import CONTROLLER_NOT_ASKED, LEADER_NOT_REACHED, Finding, Severity, note, warning
from kafkactl.core.values import Role
from kafkactl.kafka.other_login import LOGIN_ERRORS, login_step
from kafkactl.protocol.schema.rights import denied_text, request_rights


def visit_findings(state: QuorumState, visits: Sequence[Visit], disks: Sequence[DiskSeen]) -> Iterator[Finding]:
    """Report nodes that were not asked, and answers that contradict each other."""
    yield from _not_asked(visits)
    yield from _denied(visits)
    yield from _strangers(state, visits)
    yield from _leader_not_reached(state, visits)
    yield from _voters_unknown(state)
    yield from _unlike_registration(state, visits)
    yield from _static_voters_differ(state, visits)
    yield from _other_disks(state, disks)
    yield from check_disks(state, [disk for disk in disks if disk.cluster_id in (None, state.cluster_id)])
    yield from _voters_elsewhere(state, visits)


def _not_asked(visits: Sequence[Visit]) -> Iterator[Finding]:
    """Report addresses that answer but could not be asked, and silent ones not known to belong to a controller."""
    if are_out_of_reach(visits):
        away = [visit for visit in visits if visit.expected_id is not None and visit.error is not None]
        yield warning(
            "controllers-out-of-reach",
            "controllers",
            f"no controller can be asked from here ({away[0].error.message if away[0].error else ''}): the answer is "
            "what a broker forwarded, and the endpoints in the voter set were not tried",
            _login_steps(away),
            addresses=[str(visit.address) for visit in away],
            errors=sorted({visit.error.id for visit in away if visit.error}),
        )
        return
    # A broker in ZooKeeper mode, in a migration, knows of no quorum: those on KRaft and the controllers were asked.
    on_zookeeper = [visit for visit in visits if visit.versions is not None and visit.versions.is_zookeeper_mode]
    failed = [visit for visit in visits if visit.error is not None and visit not in on_zookeeper]
    closed = [visit for visit in failed if visit.answers is not False]
    silent = [visit for visit in failed if visit.answers is False and visit.expected_id is None]
    for visit in closed + silent:
        assert visit.error is not None
        evidence = {"address": str(visit.address), "error": visit.error.id}
        if _waits_for_leader(visit):
            name = f"broker {visit.address if visit.id is None else visit.id}"
            yield warning(
                "broker-waits-for-leader",
                name,
                f"{name} responds, but does not describe the quorum: {visit.error.message}. A broker forwards that "
                "request to the active controller, and holds it while it cannot reach one",
                **evidence,
            )
            continue
        yield warning(
            CONTROLLER_NOT_ASKED if visit in closed else "bootstrap-node-silent",
            _name(visit),
            f"{_name(visit)} could not be asked: {visit.error.message}",
            _step(visit, visits),
            **evidence,
        )


def _step(visit: Visit, visits: Sequence[Visit]) -> str:
    """Return the next step for a node that was not asked, by what other nodes accept."""
    assert visit.error is not None
    named = Role.BROKER if any(other.role is Role.BROKER for other in visits) else Role.CONTROLLER
    accepted = {other.role for other in visits if other.role is not None and other.error is None}
    asked = Role.BROKER if visit.role is Role.BROKER else Role.CONTROLLER
    return login_step(visit.error, asked=asked, named=named, accepted=accepted)


def _login_steps(visits: Sequence[Visit]) -> str:
    """Return the next step if the controllers refuse the brokers' login; else none but the remedy of the id."""
    refused = [visit.error for visit in visits if visit.error is not None and visit.error.id in LOGIN_ERRORS]
    return login_step(refused[0], asked=Role.CONTROLLER, named=Role.BROKER) if refused else ""


def _waits_for_leader(visit: Visit) -> bool:
    """Return True for a broker that accepted the request without an answer: without a leader it answers others."""
    return visit.role is Role.BROKER and visit.error is not None and visit.error.id == "connection-timed-out"


def _denied(visits: Sequence[Visit]) -> Iterator[Finding]:
    for request, needed in request_rights().items():
        refusing = [visit for visit in visits if request in visit.denied]
        if refusing:
            where = [str(visit.address) for visit in refusing]
            step = _other_principal(refusing, visits) or refusing[0].login.grant([needed.right])
            yield note(
                "question-denied",
                request,
                f"{denied_text(request, ', '.join(where), refusing[0].login)}, so {needed.unknown} is unknown there",
                f"If that is wanted: {step}",
                request=request,
                addresses=where,
                operation=needed.right.operation,
            )


def _other_principal(refusing: Sequence[Visit], visits: Sequence[Visit]) -> str:
    """Return the next step if nodes refuse who others of their kind let in; else none.

    ACLs are the same on all nodes. What a node makes of a login, and who may do everything there, are in its file.
    """
    question = "DescribeQuorum"
    roles_that_allow = {visit.role for visit in visits if visit.error is None and question not in visit.denied}
    if not all(question in visit.denied and visit.role in roles_that_allow for visit in refusing):
        return ""
    return (
        "compare `super.users`, `ssl.principal.mapping.rules` and `sasl.kerberos.principal.to.local.rules` in the files"
        " of these nodes with those of the nodes that let the same login in; ACLs are the same on all nodes."
    )


def _strangers(state: QuorumState, visits: Sequence[Visit]) -> Iterator[Finding]:
    """Report addresses of another cluster whose node has the id of a node of this one."""
    for visit in visits:
        node = None if visit.id is None else state.nodes.get(visit.id)
        if visit.view is None or not is_stranger(visit, state.cluster_id):
            continue
        if node is None or node.cluster_id != visit.view.cluster_id:
            yield warning(
                "node-of-another-cluster",
                str(visit.address),
                f"{visit.address} answers as a node of cluster {visit.view.cluster_id}, not of "
                f"{state.cluster_id}: left out",
                "Name the addresses of one cluster only.",
                cluster_id=visit.view.cluster_id,
            )


def _leader_not_reached(state: QuorumState, visits: Sequence[Visit]) -> Iterator[Finding]:
    """Report a followed controller that could not be asked: such a controller may lead although it is unreachable from
    here."""
    if state.has_leader:
        return
    for leader_id, follower in unreached_leaders(visits).items():
        leader, at = f"controller {leader_id}", [visit for visit in visits if visit.id == leader_id]
        closed = next((visit for visit in at if visit.error is not None and visit.answers is None), None)
        where = sorted(str(visit.address) for visit in at)
        places = f" ({', '.join(where)})" if where else ""
        what = (
            f"could not be asked: {closed.error.message}"
            if closed is not None and closed.error is not None
            else f"could not be reached from here: {_what_follows(follower, visits)}"
        )
        yield warning(
            LEADER_NOT_REACHED,
            leader,
            f"{_name(follower)} follows {leader} in epoch {follower.leader_epoch}, and {leader}{places} {what}",
            "" if closed is None else _step(closed, visits),
            leader_epoch=follower.leader_epoch,
            addresses=where,
        )


def _what_follows(follower: Visit, visits: Sequence[Visit]) -> str:
    """Return the conclusion about a followed controller that does not answer."""
    if follower.still_follows:
        return f"it leads out of reach, since {_name(follower)} was observed to fetch from it"
    if forwarded := forwarded_addresses(visits):
        return (
            "it may lead out of reach, since nodes that run do not answer at their own addresses from here either "
            f"({', '.join(forwarded)})"
        )
    return "it may have ended, or may lead out of reach"


def _voters_unknown(state: QuorumState) -> Iterator[Finding]:
    if not state.voters and not state.has_leader:
        yield warning(
            "voters-not-known",
            "quorum",
            "no leader answered, and the voters are only in the metadata log, which a controller that does not lead "
            "does not return",
        )


def _unlike_registration(state: QuorumState, visits: Sequence[Visit]) -> Iterator[Finding]:
    """Report voters whose endpoint differs from what DescribeCluster gives for the listener that was asked.

    Which listener that is follows from a voter whose endpoint is one of these addresses. If the log was read
    (`state.registrations`), it has the addresses of all listeners, and the guards compare them instead.
    """
    view = next((visit.view for visit in visits if visit.answer and visit.view and visit.role is Role.CONTROLLER), None)
    if view is None or state.registrations is not None:
        return
    registered = {node.id: node.address for node in view.nodes}
    places = {id: address_key(address.host, address.port) for id, address in registered.items()}
    listeners = {
        endpoint.listener
        for voter in state.voters
        for endpoint in voter.endpoints
        if places.get(voter.id) == address_key(endpoint.host, endpoint.port)
    }
    for voter in state.voters:
        for endpoint in voter.endpoints:
            address = registered.get(voter.id)
            is_same = places.get(voter.id) == address_key(endpoint.host, endpoint.port)
            if address is None or is_same or endpoint.listener not in listeners:
                continue
            yield warning(
                "voter-endpoint-not-registered",
                f"controller {voter.id}",
                f"the voter set has {endpoint}, controller {voter.id} registered {address}",
                voter_set=str(endpoint),
                registration=[str(address)],
            )


def _voters_elsewhere(state: QuorumState, visits: Sequence[Visit]) -> Iterator[Finding]:
    """Report voters that answer at other addresses than those in the voter set: such voters do not find each other.

    With a leader the endpoints are compared one by one (`guard_candidate`).
    """
    if state.has_leader or state.majority is None:
        return
    at = {voter.id: _answers_elsewhere(voter, visits) for voter in state.voters}
    moved = {id: addresses for id, addresses in at.items() if addresses}
    if not moved:
        return
    alive = {voter.id for voter in state.voters if voter.alive}
    is_cause = len(alive - set(moved)) < state.majority <= len(alive | set(moved))
    named = "; ".join(
        f"{voter.id} is at {', '.join(map(str, voter.endpoints))} there and answers at {', '.join(moved[voter.id])}"
        for voter in state.voters
        if voter.id in moved
    )
    why = ": they ask the old addresses, and elect no leader" if is_cause else ""
    yield Finding(
        id=VOTERS_ELSEWHERE,
        severity=Severity.BLOCKER if is_cause else Severity.WARNING,
        subject="quorum",
        message=f"voters answer at other addresses than the voter set has, which do not answer from here{why}. {named}",
        evidence={"addresses": {str(id): addresses for id, addresses in moved.items()}, "is_cause": is_cause},
    )


def _answers_elsewhere(voter: Replica, visits: Sequence[Visit]) -> list[str]:
    """Return the addresses at which a voter answers.

    None if an endpoint of it was not tried, or answers as the voter.
    """
    endpoints = {address_key(endpoint.host, endpoint.port) for endpoint in voter.endpoints}
    tried = [visit for visit in visits if address_key(visit.address.host, visit.address.port) in endpoints]
    is_there = any(visit.answers is not False and visit.node_id in (None, voter.id) for visit in tried)
    if not tried or is_there:
        return []
    return [str(visit.address) for visit in visits if visit.answers and visit.node_id == voter.id]


def _static_voters_differ(state: QuorumState, visits: Sequence[Visit]) -> Iterator[Finding]:
    if state.mode is not Mode.STATIC:
        return
    configured = {
        visit.id: _ids(visit) for visit in visits if visit.role is Role.CONTROLLER and visit.settings.get(STATIC_VOTERS)
    }
    if len(set(configured.values())) > 1:
        yield warning(
            "configured-voters-differ",
            "quorum",
            "controllers are configured with different voters: "
            + "; ".join(f"controller {id} has {', '.join(map(str, ids))}" for id, ids in configured.items()),
            voters={str(id): list(ids) for id, ids in configured.items()},
        )


def _ids(visit: Visit) -> tuple[str, ...]:
    entries = visit.settings[STATIC_VOTERS].split(",")
    return tuple(sorted(entry.strip().partition("@")[0] for entry in entries))


def _other_disks(state: QuorumState, disks: Sequence[DiskSeen]) -> Iterator[Finding]:
    for disk in disks:
        if disk.cluster_id not in (None, state.cluster_id):
            yield warning(
                "disk-of-another-cluster",
                disk.path,
                f"{disk.path} belongs to cluster {disk.cluster_id}, this answer is about {state.cluster_id}: left out",
                cluster_id=disk.cluster_id,
            )


def _name(visit: Visit) -> str:
    return str(visit.address) if visit.id is None else f"controller {visit.id}"
