"""Rounds of three nodes as numbers: as the entries of `simulator/rounds.py`, whose order they keep."""

from __future__ import annotations

import math

import pytest

from kafkactl.simulator import plain_rounds, rounds
from kafkactl.simulator.plain_rounds import THIRD, TWO_THIRDS
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
    entries, ended_early = plain_rounds._entries, []

    def watched(*given):
        ended_early.append(given[-1] == len(given[-2]))
        return entries(*given)

    monkeypatch.setattr(plain_rounds, "_entries", watched)
    by_numbers = [_states(seed) for seed in range(20)]
    assert len(ended_early) > 40
    assert 0 < sum(ended_early) < 20
    monkeypatch.setattr(rounds, "run_plain", lambda *_: None)
    assert by_numbers == [_states(seed) for seed in range(20)]


@pytest.mark.parametrize(("least", "place"), [(THIRD, 1), (TWO_THIRDS, 2)])
def test_a_server_is_chosen_as_by_multiplication(least: float, place: int) -> None:
    assert int(least * 3) == place
    assert int(math.nextafter(least, 0) * 3) == place - 1
