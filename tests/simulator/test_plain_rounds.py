"""Rounds of three nodes as numbers: as the entries of `simulator/rounds.py`, whose order they keep."""

from __future__ import annotations

import pytest

from kafkactl.simulator import plain_rounds, rounds
from kafkactl.simulator.quorum import Quorum
from kafkactl.simulator.world import World
from tests.simulator.test_skip import SECOND, _of_machine, _sent


def _states(seed: int) -> list[object]:
    simulated = World(Quorum(), seed)
    found = []
    for time_us in (300_001, 654_321, 1_234_567, 10 * SECOND):
        simulated.run_until(time_us)
        machines = [_of_machine(machine, simulated.now) for machine in simulated.machines.values()]
        found.append((machines, _sent(simulated), simulated.events, simulated.timers.fraction()))
    return found


def test_they_leave_every_node_as_entries_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where two answers differ by nothing but what came before them, too: some of these runs have such."""
    in_order, tied, swapped = plain_rounds._in_order, [], []

    def watched(numbers, past, first):
        found = in_order(numbers, past, first)
        tied.append(numbers)
        swapped.append(found != sorted(numbers))
        return found

    monkeypatch.setattr(plain_rounds, "_in_order", watched)
    by_numbers = [_states(seed) for seed in range(40)]
    assert any(swapped)
    assert len(tied) < 40
    monkeypatch.setattr(rounds, "run_plain", lambda *_: None)
    assert by_numbers == [_states(seed) for seed in range(40)]


def test_answers_of_one_moment_are_in_the_order_of_those_before_them() -> None:
    """The last digit of a number here is its node: it decides nothing."""
    at_once = [500 << 16 | node for node in range(3)]
    earlier = [100 << 16, 90 << 16 | 1, 80 << 16 | 2]
    first = [(0, 0, (-1, sequence)) for sequence in (7, 9, 8)]

    def order(past):
        return [number & 3 for number in plain_rounds._in_order(at_once, past, first)]

    assert order([[number] for number in earlier]) == [2, 1, 0]
    assert order([[number, 200 << 16 | place] for place, number in enumerate(earlier)]) == [2, 1, 0]
    assert order([[earlier[0]], [100 << 16 | 1], [100 << 16 | 2]]) == [0, 2, 1]
    assert order([[100 << 16 | 4], [], [100 << 16 | 2]]) == [1, 0, 2]
