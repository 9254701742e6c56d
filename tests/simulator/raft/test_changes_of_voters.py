"""Changes of voters in a whole quorum: what operators meet, as it was measured on released Kafka."""

from __future__ import annotations

import pytest

from kafkactl.simulator.raft import errors
from kafkactl.simulator.raft.effects import State
from kafkactl.simulator.raft.messages import (
    AddRaftVoterRequest,
    DescribeQuorumRequest,
    RemoveRaftVoterRequest,
    UpdateRaftVoterRequest,
)
from tests.simulator.raft.quorum import CLUSTER, MS, Quorum, directory, endpoint

RELEASES = ("3.9", "4.x")


def remove(world: Quorum, node_id: int, generation: int = 1) -> int:
    fields = {"cluster_id": CLUSTER, "voter_id": node_id, "voter_directory_id": directory(node_id, generation)}
    return world.ask(world.leader.id, RemoveRaftVoterRequest, **fields)


def add(world: Quorum, node_id: int, generation: int = 1) -> int:
    fields = {"cluster_id": CLUSTER, "voter_id": node_id, "voter_directory_id": directory(node_id, generation)}
    return world.ask(world.leader.id, AddRaftVoterRequest, **fields, listeners=(endpoint(node_id),))


def answered(world: Quorum, correlation: int, within: int = 10_000):
    world.until(lambda: correlation in world.answers, within)
    return world.answers[correlation]


def wedged(release: str, seed: int) -> tuple[Quorum, int, int]:
    """Return a quorum of three in which a healthy voter was removed while another one is down."""
    world = Quorum((1, 2, 3), release, seed=seed, latency=10).start()
    leader = world.elected()
    down, healthy = (node_id for node_id in (1, 2, 3) if node_id != leader.id)
    world.kill(down)
    asked = remove(world, healthy)
    answer = answered(world, asked)
    assert answer.error_code == errors.REQUEST_TIMED_OUT
    return world, down, healthy


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("seed", range(3))
def test_removing_a_healthy_voter_while_another_is_down_leaves_no_leader(release, seed):
    world, down, _ = wedged(release, seed)
    leader = world.leader
    assert leader.voters_offset == leader.high_watermark  # in force, and not committed
    world.until(lambda: not world.leaders, 3_600)
    world.run(8_000)
    assert not world.leaders
    world.start(down)
    world.until(lambda: world.leaders and world.leader.high_watermark == world.leader.log_end)
    assert len(world.leader.voters.voters) == 2 and down in world.leader.voters.by_id
    assert not world.faults


@pytest.mark.parametrize("release", RELEASES)
def test_it_does_not_heal_if_the_voter_returns_without_its_disk(release):
    world, down, _ = wedged(release, 1)
    world.wipe(down)
    world.start(down)
    world.run(8_000)
    assert not world.leaders


@pytest.mark.parametrize("release", RELEASES)
def test_removing_the_voter_that_is_down_commits_at_once(release):
    world = Quorum((1, 2, 3), release).start()
    leader = world.elected()
    down = next(node_id for node_id in (1, 2, 3) if node_id != leader.id)
    world.kill(down)
    asked = remove(world, down)
    assert answered(world, asked, 100).error_code == errors.NONE
    world.run(10_000)
    assert world.leader is leader and down not in leader.voters.by_id


@pytest.mark.parametrize("release", RELEASES)
def test_change_that_timed_out_commits_when_the_voters_are_back(release):
    world = Quorum((1, 2, 3, 4), release).start()
    leader = world.elected()
    slow = [node_id for node_id in (1, 2, 3, 4) if node_id != leader.id]
    for node_id in slow[:2]:
        world.isolate(node_id)
    asked = remove(world, slow[2])
    assert answered(world, asked).error_code == errors.REQUEST_TIMED_OUT
    before = leader.high_watermark
    second = answered(world, remove(world, slow[1]))
    assert "waiting for voters to commit the latest voter change" in second.error_message
    world.heal()

    def committed() -> bool:  # in 3.9 the voters that were away may have begun an epoch, which costs an election
        found = world.leaders[-1] if world.leaders else None
        return found is not None and found.log_end == found.high_watermark > before

    world.until(committed)
    assert set(world.leaders[-1].voters.by_id) == {leader.id, *slow[:2]}


