"""Runs of the quorum simulator for each second of CPU time. Goal: 1,000 runs of 60 simulated seconds for three voters.

Quiet: a quorum that elects a leader and waits; until it has one, each node asks for it without a pause, as Kafka's
does, or after a pause. With faults: profiles, where little time can be passed over.
"""

from __future__ import annotations

import time

from bench.side_by_side import circumstances, record
from kafkactl.simulator.campaign import Asked, outcome_of, quorum_of
from kafkactl.simulator.quorum import Quorum
from kafkactl.simulator.world import World

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


def _verdict(rate: float) -> str:
    return f"{rate:,.0f} ({'met' if rate >= GOAL else 'missed'})"


def main() -> None:
    """Measure, print and record."""
    rows, rates = [], {}
    cases = {
        "quiet, as Kafka asks": lambda: quiet(0),
        "quiet, with a pause": lambda: quiet(PAUSE_US),
        **{name: lambda name=name: profile(name) for name in ("rolling-restart", "chaos", "voter-change", "disk-loss")},
    }
    for name, run in cases.items():
        begun = time.process_time()
        runs, events = run()
        spent = time.process_time() - begun
        rows.append(f"| {name} | {runs} | {events / runs:,.0f} | {runs / spent:,.0f} | {events / spent:,.0f} |")
        rates[name] = runs / spent
    record(
        "Simulator",
        "\n".join(
            [
                f"Runs of 60 simulated seconds, three voters, release 3.9, CPU time; {circumstances()}.\n",
                "| runs | number | events a run | runs a second | events a second |",
                "|---|---|---|---|---|",
                *rows,
                "",
                f"Goal for a quiet quorum: {GOAL:,} runs a second. Measured where nodes without a leader ask for one "
                f"as often as Kafka's do: {_verdict(rates['quiet, as Kafka asks'])}; where they pause for "
                f"{PAUSE_US // 1000} ms: {_verdict(rates['quiet, with a pause'])}.",
            ]
        ),
    )


if __name__ == "__main__":
    main()
