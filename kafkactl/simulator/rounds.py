"""Pass over a stretch in which nodes only ask in vain, with the same result as event for event.

Nodes without a leader ask, are refused, and ask again: two events a round and no other change, most events of a run.
Up to the next event of any other kind these rounds are run in a loop of their own, which keeps no more than when an
answer comes and whom the node asks next. The random numbers are those of the events.

The order of two events of one moment is the order in which they were sent: an entry of the loop is the time of an
answer, the time at which it was sent, and the entry in whose place it came, so that comparing entries goes back as far
as it must. `raft/vain.py` says which rounds change nothing.
"""

from __future__ import annotations

from heapq import heapify, heappop, heapreplace
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

from kafkactl.raft import errors, vain
from kafkactl.raft.connections import NEVER
from kafkactl.raft.effects import State
from kafkactl.raft.messages import Disconnected, FetchRequest, FetchResponse, VoteRequest, VoteResponse
from kafkactl.raft.node import Node
from kafkactl.raft.vain import LEADER
from kafkactl.simulator.knocks import Knock, knocks_of
from kafkactl.simulator.machine import DELIVER, LOOPBACK_US, REFUSED_US, WAKE, Machine
from kafkactl.simulator.plain_rounds import history, passed_over
from kafkactl.values import Endpoint

if TYPE_CHECKING:
    from kafkactl.simulator.world import World

FIRST_PATIENCE: Final = 3
LAST_PATIENCE: Final = 32
WORTH_US: Final = 8_000  # a shorter stretch is stepped through
_ANSWERS: Final = (FetchResponse, VoteResponse)
_Way = tuple[int, int, bool, Machine]  # microseconds there and back, whether the connection is refused, who is asked


class _Loop:
    """One connection of a node that asks in vain: whom it may ask, and the request that is under way.

    `ways` are those to the bootstrap servers and, last, to the leader; None where more would happen than a refusal.
    """

    __slots__ = ("asks_leader", "asks_votes", "before", "correlation", "count", "failed", "is_plain", "machine",
                 "node", "peers", "place", "sent", "sequence", "steps", "until", "ways")  # fmt: skip

    def __init__(self, machine: Machine, node: Node, sequence: int, correlation: int) -> None:
        self.machine = machine
        self.node = node
        self.sequence = sequence  # of the message in the queue with which the loop begins
        self.before = self.correlation = correlation
        self.place = self.sent = 0
        self.peers: list[int] = []
        self.ways: list[_Way | None] = []
        self.until: list[int] = []  # when the pause after a failure is over
        self.count = 0  # of bootstrap servers
        self.is_plain = False  # it asks bootstrap servers only, and all of them refuse
        self.steps: list[tuple[int, int]] = []  # then: microseconds there, and there and back
        self.failed: dict[int, int] = {}
        self.asks_leader = False
        self.asks_votes = False  # of a candidate, which asks the same voter again

    def settle(self) -> None:
        """All that it may ask is known."""
        self.count = len(self.ways) - 1
        plain = [way for way in self.ways[:LEADER] if way is not None and not way[2]]
        self.is_plain = len(plain) == self.count > 0 and not self.asks_leader and not any(self.until[:LEADER])
        if self.is_plain:
            self.steps = [(way[0], way[0] + way[1]) for way in plain]


class Rounds:
    """When it is tried: when a run begins, behind some refusals, and behind twice as many after each time in vain."""

    __slots__ = ("patience", "refused")

    def __init__(self) -> None:
        self.refused = self.patience = 0

    def skip(self, world: World, until: int) -> bool:
        """Bring the world as near to `until` as nodes only ask in vain; whether that was any nearer."""
        self.refused, skipped = 0, skip_rounds(world, until)
        self.patience = FIRST_PATIENCE if skipped else min(max(2 * self.patience, FIRST_PATIENCE), LAST_PATIENCE)
        return skipped


def skip_rounds(world: World, until: int) -> bool:
    """The same, now."""
    if not world.network.is_steady or _has_news(world):
        return False
    active = {machine.id for machine in world.machines.values() if _is_active(machine)}
    knocks = [
        knock
        for machine in world.machines.values()
        if machine.process is not None and machine.id not in active
        for knock in knocks_of(world, machine, _node(machine))
    ]
    limit = _limit(world, until, knocks, active)
    if limit - world.now < WORTH_US:
        return False
    found = _Found(world, limit, knocks, active)
    if not found.heap or found.limit - world.now < WORTH_US:
        return False
    return _run(world, found)


def _has_news(world: World) -> bool:
    """Whether a vote that is granted, or what a leader answers, arrives before a stretch is worth it."""
    soon = world.now + WORTH_US
    for at, _sequence, _kind, _machine, message, _life in world.queue:
        if type(message) in _ANSWERS and not message.error_code and at < soon:
            return True
    return False


