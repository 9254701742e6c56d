"""Many runs of one script or profile: how many passed, how long elections took, and the first failure made small."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final, Literal

from kafkactl.core.answers import by_fields
from kafkactl.core.errors import UnknownOutcomeError
from kafkactl.core.frozen import changed, frozen
from kafkactl.simulator.chance import Chance
from kafkactl.simulator.profiles import Case, TimedStep, as_script, plan_of
from kafkactl.simulator.quorum import Quorum
from kafkactl.simulator.raft.profiles import PROFILES as RELEASE_PROFILES
from kafkactl.simulator.raft.profiles import Timeouts
from kafkactl.simulator.run import InVain, Outcome, run_plan, run_script
from kafkactl.simulator.script import RELEASES, Condition, Script, Step
from kafkactl.simulator.shrink import fewest

DEFAULT_RELEASE: Final = "4.4"
DEFAULT_DURATION_US: Final = 60_000_000
SHOWN_FAILURES: Final = 20
_OBSERVERS: Final[Mapping[str, int]] = {"voter-change": 2, "chaos": 1}
_SHARES: Final = (50, 90, 99, 100)


@frozen
class Asked:
    """Request of a campaign: a script, or else a profile. None is the default of the script, or of the simulator."""

    script: Script | None = None
    profile: str | None = None
    voters: tuple[int, ...] | None = None
    observers: tuple[int, ...] | None = None
    release: str | None = None
    is_static: bool | None = None
    seed: int = 0
    runs: int = 1
    duration_us: int = DEFAULT_DURATION_US
    density: int = 1
    shrinks: bool = True


@frozen
class Remark:
    """A statement that had nothing to do: in how many runs, and the first of them."""

    first: InVain
    seed: int
    runs: int


@frozen
class Percentiles:
    """Milliseconds of virtual time; None without a value."""

    p50: float | None
    p90: float | None
    p99: float | None
    p100: float | None
    """The longest."""

    to_dict = by_fields


@frozen
class Figures:
    """Numbers over all runs."""

    events: int
    """Number of events handed to nodes: messages, timers, ends of syncs."""
    elections: int
    """Leaders that were elected."""
    highest_epoch: int
    records_committed: int
    failovers: int
    """Times that were measured from a `mark` to the next leader."""
    failover_ms: Percentiles

    to_dict = by_fields


@frozen
class Summary:
    """Summary of all runs. `shown` is the run whose timeline is printed: the first that failed, or the first.

    `runs` are those that are over: fewer than were asked for where `ended` says that the rest was not made, because it
    was `interrupted` or the time was over (`timed-out`).
    """

    quorum: Quorum
    release: str
    runs: int
    """The runs that were made."""
    passed: int
    failures: tuple[Outcome, ...]
    shown: Outcome
    events: int
    elections: int
    committed: int
    failovers_us: tuple[int, ...]
    highest_epoch: int
    shrunk: str | None
    """Smallest script of a failing profile: the fewest statements that fail alike."""
    faults_before: int
    faults_after: int
    remarks: tuple[Remark, ...] = ()
    ended: str = ""


def quorum_of(asked: Asked) -> tuple[Quorum, str]:
    """Return the quorum that is meant, and its release: options first, then the script, then the defaults."""
    setup = None if asked.script is None else asked.script.setup
    release = asked.release or (setup and setup.release) or DEFAULT_RELEASE
    voters = asked.voters or (setup and setup.voters) or (1, 2, 3)
    given = asked.observers if asked.observers is not None else (setup.observers if setup else None)
    if given is None:
        first = max(voters) + 1
        given = tuple(range(first, first + _OBSERVERS.get(asked.profile or "", 0)))
    observers = tuple(node for node in given if node not in voters)
    is_static = asked.is_static if asked.is_static is not None else (setup and setup.is_static)
    profile = RELEASE_PROFILES[RELEASES[release]]
    quorum = Quorum(
        voters=voters,
        observers=observers,
        profile=profile,
        timeouts=timeouts_of(setup.configs if setup else None),
        is_static=bool(is_static) if is_static is not None else not profile.directory_ids,
    )
    return quorum, release


def timeouts_of(configs: Mapping[str, int] | None) -> Timeouts:
    """Return the timeouts of `controller.quorum.*`, Kafka's defaults if none is given."""
    words = {
        name.removeprefix("controller.quorum.").replace(".", "_"): value for name, value in (configs or {}).items()
    }
    return Timeouts(**words)


