"""Skip a stretch of time in which a quorum only waits: no event for event, and with the same result.

A quorum is calm when one node leads, every other running node follows it, all logs end alike and are committed, and
nothing is on its way but the fetches that wait at the leader. Then each follower goes round in a circle that no other
touches: its fetch waits for the maximum, is answered, and comes again. One round takes the wait and the way there and
back. The leader's own duties have fixed periods, too. So where everything stands after any time is a sum, as long as
each message of a link takes equally long; `tests/raft/test_calm.py` compares it with stepping.

A world asks `calm_quorum` when no message is in its queue, and `Calm.skip` for a time before its next fault.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from kafkactl.raft.connections import AWAITING_RESPONSE
from kafkactl.raft.effects import State
from kafkactl.raft.following import update_high_watermark
from kafkactl.raft.leader_state import Leader, ParkedFetch, Replica
from kafkactl.raft.node import Node
from kafkactl.raft.profiles import US_PER_MS, BeginPacing

Way = Callable[[int], tuple[int, int]]
Ahead = Callable[[int], int]
ATTEMPTS: Final = 100  # to find a moment with nothing on its way; each goes back by at least a microsecond


def calm_quorum(nodes: Iterable[Node]) -> Calm | None:
    """The quorum that these running nodes are, if it is calm; None if anything could happen but waiting.

    All nodes that run, and every voter must be among them. The caller answers for what a node cannot know: that no
    message is on its way, no disk is at work, nothing is lost or delayed, and no clock drifts.
    """
    running = list(nodes)
    leaders = [node for node in running if node.state is State.LEADER]
    if len(leaders) != 1 or len(running) == 1 or not _leader_only_waits(leaders[0], len(running)):
        return None
    leader = leaders[0]
    if not leader.voters.by_id.keys() <= {node.id for node in running}:
        return None
    circles = []
    for node in running:
        if node is leader:
            continue
        parked = [fetch for fetch in leader.parked if fetch.request.source == node.id]
        if len(parked) != 1 or not _follower_only_waits(node, leader) or not _is_level(leader, parked[0]):
            return None
        circles.append((node, parked[0]))
    return Calm(leader, circles)


def _leader_only_waits(node: Node, running: int) -> bool:
    leader = node.leader
    assert leader is not None
    all_acknowledged = all(replica.acknowledged for replica in leader.replicas.values())
    return (
        not leader.waiting
        and leader.pending is None
        and not leader.resign_requested
        and node.shutdown_deadline < 0
        and node.is_voter
        and all_acknowledged
        and node.high_watermark == node.log.end
        and not node.connections.in_flight
        and len(node.parked) == running - 1
    )


def _follower_only_waits(node: Node, leader: Node) -> bool:
    connection = node.connections.by_peer.get(node.leader_id)
    return (
        node.state is State.FOLLOWER
        and node.leader_id == leader.id
        and node.epoch == leader.epoch
        and node.log.end == leader.log.end
        and node.log.last_epoch == leader.log.last_epoch
        and node.high_watermark <= leader.high_watermark
        and node.fetching is None
        and node.has_fetched
        and node.shutdown_deadline < 0
        and not node.bootstrap_asked
        and connection is not None
        and connection.state == AWAITING_RESPONSE
        and len(node.connections.in_flight) == 1
        and _asks_for_nothing(node)
    )


def _is_level(leader: Node, parked: ParkedFetch) -> bool:
    """Whether the leader knows that this follower has the whole log; a delayed fetch may have reported less.

    And whether the answer to the fetch, which was made when it began to wait, has the leader's high watermark.
    """
    assert leader.leader is not None
    replica, _is_voter = _replica_of(leader.leader, parked)
    has_all = parked.offset == replica.end == replica.leader_end_at_fetch == leader.log.end
    return has_all and parked.response.high_watermark == leader.high_watermark


def _asks_for_nothing(node: Node) -> bool:
    """Whether the node has no update of its voter's entry, and no request to join, in mind."""
    if not node.is_voter:
        return not (node.auto_join and node.profile.auto_join)
    if node.log.kraft_version:
        return not node.voters.needs_update(node.own_voter)
    return node.has_updated or not node.profile.static_voters_update