def _is_active(machine: Machine) -> bool:
    """Whether a process may do more than refuse when it is asked: it is left alone until something reaches it."""
    if machine.process is None:
        return False
    return machine.busy or machine.is_paused or not vain.is_still(_node(machine))


def _limit(world: World, until: int, knocks: list[Knock], active: set[int]) -> int:
    """The last moment up to which no still node does anything of its own; others have their wake-ups in the queue."""
    limit = until
    for machine in world.machines.values():
        if machine.process is None or machine.id in active:
            continue
        node = _node(machine)
        refused = [knock.voter_id for knock in knocks if knock.machine is machine] if knocks else ()
        still_until = vain.votes_until(node, refused) if refused else vain.still_until(node)
        limit = min(limit, machine.world_time(still_until) - 1)
    return limit


def _node(machine: Machine) -> Node:
    """The process: a world whose nodes are of another kind skips nothing."""
    process: Any = machine.process  # `typing.cast` would be a call
    node: Node = process
    return node


class _Found:
    """The loops that are under way in a world's queue, and the last moment before anything else happens.

    Where that moment is too near, not all of them are found. Who asks an `active` node leaves its loop. `wakes` are the
    wake-ups of those that knock: they are set again.
    """

    def __init__(self, world: World, limit: int, knocks: list[Knock], active: set[int]) -> None:
        self.world = world
        self.limit = limit
        self.active = active
        self.loops: list[_Loop] = []
        self.knocks = knocks
        self.knocking = {knock.machine.id: knock.machine for knock in knocks}
        self.wakes: list[int] = []
        self.heap: list[Any] = []
        self._known: set[tuple[int, int]] = set()
        for entry in world.queue:
            if not self._take(entry):
                self.limit = min(self.limit, entry[0] - 1)
                if self.limit - world.now < WORTH_US:
                    return
        for place, knock in enumerate(knocks):
            if not knock.is_found:  # its question is lost
                self.limit = min(self.limit, knock.waits_until())
            else:
                self.heap.append((knock.next_at(), knock.fails, (-1, -1 - place), knock, 0, knock.correlation))

    def _take(self, entry: tuple[int, int, int, Machine, Any, int]) -> bool:
        at, sequence, event, target, message, life = entry
        if event == WAKE:
            return self._take_wake(at, sequence, target, life)
        kind = type(message)
        if kind is FetchRequest or kind is VoteRequest:
            machine = self.world.machines.get(message.source)
        elif kind in (FetchResponse, VoteResponse, Disconnected):
            machine = target
        else:
            return False
        if machine is None or machine.process is None or machine.life != life or machine.id in self.active:
            return False
        node: Any = machine.process
        connection = node.connections.awaited(message.correlation_id)
        key = machine.id, message.correlation_id
        if connection is None or key in self._known or message.correlation_id == node.update_correlation_id:
            return False
        self._known.add(key)
        for knock in self.knocks:
            if knock.machine is machine and knock.correlation == message.correlation_id:
                knock.begin(sequence, at, kind is VoteRequest)
                return True
        return self._take_loop(entry, _Loop(machine, node, sequence, message.correlation_id), connection.peer)

    def _take_wake(self, at: int, sequence: int, target: Machine, life: int) -> bool:
        if target.life != life or target.process is None or target.wake_at != at:
            return True
        if target.id in self.knocking:
            self.wakes.append(sequence)
        return target.id in self.knocking

    def _take_loop(self, entry: tuple[int, int, int, Machine, Any, int], loop: _Loop, peer: int) -> bool:
        at, sequence, _event, target, message, _life = entry
        kind, node = type(message), loop.node
        if kind is VoteRequest or kind is VoteResponse:
            begun = self._begin_vote(loop, peer, at, target, message)
        else:
            begun = self._begin_fetch(loop, peer, at, target, message)
        if begun is None:
            return False
        loop.settle()
        self.heap.append((*begun, (-1, sequence), loop, loop.place, node.next_correlation_id))
        self.loops.append(loop)
        return True

    def _begin_vote(self, loop: _Loop, peer: int, at: int, target: Machine, message: Any) -> tuple[int, int] | None:
        node = loop.node
        endpoint = node.default_endpoint(node.voters.endpoints(peer))
        if endpoint is None or not vain.asks_votes_in_vain(node):
            return None
        asked = self._at(node.connections.open.get(peer, endpoint))
        way = None if asked is None else _way(self.world, loop.machine, asked)
        if way is None or way[2] or way[3].id in self.active or not vain.refuses_vote(node, _node(way[3]), peer):
            return None
        loop.asks_votes = True
        loop.ways, loop.peers, loop.until = [way], [peer], [0]
        if type(message) is VoteRequest:
            return (at + way[1], at) if way[3] is target else None
        known = message.error_code == errors.INVALID_VOTER_KEY and not message.top_level_error_code
        is_vain = known and message.leader_epoch == node.epoch and (message.leader_id < 0 or node.leader_id >= 0)
        return (at, -1) if is_vain else None

    def _at(self, address: Endpoint) -> Machine | None:
        return self.world.by_address.get((address.host, address.port))

    def _begin_fetch(self, loop: _Loop, peer: int, at: int, target: Machine, message: Any) -> tuple[int, int] | None:
        node, world = loop.node, self.world
        if not vain.asks_in_vain(node) or (node.leaderless_pause and node.state is State.UNATTACHED):
            return None
        loop.asks_leader = vain.asks_leader(node, loop.machine.local(world.now))
        for known, server in node.bootstrap:
            self._add_peer(loop, known, node.connections.open.get(known, server))
        if loop.asks_leader:
            self._add_peer(loop, node.leader_id, node.reply_endpoints[0])
            opened = node.connections.open.get(node.leader_id)
            if opened not in (None, node.reply_endpoints[0]):
                loop.ways[LEADER] = None
        else:
            loop.peers.append(node.leader_id)
            loop.ways.append(None)
            loop.until.append(NEVER)
        if peer not in loop.peers:
            return None
        loop.place = loop.peers.index(peer)
        if loop.place == len(loop.peers) - 1:
            loop.place = LEADER
        if type(message) is FetchRequest:
            way = loop.ways[loop.place]
            return None if way is None or way[3] is not target else (at + way[1], at)
        if type(message) is FetchResponse and not self._is_vain(node, message):
            return None
        # The way of the answer that is under way: only whether it failed counts.
        way = loop.ways[loop.place]
        if way is None or way[2] is not (type(message) is Disconnected):
            return None
        return at, -1

    def _add_peer(self, loop: _Loop, peer: int, address: Endpoint) -> None:
        asked = self._at(address)
        way = None if asked is None else _way(self.world, loop.machine, asked)
        if way is not None and not way[2]:
            may_learn = way[3].id in self.active or not vain.refuses_fetch(loop.node, _node(way[3]))
            way = None if may_learn else way
        loop.peers.append(peer)
        loop.ways.append(way)
        until = loop.machine.world_time(vain.backing_off_until(loop.node, peer))
        loop.until.append(until if until > self.world.now else 0)

    def _is_vain(self, node: Node, response: FetchResponse) -> bool:
        return not response.top_level_error_code and vain.teaches_nothing(
            node, response.error_code, response.leader_id, response.leader_epoch, response.node_endpoints
        )


