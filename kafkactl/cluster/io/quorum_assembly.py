"""State of the quorum from visits to its nodes, disks and registrations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kafkactl.cluster.io.configured_addresses import static_voters
from kafkactl.cluster.io.followed_leader import fetch_timeout_ms, may_lead_elsewhere, telling_visits
from kafkactl.cluster.io.quorum_findings import visit_findings
from kafkactl.cluster.io.quorum_visit import Visit, is_stranger, nodes_of
from kafkactl.cluster.quorum.observation import DiskSeen, quorum_state
from kafkactl.cluster.quorum.state import ALIVE_WITHIN_MS, Probe, QuorumState, Replica
from kafkactl.cluster.registrations import Registrations
from kafkactl.core.frozen import changed
from kafkactl.core.values import Endpoint
from kafkactl.net.transport import Address


def assembled(
    visits: Sequence[Visit],
    *,
    disks: Sequence[DiskSeen] = (),
    registrations: Registrations | None = None,
    cluster_id: str | None = None,
) -> QuorumState:
    """Return the state of these visits, disks and registrations. `cluster_id` None: the cluster named first."""
    cluster_id = cluster_id or _cluster_id(visits, disks)
    same = [visit for visit in visits if not is_stranger(visit, cluster_id)]
    telling = telling_visits(visits)
    state = quorum_state(
        cluster_id=cluster_id,
        answers=[visit.answer for visit in same if visit.answer is not None],
        nodes=tuple(nodes_of(telling, cluster_id)),
        disks=[disk for disk in disks if disk.cluster_id in (None, cluster_id)],
        registrations=registrations,
        heard={str(visit.address): visit.versions for visit in same if visit.versions is not None},
        configured=_voters_configured(visits),
        alive_within_ms=_alive_within_ms(visits),
    )
    probes = tuple(_probes(telling, state.voters))
    state = changed(state, probes=probes, leader_out_of_reach=may_lead_elsewhere(state, visits))
    return changed(state, findings=state.findings + tuple(visit_findings(state, visits, disks)))


def _cluster_id(visits: Sequence[Visit], disks: Sequence[DiskSeen]) -> str | None:
    reported = [visit.view.cluster_id for visit in visits if visit.view is not None]
    reported += [disk.cluster_id for disk in disks if disk.cluster_id is not None]
    return reported[0] if reported else None


def _probes(visits: Sequence[Visit], voters: Sequence[Replica]) -> Iterator[Probe]:
    """Yield the result at each endpoint in the voter set; an endpoint that refused the login proves nothing."""
    by_address = {visit.address: visit for visit in visits}
    for endpoint in (endpoint for voter in voters for endpoint in voter.endpoints):
        asked = by_address.get(Address(endpoint.host, endpoint.port))
        if asked is not None and asked.answers is not None:
            yield Probe(
                endpoint=endpoint,
                answers=asked.answers,
                role=asked.role,
                cluster_id=None if asked.view is None else asked.view.cluster_id,
                node_id=asked.node_id,
            )


def _alive_within_ms(visits: Sequence[Visit]) -> int:
    """Return twice the leader's fetch timeout if its configuration was read, but at least `ALIVE_WITHIN_MS`."""
    for visit in visits:
        leads = visit.answer is not None and visit.node_id == visit.answer.leader_id
        if leads and (timeout_ms := fetch_timeout_ms(visit)) is not None:
            return max(ALIVE_WITHIN_MS, 2 * timeout_ms)
    return ALIVE_WITHIN_MS


def _voters_configured(visits: Sequence[Visit]) -> Mapping[int, tuple[Endpoint, ...]]:
    """Return the static voters of the first node that has some, with endpoints without a listener name."""
    for visit in visits:
        places = static_voters(visit.settings)
        found = {id: (Endpoint(listener="", host=at.host, port=at.port),) for at, id in places}
        if found:
            return found
    return {}