class Calm:
    """A quorum that only waits. Made by `calm_quorum`, and good for one `skip`."""

    __slots__ = ("_circles", "_leader")

    def __init__(self, leader: Node, circles: list[tuple[Node, ParkedFetch]]) -> None:
        self._leader = leader
        self._circles = circles

    def skip(self, now: int, until: int, way: Way, ahead: Ahead = lambda _node_id: 0) -> int:
        """Bring all nodes as near to `until` as they are calm again, and return that time; `now` if it is not worth it.

        Times are the leader's. `way` gives for a follower's id how many microseconds a message takes from it to the
        leader, and from the leader to it; `ahead` by how many its clock is before the leader's. Afterwards the nodes
        are as if every event up to the returned time had been handed to them, and all their fetches wait at the
        leader. Each `wake_at` is new, so wake-ups that a world had noted are void; correlation ids are those of
        before, so requests stay known.
        """
        rounds = [
            _Round(fetch.deadline - fetch.request.max_wait_ms * US_PER_MS, fetch, *way(node.id))
            for node, fetch in self._circles
        ]
        us = self._leader.us
        if max(turn.period for turn in rounds) >= min(us.begin_epoch, us.fetch_timeout):
            return now  # followers so far away that the timers of others interfere
        landing = self._landing(until, rounds)
        if landing <= now or not all(turn.count(landing) for turn in rounds):
            return now
        check = self._check_deadline(landing, rounds)
        if check is None:
            return now
        for (node, _fetch), turn in zip(self._circles, rounds, strict=True):
            _move_follower(node, turn.count(landing), turn.period, landing + ahead(node.id))
            update_high_watermark(node, self._leader.high_watermark)
        self._move_leader(landing, rounds, *check)
        return landing

    def _landing(self, until: int, rounds: list[_Round]) -> int:
        """The last moment up to `until` at which every fetch waits and no BeginQuorumEpoch is on its way; or -1."""
        leader = self._leader.leader
        assert leader is not None
        announces = self._leader.profile.begin_pacing is BeginPacing.EVERY_VOTER
        longest = max((turn.way for turn in rounds), default=0)
        moment = until
        for _ in range(ATTEMPTS):
            before = moment
            for turn in rounds:
                moment -= turn.too_late(moment)
            if announces and moment >= leader.begin_deadline:
                since = (moment - leader.begin_deadline) % self._leader.us.begin_epoch
                if since <= longest:
                    moment -= since + 1
            if moment == before:
                return moment
        return -1

    def _check_deadline(self, landing: int, rounds: list[_Round]) -> tuple[int, set[int]] | None:
        """Check-quorum after all fetches of voters up to the landing; None if their order cannot be known."""
        leader = self._leader.leader
        assert leader is not None
        needed = len(leader.replicas) // 2
        voters = [turn for turn in rounds if _replica_of(leader, turn.fetch)[1]]
        if not voters:  # a sole voter is not checked; any other leader without a voter that fetches resigns
            return None if needed else (leader.check_deadline, set(leader.fetched_voters))
        if needed <= 1:
            last = max(turn.arrived + turn.count(landing) * turn.period for turn in voters)
            return last + self._leader.us.check_quorum, set()
        fetches = sorted(
            (turn.arrived + number * turn.period, -turn.to_leader, place, turn.fetch.request.replica_id)
            for place, turn in enumerate(voters)
            for number in range(1, turn.count(landing) + 1)
        )
        deadline, fetched = leader.check_deadline, set(leader.fetched_voters)
        before: tuple[int, int] | None = None
        for at, sent, _place, node_id in fetches:
            if before == (at, sent):
                return None
            before = (at, sent)
            fetched.add(node_id)
            if len(fetched) >= needed:
                fetched.clear()
                deadline = at + self._leader.us.check_quorum
        return deadline, fetched

    def _move_leader(self, landing: int, rounds: list[_Round], check_deadline: int, fetched: set[int]) -> None:
        node = self._leader
        leader = node.leader
        assert leader is not None
        leader.check_deadline, leader.fetched_voters = check_deadline, fetched
        for turn in rounds:
            replica, _is_voter = _replica_of(leader, turn.fetch)
            shift = turn.count(landing) * turn.period
            turn.fetch.deadline += shift
            replica.last_fetch = replica.last_caught_up = turn.arrived + shift
        sent = {turn.fetch: -turn.to_leader for turn in rounds}
        node.parked.sort(key=lambda fetch: (fetch.deadline, sent[fetch]))
        node.wake_at = min(node.parked[0].deadline, leader.check_deadline)
        if node.profile.begin_pacing is not BeginPacing.UNACKNOWLEDGED:
            leader.begin_deadline = _next(leader.begin_deadline, node.us.begin_epoch, landing)
            node.wake_at = min(node.wake_at, leader.begin_deadline)


class _Round:
    """The circle of one follower: when its fetch arrived at the leader, and how long a round takes."""

    __slots__ = ("arrived", "fetch", "period", "to_leader", "way")

    def __init__(self, arrived: int, fetch: ParkedFetch, to_leader: int, from_leader: int) -> None:
        self.arrived = arrived
        self.fetch = fetch
        self.to_leader = to_leader
        self.way = to_leader + from_leader
        self.period = fetch.deadline - arrived + self.way

    def count(self, moment: int) -> int:
        """How many times the fetch came again up to a moment."""
        return (moment - self.arrived) // self.period

    def too_late(self, moment: int) -> int:
        """By how much the moment must be earlier for the fetch to wait then; 0 if it does."""
        since = (moment - self.arrived) % self.period
        waits = self.period - self.way
        if since == 0:
            return self.way + 1
        return since - waits + 1 if since >= waits else 0


def _replica_of(leader: Leader, fetch: ParkedFetch) -> tuple[Replica, bool]:
    return leader.replica(fetch.request.replica_id, fetch.request.replica_directory_id)


def _next(deadline: int, period: int, moment: int) -> int:
    """The first of deadline, deadline + period, … behind a moment."""
    return deadline if deadline > moment else deadline + ((moment - deadline) // period + 1) * period


def _move_follower(node: Node, rounds: int, period: int, landing: int) -> None:
    """A follower, by its own clock: its last response came `rounds` periods later."""
    connection = node.connections.by_peer[node.leader_id]
    first, shift = connection.last_send, rounds * period
    connection.last_send += shift
    node.fetch_deadline += shift
    node.wake_at = min(node.fetch_deadline, connection.last_send + node.connections.request_timeout)
    if not node.is_voter or not node.profile.update_periods:
        return
    if node.profile.pre_vote:
        node.update_deadline = _reset_at_responses(node.update_deadline, first, rounds, period, node.us.update_period)
    else:
        node.update_deadline = _next(node.update_deadline, node.us.update_period, landing)
        node.wake_at = min(node.wake_at, node.update_deadline)


def _reset_at_responses(deadline: int, first: int, rounds: int, period: int, length: int) -> int:
    """4.x looks at the update period only when a response came: at the first one at or behind the deadline."""
    done = 0
    while True:
        due = max(done + 1, -(-(deadline - first) // period))
        if due > rounds:
            return deadline
        done = due
        deadline = first + due * period + length
