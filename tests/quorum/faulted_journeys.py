"""Journeys of a quorum that the change engine makes in the simulator, and what one fault at one event does to each.

A journey loses a majority that it did not announce, if the voters in force at its end have no living majority
although no plan had said that they would survive no failure.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import dataclass

from kafkactl.change.journal import RunJournal
from kafkactl.cluster.quorum.majority import tolerates
from kafkactl.core.findings import Outcome
from kafkactl.core.values import ReplicaKey
from kafkactl.quorum.change import goals
from kafkactl.quorum.change.ports import ChangeResult, Goal, QuorumWaitPolicy
from kafkactl.quorum.change.run import carry_out as change
from kafkactl.quorum.guard import OVERRIDES
from kafkactl.simulator.actions import Operator, carry_out
from kafkactl.simulator.profiles import step as statement
from kafkactl.simulator.quorum import Quorum
from kafkactl.simulator.raft.profiles import PROFILES
from kafkactl.simulator.script import RELEASES, Step
from kafkactl.simulator.views import latest_voters
from kafkactl.simulator.world import World
from tests.quorum.simulated_port import SimulatedQuorum

ALL_FLAGS = frozenset(OVERRIDES.values())
# What a node suffers, as a statement, and the one that mends it. A crash loses what was not synced, and connections to
# the host are not refused; a stop lets the process resign; who is deaf still sends, who is mute still receives.
FAULTS = ("kill", "pause", "cut", "crash", "stop", "deaf", "mute")
_ENDS = {"kill": "start", "crash": "start", "stop": "start", "pause": "resume"}
POLICY = QuorumWaitPolicy(step_ms=30_000, catch_up_ms=30_000)
_SECOND = 1_000_000


@dataclass(frozen=True)
class Case:
    """A journey: the voters, who of them is dead, who lost its disk, further nodes, and what is wanted.

    `wanted` are the voters to be reached; for `convert` the voters stay and the quorum becomes dynamic.
    """

    name: str
    voters: tuple[int, ...]
    wanted: tuple[int, ...]
    others: tuple[int, ...] = ()
    dead: tuple[int, ...] = ()
    replaced: tuple[int, ...] = ()
    converts: bool = False

    @property
    def quorum(self) -> tuple[int, ...]:
        return (*self.voters, *self.others)


CASES = (
    Case("add one", (1, 2, 3), (1, 2, 3, 4), others=(4,)),
    Case("remove one", (1, 2, 3, 4), (1, 2, 3)),
    Case("remove the dead one", (1, 2, 3, 4), (1, 2, 3), dead=(4,)),
    Case("grow from three to five", (1, 2, 3), (1, 2, 3, 4, 5), others=(4, 5)),
    Case("shrink from five to three", (1, 2, 3, 4, 5), (1, 2, 3)),
    Case("replace all three", (1, 2, 3), (4, 5, 6), others=(4, 5, 6)),
    Case("replace one", (1, 2, 3), (1, 2, 4), others=(4,)),
    Case("replace a dead one", (1, 2, 3), (1, 2, 4), others=(4,), dead=(3,)),
    Case("replace a disk", (1, 2, 3), (1, 2, 3), replaced=(3,)),
    Case("replace a disk of five", (1, 2, 3, 4, 5), (1, 2, 3, 4, 5), replaced=(5,)),
    Case("from two to three", (1, 2), (1, 2, 3), others=(3,)),
    Case("convert", (1, 2, 3), (1, 2, 3), converts=True),
)


@dataclass(frozen=True)
class Fault:
    """A node that fails in one way when the event of this number is over."""

    kind: str
    node: int
    event: int


@dataclass(frozen=True)
class CaseRun:
    """Journey: how it ended, and whether the quorum still had what it needs with the fault in place."""

    result: ChangeResult
    announced: int  # the fewest failures that the voters in force were said to survive when the fault came
    able: bool
    commits: bool
    mended: ChangeResult | None


def begun(case: Case, release: str, seed: int) -> bytes:
    """Return the world before the journey, to be copied for each fault."""
    quorum = Quorum(
        voters=case.voters, observers=case.others, profile=PROFILES[RELEASES[release]], is_static=case.converts
    )
    operator = Operator(World(quorum, seed, traced=False))
    _pass(operator, 5 * _SECOND)
    for node in (*case.dead, *case.replaced):
        carry_out(operator, statement("kill", node))
    _pass(operator, 10 * _SECOND)  # a former leader that returns blank before the next election exits
    for node in case.replaced:
        carry_out(operator, statement("wipe", node))
        carry_out(operator, statement("start", node))
    for _ in range(20):
        _pass(operator, _SECOND // 2)
        operator.append(1)
    return pickle.dumps(operator)


def goal_of(case: Case) -> Goal:
    """Return what is asked of the engine; every override is given, so that only what never may be refused is."""
    if case.converts:
        return goals.conversion(overrides=ALL_FLAGS)
    return goals.reassignment(",".join(map(str, case.wanted)), overrides=ALL_FLAGS)


def undisturbed(case: Case, world: bytes) -> tuple[ChangeResult, list[int], list[int]]:
    """Return the journey without a fault: its result, and the numbers of events from which a fault may be drawn: those
    between requests and their ends, and all others from the first observation on."""
    port = SimulatedQuorum(pickle.loads(world))
    first = port.world.events
    result = change(port, goal_of(case), RunJournal(), clock=port, policy=POLICY)
    asked = [event for start, end in port.spans for event in range(start, end + 1)]
    known = set(asked)
    return result, asked, [event for event in range(first, port.world.events) if event not in known]


def faults(case: Case, events: list[int]) -> Iterator[Fault]:
    """Yield every fault of every node that runs, at every one of these events."""
    for event in events:
        for node in case.quorum:
            if node not in case.dead:
                for kind in FAULTS:
                    yield Fault(kind, node, event)


def run_case(case: Case, world: bytes, fault: Fault) -> CaseRun:
    """Return the journey with one fault; then the fault is mended, and the same change is asked for again."""
    port = SimulatedQuorum(pickle.loads(world))
    operator, announced = port.operator, [10]

    def happen() -> None:
        announced[0] = _announced(case, port)
        carry_out(operator, _statement(fault))

    port.fault_at, port.at_event = fault.event, happen
    journal = RunJournal()
    goal = goal_of(case)
    result = change(port, goal, journal, clock=port, policy=POLICY)
    if port.fault_at is not None:  # it was over sooner than without the fault's place
        port.fault_at = None
        happen()
    able = _has_majority(port, fault)
    commits = _commits(port, 40 * _SECOND) if able else False
    carry_out(operator, _mending(fault))
    if not _commits(port, 60 * _SECOND):
        return CaseRun(result, announced[0], able, commits, None)
    port.sleep_ms(10_000)
    mended = change(port, goal, journal, clock=port, policy=POLICY)
    return CaseRun(result, announced[0], able, commits, mended)


def judged(case: Case, fault: Fault, run: CaseRun) -> str:
    """Return what is wrong with how a journey ended; empty if nothing is."""
    if not run.able and run.announced > 0:
        return f"the majority is lost, and {run.announced} failures were said to be survived"
    if run.able and not run.commits:
        return "a majority runs, and nothing is committed"
    if run.mended is None:
        return "the fault is mended, and nothing is committed"
    if run.mended.outcome not in (Outcome.DONE, Outcome.NOTHING_TO_DO):
        values = [finding.id for finding in run.mended.findings]
        return f"the fault is mended, and the change ends {run.mended.outcome.value}: {values}"
    state = run.mended.after
    if state is None or tuple(sorted(voter.id for voter in state.voters)) != case.wanted:
        return f"{case.wanted} were wanted, and {state} is there"
    return ""


def _announced(case: Case, port: SimulatedQuorum) -> int:
    """Return how many failures the voters survive by the last plan shown before the fault.

    A request that was sent is included until the engine continues, because its voter set may be in force or not.
    """
    world = port.world
    alive = frozenset(
        ReplicaKey(node_id=machine.id, directory_id=machine.directory)
        for machine in world.machines.values()
        if machine.runs
    )
    voters = frozenset(latest_voters(world).keys)
    if case.converts:
        return (len(voters) - 1) // 2
    values = [tolerates(voters, alive)]
    if port.sent:
        values += [port.sent[-1].tolerates_before, port.sent[-1].tolerates_after]
    return min(values)


def _statement(fault: Fault) -> Step:
    links = _links(fault)
    return statement("cut", *links) if links else statement(fault.kind, fault.node)


def _mending(fault: Fault) -> Step:
    links = _links(fault)
    return statement("heal", *links) if links else statement(_ENDS[fault.kind], fault.node)


def _links(fault: Fault) -> tuple[int | None, int | None, bool] | None:
    """Return the links that are cut: from, to, and whether both ways; None for a fault of the process."""
    cuts = {"cut": (fault.node, None, True), "deaf": (None, fault.node, False), "mute": (fault.node, None, False)}
    return cuts.get(fault.kind)


def _has_majority(port: SimulatedQuorum, fault: Fault) -> bool:
    """Return True if every set of voters that a node goes by has a majority without the one that fails.

    Paused and cut processes run, as do those that hear or say nothing; a set that only the failing node knows of is in
    force nowhere else.
    """
    alive = [machine for machine in port.world.machines.values() if machine.runs and machine.id != fault.node]
    return all(
        sum(machine.process.voters.is_voter(each.id, each.directory) for each in alive)
        >= machine.process.voters.majority
        for machine in alive
        if machine.process is not None and machine.process.voters.voters
    )


def _commits(port: SimulatedQuorum, within_us: int) -> bool:
    world = port.world
    before, end = world.committed + len(world.appended), world.now + within_us
    while world.now < end:
        port.sleep_ms(500)
        if world.committed > before:
            return True
    return False


def _pass(operator: Operator, time_us: int) -> None:
    world = operator.world
    end = world.now + time_us
    while world.now < end:
        world.run_until(end)
