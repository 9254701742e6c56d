"""Separation of processes, logs and messages by the world around the nodes."""

from __future__ import annotations

import pytest

from kafkactl.simulator import run
from kafkactl.simulator.actions import Operator
from kafkactl.simulator.campaign import Asked, quorum_of
from kafkactl.simulator.quorum import Quorum
from kafkactl.simulator.run import run_script
from kafkactl.simulator.script import parse_script
from kafkactl.simulator.world import World


@pytest.mark.parametrize("release", ["3.9", "4.4"])
def test_request_of_an_ended_process_is_not_taken_for_one_of_the_next(release):
    # The leader still holds the fetch of the process that ended while the next one waits for its own.
    world = World(quorum_of(Asked(release=release))[0], 1, traced=False)
    assert world.run_until(30_000_000, lambda: world.leader() is not None)
    world.run_until(world.now + 3_000_000)
    leader = world.leader()
    follower = next(machine for machine in world.machines.values() if machine is not leader)
    lives = {}
    for _ in range(3):
        world.end(follower)
        world.begin(follower)
        world.run_until(world.now + 40_000)
        asked = {request: life for request, life in leader.open.items() if request[0] == follower.id}
        assert lives | asked == asked | lives
        lives |= asked
    assert len(set(lives.values())) == 3


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("recover 1", "node 1 runs; its log can be recovered when it is down"),
        ("kill 1\nwipe 1\nrecover 1", "the log of node 1 is empty; there is nothing to recover"),
    ],
)
def test_log_that_runs_or_is_empty_is_not_recovered(text, found):
    script = parse_script(f"wait leader within 30s\n{text}\n", "a.txt")
    outcome = run_script(quorum_of(Asked(script=script))[0], script.steps, 1)
    assert [unmet.found for unmet in outcome.unmet] == [found]


@pytest.mark.parametrize("kind", ["static", "dynamic"])
def test_recovered_quorum_keeps_what_the_chosen_log_held_and_loses_the_rest(kind):
    # What a cut leader took is on its disk alone; node `f` is recovered without it.
    text = (
        "wait leader within 30s\nname l leader\nname f follower\nappend 3\nrun 1s\nexpect committed\ncut l\nappend 2\n"
        "run 100ms\nkill 1 2 3\nheal\nrecover f\nstart f"
    )
    script = parse_script(f"quorum {kind}\n{text}\n", "a.txt")
    outcome = run_script(quorum_of(Asked(script=script))[0], script.steps, 1)
    assert not outcome.unmet
    assert (outcome.committed, outcome.lost) == (3, 2)


def test_pause_between_questions_for_a_leader_saves_events():
    events = {}
    for pause_us in (0, 200_000):
        world = World(Quorum(leaderless_pause_us=pause_us), 1, traced=False)
        assert world.run_until(30_000_000, lambda world=world: world.leader() is not None)
        events[pause_us] = world.events
    assert events[200_000] * 10 < events[0]


@pytest.mark.parametrize(("lost", "broken"), [((1, 2), []), ((), ["liveness"])])
def test_quorum_whose_disks_are_all_lost_is_not_expected_to_live(monkeypatch, lost, broken):
    # With all disks in place a quorum that commits nothing is reported.
    monkeypatch.setattr(Operator, "append", lambda _operator, _records: None)
    wiped = "".join(f"kill {node}\nwipe {node}\n" for node in lost)
    script = parse_script(f"voters 2\nwait leader within 30s\n{wiped}settle 10s\n", "a.txt")
    outcome = run_script(quorum_of(Asked(script=script))[0], script.steps, 1)
    assert [violation.invariant for violation in outcome.violations] == broken


@pytest.mark.parametrize("lost", [(1, 2, 3), (1, 3)])
@pytest.mark.parametrize("release", ["3.9", "4.4"])
def test_quorum_without_a_majority_of_disks_settles_for_five_seconds(monkeypatch, release, lost):
    # No node is elected in a minute either: they ask who leads, hundreds of times a second.
    wiped = "".join(f"kill {node}\nwipe {node}\n" for node in lost)
    script = parse_script(f"voters 1 2 3\nwait leader within 30s\n{wiped}settle 60s\n", "a.txt")
    quorum = quorum_of(Asked(script=script, release=release))[0]
    short = run_script(quorum, script.steps, 1)
    monkeypatch.setattr(run, "is_lost", lambda _world: False)
    long = run_script(quorum, script.steps, 1)
    assert short.passed and long.passed
    assert short.elections == long.elections == 1
    assert long.time_us - short.time_us == 55_000_000


def test_quorum_that_lost_one_disk_of_three_settles_until_a_record_is_committed():
    text = "voters 1 2 3\nwait leader within 30s\nkill 1 3\nwipe 1\nsettle 60s\n"
    script = parse_script(text, "a.txt")
    outcome = run_script(quorum_of(Asked(script=script))[0], script.steps, 1)
    assert outcome.passed
    assert outcome.committed == 1