def plan_for(asked: Asked, quorum: Quorum, seed: int) -> tuple[TimedStep, ...]:
    """Return the plan of a profile for one seed."""
    case = Case(
        voters=quorum.voters,
        observers=quorum.observers,
        duration_us=asked.duration_us,
        chance=Chance(seed, "faults"),
        is_static=quorum.is_static,
        density=asked.density,
    )
    return plan_of(asked.profile or "chaos", case)


def outcome_of(asked: Asked, quorum: Quorum, seed: int, *, traced: bool) -> Outcome:
    """Return the outcome of one run."""
    if asked.script is not None:
        return run_script(quorum, asked.script.steps, seed, traced=traced)
    return run_plan(quorum, plan_for(asked, quorum, seed), seed, traced=traced)


def outcomes(asked: Asked, quorum: Quorum) -> Iterator[Outcome]:
    """Yield the outcomes of all runs in the order of their seeds, without timelines."""
    for seed in range(asked.seed, asked.seed + asked.runs):
        yield outcome_of(asked, quorum, seed, traced=False)


class Tally:
    """Counts of finished runs, in the order of their seeds."""

    def __init__(self) -> None:
        self.runs = self.passed = self.events = self.elections = self.committed = self.epoch = 0
        self.failures: list[Outcome] = []
        self.failovers: list[int] = []
        self.remarks: dict[int, Remark] = {}

    def add(self, outcome: Outcome) -> None:
        """Count one more run."""
        self.events += outcome.events
        self.elections += outcome.elections
        self.committed += outcome.committed
        self.epoch = max(self.epoch, outcome.epoch)
        self.failovers += outcome.failovers_us
        if not outcome.passed and len(self.failures) < SHOWN_FAILURES:
            self.failures.append(outcome)
        for line, found in {each.line: each for each in outcome.in_vain}.items():
            known = self.remarks.get(line) or Remark(first=found, seed=outcome.seed, runs=0)
            self.remarks[line] = Remark(first=known.first, seed=known.seed, runs=known.runs + 1)
        # Both at once, and last: a run that an interruption cuts off here is made again.
        self.runs, self.passed = self.runs + 1, self.passed + outcome.passed

    def join(self, later: Tally) -> None:
        """Count runs of later seeds that were counted elsewhere."""
        self.events += later.events
        self.elections += later.elections
        self.committed += later.committed
        self.epoch = max(self.epoch, later.epoch)
        self.failovers += later.failovers
        self.failures = (self.failures + later.failures)[:SHOWN_FAILURES]
        for line, found in later.remarks.items():
            known = self.remarks.get(line) or Remark(first=found.first, seed=found.seed, runs=0)
            self.remarks[line] = Remark(first=known.first, seed=known.seed, runs=known.runs + found.runs)
        self.runs, self.passed = self.runs + later.runs, self.passed + later.passed


@frozen
class _Reported:
    """The run that is shown with its timeline, and of a plan that failed its fewest statements."""

    shown: Outcome
    shrunk: str | None = None
    before: int = 0
    after: int = 0


