"""Generated scripts: the shape of a quorum, its settings, and the plan of a profile of the simulator, all of a seed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kafkactl.core.frozen import frozen
from kafkactl.simulator.chance import Chance
from kafkactl.simulator.profiles import PROFILES, TimedStep, plan_of, step
from kafkactl.simulator.profiles import Case as PlanCase
from kafkactl.simulator.quorum import Quorum
from kafkactl.simulator.raft.profiles import PROFILE_3_9, PROFILE_4, US_PER_MS, Timeouts
from kafkactl.simulator.run import Outcome, run_in
from tests.lab.judge.node import Case, RaftJudge
from tests.lab.judge.world import JudgedWorld

RELEASES: Final = {"3.9.2": PROFILE_3_9, "4.3.1": PROFILE_4, "4.4.0": PROFILE_4}
_TIMEOUTS: Final = (
    Timeouts(),
    Timeouts(),
    Timeouts(election_timeout_ms=300, fetch_timeout_ms=700, request_timeout_ms=500),
    Timeouts(election_timeout_ms=2_000, fetch_timeout_ms=1_000, election_backoff_max_ms=400),
    Timeouts(fetch_max_wait_ms=50, append_linger_ms=0, retry_backoff_ms=100),
)
_DELAYS: Final = ((4_000, 4_000), (5_000, 25_000), (10_000, 10_000), (10_000, 60_000), (20_000, 200_000))


@frozen
class Generated:
    """Script: what is run, and what happens to it."""

    seed: int
    profile: str
    voters: tuple[int, ...]
    observers: tuple[int, ...]
    timeouts: Timeouts
    is_static: bool
    plan: tuple[TimedStep, ...]


def generated(seed: int) -> Generated:
    """Return the script of a seed: up to five voters and two further controllers, 4 to 15 simulated seconds of
    faults."""
    chance = Chance(seed, "faults")
    voters = tuple(range(1, 1 + chance.choice((1, 2, 3, 3, 3, 4, 5))))
    observers = tuple(range(6, 6 + chance.choice((0, 0, 1, 2))))
    profile = chance.choice(tuple(PROFILES))
    is_static = chance.happens(200)
    duration_us = chance.between(4, 15) * 1_000_000
    low, high = chance.choice(_DELAYS)
    case = PlanCase(voters=voters, observers=observers, duration_us=duration_us, chance=chance, is_static=is_static)
    drawn = (TimedStep(0, step("network", "delay", low, high)), *plan_of(profile, case))
    faults = [timed for timed in drawn if timed.step.verb not in ("clock", "settle")]
    plan = tuple(TimedStep(timed.at_us // US_PER_MS * US_PER_MS, timed.step) for timed in (*faults, *_mended(case)))
    return Generated(
        seed=seed,
        profile=profile,
        voters=voters,
        observers=observers,
        timeouts=chance.choice(_TIMEOUTS),
        is_static=is_static,
        plan=plan,
    )


def _mended(case: PlanCase) -> Iterator[TimedStep]:
    """End every fault, and offer three records, a second apart."""
    at_us = case.duration_us
    yield TimedStep(at_us, step("heal", None, None, True))
    yield TimedStep(at_us, step("network", "loss", 0))
    for node in case.nodes:
        yield TimedStep(at_us, step("resume", node))
        yield TimedStep(at_us, step("start", node))
    for seconds in (1, 2, 3):
        yield TimedStep(at_us + seconds * 1_000_000, step("append", 1))


def judged(judge: RaftJudge, script: Generated) -> tuple[Outcome, Case]:
    """Run a script on both sides. Raises Disagreement at the first call whose outcome is not the same."""
    case = Case(judge, script.seed, script.timeouts)
    quorum = Quorum(
        voters=script.voters,
        observers=script.observers,
        profile=RELEASES[judge.release],
        timeouts=script.timeouts,
        is_static=script.is_static,
        make_node=case.make,
    )
    outcome = run_in(JudgedWorld(quorum, script.seed, case), script.plan, script.seed)
    case.finish()
    return outcome, case
