"""Runs of the quorum simulator for each second of CPU time: 60 simulated seconds, three voters.

Quiet: a quorum that elects a leader and waits; until it has one, each node asks for it without a pause, as Kafka's
does, or after a pause. With faults: profiles.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial

from bench.side_by_side import circumstances, record
from kafkactl.simulator.campaign import Asked, outcome_of, quorum_of
from kafkactl.simulator.quorum import Quorum
from kafkactl.simulator.world import World

SIMULATED_US = 60_000_000
QUIET_RUNS = 20
PAUSE_US = 200_000
FAULTY_RUNS = 20


def quiet(pause_us: int) -> tuple[int, int]:
    """Return runs, and events in all of them."""
    events = 0
    for seed in range(QUIET_RUNS):
        world = World(Quorum(leaderless_pause_us=pause_us), seed, traced=False)
        world.run_until(SIMULATED_US)
        events += world.events
    return QUIET_RUNS, events


def profile(name: str) -> tuple[int, int]:
    """Return the same for a profile; raises RuntimeError if a run broke an invariant."""
    asked = Asked(profile=name, voters=(1, 2, 3), release="3.9")
    quorum, _ = quorum_of(asked)
    events = 0
    for seed in range(FAULTY_RUNS):
        outcome = outcome_of(asked, quorum, seed, traced=False)
        if not outcome.passed:
            raise RuntimeError(f"profile {name}, seed {seed}: {outcome.violations[0].text}")
        events += outcome.events
    return FAULTY_RUNS, events


CASES: Mapping[str, Callable[[], tuple[int, int]]] = {
    "quiet, as Kafka asks": lambda: quiet(0),
    "quiet, with a pause": lambda: quiet(PAUSE_US),
    **{name: partial(profile, name) for name in ("rolling-restart", "chaos", "voter-change", "disk-loss")},
}


def measured(case: str) -> tuple[int, int, float]:
    """Return runs, their events, and the seconds of a processor that they took."""
    begun = time.process_time()
    runs, events = CASES[case]()
    return runs, events, time.process_time() - begun


def main() -> None:
    """Measure, print and record."""
    rows = []
    for name in CASES:
        runs, events, spent = measured(name)
        rows.append(f"| {name} | {runs} | {events / runs:,.0f} | {runs / spent:,.0f} | {events / spent:,.0f} |")
    record(
        "Simulator",
        "\n".join(
            [
                f"Runs of 60 simulated seconds, three voters, release 3.9, CPU time; {circumstances()}.\n",
                "| runs | number | events a run | runs a second | events a second |",
                "|---|---|---|---|---|",
                *rows,
            ]
        ),
    )


if __name__ == "__main__":
    main()