def _run(world: World, found: _Found) -> bool:
    """Let the loops go round up to the limit, or to the first request that brings more than a refusal.

    An entry: when the answer comes, when the request arrives, the entry before it, the loop, its place, its number.
    """
    plain = [entry for entry in found.heap if entry[3].is_plain]
    heap, limit = [entry for entry in found.heap if not entry[3].is_plain], found.limit
    heapify(heap)
    leaving: Any = None
    begun = world.now
    while heap:
        entry = heap[0]
        at, _arrives, _before, loop, place, number = entry
        if at > limit:
            break
        if type(loop) is Knock:
            number = loop.ask(at)
            heapreplace(heap, (loop.next_at(), loop.fails, entry, loop, place, number))
            continue
        place = _next_place(loop, place, at)
        if place is None:
            limit = at - 1  # it waits now, which a wake-up ends
            break
        loop.node.next_correlation_id = number = loop.node.next_correlation_id + 1
        way = loop.ways[place]
        if way is None:
            loop.place, loop.sent, loop.correlation = place, at, number
            leaving, limit = heappop(heap), at
            break
        arrives = at + way[0]
        heapreplace(heap, (arrives + way[1], arrives, entry, loop, place, number))
    found.heap = [*heap, *(passed_over(entry, limit, leaving) for entry in plain)]
    _land(world, found, limit, None if leaving is None else leaving[3])
    return limit > begun


def _next_place(loop: _Loop, place: int, at: int) -> int | None:
    """Whom a node asks behind an answer; None where it pauses."""
    way = loop.ways[place]
    until = loop.until
    if way is not None and way[2]:
        failed = loop.failed[place] = loop.machine.local(at)
        until[place] = loop.machine.world_time(failed + loop.node.connections.retry_backoff)
    if loop.asks_votes:
        return 0
    if loop.asks_leader and until[LEADER] <= at:
        return LEADER
    count = loop.count
    if min(until[:count]) > at:
        return None
    chosen = loop.machine.choices.one()
    while until[chosen] > at:
        chosen = (chosen + 1) % count
    return chosen


