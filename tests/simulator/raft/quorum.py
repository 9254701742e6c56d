"""A small world around nodes: one queue of events, one latency, disks that survive a kill. Times in milliseconds.

Not the simulator: just enough to bring nodes into the states that the tests are about, and to read them.
"""

from __future__ import annotations

import heapq
import itertools
import random
from collections.abc import Callable, Iterable

from kafkactl.cluster.quorum.voter_sets import Voter
from kafkactl.core.values import ZERO_UUID, Endpoint, Uuid
from kafkactl.simulator.raft.connections import NEVER
from kafkactl.simulator.raft.disk import Disk
from kafkactl.simulator.raft.effects import DRAW, FAULT, SEND, WRITE, State
from kafkactl.simulator.raft.log import BOOTSTRAP_SNAPSHOT_ID, Snapshot
from kafkactl.simulator.raft.messages import CLIENT, Disconnected
from kafkactl.simulator.raft.node import Node
from kafkactl.simulator.raft.profiles import DEFAULT_TIMEOUTS, PROFILES
from kafkactl.simulator.raft.voters import VoterSet

MS = 1_000
CLUSTER = "a-cluster"


def endpoint(node_id: int, port: int = 0) -> Endpoint:
    return Endpoint(listener="CONTROLLER", host=f"node{node_id}", port=port or 9_090 + node_id)


def directory(node_id: int, generation: int = 1) -> Uuid:
    return Uuid(bytes([0xD1] * 14 + [node_id, generation]))


def voter(node_id: int, generation: int = 1) -> Voter:
    return Voter(
        node_id=node_id,
        directory_id=directory(node_id, generation) if generation else ZERO_UUID,
        endpoints=(endpoint(node_id),),
    )


def voters(*ids: int) -> VoterSet:
    return VoterSet(voter(node_id) for node_id in ids)


def bootstrap_disk(ids: Iterable[int]) -> Disk:
    """Return the disk as `kafka-storage format --initial-controllers` leaves it."""
    return Disk(snapshots=[Snapshot(BOOTSTRAP_SNAPSHOT_ID, 200, 1, voters(*ids))])


