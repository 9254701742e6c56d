"""Plans of faults drawn from a seed: what a week of bad luck does to a quorum, within a minute.

A plan is a list of timed statements of the script language, so that it can be shrunk and written out as a script.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from kafkactl.core.frozen import changed, frozen
from kafkactl.simulator.chance import Chance
from kafkactl.simulator.script import Step
from kafkactl.simulator.words import Ref, shown_duration

_SECOND: Final = 1_000_000
MANY_RECORDS: Final = 120_000  # more than the 8 MiB that one fetch takes, at 100 bytes a record
SETTLE_US: Final = 60 * _SECOND  # how long a healed quorum may take to commit: above any chain of split votes seen


@frozen(kw_only=False)
class TimedStep:
    """A statement and its virtual time in microseconds."""

    at_us: int
    step: Step


@frozen
class Case:
    """The input of a profile: the voters, the other nodes, how long faults are injected, the random numbers.

    `density` is how many times denser than by default the faults come, and how many times shorter each lasts.
    """

    voters: tuple[int, ...]
    observers: tuple[int, ...]
    duration_us: int
    chance: Chance
    is_static: bool = False
    density: int = 1

    @property
    def nodes(self) -> tuple[int, ...]:
        """Return voters and observers."""
        return (*self.voters, *self.observers)


@lru_cache(maxsize=4096)
def step(verb: str, *args: Any) -> Step:
    """Return a statement as a script would have it: plans have few that differ."""
    return Step(verb=verb, args=args, text=_text(verb, args))


def plan_of(profile: str, case: Case) -> tuple[TimedStep, ...]:
    """Return the plan of a profile, in the order of time, with `settle` after them.

    Raises KeyError for an unknown profile.
    """
    long = changed(case, duration_us=case.duration_us * case.density)
    drawn = sorted(PROFILES[profile](long), key=lambda timed: timed.at_us)
    kept = [TimedStep(timed.at_us // case.density, timed.step) for timed in drawn if timed.at_us <= long.duration_us]
    if case.is_static:  # its voters are in the configuration
        kept = [timed for timed in kept if timed.step.verb not in ("add", "remove")]
    return (*kept, TimedStep(case.duration_us, step("settle", SETTLE_US)))


def as_script(head: Sequence[str], plan: Sequence[TimedStep]) -> str:
    """Return a plan as a script that `--script` takes: `head` lines, then `run` between the statements."""
    lines, now = [*head], 0
    for timed in plan:
        if timed.at_us > now:
            lines.append(f"run {shown_duration(timed.at_us - now)}")
            now = timed.at_us
        lines.append(timed.step.text)
    return "\n".join(lines) + "\n"


def _chaos(case: Case) -> Iterator[TimedStep]:
    """Yield every kind of fault, several at the same time."""
    chance, now = case.chance, 0
    mean_us = chance.choice((1, 2, 4, 8)) * _SECOND
    if chance.happens(500):
        yield TimedStep(0, step("network", "loss", chance.choice((5, 20, 100, 200))))
    if chance.happens(300):
        yield TimedStep(0, step("network", "duplicates", chance.choice((10, 100, 300))))
    if chance.happens(400):
        yield TimedStep(0, step("network", "delay", 500, chance.choice((5_000, 50_000, 400_000))))
    for node in case.nodes:
        if chance.happens(300):
            yield TimedStep(0, step("clock", node, chance.between(-100, 100)))
    while now < case.duration_us:
        now += chance.below(2 * mean_us)
        yield from _fault(case, now)


def _fault(case: Case, now: int) -> Iterator[TimedStep]:
    chance = case.chance
    kind = chance.choice(_FAULTS)
    later = now + chance.between(1_000, chance.choice(_LASTING))
    node = chance.choice(case.nodes)
    if kind in _ENDED_BY:
        victim: Ref = "leader" if chance.happens(400) else node
        if victim == "leader":  # which node that is, is known only in the run: the fault is ended on every node
            yield TimedStep(now, step(kind, victim))
            yield from (TimedStep(later, step(_ENDED_BY[kind], every)) for every in case.nodes)
        else:
            yield TimedStep(now, step(kind, victim))
            yield TimedStep(later, step(_ENDED_BY[kind], victim))
    elif kind == "cut":
        other = chance.choice([every for every in case.nodes if every != node] or [node])
        link = (node, None, True) if chance.happens(500) or other == node else (node, other, chance.happens(500))
        yield TimedStep(now, step("cut", *link))
        yield TimedStep(later, step("heal", *link))
    elif kind == "split":
        yield from _split(case, now, later)
    elif kind == "blackout":
        yield from (TimedStep(now, step("crash", every)) for every in case.nodes)
        yield from (TimedStep(later, step("start", every)) for every in case.nodes)
    elif kind == "disk":
        yield TimedStep(now, step("disk", node, chance.choice((1_000, 20_000, 300_000))))
    elif kind == "append":
        yield TimedStep(now, step("append", chance.between(1, 5) if chance.happens(950) else MANY_RECORDS))
    else:
        yield TimedStep(now, step(kind, node))


def _split(case: Case, now: int, later: int) -> Iterator[TimedStep]:
    """Yield the nodes fall into two parts that do not reach each other."""
    sides = [case.chance.happens(500) for _ in case.nodes]
    apart = [
        (node, other, True)
        for place, node in enumerate(case.nodes)
        for other_place, other in enumerate(case.nodes)
        if place < other_place and sides[place] != sides[other_place]
    ]
    yield from (TimedStep(now, step("cut", *link)) for link in apart)
    yield from (TimedStep(later, step("heal", *link)) for link in apart)


# A fault lasts at most so long: some restarts are quick.
_LASTING: Final = (30_000, _SECOND, 10 * _SECOND, 10 * _SECOND)
_ENDED_BY: Final[Mapping[str, str]] = {"kill": "start", "crash": "start", "stop": "start", "pause": "resume"}
_FAULTS: Final = (
    "kill",
    "crash",
    "crash",
    "stop",
    "pause",
    "cut",
    "cut",
    "split",
    "blackout",
    "disk",
    "append",
    "append",
    "append",
    "add",
    "remove",
    "snapshot",
)


def _rolling_restart(case: Case) -> Iterator[TimedStep]:
    """Yield a graceful stop and a start of each node, one node after the other."""
    chance, now = case.chance, 2 * _SECOND
    order = list(case.nodes)
    while order:
        node = order.pop(chance.below(len(order)))
        down_us = chance.between(500_000, 5 * _SECOND)
        yield TimedStep(now, step("append", 1))
        yield TimedStep(now, step("stop", node))
        yield TimedStep(now + down_us, step("start", node))
        now += down_us + chance.between(2 * _SECOND, 6 * _SECOND)


def _voter_change(case: Case) -> Iterator[TimedStep]:
    """Add and remove voters, one after the other, while nodes crash and come back, or are cut in two."""
    chance, now = case.chance, 2 * _SECOND
    while now < case.duration_us:
        verb = chance.choice(("add", "remove"))
        yield TimedStep(now, step("append", 1))
        if chance.happens(250):  # the leader may be asked on either side
            yield from _split(case, now, now + chance.between(200_000, 8 * _SECOND))
        yield TimedStep(now, step(verb, chance.choice(case.nodes)))
        if chance.happens(300):  # another one while the first is under way
            yield TimedStep(now + chance.below(3_000), step(verb, chance.choice(case.nodes)))
        if chance.happens(500):
            victim = chance.choice(case.nodes)
            at = now + chance.below(200_000)
            yield TimedStep(at, step("kill", victim))
            yield TimedStep(at + chance.between(100_000, 8 * _SECOND), step("start", victim))
        now += chance.between(500_000, 8 * _SECOND)


def _disk_loss(case: Case) -> Iterator[TimedStep]:
    """Yield losses of one disk at a time; the node returns empty, its old id is removed (not always), the new one
    added."""
    chance, now = case.chance, 2 * _SECOND
    while now < case.duration_us:
        victim = chance.choice(case.voters)
        yield TimedStep(now, step("append", 1))
        yield TimedStep(now + 100_000, step("kill", victim))
        yield TimedStep(now + 200_000, step("wipe", victim))
        yield TimedStep(now + chance.between(300_000, 5 * _SECOND), step("start", victim))
        if chance.happens(750):  # else its lost directory is still a voter, and Kafka refuses to add the new one
            yield TimedStep(now + 8 * _SECOND, step("remove", victim))
        yield TimedStep(now + 12 * _SECOND, step("add", victim))
        now += chance.between(18 * _SECOND, 25 * _SECOND)


PROFILES: Final[Mapping[str, Callable[[Case], Iterator[TimedStep]]]] = {
    "chaos": _chaos,
    "rolling-restart": _rolling_restart,
    "voter-change": _voter_change,
    "disk-loss": _disk_loss,
}


def _text(verb: str, args: Sequence[Any]) -> str:
    return " ".join([verb, *_SHOWN.get(verb, _plain)(args)])


def _plain(args: Sequence[Any]) -> Iterator[str]:
    yield from map(str, args)


def _link_text(args: Sequence[Any]) -> Iterator[str]:
    sender, receiver, both = args
    if sender is not None:
        yield str(sender)
    if receiver is not None:
        yield from () if both else ("->",)
        yield str(receiver)


def _network_text(args: Sequence[Any]) -> Iterator[str]:
    yield str(args[0])
    if args[0] == "delay":
        yield f"{shown_duration(args[1])} to {shown_duration(args[2])}"
    else:
        yield f"{args[1] // 10}.{args[1] % 10}%"


def _clock_text(args: Sequence[Any]) -> Iterator[str]:
    node, drift = args
    yield f"{node} {'slow' if drift < 0 else 'fast'} {abs(drift) // 10}.{abs(drift) % 10}%"


def _disk_text(args: Sequence[Any]) -> Iterator[str]:
    yield f"{args[0]} {shown_duration(args[1])}"


def _time_text(args: Sequence[Any]) -> Iterator[str]:
    yield shown_duration(args[0])


_SHOWN: Final[Mapping[str, Callable[[Sequence[Any]], Iterator[str]]]] = {
    "cut": _link_text,
    "heal": _link_text,
    "network": _network_text,
    "clock": _clock_text,
    "disk": _disk_text,
    "run": _time_text,
    "settle": _time_text,
}
