"""Passing over calm stretches, and over rounds of questions in vain, changes nothing but the number of events."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kafkactl.frozen import changed
from kafkactl.raft.connections import AWAITING_RESPONSE, BACKING_OFF
from kafkactl.raft.node import Node
from kafkactl.simulator import rounds, world
from kafkactl.simulator.campaign import Asked, outcome_of, plan_for, quorum_of
from kafkactl.simulator.machine import DELIVER, Machine
from kafkactl.simulator.quorum import Quorum
from kafkactl.simulator.run import Outcome, run_in
from kafkactl.simulator.world import World
from tests.raft.test_calm import facts as facts_of_node
from tests.sampling import one_in

SECOND = 1_000_000
# The time of the last refusal matters only where nodes pause after it. Connections are compared separately.
VOID = {"bootstrap_after", "connections"}


def facts(outcome: Outcome) -> tuple[object, ...]:
    happened = [(row.time_us, row.node, row.kind, row.text) for row in outcome.happenings]
    return (happened, outcome.elections, outcome.epoch, outcome.committed, outcome.time_us, outcome.passed)


@pytest.mark.parametrize("pause_us", [0, 200_000])
@pytest.mark.parametrize("release", one_in(3, ["4.4", "3.9", "3.7"]))
@pytest.mark.parametrize("profile", ["rolling-restart", "voter-change", "chaos"])
def test_a_run_is_the_same_without_skipping(monkeypatch, release, profile, pause_us):
    asked = Asked(profile=profile, release=release)
    quorum = changed(quorum_of(asked)[0], leaderless_pause_us=pause_us)
    skipped = [outcome_of(asked, quorum, seed, traced=True) for seed in range(2)]
    step_through(monkeypatch)
    stepped = [outcome_of(asked, quorum, seed, traced=True) for seed in range(2)]
    assert [facts(outcome) for outcome in skipped] == [facts(outcome) for outcome in stepped]
    if profile == "rolling-restart":
        assert sum(outcome.events for outcome in skipped) < sum(outcome.events for outcome in stepped)


def step_through(monkeypatch) -> None:
    monkeypatch.setattr(world, "skip_calm", lambda _world, _until: False)
    monkeypatch.setattr(rounds, "skip_rounds", lambda _world, _until: False)
    monkeypatch.setattr(world, "hand_over", lambda *_message: False)


def states(asked: Asked, seed: int, times: tuple[int, ...]) -> tuple[list[object], int]:
    """Every fact of every node, and every message that is under way, at each of these times; and the events."""
    quorum, _ = quorum_of(asked)
    plan = [timed for timed in plan_for(asked, quorum, seed) if timed.step.verb != "settle"]
    simulated, found, before = World(quorum, seed), [], -1
    for time_us in times:
        run_in(simulated, [timed for timed in plan if before < timed.at_us <= time_us], seed)
        simulated.run_until(time_us)
        before = time_us
        found.append(
            (time_us, [_of_machine(machine, time_us) for machine in simulated.machines.values()], _sent(simulated))
        )
    return found, simulated.events


def _of_machine(machine, now) -> object:
    node = machine.process
    if node is None:
        return None
    known = {name: value for name, value in facts_of_node(node).items() if name not in VOID}
    known["connections"] = sorted(_connections(node, machine.local(now)))
    known["open"] = {peer: address for peer, address in node.connections.open.items() if peer >= 0}
    return known, node.wake_at, node.next_correlation_id, machine.open


def _connections(node: Node, now: int) -> Iterator[tuple[int, ...]]:
    """Requests under way, and pauses that are not over: others are as good as none.

    The same holds for the address of a bootstrap server, which is the same whether the connection to it is open or not.
    """
    for known in node.connections.by_peer.values():
        if known.state == AWAITING_RESPONSE:
            yield known.peer, known.correlation_id, known.last_send
        elif known.state == BACKING_OFF and known.last_fail + node.connections.retry_backoff > now:
            yield known.peer, known.last_fail


def _sent(simulated: World) -> list[object]:
    messages = sorted((*entry[:2], entry[3].id, entry[4], entry[5]) for entry in simulated.queue if entry[2] == DELIVER)
    return [(at, *sent) for at, _, *sent in messages]


@pytest.mark.parametrize("seed", one_in(2, range(2)))
@pytest.mark.parametrize(
    ("profile", "release"),
    [("disk-loss", "3.9"), ("disk-loss", "4.4"), ("voter-change", "3.9"), ("rolling-restart", "4.4"), ("chaos", "3.9")],
)
def test_nodes_that_ask_in_vain_are_the_same_at_any_time(monkeypatch, profile, release, seed):
    """At times that are in the middle of rounds: what is under way is in the same order, too."""
    asked = Asked(profile=profile, release=release)
    times = tuple(sorted(at * 1_357_111 % SECOND + at * SECOND // 5 for at in range(1, 41)))
    skipped, few = states(asked, seed, times)
    monkeypatch.setattr(rounds, "skip_rounds", lambda _world, _until: False)
    monkeypatch.setattr(world, "hand_over", lambda *_message: False)
    stepped, many = states(asked, seed, times)
    for ours, theirs in zip(skipped, stepped, strict=True):
        assert ours == theirs
    assert few < many or (profile == "chaos" and few == many)  # where messages are lost, each is stepped


@pytest.mark.slow
def test_a_quiet_run_passes_over_what_nodes_ask_before_there_is_a_leader(monkeypatch):
    quorum, _ = quorum_of(Asked(release="3.9"))
    runs = [World(quorum, seed) for seed in range(5)]
    for run in runs:
        run.run_until(10 * SECOND)
    step_through(monkeypatch)
    for seed, run in enumerate(runs):
        stepped = World(quorum, seed)
        stepped.run_until(10 * SECOND)
        assert run.elections == stepped.elections
        assert 20 * run.events < stepped.events
    assert all(type(machine.process) is Node for machine in runs[0].machines.values())


def _led_for_5_s(quorum: Quorum) -> tuple[World, Machine]:
    simulated = World(quorum, 1)
    simulated.run_until(5 * SECOND)
    leader = simulated.leader()
    assert leader is not None
    return simulated, leader


def test_a_candidate_that_is_refused_by_hosts_without_a_process_is_the_same_at_any_time(monkeypatch):
    """Two of three are down: the third asks both for votes, again and again. Most events are passed over."""
    quorum, _ = quorum_of(Asked(release="3.9"))
    runs: list[list[object]] = []
    events = []
    for _ in range(2):
        simulated, leader = _led_for_5_s(quorum)
        left = simulated.machines[leader.id % 3 + 1]
        for machine in simulated.machines.values():
            if machine is not left:
                simulated.end(machine)
        found: list[object] = []
        for at in range(1, 60):
            simulated.run_until(5 * SECOND + at * 123_457)
            found.append((_of_machine(left, simulated.now), _sent(simulated)))
        runs.append(found)
        events.append(simulated.events)
        monkeypatch.setattr(rounds, "skip_rounds", lambda _world, _until: False)
        monkeypatch.setattr(world, "hand_over", lambda *_message: False)
    for skipped, stepped in zip(*runs, strict=True):
        assert skipped == stepped
    assert 3 * events[0] < events[1]


@pytest.mark.parametrize("release", ["3.9", "4.4"])
def test_an_observer_that_does_not_reach_the_leader_is_the_same_while_the_others_work(monkeypatch, release):
    """It asks the other voters, again and again; the leader and its followers go on meanwhile."""
    quorum, _ = quorum_of(Asked(release=release, observers=(4,)))
    runs: list[list[object]] = []
    events = []
    for _ in range(2):
        simulated, leader = _led_for_5_s(quorum)
        simulated.network.cut([(4, leader.id), (leader.id, 4)])
        found: list[object] = []
        for at in range(1, 40):
            simulated.run_until(5 * SECOND + at * 123_457)
            machines = [_of_machine(machine, simulated.now) for machine in simulated.machines.values()]
            found.append((machines, _sent(simulated)))
        runs.append(found)
        events.append(simulated.events)
        monkeypatch.setattr(rounds, "skip_rounds", lambda _world, _until: False)
        monkeypatch.setattr(world, "hand_over", lambda *_message: False)
    for skipped, stepped in zip(*runs, strict=True):
        assert skipped == stepped
    assert 2 * events[0] < events[1]