@pytest.mark.parametrize("release", RELEASES)
def test_observer_that_caught_up_becomes_a_voter(release):
    world = Quorum((1, 2, 3), release, observers=(4,), latency=5).start()
    leader = world.elected()
    assert world.nodes[4].is_voter is False
    world.until(lambda: world.nodes[4].log_end == leader.log_end)
    world.run(600)
    assert answered(world, add(world, 4)).error_code == errors.NONE
    world.until(lambda: world.nodes[4].is_voter)
    assert answered(world, add(world, 4)).error_code == errors.DUPLICATE_VOTER
    world.kill(leader.id)
    assert world.elected().id != leader.id
    assert not world.faults


@pytest.mark.parametrize("release", RELEASES)
def test_leader_that_removes_itself_leads_until_that_is_committed(release):
    world = Quorum((1, 2, 3), release).start()
    first = world.elected()
    assert answered(world, remove(world, first.id)).error_code == errors.NONE
    world.until(lambda: first.state is not State.LEADER and world.leaders)
    second = world.elected()
    assert second is not first and set(second.voters.by_id) == {1, 2, 3} - {first.id}
    assert first.is_voter is False and first.state is State.FOLLOWER


def test_two_voters_are_rescued_in_the_window_of_check_quorum():
    world = Quorum((1, 2), "4.x").start()
    leader = world.elected()
    down = 3 - leader.id
    world.kill(down)
    world.run(700)
    assert answered(world, remove(world, down)).error_code == errors.NONE
    world.run(10_000)
    assert world.leader is leader and len(leader.voters.voters) == 1


def test_describe_shows_voters_and_observers():
    world = Quorum((1, 2, 3), "3.9", observers=(4,)).start()
    leader = world.elected()
    world.run(1_000)
    answer = answered(world, world.ask(leader.id, DescribeQuorumRequest))
    assert [row.replica_id for row in answer.current_voters] == [1, 2, 3]
    assert [row.replica_id for row in answer.observers] == [4]
    ends = {row.log_end_offset for row in (*answer.current_voters, *answer.observers)}
    assert ends == {leader.log_end} and answer.high_watermark == leader.high_watermark
    own = next(row for row in answer.current_voters if row.replica_id == leader.id)
    assert own.last_fetch_timestamp == own.last_caught_up_timestamp == world.now - world.latency


@pytest.mark.parametrize("release", RELEASES)
def test_describe_forgets_a_removed_voter_that_never_fetched_from_this_leader(release):
    world = Quorum((1, 2, 3), release).start(1, 2)
    leader = world.elected()
    assert answered(world, remove(world, 3), 1_000).error_code == errors.NONE
    answer = answered(world, world.ask(leader.id, DescribeQuorumRequest))
    assert [row.replica_id for row in answer.current_voters] == [1, 2]
    assert answer.observers == ()


def test_removed_controller_with_auto_join_comes_back():
    world = Quorum((1, 2, 3), "4.x", auto_join=True, latency=10).start()
    leader = world.elected()
    gone = next(node_id for node_id in (1, 2, 3) if node_id != leader.id)
    assert answered(world, remove(world, gone)).error_code == errors.NONE
    world.until(lambda: gone in leader.voters.by_id and leader.high_watermark == leader.log_end, 10_000)


def test_replaced_disk_with_auto_join_heals_itself():
    world = Quorum((1, 2, 3), "4.x", auto_join=True, latency=10).start()
    leader = world.elected()
    lost = next(node_id for node_id in (1, 2, 3) if node_id != leader.id)
    world.kill(lost)
    world.wipe(lost)
    world.start(lost)
    new = directory(lost, 2)
    world.until(lambda: lost in leader.voters.by_id and leader.voters.by_id[lost].directory_id == new, 30_000)
    world.until(lambda: world.nodes[lost].is_voter)
    assert not world.faults