def _land(world: World, found: _Found, landing: int, leaving: _Loop | None) -> None:
    """Put what is under way then into the queue, in the order in which it was sent, and bring the nodes there."""
    moved = _moved(found, landing)
    under_way = []
    for entry in found.heap:
        _at, arrives, before, loop, place, number = entry
        if type(loop) is Knock:
            continue
        is_answer = arrives <= landing
        if len(before) == 2 and (arrives < 0 or not is_answer):
            moved.discard(loop.sequence)  # as it was
            continue
        if len(before) != 2:
            loop.place, loop.sent, loop.correlation = place, before[0], number
            loop.node.next_correlation_id = max(loop.node.next_correlation_id, number)
        under_way.append((arrives if is_answer else before[0], is_answer, entry))
    _take_out(world, moved, found.wakes)
    world.now = landing
    for knock in found.knocks:
        knock.land(world, landing)
    for loop in found.loops:
        if loop.correlation != loop.before:
            _bring(loop)
    for _sent, is_answer, entry in _as_sent(under_way):
        _put(world, entry, is_answer)
    if leaving is not None:
        world.send(leaving.machine, vain.fetch_again(leaving.node, leaving.place, leaving.correlation))
    for loop in found.loops:
        if loop.correlation != loop.before and loop.node.wake(loop.machine.local(landing)):
            raise RuntimeError(f"node {loop.node.id} was taken for one that only asks in vain")
    _wake_knocking(world, found)


def _as_sent(under_way: list[tuple[int, bool, Any]]) -> list[tuple[int, bool, Any]]:
    """Messages (when each was sent, whether it is an answer, its entry) in the order in which they were sent."""
    if len({sent for sent, *_ in under_way}) == len(under_way):
        return sorted(under_way, key=itemgetter(0))
    return sorted(under_way, key=lambda message: history(message[2])[1 if message[1] else 2 :])


def _moved(found: _Found, landing: int) -> set[int]:
    """The messages with which loops began, and those that candidates sent and that are not as they were."""
    for at, _fails, _before, knock, *_ in found.heap:
        if type(knock) is Knock and at <= landing:  # of the moment at which another loop leaves
            knock.ask(at)
    changed = [knock for knock in found.knocks if knock.sequence >= 0 and not knock.is_as_before(landing)]
    return {*(loop.sequence for loop in found.loops), *(knock.sequence for knock in changed)}


def _wake_knocking(world: World, found: _Found) -> None:
    """The wake-ups of candidates were taken out: others hold."""
    for machine in found.knocking.values():
        node = _node(machine)
        if node.wake(machine.local(world.now)):
            raise RuntimeError(f"node {machine.id} was taken for a candidate that is only refused")
        machine.wake_at = -1
        world.watch(machine, node.wake_at)


def _take_out(world: World, sequences: set[int], wakes: list[int]) -> None:
    world.queue[:] = [entry for entry in world.queue if entry[1] not in sequences and entry[1] not in wakes]
    heapify(world.queue)
    world.under_way -= len(sequences)


def _way(world: World, machine: Machine, asked: Machine) -> _Way | None:
    """How a request and its answer go; None where either is lost."""
    if machine is asked:
        return LOOPBACK_US, LOOPBACK_US, False, asked
    there, back = world.network.fates(machine.id, asked.id), world.network.fates(asked.id, machine.id)
    if not there or not back or (asked.process is None and not asked.is_reachable):
        return None
    return (there[0], back[0], False, asked) if asked.process is not None else (there[0], REFUSED_US, True, asked)


def _bring(loop: _Loop) -> None:
    """Note in the node what was answered, and what is under way."""
    node = loop.node
    vain.note_answered(node, loop.before)
    for place, at in loop.failed.items():
        vain.note_failed(node, loop.peers[place], at)
        way = loop.ways[place]
        assert way is not None
        node.connections.broken(way[3].id)
    vain.note_sent(node, loop.peers[loop.place], loop.correlation, loop.machine.local(loop.sent))


def _put(world: World, entry: Any, is_answer: bool) -> None:
    at, arrives, _before, loop, _place, _number = entry
    _there_us, _back_us, is_refused, asked = loop.ways[loop.place]
    if loop.asks_votes:
        request: Any = vain.vote_again(loop.node, loop.peers[0], loop.correlation)
    else:
        request = vain.fetch_again(loop.node, loop.place, loop.correlation)
    if not is_answer:
        world.push(arrives, DELIVER, asked, request, loop.machine.life)
    elif is_refused:
        message = Disconnected(asked.id, loop.machine.id, loop.correlation)
        world.push(at, DELIVER, loop.machine, message, loop.machine.life)
    else:
        (answer,) = asked.process.receive(asked.local(world.now), request)
        world.push(at, DELIVER, loop.machine, answer, loop.machine.life)
