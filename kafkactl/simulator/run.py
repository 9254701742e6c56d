"""Run of a script or a plan, in a world of one seed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kafkactl.core.answers import json_of
from kafkactl.core.frozen import frozen
from kafkactl.simulator.actions import NotPossibleError, Operator, carry_out
from kafkactl.simulator.conditions import found_instead, holds
from kafkactl.simulator.invariants import Violation, voters_in
from kafkactl.simulator.profiles import TimedStep
from kafkactl.simulator.quorum import Quorum
from kafkactl.simulator.script import Condition, Step
from kafkactl.simulator.timeline import Happening
from kafkactl.simulator.views import epoch_of, failover_us
from kafkactl.simulator.words import shown_duration
from kafkactl.simulator.world import World

LOOK_US: Final = 100_000  # how often a quorum that settles is offered a record
RESTART_US: Final = 1_000_000  # how often processes that ended meanwhile are started again
LOST_US: Final = 5_000_000  # how long a quorum that can elect no node any more is looked at while it settles


@frozen
class Unmet:
    """A statement of a script that did not come true: its line and text, when, and what was found instead."""

    line: int
    text: str
    time_us: int
    found: str

    to_dict = json_of("line", "statement=text", "time_us", "found")


@frozen
class InVain:
    """A statement of a script that had nothing to do, such as the start of a node that runs, and why."""

    line: int
    text: str
    time_us: int
    found: str


@frozen
class Outcome:
    """Result of one run. `failovers_us` are the times from each `mark`, or fault of a plan, to the next leader."""

    seed: int
    """Seed of the shown run: the first run that failed, or the first run."""
    violations: tuple[Violation, ...]
    unmet: tuple[Unmet, ...]
    events: int
    time_us: int
    elections: int
    epoch: int
    committed: int
    lost: int
    failovers_us: tuple[int, ...]
    happenings: tuple[Happening, ...]
    left_out: int
    in_vain: tuple[InVain, ...] = ()

    @property
    def passed(self) -> bool:
        """Return True if every expectation came true, and no invariant was broken that the script did not expect."""
        return not self.violations and not self.unmet


class _Run:
    def __init__(self, world: World, *, strict: bool) -> None:
        self.world = world
        self.operator = Operator(world, keeps_two=not strict)
        self.strict = strict
        self.unmet: list[Unmet] = []
        self.in_vain: list[InVain] = []
        self.marks: list[int] = []
        self.expects_broken = False
        self.restart_us = 0

    def is_over(self) -> bool:
        """Return True if the run has its result: an expectation was not met, or an invariant is broken unexpectedly."""
        return bool(self.unmet) or bool(self.world.monitor.violations and not self.expects_broken)

    def pass_until(self, time_us: int) -> None:
        while not self.is_over() and self.world.now < time_us:
            self.world.run_until(time_us)

    def do(self, step: Step) -> None:
        own = _OWN.get(step.verb)
        if own is not None:
            own(self, step)
            self.operator.in_vain.clear()  # of nodes that settle: they are started whether they run or not
            return
        if step.verb == "mark":
            self.marks.append(self.world.now)
        try:
            carry_out(self.operator, step)
        except NotPossibleError as error:
            if self.strict:
                self.miss(step, str(error))
        if self.strict:
            self.remark(step)
        self.operator.in_vain.clear()

    def miss(self, step: Step, found: str) -> None:
        self.world.note(None, "expect", f"{step.text}: {found}", "bad")
        self.unmet.append(Unmet(line=step.line, text=step.text, time_us=self.world.now, found=found))

    def remark(self, step: Step) -> None:
        """Add a remark about a statement that had no effect: its author expected another state of the quorum.

        A plan of faults that are drawn says nothing of it: there it is one of the things that happen.
        """
        for found in self.operator.in_vain:
            self.world.note(None, "expect", f"{step.text}: {found}", "warn")
            self.in_vain.append(InVain(line=step.line, text=step.text, time_us=self.world.now, found=found))

    def run(self, step: Step) -> None:
        self.pass_until(self.world.now + step.args[0])

    def expect(self, step: Step) -> None:
        condition: Condition = step.args[0]
        if holds(condition, self.operator):
            self.world.note(None, "expect", step.text, "good")
        else:
            self.miss(step, found_instead(condition, self.operator))

    def wait(self, step: Step) -> None:
        condition, within_us = step.args
        end = self.world.now + within_us
        while not self.is_over() and self.world.now < end:
            if self.world.run_until(end, lambda: holds(condition, self.operator)):
                break
        if not self.is_over():
            self.expect(step)

    def elects(self, end_us: int) -> bool:
        """Pass until a leader is elected, or a process ends; False if the time, or the end of the run, is first."""
        world, known, ended = self.world, len(self.world.elections), self.world.ended
        return world.run_until(end_us, lambda: len(world.elections) > known or world.ended > ended)

    def start_again(self) -> None:
        """Start every process that ended, once a second at most, as the supervisor of a host does."""
        is_due = self.world.now >= self.restart_us
        for machine in self.world.machines.values():
            if is_due and not machine.runs:
                self.restart_us = self.world.now + RESTART_US
                carry_out(self.operator, Step(verb="start", args=(machine.id,)))

    def next_start(self, end_us: int) -> int:
        """Return the time when a stopped process may be started again; `end_us` if no process waits."""
        waits = self.world.now < self.restart_us and not all(item.runs for item in self.world.machines.values())
        return min(end_us, self.restart_us) if waits else end_us

    def settle(self, step: Step) -> None:
        """Repair everything, then require that a record is committed in time.

        A process may still end: by a shutdown that began before, or by a fault of its raft thread. Of a quorum that is
        lost nothing is demanded, and its nodes would query each other without end.
        """
        world, operator = self.world, self.operator
        world.network.cuts.clear()
        world.network.set_share("loss", 0)
        world.network.set_share("duplicates", 0)
        world.network.set_delay(0, 0)
        for machine in world.machines.values():
            machine.sync_us = 0
            for verb in ("resume", "start"):
                carry_out(operator, Step(verb=verb, args=(machine.id,)))
        world.note(None, "fault", "every fault is mended", "good")
        begun, before = world.now, world.committed
        end = begun + (min(LOST_US, step.args[0]) if is_lost(world) else step.args[0])
        while not self.is_over() and world.now < end and world.committed == before:
            if world.leader() is not None:
                operator.append(1)
                look = min(end, world.now + LOOK_US)
            elif self.elects(until := self.next_start(end)) or until < end:
                # It is offered a record at the moments at which it would be without a leader, too.
                look = min(end, world.now + (begun - world.now) % LOOK_US)
            else:
                break
            world.run_until(look, lambda: world.committed > before)
            self.start_again()
        if world.committed == before and not self.is_over() and is_able(world):
            world.monitor.time_us, world.monitor.event = world.now, world.events
            world.monitor.not_live(
                f"no record was committed within {shown_duration(step.args[0])} after every fault was mended"
            )


_OWN: Final = {"run": _Run.run, "expect": _Run.expect, "wait": _Run.wait, "settle": _Run.settle}


def is_able(world: World) -> bool:
    """Return True if a quorum has what it needs: a voter set that a node goes by, and of each a majority with its disk.

    Where every disk with voters is lost, no node goes by any, and no fault that is mended brings the quorum back.
    """
    machines = list(world.machines.values())
    sets = [machine.process.voters for machine in machines if machine.process is not None]
    known = [voters for voters in sets if voters.voters]
    return bool(known) and all(
        sum(machine.runs and voters.is_voter(machine.id, machine.directory) for machine in machines) >= voters.majority
        for voters in known
    )


def is_lost(world: World) -> bool:
    """Return True if no voter set of any log has a majority with disks: no node can win an election."""
    machines = list(world.machines.values())
    sets = [machine.process.voters for machine in machines if machine.process is not None]
    for machine in machines:
        sets += [snapshot.voters for snapshot in machine.disk.snapshots]
        sets += [voters for batch in machine.disk.batches if (voters := voters_in(batch)) is not None]
    return all(
        sum(voters.is_voter(machine.id, machine.directory) for machine in machines) < voters.majority
        for voters in sets
        if voters.voters
    )


def run_script(quorum: Quorum, steps: Sequence[Step], seed: int, *, traced: bool = True) -> Outcome:
    """Carry out a script's steps in order; the run ends at the first that does not come true."""
    run = _Run(World(quorum, seed, traced=traced), strict=True)
    run.expects_broken = any(
        step.verb in ("expect", "wait") and step.args[0].kind == "broken" and not step.args[0].negated for step in steps
    )
    for step in steps:
        if run.is_over():
            break
        run.do(step)
    return _outcome(run, seed)


