"""Evidence about a leader that controllers follow and that cannot be asked from here: it leads, may lead, or has ended.

A follower names its leader, and nothing else that it answers moves with the log (measured on 3.9.2 and 4.3.1: the epoch
of the finalized levels, the log start and the high watermark of its Fetch stay). Two observations decide nevertheless:

- Before Kafka 4.0, a voter that has not fetched for `controller.quorum.fetch.timeout.ms` becomes a candidate, and then
  names no leader. One that names the same leader in the same epoch after that time has fetched from it meanwhile. Only
  in a static quorum is it known who votes. From 4.0 on (KIP-996) a voter keeps the leader that it lost until it hears
  of an election; observers always do.
- A node that runs, and does not answer at the address under which the cluster knows it, shows that these addresses do
  not lead to nodes from here: a forwarded port. The silence of others at such addresses proves nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from kafkactl.cluster.io.configured_addresses import static_voters
from kafkactl.cluster.io.quorum_visit import FETCH_TIMEOUT, Visit, are_out_of_reach
from kafkactl.cluster.quorum.state import QuorumState
from kafkactl.core.frozen import changed
from kafkactl.core.kafka_names import KRAFT_VERSION, NO_LEADER
from kafkactl.core.values import Role
from kafkactl.protocol.schema.definitions import message

MOST_WAIT_MS: Final = 3_000
_SLACK_MS: Final = 300  # a follower notices the end of its time when it polls
_PRE_VOTE: Final = 2  # the version of Vote from which on a voter asks before it becomes a candidate


def keeps_lost_leader(visit: Visit) -> bool:
    """Return True if this node may follow a leader long after its last fetch."""
    assert visit.versions is not None
    votes = visit.versions.requests.get(message("VoteRequest").api_key or 0)
    if votes is None or votes.highest >= _PRE_VOTE or visit.versions.finalized.get(KRAFT_VERSION, 0):
        return True
    return visit.id not in {node_id for _, node_id in static_voters(visit.settings)}


def unreached_leaders(visits: Sequence[Visit]) -> dict[int, Visit]:
    """Return the followed controllers that did not answer, each with the last of its followers."""
    reached = {visit.id for visit in visits if visit.answers}
    followers = {visit.leader_id: visit for visit in visits if visit.leader_id is not None and visit.leader_id >= 0}
    return {leader_id: visit for leader_id, visit in sorted(followers.items()) if leader_id not in reached}


def wait_ms(visits: Sequence[Visit]) -> int | None:
    """Return the time after which followers show if they still fetch; None if no such follower was visited, or if that
    takes longer than `MOST_WAIT_MS`."""
    times = [fetch_timeout_ms(visit) for visit in unreached_leaders(visits).values() if not keeps_lost_leader(visit)]
    known = [time for time in times if time is not None and time <= MOST_WAIT_MS]
    return max(known) + _SLACK_MS if known else None


def names_newer_leader(before: Sequence[Visit], later: Sequence[Visit]) -> bool:
    """Return True if a controller follows a leader that was elected after it was asked before."""
    return any(
        now.leader_id not in (None, NO_LEADER)
        and (now.leader_id, now.leader_epoch) != (visit.leader_id, visit.leader_epoch)
        for visit, now in zip(before, later, strict=True)
    )


def confirmed(before: Visit, later: Visit) -> Visit:
    """Return a visit with what the node said `wait_ms` later of its leader, and if it fetched from it meanwhile."""
    if later.leader_id is None:
        return before
    is_same = (before.leader_id, before.leader_epoch) == (later.leader_id, later.leader_epoch)
    fetches = is_same and fetch_timeout_ms(before) is not None and not keeps_lost_leader(before)
    return changed(later, still_follows=fetches and later.leader_id != NO_LEADER)


def is_blind(visits: Sequence[Visit]) -> bool:
    """Return True if the silence of addresses says nothing of the nodes there: nodes that run are not reached either.

    With an answer of the leader it is False: the leader shows who follows.
    """
    if any(visit.answer for visit in visits):
        return False
    return any(visit.still_follows for visit in visits) or bool(forwarded_addresses(visits))


def telling_visits(visits: Sequence[Visit]) -> Sequence[Visit]:
    """Return the visits without those whose silence says nothing of the node or of its endpoint."""
    if are_out_of_reach(visits):
        return [visit for visit in visits if visit.versions]
    return [visit for visit in visits if visit.answers is not False] if is_blind(visits) else visits


def may_lead_elsewhere(state: QuorumState, visits: Sequence[Visit]) -> bool:
    """Return True if no leader answered, and a controller that was not asked leads, or nothing speaks against it.

    That is one that others follow; if none names a leader, one that runs and does not let this user in.
    """
    if state.has_leader:
        return False
    unreached = unreached_leaders(visits)
    if unreached:
        return not any(node.answers is False for id, node in state.nodes.items() if id in unreached)
    leaderless = {visit.id for visit in visits if visit.leader_id == NO_LEADER}
    is_proven = state.majority is not None and len(leaderless & {voter.id for voter in state.voters}) >= state.majority
    return not is_proven and any(visit.answers is None and visit.error is not None for visit in visits)


def forwarded_addresses(visits: Sequence[Visit]) -> list[str]:
    """Return the addresses of controllers that run and do not answer there, while they answer elsewhere.

    A controller that does not name itself is one of those that are silent, if none answers where it is expected.
    """
    expected = {visit.expected_id for visit in visits if visit.expected_id is not None and visit.versions}
    elsewhere = {visit.node_id for visit in visits if visit.versions and visit.node_id is not None} - expected
    silent = [visit for visit in visits if visit.expected_id is not None and visit.answers is False]
    found = [str(visit.address) for visit in silent if visit.expected_id in elsewhere]
    if not expected and any(visit.role is Role.CONTROLLER and visit.id is None for visit in visits):
        return [str(visit.address) for visit in silent]
    return found


def fetch_timeout_ms(visit: Visit) -> int | None:
    """Return the fetch timeout in the configuration of a controller; None if it was not read."""
    text = visit.settings.get(FETCH_TIMEOUT, "")
    return int(text) if re.fullmatch("[0-9]{1,9}", text) else None
