"""Runs of the quorum simulator for each second of CPU time. Goal: 1,000 runs of 60 simulated seconds for three voters.

Quiet: a quorum that elects a leader and waits; until it has one, each node asks for it without a pause, as Kafka's
does, or after a pause. With faults: profiles, where little time can be passed over.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module

from bench.side_by_side import circumstances, record
from kafkactl.simulator.campaign import Asked, outcome_of, quorum_of
from kafkactl.simulator.quorum import Quorum
from kafkactl.simulator.world import World
from tests.simulator.compiled import Worker, check, compiled

SIMULATED_US = 60_000_000
QUIET_RUNS = 200
PAUSE_US = 200_000
FAULTY_RUNS = 20
GOAL = 1_000


def quiet(pause_us: int) -> tuple[int, int]:
    """Runs, and events in all of them."""
    events = 0
    for seed in range(QUIET_RUNS):
        world = World(Quorum(leaderless_pause_us=pause_us), seed, traced=False)
        world.run_until(SIMULATED_US)
        events += world.events
    return QUIET_RUNS, events


def profile(name: str) -> tuple[int, int]:
    """The same for a profile; raises RuntimeError where a run broke an invariant."""
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
    """Runs, their events, and the seconds of a processor that they took."""
    begun = time.process_time()
    runs, events = CASES[case]()
    return runs, events, time.process_time() - begun


def compiled_rates() -> dict[str, float]:
    """Runs a second of the copy that mypyc compiles (tests/simulator/compiled.py), by case."""
    copy = compiled()
    itself = import_module("bench.simulate")  # by this name the copy's process finds the function
    with Worker(copy) as worker:
        check(worker, copy, [])
        rates = {}
        for case in CASES:
            runs, _, spent = worker.ask(itself.measured, case)
            rates[case] = runs / spent
    return rates


def _verdict(rate: float) -> str:
    return f"{rate:,.0f} ({'met' if rate >= GOAL else 'missed'})"


def main(arguments: list[str]) -> None:
    """Measure, print and record."""
    by_copy = compiled_rates() if "--compiled" in arguments else {}
    rows, rates = [], {}
    for name in CASES:
        runs, events, spent = measured(name)
        rates[name] = runs / spent
        copied = f"{by_copy[name]:,.0f}" if by_copy else "not measured"
        rows.append(
            f"| {name} | {runs} | {events / runs:,.0f} | {rates[name]:,.0f} | {events / spent:,.0f} | {copied} |"
        )
    quick, paused = "quiet, as Kafka asks", "quiet, with a pause"
    copy = f" The compiled copy: {_verdict(by_copy[quick])} and {_verdict(by_copy[paused])}." if by_copy else ""
    record(
        "Simulator",
        "\n".join(
            [
                f"Runs of 60 simulated seconds, three voters, release 3.9, CPU time; {circumstances()}. `--compiled` "
                "measures the copy for campaigns that mypyc compiles (`tests/simulator/compiled.py`), too.\n",
                "| runs | number | events a run | runs a second | events a second | compiled: runs a second |",
                "|---|---|---|---|---|---|",
                *rows,
                "",
                f"Goal for a quiet quorum: {GOAL:,} runs a second. Measured where nodes without a leader ask for one "
                f"as often as Kafka's do: {_verdict(rates[quick])}; where they pause for "
                f"{PAUSE_US // 1000} ms: {_verdict(rates[paused])}.{copy}",
            ]
        ),
    )


if __name__ == "__main__":
    main(sys.argv[1:])
