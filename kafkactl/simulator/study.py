"""Study of a quorum for figures that no table has: time of an election, and a second failure during a step.

Each answer is a count over runs with seeds of their own, and is the same on every machine for the same question, runs
and seed. A second failure comes at an event that is drawn from the seed, between the request and the end of what it
sets off; the world up to the request is made once a seed and copied for every failure.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal

from kafkactl.core.answers import by_fields, json_of
from kafkactl.core.frozen import frozen
from kafkactl.simulator.actions import Operator, carry_out
from kafkactl.simulator.campaign import percentile
from kafkactl.simulator.chance import Chance
from kafkactl.simulator.profiles import step
from kafkactl.simulator.quorum import Quorum
from kafkactl.simulator.raft.profiles import DEFAULT_TIMEOUTS, Timeouts
from kafkactl.simulator.raft.profiles import PROFILES as RELEASE_PROFILES
from kafkactl.simulator.run import is_able
from kafkactl.simulator.script import RELEASES
from kafkactl.simulator.views import failover_us
from kafkactl.simulator.world import World

_SECOND: Final = 1_000_000
ELECTED_US: Final = 60 * _SECOND  # an election that takes longer is counted as none
GOES_ON_US: Final = 30 * _SECOND  # how long the quorum may take to commit again with the failed node away
RETURNS_US: Final = 60 * _SECOND  # and after it is back
# The same if some voter set has no majority that runs. Short, because its nodes ask bootstrap servers for a leader
# as fast as these answer: from 3.9.1 on a second of it takes tens of thousands of events.
HOPELESS_US: Final = 10 * _SECOND
STEP_US: Final = 5 * _SECOND  # what a step sets off is over by then: an election after a removal of the leader included
_LOOK_US: Final = 100_000
Cause = Literal["host-lost", "process-killed", "graceful-stop"]
VoterAction = Literal["add", "remove", "lose"]
CAUSES: Final[Mapping[Cause, str]] = {"host-lost": "crash", "process-killed": "kill", "graceful-stop": "stop"}
ADD: Final = "add"
REMOVE: Final = "remove"
LOSE: Final = "lose"


@frozen
class Electing:
    """Time without a leader after one kind of leader stop, in simulated runs.

    Times are in milliseconds, None if no leader was elected.
    """

    release: str
    """Release whose rules the simulated nodes followed."""
    cause: Cause
    runs: int
    elected: int
    """Runs in which a leader was elected within a minute."""
    p50_ms: float | None
    p90_ms: float | None
    p99_ms: float | None
    longest_ms: float | None

    to_dict = by_fields


@frozen
class VoterStep:
    """A step to be simulated: the voters before it, which of them are down, the change requested, and the leader.

    `replaced` are voters whose disk is lost and whose node runs with an empty one. `node` is added or removed; with
    `lose` the nodes of `lost` fail together instead. With `leader` None any node may be elected.
    """

    number: int
    action: VoterAction
    voters: tuple[int, ...]
    node: int | None = None
    lost: tuple[int, ...] = ()
    down: frozenset[int] = frozenset()
    replaced: frozenset[int] = frozenset()
    others: tuple[int, ...] = ()
    leader: int | None = None

    @property
    def after(self) -> frozenset[int]:
        """Return the voters after the step."""
        gone = {self.node} if self.action == REMOVE else set[int | None]()
        come = {self.node} if self.action == ADD and self.node is not None else set[int]()
        return frozenset(self.voters) - gone | come


@frozen
class SecondFailure:
    """A step in whose middle the host of one more node is lost, at an event that is drawn from the seed."""

    release: str
    number: int
    action: VoterAction
    id: int | None
    """Node that is added or removed."""
    node: int | None
    """The node that fails; None: no second failure."""
    runs: int
    goes_on: int
    """Runs in which the quorum committed again with the node away."""
    recovers: int
    """Runs in which it did so only after the node was back with its disk."""
    longest_gap_ms: float | None
    """The longest time without a commit among those that went on."""

    @property
    def stuck(self) -> int:
        """Return the number of runs in which nothing was committed, not even with the node back."""
        return self.runs - self.goes_on - self.recovers

    to_dict = json_of(
        "release", "step=number", "action", "id", "failed=node", "runs", "goes_on", "recovers", "stuck",
        "longest_gap_ms",
    )  # fmt: skip


@frozen
class Study:
    """Result of the simulator of quorums (`--simulate`); equal runs and seed give equal answers."""

    runs: int
    """Number of runs of each row, with seeds from `seed` on."""
    seed: int
    elections: tuple[Electing, ...]
    failures: tuple[SecondFailure, ...]

    to_dict = json_of("runs", "seed", "elections", "second_failures=failures")


def simulated_release(name: str) -> str:
    """Return the release whose rules represent `name`: itself, or the newest known release before it.

    >>> simulated_release("3.8"), simulated_release("4.3"), simulated_release("3.3")
    ('3.7', '4.3', '3.7')
    """
    wanted = tuple(map(int, name.split(".")[:2]))
    known = sorted(RELEASES, key=lambda release: tuple(map(int, release.split("."))))
    return [known[0], *(release for release in known if tuple(map(int, release.split("."))) <= wanted)][-1]


def study(
    voters: Sequence[int],
    releases: Iterable[str],
    steps: Sequence[VoterStep] = (),
    *,
    runs: int,
    seed: int = 0,
    down: Iterable[int] = (),
    timeouts: Timeouts = DEFAULT_TIMEOUTS,
    is_static: bool = False,
) -> Study:
    """Simulate elections of the voters that run, for each release, and a second failure in each step.

    `releases` are simulated as `simulated_release` says.
    """
    names = sorted({simulated_release(name) for name in releases}, key=list(RELEASES).index)

    def quorum(release: str, ids: Sequence[int], others: Sequence[int] = ()) -> Quorum:
        profile = RELEASE_PROFILES[RELEASES[release]]
        static = is_static or not profile.directory_ids
        return Quorum(voters=tuple(ids), observers=tuple(others), profile=profile, timeouts=timeouts, is_static=static)

    away = frozenset(down) & frozenset(voters)
    elections = [
        electing(quorum(name, voters), name, cause, runs=runs, seed=seed, down=away)
        for name in names
        for cause in CAUSES
        if len(voters) - len(away) > 1
    ]
    failures = [
        failure
        for wanted in steps
        for failure in second_failures(
            quorum(names[0], wanted.voters, wanted.others), wanted, names[0], runs=runs, seed=seed
        )
    ]
    return Study(runs=runs, seed=seed, elections=tuple(elections), failures=tuple(failures))


def electing(quorum: Quorum, release: str, cause: Cause, *, runs: int, seed: int, down: frozenset[int]) -> Electing:
    """Return the times without a leader after the host of the leader is lost, or its process is killed or stopped."""
    times: list[int] = []
    for each in range(seed, seed + runs):
        operator = _settled(quorum, each, down=down)
        if operator is None:
            continue
        world = operator.world
        _pass(world, Chance(each, "faults").below(_SECOND))  # somewhere between two fetches
        begun = world.now
        carry_out(operator, step(CAUSES[cause], "leader"))
        found = _failover_us(world, begun)
        times += [] if found is None else [found]
    p50, p90, p99, longest = (
        None if (value := percentile(times, share)) is None else value / 1000 for share in (50, 90, 99, 100)
    )
    return Electing(
        release=release, cause=cause, runs=runs, elected=len(times), p50_ms=p50, p90_ms=p90, p99_ms=p99,
        longest_ms=longest,
    )  # fmt: skip


def second_failures(
    quorum: Quorum, wanted: VoterStep, release: str, *, runs: int, seed: int
) -> Iterator[SecondFailure]:
    """Yield a step without another failure, then with the loss of each live voter before or after it."""
    victims = sorted({*wanted.voters, *wanted.after} - wanted.down - set(wanted.lost) | wanted.replaced & wanted.after)
    ends: dict[int | None, list[tuple[str, int]]] = {victim: [] for victim in (None, *victims)}
    for each in range(seed, seed + runs):
        begun = _begun(quorum, wanted, each)
        if begun is None:
            for found in ends.values():
                found.append(("stuck", 0))
            continue
        saved, names = begun
        events = _events_of(pickle.loads(saved), wanted, names)
        chance = Chance(each, "faults")
        for victim, found in ends.items():
            at = chance.below(events)
            found.append(_tried(pickle.loads(saved), wanted, names, victim, at))
    for victim, found in ends.items():
        gaps = [gap for end, gap in found if end == "goes_on"]
        yield SecondFailure(
            release=release,
            number=wanted.number,
            action=wanted.action,
            id=wanted.node,
            node=victim,
            runs=runs,
            goes_on=len(gaps),
            recovers=sum(end == "recovers" for end, _ in found),
            longest_gap_ms=max(gaps) / 1000 if gaps else None,
        )


def _begun(quorum: Quorum, wanted: VoterStep, seed: int) -> tuple[bytes, Mapping[int, int]] | None:
    """Return the simulated cluster just before the request, pickled, and the node that is used for each id.

    None if no leader is elected. Voters differ only in which of them leads, so the elected node and the one that
    should lead swap ids. One prepared cluster can thus be used for every choice of leader.
    """
    operator = _settled(quorum, seed)
    if operator is None:
        return None
    world = operator.world
    leader = world.leader()
    names = {node: node for node in quorum.nodes}
    if leader is not None and wanted.leader in names:
        names[wanted.leader], names[leader.id] = leader.id, wanted.leader
    away = wanted.down | wanted.replaced
    for node in sorted(away):
        if node in names:
            carry_out(operator, step("kill", names[node]))
    # A leader that returns with an empty disk before another is elected learns that it leads, and its process exits.
    if away and not _commits(operator, GOES_ON_US):
        return None
    for node in sorted(wanted.replaced):
        carry_out(operator, step("wipe", names[node]))
        carry_out(operator, step("start", names[node]))
    if not _commits(operator, GOES_ON_US):
        return None
    _pass(world, 2 * _SECOND)
    return pickle.dumps(operator), names


def _ask(operator: Operator, wanted: VoterStep, names: Mapping[int, int]) -> None:
    if wanted.action == LOSE:
        for node in wanted.lost:
            if node in names:
                carry_out(operator, step("crash", names[node]))
    elif wanted.node is not None:
        carry_out(operator, step(wanted.action, names[wanted.node]))


def _events_of(operator: Operator, wanted: VoterStep, names: Mapping[int, int]) -> int:
    """Return the number of events from the request until it is answered and a running node leads."""
    world = operator.world
    begun = world.events
    _ask(operator, wanted, names)

    def is_over() -> bool:
        leader = world.leader()
        return not operator.waits and leader is not None and leader.process is not None and world.events > begun

    world.run_until(world.now + STEP_US, is_over)
    return max(1, world.events - begun)


def _tried(
    operator: Operator, wanted: VoterStep, names: Mapping[int, int], victim: int | None, at: int
) -> tuple[str, int]:
    """Return the end of a step, and the time without a commit, if the victim fails `at` events after the request."""
    world = operator.world
    begun = world.events
    _ask(operator, wanted, names)
    if victim is not None:
        world.run_until(world.now + STEP_US, lambda: world.events - begun >= at)
        carry_out(operator, step("crash", names[victim]))
    failed_us = world.now
    if _commits(operator, GOES_ON_US):
        return "goes_on", world.now - failed_us
    if victim is not None:
        carry_out(operator, step("start", names[victim]))
        if _commits(operator, RETURNS_US):
            return "recovers", 0
    return "stuck", 0


def _settled(quorum: Quorum, seed: int, *, down: Iterable[int] = ()) -> Operator | None:
    """Return a quorum that has committed, without those that are down; None if it cannot."""
    operator = Operator(World(quorum, seed, traced=False))
    for node in sorted(down):
        carry_out(operator, step("kill", node))
    if not _commits(operator, GOES_ON_US):
        return None
    _pass(operator.world, 3 * _SECOND)
    return operator


def _pass(world: World, time_us: int) -> None:
    end = world.now + time_us
    while world.now < end and not world.monitor.violations:
        world.run_until(end)


def _commits(operator: Operator, within_us: int) -> bool:
    """Offer records until one that is offered from now on is committed."""
    world = operator.world
    end, before = world.now + within_us, len(world.appended) + world.committed
    hopeless = world.now + min(within_us, HOPELESS_US)
    while world.now < end and (world.now < hopeless or is_able(world)):
        operator.append(1)
        if world.run_until(min(end, world.now + _LOOK_US), _is_committed(world, before)):
            return True
    return False


def _failover_us(world: World, since_us: int) -> int | None:
    """Return the time without a leader since then; None if no leader is elected."""
    end, hopeless = since_us + ELECTED_US, since_us + HOPELESS_US
    while world.now < end and (world.now < hopeless or is_able(world)):
        if world.run_until(min(end, world.now + _LOOK_US), lambda: failover_us(world, since_us) is not None):
            break
    return failover_us(world, since_us)


def _is_committed(world: World, before: int) -> Callable[[], bool]:
    return lambda: world.committed > before
