"""Refusals of the state machine to the process around it."""

from __future__ import annotations

import pytest

from kafkactl.simulator.raft.disk import Disk
from kafkactl.simulator.raft.node import Node
from kafkactl.simulator.raft.profiles import PROFILE_3_9, Timeouts
from tests.simulator.raft.quorum import MS, Quorum, directory, endpoint


@pytest.mark.parametrize("name", ["election_timeout_ms", "fetch_timeout_ms", "request_timeout_ms"])
def test_timeout_without_length_is_refused(name):
    with pytest.raises(ValueError, match="at least 1 ms"):
        Timeouts(**{name: 0})


def test_node_without_a_bootstrap_address_is_refused():
    with pytest.raises(ValueError, match="static voters or bootstrap servers"):
        Node(1, directory(1), Disk(), profile=PROFILE_3_9, endpoints=(endpoint(1),))


def test_snapshots_end_where_batches_end_and_everything_is_committed():
    world = Quorum((1,), "3.9").start()
    leader = world.elected()
    world.append("x", 10)
    with pytest.raises(ValueError, match="the high watermark is 3"):
        leader.take_snapshot(world.now * MS, 13, 1)
    world.run(100)
    with pytest.raises(ValueError, match="inside a batch of 3 to 12"):
        leader.take_snapshot(world.now * MS, 5, 1)
    with pytest.raises(ValueError, match="no records"):
        leader.append(world.now * MS, "x", 0)
    leader.take_snapshot(world.now * MS, 13, 1)
    assert (leader.log_start, leader.log_end) == (13, 13)


def test_only_a_leader_appends_and_a_stopped_node_does_nothing():
    world = Quorum((1, 2), "3.9").start()
    leader = world.elected()
    other = next(node for node in world.nodes.values() if node is not leader)
    assert other.append(0, "x") == (-1, [])
    world._carry_out(other.id, other.shutdown(world.now * MS, 1_000 * MS))
    assert other.shown_state == "Stopped" and other.wake(world.now * MS) == []


@pytest.mark.parametrize("release", ["3.7", "3.9", "4.x"])
def test_leader_that_ends_gracefully_is_replaced_at_once(release):
    world = Quorum((1, 2, 3), release, static=release == "3.7", latency=2).start()
    first = world.elected()
    world.run(2_000)
    world._carry_out(first.id, first.shutdown(world.now * MS, 5_000 * MS))
    took = world.until(lambda: any(node is not first for node in world.leaders))
    assert took <= 20
    world.until(lambda: first.shown_state == "Stopped", 20)
    assert not world.faults


@pytest.mark.parametrize(("release", "disturbed"), [("3.9", True), ("4.x", False)])
def test_voter_that_was_cut_off_disturbs_without_pre_vote(release, disturbed):
    world = Quorum((1, 2, 3), release, latency=10).start()
    leader = world.elected()
    world.run(2_000)
    away = next(node for node in world.nodes.values() if node is not leader)
    epoch = away.epoch
    world.isolate(away.id)
    world.run(30_000)
    assert (12 <= away.epoch - epoch <= 15) is disturbed
    world.heal()
    world.run(6_000)
    assert (world.leader.epoch > epoch) is disturbed


@pytest.mark.slow
def test_same_seed_gives_the_same_run():
    def story(seed: int) -> list:
        world = Quorum((1, 2, 3), "3.9", seed=seed, latency=3).start()
        world.elected()
        world.kill(world.leader.id)
        world.run(5_000)
        return [(at, node_id, repr(effect)) for at, node_id, effect in world.history]

    assert story(4) == story(4)
    assert story(4) != story(5)