class Quorum:
    """Voters (and observers) of one release, over a network of one latency.

    `draw` answers random numbers: a callable of (node id, draw), or None for those of `seed`.
    """

    def __init__(self, ids, release="3.9", *, static=False, seed=0, latency=1, draw=None, observers=(), **options):
        self.now = 0
        self.latency = latency
        self.profile = PROFILES[release]
        self.voter_ids = tuple(ids)
        self.static = VoterSet(voter(node_id, 0) for node_id in ids) if static else None
        self.random = random.Random(seed)
        self.draw = draw or (lambda node_id, wanted: self.random.randrange(wanted.bound))
        self.options = options
        self.timeouts = options.pop("timeouts", DEFAULT_TIMEOUTS)
        self.generations = dict.fromkeys((*ids, *observers), 1)
        self.disks = {node_id: self._blank(node_id) for node_id in self.generations}
        self.nodes: dict[int, Node] = {}
        self.cut: set[tuple[int, int]] = set()
        self.answers: dict[int, object] = {}
        self.history: list[tuple[int, int, object]] = []
        self.faults: dict[int, str] = {}
        self.events: list = []
        self.sequence = itertools.count()
        self.wakes: dict[int, int] = {}
        self.correlations = itertools.count(1)
        self.lives = itertools.count()
        self.watch: Callable[[Quorum], None] | None = None

    def _blank(self, node_id: int) -> Disk:
        dynamic = self.static is None and self.generations[node_id] == 1 and node_id in self.voter_ids
        return bootstrap_disk(self.voter_ids) if dynamic else Disk()

    def start(self, *ids: int) -> Quorum:
        for node_id in ids or tuple(self.generations):
            node = self.nodes[node_id] = Node(
                node_id,
                directory(node_id, self.generations[node_id]),
                self.disks[node_id],
                profile=self.profile,
                timeouts=self.timeouts,
                cluster_id=CLUSTER,
                endpoints=(endpoint(node_id),),
                static_voters=self.static,
                bootstrap_servers=() if self.static else tuple(endpoint(other) for other in self.voter_ids),
                first_correlation_id=next(self.lives) << 32,
                **self.options,
            )
            self._carry_out(node_id, node.start(self.now * MS))
        return self

    def kill(self, *ids: int) -> None:
        for node_id in ids:
            del self.nodes[node_id]

    def wipe(self, node_id: int) -> None:
        self.generations[node_id] += 1
        self.disks[node_id] = self._blank(node_id)

    def isolate(self, node_id: int) -> None:
        for other in self.generations:
            self.cut |= {(node_id, other), (other, node_id)}

    def heal(self) -> None:
        self.cut.clear()

    def ask(self, node_id: int, request_type, **fields) -> int:
        """Send a client's request; its answer is in `answers` under the number that is returned."""
        correlation = next(self.correlations)
        request = request_type(CLIENT, node_id, correlation, None, **fields)
        self._push(self.now, "message", request)
        return correlation

    def append(self, content: object = "x", records: int = 1) -> int:
        leader = self.leader
        offset, effects = leader.append(self.now * MS, content, records)
        self._carry_out(leader.id, effects)
        return offset

    def run(self, milliseconds: int) -> Quorum:
        end = self.now + milliseconds
        while self.events and self.events[0][0] <= end:
            self._step()
        self.now = end
        return self

    def until(self, condition: Callable[[], object], within: int = 60_000) -> int:
        """Run until the condition holds; how long that took. AssertionError if it does not in time."""
        begin = self.now
        while not condition():
            assert self.events and self.events[0][0] <= begin + within, "the condition never held"
            self._step()
        return self.now - begin

    def _step(self) -> None:
        self.now, _, kind, what = heapq.heappop(self.events)
        if kind == "wake":
            node = self.nodes.get(what)
            if node is not None and self.wakes.get(what) == self.now:
                self.wakes.pop(what)
                self._carry_out(what, node.wake(self.now * MS))
        else:
            self._deliver(what)
        if self.watch:
            self.watch(self)

    def _deliver(self, message) -> None:
        if message.destination == CLIENT:
            self.answers[message.correlation_id] = message
            return
        target = self._target(message)
        if (message.source, target) in self.cut:
            return
        node = self.nodes.get(target)
        if node is None or node.state is State.STOPPED:
            if message.is_request and message.source != CLIENT:
                broken = Disconnected(message.destination, message.source, message.correlation_id)
                self._push(self.now + self.latency, "message", broken)
            return
        self._carry_out(target, node.receive(self.now * MS, message))

    def _target(self, message) -> int:
        if message.is_request and message.address is not None:
            return next((i for i in self.generations if endpoint(i) == message.address), -1)
        return message.destination

    def _carry_out(self, node_id: int, effects: list) -> None:
        for effect in effects:
            if effect.effect == SEND:
                self._push(self.now + self.latency, "message", effect)
            elif effect.effect == WRITE:
                self.disks[node_id].apply(effect)
            elif effect.effect == DRAW:
                number = self.draw(node_id, effect)
                self._carry_out(node_id, self.nodes[node_id].drawn(self.now * MS, effect.purpose, number))
            elif effect.effect == FAULT:
                self.faults[node_id] = effect.reason
            self.history.append((self.now, node_id, effect))
        self._schedule(node_id)

    def _schedule(self, node_id: int) -> None:
        at = self.nodes[node_id].wake_at
        if at < NEVER:
            due = max(self.now, -(-at // MS))
            if self.wakes.get(node_id, 1 << 60) != due:
                self.wakes[node_id] = due
                self._push(due, "wake", node_id)

    def _push(self, at: int, kind: str, what: object) -> None:
        heapq.heappush(self.events, (at, next(self.sequence), kind, what))

    @property
    def leaders(self) -> list[Node]:
        return [node for node in self.nodes.values() if node.state is State.LEADER]

    @property
    def leader(self) -> Node:
        """Return the leader of the highest epoch. AssertionError if none leads."""
        assert self.leaders, "no node leads"
        return max(self.leaders, key=lambda node: node.epoch)

    def elected(self) -> Node:
        """Run until a leader committed in its epoch and every running node follows it."""
        self.until(lambda: self.leaders and self.settled())
        return self.leader

    def settled(self) -> bool:
        leader = self.leader
        others = [node for node in self.nodes.values() if node is not leader]
        return leader.high_watermark == leader.log_end and all(
            node.leader_id == leader.id and node.epoch == leader.epoch and node.log_end == leader.log_end
            for node in others
        )


def kafka_accepts(before: VoterSet, after: VoterSet) -> bool:
    """Return Kafka's check of a change: at most one key less and one more (`hasOverlappingMajority`)."""
    removed, added = set(before.keys) - set(after.keys), set(after.keys) - set(before.keys)
    return len(removed) <= 1 and len(added) <= 1
