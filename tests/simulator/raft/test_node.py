"""Nodes together: elections, replication, commit, changes of leader, on each profile."""

from __future__ import annotations

import pytest

from kafkactl.simulator.raft.effects import State
from tests.simulator.raft.quorum import Quorum

RELEASES = ("3.7", "3.9", "4.x")


def quorum(release, *ids, **options):
    return Quorum(ids or (1, 2, 3), release, static=release == "3.7", **{"latency": 5, **options}).start()


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_quorum_elects_one_leader_and_commits(release, size):
    world = quorum(release, *range(1, size + 1))
    leader = world.elected()
    offset = world.append("first")
    world.until(lambda: leader.high_watermark > offset)
    world.until(lambda: all(node.high_watermark > offset for node in world.nodes.values()))
    assert [node.log.batches for node in world.nodes.values()] == [leader.log.batches] * size
    assert not world.faults


@pytest.mark.parametrize("release", RELEASES)
def test_another_leader_takes_over_and_keeps_what_was_committed(release):
    world = quorum(release)
    first = world.elected()
    offset = world.append("kept")
    world.until(lambda: first.high_watermark > offset)
    world.kill(first.id)
    second = world.elected()
    assert second.epoch > first.epoch
    assert ("kept",) in [batch.content for batch in second.log.batches]
    world.start(first.id)
    assert world.elected() is second
    assert world.nodes[first.id].state is State.FOLLOWER


@pytest.mark.parametrize("release", RELEASES)
def test_minority_elects_no_leader(release):
    world = quorum(release)
    world.elected()
    world.kill(1, 2)
    world.run(20_000)
    assert not world.leaders


@pytest.mark.parametrize("release", RELEASES)
def test_uncommitted_records_are_truncated(release):
    world = quorum(release)
    first = world.elected()
    world.isolate(first.id)
    lost = world.append("lost")
    world.run(100)
    assert first.log_end == lost + 1
    world.until(lambda: any(node is not first for node in world.leaders))
    world.append("won")
    world.heal()
    world.until(lambda: ("won",) in [batch.content for batch in first.log.batches])
    contents = [batch.content for batch in first.log.batches]
    assert ("won",) in contents and ("lost",) not in contents
    assert [batch.content for batch in world.disks[first.id].batches] == contents


def test_pause_between_questions_for_a_leader_changes_no_election():
    found = []
    for pause in (0, 100_000):
        world = Quorum(
            (1, 2, 3), "4.x", draw=lambda node_id, draw: node_id * 100 % draw.bound, leaderless_pause_us=pause
        )
        leader = world.start().elected()
        found.append((world.now // 100, leader.id, leader.epoch, len(world.history)))
    (at, leader_id, epoch, effects), paused = found
    assert (at, leader_id, epoch) == paused[:3]
    assert paused[3] * 20 < effects
