"""Skipping a calm stretch gives what stepping through it gives: the same nodes, and the same election behind it."""

from __future__ import annotations

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from kafkactl.raft.calm import calm_quorum
from kafkactl.raft.effects import NOTE
from kafkactl.raft.node import Node
from tests.raft.quorum import MS, Quorum

VOID = {"out", "wake_at", "next_correlation_id", "connections", "leader", "parked", "log", "us", "stored"}
RELEASES = ("3.7", "3.9", "4.x")


class Linked(Quorum):
    """A quorum whose links have different delays, in whole milliseconds."""

    def __init__(self, *args, delays=(1,), **options):
        super().__init__(*args, **options)
        self.delays = delays

    def _carry_out(self, node_id, effects):
        for effect in effects:
            other = getattr(effect, "destination", 0)
            self.latency = self.delays[(3 * node_id + (other if other > 0 else 1)) % len(self.delays)]
            super()._carry_out(node_id, [effect])
        self._schedule(node_id)

    def way(self, leader: int, node_id: int) -> tuple[int, int]:
        there, back = (3 * node_id + leader) % len(self.delays), (3 * leader + node_id) % len(self.delays)
        return self.delays[there] * MS, self.delays[back] * MS

    def on_its_way(self) -> bool:
        return any(kind == "message" for _, _, kind, _ in self.events)

    def calm(self):
        return None if self.on_its_way() else calm_quorum(self.nodes.values())

    def skip(self, until: int) -> bool:
        """Run until the quorum is calm, and skip as far as possible; whether that was any."""
        calm = None
        while calm is None and self.now < until and self.events:
            self._step()
            due = not self.events or self.events[0][0] > self.now
            calm = self.calm() if due else None
        if calm is None:
            return False
        leader = self.leader.id
        landed = calm.skip(self.now * MS, until * MS, lambda node_id: self.way(leader, node_id)) // MS
        if landed <= self.now:
            return False
        self.now = landed
        self.events.clear()
        self.wakes.clear()
        for node_id in self.nodes:
            self._schedule(node_id)
        return True


def facts(node: Node) -> dict:
    """What decides of a node's future; times as they are."""
    found = {name: getattr(node, name) for name in Node.__slots__ if name not in VOID}
    found["end"] = node.log.end
    busy = [(c.peer, c.state, c.last_send) for c in node.connections.by_peer.values() if c.state]
    found["connections"] = sorted(busy)
    found["parked"] = [
        (fetch.deadline, fetch.offset, fetch.request.source, fetch.response.high_watermark) for fetch in node.parked
    ]
    if node.leader is not None:
        leader = node.leader
        found["check"], found["begin"] = leader.check_deadline, leader.begin_deadline
        found["fetched"] = set(leader.fetched_voters)
        found["replicas"] = {
            replica.key: (replica.end, replica.last_fetch, replica.last_caught_up, replica.leader_end_at_fetch)
            for replica in (*leader.replicas.values(), *leader.observers.values())
        }
    return found


def notes_since(world: Quorum, since: int) -> list:
    return [(at, node_id, note) for at, node_id, note in world.history if note.effect == NOTE and at >= since]


@pytest.mark.parametrize("release", RELEASES)
@settings(max_examples=6)
@given(data=st.data())
def test_skipping_is_stepping(release, data):
    size = data.draw(st.integers(2, 5), "voters")
    observers = (8,) if data.draw(st.booleans(), "observer") and release != "3.7" else ()
    options = {
        "seed": data.draw(st.integers(0, 99), "seed"),
        "delays": tuple(data.draw(st.lists(st.integers(8, 40), min_size=1, max_size=9), "delays")),
        "static": release == "3.7" or (release == "4.x" and data.draw(st.booleans(), "static")),
        "observers": observers,
    }
    until = data.draw(st.integers(8_000, 20_000), "until")
    plain, fast = (Linked(range(1, size + 1), release, **options).start() for _ in range(2))
    skipped = fast.skip(until)
    event(f"skipped: {skipped}")
    landed = fast.now
    plain.run(landed)
    assert {n: facts(node) for n, node in fast.nodes.items()} == {n: facts(node) for n, node in plain.nodes.items()}
    for world in (plain, fast):
        world.run(500)
        world.kill(world.leader.id)
        world.run(4_000)
    assert notes_since(fast, landed) == notes_since(plain, landed)


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("size", [3, 4, 5])
def test_a_follower_may_hear_of_the_high_watermark_later(release, size):
    """The answer to a fetch that waits was made when it began to wait: with five voters, some have an older one."""
    for seed in range(5):
        plain, fast = (
            Linked(
                range(1, size + 1), release, seed=seed, static=release == "3.7", delays=(9, 13, 21, 8, 11, 17, 10)
            ).start()
            for _ in range(2)
        )
        assert fast.skip(20_000)
        plain.run(fast.now)
        assert {n: facts(node) for n, node in fast.nodes.items()} == {n: facts(node) for n, node in plain.nodes.items()}


@pytest.mark.parametrize("release", RELEASES)
def test_a_quorum_that_only_waits_is_calm_soon(release):
    world = Linked((1, 2, 3), release, static=release == "3.7", delays=(9, 13)).start()
    world.elected()
    begin = world.now
    assert world.skip(60_000)
    assert world.now > 55_000 and begin < 10_000
    assert len(world.history) < 4_000


@pytest.mark.parametrize("release", ("3.9", "4.x"))
def test_a_quorum_that_has_something_to_do_is_not(release):
    world = Linked((1, 2, 3), release, delays=(9,)).start()
    leader = world.elected()
    world.until(lambda: world.calm() is not None)
    world.append("something")
    assert world.calm() is None
    world.until(lambda: world.calm() is not None)
    world.kill(next(node_id for node_id in world.nodes if node_id != leader.id))
    assert world.calm() is None
