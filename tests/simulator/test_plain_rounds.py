"""Rounds of a node that depend on no other: as the rounds of `simulator/rounds.py`, one by one."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkactl.simulator import rounds
from kafkactl.simulator.chance import Choices
from kafkactl.simulator.plain_rounds import history, pass_over, passed_over
from kafkactl.simulator.quorum import Quorum
from kafkactl.simulator.world import World
from tests.simulator.test_skip import SECOND, _of_machine, _sent


def _states(voters: int, seed: int) -> list[object]:
    simulated = World(Quorum(voters=tuple(range(1, voters + 1))), seed)
    found = []
    for time_us in (300_001, 654_321, 1_234_567, 10 * SECOND):
        simulated.run_until(time_us)
        machines = [_of_machine(machine, simulated.now) for machine in simulated.machines.values()]
        chosen = [machine.choices.one() for machine in simulated.machines.values()]
        found.append((machines, _sent(simulated), simulated.events, simulated.timers.fraction(), chosen))
    return found


@pytest.mark.parametrize("voters", [2, 3, 5])
def test_they_leave_every_node_as_entries_do(monkeypatch: pytest.MonkeyPatch, voters: int) -> None:
    quick = [_states(voters, seed) for seed in range(10)]
    settle, plain = rounds._Loop.settle, []

    def settles(loop: rounds._Loop) -> None:
        settle(loop)
        plain.append(loop.is_plain)
        loop.is_plain = False

    monkeypatch.setattr(rounds._Loop, "settle", settles)
    assert quick == [_states(voters, seed) for seed in range(10)]
    assert any(plain)


def _one_by_one(entry: Any, until: int, choices: Choices) -> Any:
    at, _arrives, _before, loop, _place, number = entry
    while at < until:
        server = choices.one()
        there, both = loop.steps[server]
        number += 1
        entry = (at + both, at + there, entry, loop, server, number)
        at += both
    return entry


@given(
    st.lists(st.tuples(st.integers(1, 2_000), st.integers(1, 2_000)), min_size=1, max_size=5),
    st.integers(-1, 400),
    st.integers(0, 200_000),
    st.integers(0, 99),
)
def test_they_end_with_the_entry_of_one_by_one(ways: list[tuple[int, int]], sent: int, length: int, seed: int) -> None:
    loop = SimpleNamespace(steps=[(there, there + back) for there, back in ways])
    entry = (500, sent, (-1, 7), loop, 0, 40)
    quick, slow = Choices(seed, 1, len(ways)), Choices(seed, 1, len(ways))
    found, stepped = pass_over(entry, 500 + length, quick), _one_by_one(entry, 500 + length, slow)
    assert (*found[:2], *found[4:]) == (*stepped[:2], *stepped[4:])
    assert history(found)[:-2] == history(stepped)[:-2]
    assert quick.many(300) == slow.many(300)


@pytest.mark.parametrize(("sent", "goes_on"), [(90, True), (110, False)])
def test_of_one_moment_the_answer_that_was_sent_first_comes_first(sent: int, goes_on: bool) -> None:
    """One leaves its rounds at 200: its answer was sent at 100."""
    loop = SimpleNamespace(steps=[(10, 30)], machine=SimpleNamespace(choices=Choices(1, 1, 1)))
    leaving = (200, 100, (-1, 1), SimpleNamespace(), 0, 5)
    found = passed_over((200, sent, (-1, 2), loop, 0, 9), 200, leaving)
    assert found[0] == (230 if goes_on else 200)