def run_plan(quorum: Quorum, plan: Sequence[TimedStep], seed: int, *, traced: bool = False) -> Outcome:
    """Carry out a plan; a statement that cannot be carried out (`kill leader` if none leads) is left out."""
    return run_in(World(quorum, seed, traced=traced), plan, seed)


def run_in(world: World, plan: Sequence[TimedStep], seed: int) -> Outcome:
    """Carry out a plan, as `run_plan` does, in an existing world."""
    run = _Run(world, strict=False)
    for timed in plan:
        run.pass_until(timed.at_us)
        if run.is_over():
            break
        run.do(timed.step)
    return _outcome(run, seed)


def _outcome(run: _Run, seed: int) -> Outcome:
    world = run.world
    unexpected = () if run.expects_broken else tuple(world.monitor.violations)
    for violation in world.monitor.violations[:1]:
        world.note(violation.node, "broken", f"{violation.invariant}: {violation.text}", "bad")
    failovers = (failover_us(world, mark) for mark in run.marks)
    timeline = world.timeline
    return Outcome(
        seed=seed,
        violations=unexpected,
        unmet=tuple(run.unmet),
        events=world.events,
        time_us=world.now,
        elections=len(world.elections),
        epoch=epoch_of(world),
        committed=world.committed,
        lost=world.lost,
        failovers_us=tuple(time_us for time_us in failovers if time_us is not None),
        happenings=() if timeline is None else tuple(timeline.happenings),
        left_out=0 if timeline is None else timeline.left_out,
        in_vain=tuple(run.in_vain),
    )