def ranges_of(asked: Asked, count: int) -> list[Asked]:
    """Return the request as so many requests of about as many seeds each, in the order of the seeds.

    >>> [(part.seed, part.runs) for part in ranges_of(Asked(seed=5, runs=7), 3)]
    [(5, 2), (7, 2), (9, 3)]
    """
    bounds = [asked.runs * at // count for at in range(count + 1)]
    return [changed(asked, seed=asked.seed + begin, runs=end - begin) for begin, end in pairwise(bounds) if end > begin]


def tally_of(asked: Asked) -> Tally:
    """Return the counts of all runs of a request."""
    quorum, _ = quorum_of(asked)
    tally = Tally()
    for outcome in outcomes(asked, quorum):
        tally.add(outcome)
    return tally


def simulate(
    asked: Asked, progress: Callable[[int], None] = lambda _: None, counted: Iterable[Tally] | None = None
) -> Summary:
    """Run everything, show the first failure (or the first run) with its timeline, and shrink a plan that failed.

    `progress` gets how many runs are over, after each. `counted` are the runs if they are made elsewhere, in the order
    of their seeds. An interruption, or the end of the time, ends it with the runs that are over, of which none is
    shrunk; if none is, it is raised.
    """
    quorum, release = quorum_of(asked)
    tally, reported, ended = Tally(), None, ""
    try:
        if counted is None:
            for outcome in outcomes(asked, quorum):
                tally.add(outcome)
                progress(tally.runs)
        else:
            for part in counted:
                tally.join(part)
                progress(tally.runs)
        reported = _report(asked, quorum, release, tally)
    except (KeyboardInterrupt, UnknownOutcomeError) as error:
        if not tally.runs:
            raise
        ended = "interrupted" if isinstance(error, KeyboardInterrupt) else error.id
        reported = _Reported(shown=_shown(asked, quorum, tally))
    return Summary(
        quorum=quorum,
        release=release,
        runs=tally.runs,
        passed=tally.passed,
        failures=tuple(tally.failures),
        shown=reported.shown,
        events=tally.events,
        elections=tally.elections,
        committed=tally.committed,
        failovers_us=tuple(tally.failovers),
        highest_epoch=tally.epoch,
        shrunk=reported.shrunk,
        faults_before=reported.before,
        faults_after=reported.after,
        remarks=tuple(tally.remarks[line] for line in sorted(tally.remarks)),
        ended=ended,
    )


def _shown(asked: Asked, quorum: Quorum, tally: Tally) -> Outcome:
    return outcome_of(asked, quorum, tally.failures[0].seed if tally.failures else asked.seed, traced=True)


def _report(asked: Asked, quorum: Quorum, release: str, tally: Tally) -> _Reported:
    shown = _shown(asked, quorum, tally)
    if not tally.failures or asked.script is not None or not asked.shrinks:
        return _Reported(shown=shown)
    plan = plan_for(asked, quorum, shown.seed)
    small = shrunk_plan(quorum, plan, shown)
    shrunk = as_script(_head(asked, quorum, release, shown.seed), small)
    return _Reported(
        shown=run_plan(quorum, small, shown.seed, traced=True), shrunk=shrunk, before=len(plan), after=len(small)
    )


def shrunk_plan(quorum: Quorum, plan: Sequence[TimedStep], failed: Outcome) -> list[TimedStep]:
    """Return the fewest statements of a plan that still break the invariant that was broken first, at the same seed.

    Behind them it is expected that this invariant is not broken: the run goes on to the moment at which it was, which
    may be long after the last fault.
    """
    first = failed.violations[0]
    condition = Condition("broken", negated=True, value=first.invariant)
    text = f"expect not broken {first.invariant}"
    end = TimedStep(first.time_us, Step(verb="expect", args=(condition,), text=text))

    def fails(part: Sequence[TimedStep]) -> bool:
        found = run_plan(quorum, [*part, end], failed.seed).violations
        return bool(found) and found[0].invariant == first.invariant

    reached = [timed for timed in plan if timed.at_us <= first.time_us]
    return [*fewest(reached, fails), end]


def _head(asked: Asked, quorum: Quorum, release: str, seed: int) -> list[str]:
    head = [
        f"# Profile {asked.profile}, seed {seed}, the fewest faults. Run it with --seed {seed}.",
        f"voters {' '.join(map(str, quorum.voters))}" if len(quorum.voters) > 1 else "voters 1",
        f"release {release}",
        f"quorum {'static' if quorum.is_static else 'dynamic'}",
    ]
    if quorum.observers:
        head.insert(2, f"observers {' '.join(map(str, quorum.observers))}")
    return head


def verdict_of(summary: Summary) -> Literal["passed", "failed", "unknown"]:
    """Return `failed` if a run did, `unknown` if runs were not made, else `passed`.

    If all runs are over and the first failure was not made small, the verdict is known.
    """
    if summary.passed < summary.runs:
        return "failed"
    return "unknown" if summary.ended else "passed"


def percentile(values: Sequence[int], share: int) -> int | None:
    """Return the smallest value that at least `share` percent of the values do not exceed; None without values.

    >>> percentile([3, 1, 2, 4], 50)
    2
    """
    if not values:
        return None
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * share // 100) - 1)]


def failover_ms(summary: Summary) -> dict[str, float]:
    """Return the percentiles of the times to the next leader, the longest as p100; empty if none was measured."""
    found = {f"p{share}": percentile(summary.failovers_us, share) for share in _SHARES}
    return {name: value / 1000 for name, value in found.items() if value is not None}


def figures(summary: Summary) -> Figures:
    """Return the numbers over all runs."""
    times = failover_ms(summary)
    return Figures(
        events=summary.events,
        elections=summary.elections,
        highest_epoch=summary.highest_epoch,
        records_committed=summary.committed,
        failovers=len(summary.failovers_us),
        failover_ms=Percentiles(**{f"p{share}": times.get(f"p{share}") for share in _SHARES}),
    )