def test_wrong_endpoint_of_an_added_voter_stays_in_3_9_and_is_mended_in_4():
    found = {}
    for release in RELEASES:
        world = Quorum((1, 2, 3), release, observers=(4,), latency=5).start()
        leader = world.elected()
        world.run(10_000)
        assert answered(world, add(world, 4)).error_code == errors.NONE
        assert answered(world, remove(world, 4)).error_code == errors.NONE
        world.run(1_000)
        wrong = (endpoint(4, 6_666),)  # nothing answers there, but the connection of the first probe is still open
        fields = {"cluster_id": CLUSTER, "voter_id": 4, "voter_directory_id": directory(4), "listeners": wrong}
        asked = world.ask(leader.id, AddRaftVoterRequest, **fields)
        assert answered(world, asked).error_code == errors.NONE
        assert leader.voters.endpoints(4) == wrong
        world.run(20_000)
        found[release] = leader.voters.endpoints(4) == (endpoint(4),)
    assert found == {"3.9": False, "4.x": True}


@pytest.mark.parametrize("release", RELEASES)
def test_update_that_meets_no_leader_is_answered_without_an_endpoint(release):
    # Port 0, the default of the field (`RaftUtil.updateVoterResponse`), not the -1 of other responses.
    world = Quorum((1, 2, 3), release).start(1)
    head = {"cluster_id": CLUSTER, "current_leader_epoch": 0, "voter_id": 2, "voter_directory_id": directory(2)}
    update = {"listeners": (endpoint(2),), "min_supported_version": 0, "max_supported_version": 1}
    answer = answered(world, world.ask(1, UpdateRaftVoterRequest, **head, **update), 100)
    assert answer.error_code == errors.NOT_LEADER_OR_FOLLOWER
    assert (answer.leader_id, answer.host, answer.port) == (-1, "", 0)


def test_static_quorum_takes_no_update_before_its_leader_has_committed():
    # As `UpdateVoterHandler` of 4.3.1, whatever the kraft.version; below it answers with the version that is wrong.
    world = Quorum((1, 2, 3), "4.x", static=True, latency=5).start()
    world.until(lambda: any(node.leader is not None for node in world.nodes.values()))
    leader = next(node for node in world.nodes.values() if node.leader is not None)
    head = {"cluster_id": CLUSTER, "current_leader_epoch": leader.epoch}
    update = {"voter_id": 2, "voter_directory_id": directory(2), "listeners": (endpoint(2),)}
    update |= {"min_supported_version": 0, "max_supported_version": 1}
    assert leader.high_watermark < 0
    early = answered(world, world.ask(leader.id, UpdateRaftVoterRequest, **head, **update))
    world.until(lambda: leader.high_watermark >= 0)
    later = answered(world, world.ask(leader.id, UpdateRaftVoterRequest, **head, **update), 100)
    assert (early.error_code, later.error_code) == (errors.REQUEST_TIMED_OUT, errors.NONE)


def test_static_quorum_becomes_dynamic():
    world = Quorum((1, 2, 3), "4.x", static=True, latency=5).start()
    leader = world.elected()
    refusal, effects = leader.upgrade_kraft_version(world.now * MS)
    assert "not all of the voters support it" in refusal and effects == []
    other = next(node for node in world.nodes.values() if node is not leader)
    assert "is not the leader" in other.upgrade_kraft_version(world.now * MS)[0]
    world.run(3_000)
    refusal, effects = leader.upgrade_kraft_version(world.now * MS)
    assert refusal == ""
    world._carry_out(leader.id, effects)
    assert [type(record).__name__ for record in leader.log.batches[-1].content] == ["KRaftVersion", "Voters"]
    world.until(lambda: all(node.high_watermark == leader.log_end for node in world.nodes.values()))
    assert {voter.directory_id for voter in other.voters.voters} == {directory(node_id) for node_id in (1, 2, 3)}
    assert answered(world, remove(world, other.id)).error_code == errors.NONE
    assert "from version 1 to 1" in leader.upgrade_kraft_version(world.now * MS)[0]
    world.kill(leader.id)
    world.run(20_000)
    assert not world.faults
