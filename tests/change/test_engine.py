"""The engine with a toy journey: boxes are put on a shelf one by one, by requests that may be lost, late or refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from kafkactl.change.clock import Deadline
from kafkactl.change.engine import End, Engine, Journey, PreparedStep, StepResult, UnsentRequest, Verification
from kafkactl.change.journal import JournalFold, RunJournal
from kafkactl.change.waiting import wait_until
from kafkactl.core.errors import FailedError, RefusedError, UnreachableError
from kafkactl.core.findings import Finding, Outcome, blocker
from kafkactl.core.frozen import changed
from kafkactl.files.journal import open_journal
from tests.fakes.engine_checker import CHECKED
from tests.fakes.interruption import Fuse, killed_at_every_act
from tests.quorum.scripted_port import SteppedClock

ANOTHER_SHELF = "another-shelf"
OK, LOST, REFUSED, LATER, NOT_SENT, NEVER_KNOWN = "ok", "lost", "refused", "later", "not-sent", "never-known"


@dataclass
class Policy:
    observe_every_ms: int = 10
    passing_ms: int = 100
    attempts: int = 2


@dataclass(frozen=True)
class Boxes:
    """A plan: which boxes are still to be put there."""

    left: tuple[str, ...]
    findings: tuple[Finding, ...] = ()

    @property
    def outcome(self) -> Outcome:
        if self.findings:
            return Outcome.REFUSED
        return Outcome.PLANNED if self.left else Outcome.NOTHING_TO_DO


@dataclass
class Shelf:
    """Object of the journey's changes. `reactions` are used up by the requests; `on_act` is called before each act."""

    boxes: set[str] = field(default_factory=set)
    reactions: list[str] = field(default_factory=list)
    locked_until_ms: float = 0
    is_dark: bool = True  # whether it stays unknown what became of a request with that reaction
    sent: list[str] = field(default_factory=list)
    clock: SteppedClock = field(default_factory=SteppedClock)
    on_act: Callable[[], None] = lambda: None

    def look(self) -> frozenset[str]:
        self.on_act()
        return frozenset(self.boxes)

    def put(self, box: str) -> str:
        self.on_act()
        reaction = self.reactions.pop(0) if self.reactions else OK
        if reaction == NOT_SENT:
            raise UnreachableError("the shelf is away", id="connection-refused")
        if reaction == ANOTHER_SHELF:
            raise RefusedError("this is another shelf", id="cluster-id-mismatch")
        assert box not in self.sent or reaction != OK or box not in self.boxes, f"{box} is put twice"
        self.sent.append(box)
        if reaction in (OK, LOST):
            self.boxes.add(box)
        self.on_act()
        return reaction


class Stacking(Journey[frozenset[str], Boxes, str, str]):
    def __init__(self, shelf: Shelf, wanted: str) -> None:
        self.shelf, self.wanted = shelf, wanted
        self.problem: Finding | None = None

    def observe(self) -> frozenset[str]:
        return self.shelf.look()

    def plan(self, seen: frozenset[str]) -> Boxes:
        locked = self.shelf.clock.now_ms() < self.shelf.locked_until_ms
        found = (blocker("shelf-locked", "shelf", "the shelf is locked"),) if locked else ()
        return Boxes(left=tuple(box for box in self.wanted if box not in seen), findings=found)

    def may_pass(self, plan: Boxes) -> bool:
        return True

    def step_of(self, plan: Boxes) -> str:
        return plan.left[0]

    def key(self, step: str) -> str:
        return step

    def intent(self, ready: PreparedStep) -> Mapping[str, Any]:
        return {"box": ready.step}

    def send(self, ready: PreparedStep, seq: int) -> str | UnsentRequest:
        try:
            return self.shelf.put(ready.step)
        except (UnreachableError, RefusedError) as error:
            return UnsentRequest(error=error)

    def answered(self, answer: str) -> Mapping[str, Any]:
        return {"says": answer}

    def verify(self, ready: PreparedStep, answer: str) -> Verification:
        return self._found(ready.step, answer)

    def _found(self, box: str, answer: str) -> Verification:
        seen = self.shelf.look()
        if answer == NEVER_KNOWN and self.shelf.is_dark:
            return Verification(result=StepResult.UNKNOWN, may_happen=("it may be put there",), seen=seen)
        result = StepResult.DONE if box in seen else StepResult.FAILED
        findings = () if box in seen else (blocker("box-refused", box, "the shelf does not take it"),)
        return Verification(result=result, retry=answer == LATER, findings=findings, seen=seen)

    def resume(self, seen: frozenset[str]) -> frozenset[str] | End:
        flight = JournalFold().read(self.run.journal.entries).in_flight
        if flight is None:
            return seen
        self.run.began = True
        found = self._found(flight.data["box"], "" if flight.answer is None else str(flight.answer["says"]))
        return self.run.settle(flight.seq, flight.data["box"], found, earlier=True) or self.run.observe()

    def after(self, step: str) -> Finding | None:
        return self.problem


def engine_of(journey: Stacking, journal: Any = None) -> Engine[Any, Any, Any, Any]:
    return Engine(journey, RunJournal() if journal is None else journal, clock=journey.shelf.clock, policy=Policy())


def stack(shelf: Shelf, wanted: str = "abc") -> End:
    return engine_of(Stacking(shelf, wanted)).to_the_end()


def words(end: End) -> list[str]:
    return [f"{taken.step} {taken.word}" for taken in end.taken]


def test_every_step_is_planned_on_an_observation_of_its_own() -> None:
    shelf, before = Shelf(boxes={"b"}), dict(CHECKED)
    end = stack(shelf)
    assert (end.outcome, shelf.sent, words(end)) == (Outcome.DONE, ["a", "c"], ["a done", "c done"])
    assert (end.first, shelf.boxes) == (frozenset("b"), set("abc"))
    assert {"requests": before["requests"] + 2, "ends": before["ends"] + 1} == CHECKED, "the invariant was not checked"
    assert stack(shelf).outcome is Outcome.NOTHING_TO_DO


@pytest.mark.parametrize(
    ("reactions", "outcome", "sent"),
    [
        ([LOST, LOST, LOST], Outcome.DONE, "abc"),
        ([LATER, OK], Outcome.DONE, "aabc"),
        ([LATER, LATER], Outcome.FAILED, "aa"),
        ([NOT_SENT], Outcome.DONE, "abc"),
        ([NOT_SENT, NOT_SENT], Outcome.FAILED, ""),
        ([ANOTHER_SHELF], Outcome.REFUSED, ""),
        ([OK, ANOTHER_SHELF], Outcome.PARTIAL, "a"),
        ([REFUSED], Outcome.FAILED, "a"),
        ([OK, REFUSED], Outcome.PARTIAL, "ab"),
        ([NEVER_KNOWN], Outcome.UNKNOWN, "a"),
        ([OK, NEVER_KNOWN], Outcome.UNKNOWN, "ab"),
    ],
)
def test_outcome_is_that_of_the_steps(reactions: list[str], outcome: Outcome, sent: str) -> None:
    shelf = Shelf(reactions=list(reactions))
    end = stack(shelf)
    assert (end.outcome, "".join(shelf.sent)) == (outcome, sent)
    assert bool(end.may_happen) is (outcome is Outcome.UNKNOWN)


def test_temporary_blocker_is_awaited_and_a_lasting_one_refuses() -> None:
    assert stack(Shelf(locked_until_ms=50)).outcome is Outcome.DONE
    shelf = Shelf(locked_until_ms=1_000)
    end = stack(shelf)
    assert (end.outcome, shelf.sent, [finding.id for finding in end.findings]) == (
        Outcome.REFUSED,
        [],
        ["shelf-locked"],
    )


def test_blocker_after_a_step_ends_the_run() -> None:
    journey = Stacking(Shelf(), "ab")
    journey.problem = blocker("shelf-leans", "shelf", "the shelf leans to one side")
    end = engine_of(journey).to_the_end()
    assert (end.outcome, journey.shelf.sent) == (Outcome.PARTIAL, ["a"])


def test_journal_has_the_six_words() -> None:
    journal = RunJournal()
    engine_of(Stacking(Shelf(reactions=[LATER, OK]), "a"), journal).to_the_end()
    assert [entry.entry for entry in journal.entries] == [
        "begin", "intent", "answer", "failed", "intent", "answer", "done", "end",
    ]  # fmt: skip


@pytest.mark.parametrize(("reaction", "outcome"), [(OK, "done"), (REFUSED, "failed"), (NEVER_KNOWN, "unknown")])
def test_journal_has_one_end_with_the_outcome(reaction: str, outcome: str) -> None:
    # An unknown outcome is written with the request that it is about; the next run finds out what that did.
    journal = RunJournal()
    engine_of(Stacking(Shelf(reactions=[reaction]), "a"), journal).to_the_end()
    assert [entry.data["outcome"] for entry in journal.entries if entry.entry == "end"] == [outcome]


@pytest.mark.parametrize("stop", [KeyboardInterrupt(), FailedError("no room", id="journal-not-written")])
def test_stopped_before_anything_began_it_is_raised(stop: BaseException) -> None:
    shelf = Shelf()
    shelf.on_act = lambda: (_ for _ in ()).throw(stop)
    with pytest.raises(type(stop)):
        stack(shelf)


@pytest.mark.parametrize("act", [3, 4])
def test_stopped_with_a_request_on_its_way_it_is_unknown(act: int) -> None:
    shelf, fuse = Shelf(), Fuse(act)

    def interrupts() -> None:
        fuse.acts += 1
        if fuse.acts == act:
            raise KeyboardInterrupt

    shelf.on_act = interrupts
    end = stack(shelf)
    assert (end.outcome, end.interrupted, words(end)) == (Outcome.UNKNOWN, True, ["a unknown"])


@pytest.mark.parametrize("reactions", [[], [LOST, LATER, OK, NOT_SENT]])
def test_killed_at_every_act_the_next_run_reaches_the_goal(tmp_path: Path, reactions: list[str]) -> None:
    def go(shelf: Shelf, folder: Path, fuse: Fuse) -> Outcome:
        shelf.on_act = fuse
        with open_journal(str(folder / "journal"), subject="shelf", cluster_id="x") as journal:
            return engine_of(Stacking(shelf, "abc"), journal).to_the_end().outcome

    def check(shelf: Shelf) -> None:
        assert shelf.boxes == set("abc")

    assert killed_at_every_act(tmp_path, lambda: Shelf(reactions=list(reactions)), go, check) >= 13


def test_unknown_step_is_settled_before_another_is_sent(tmp_path: Path) -> None:
    shelf = Shelf(reactions=[NEVER_KNOWN])
    for is_dark, outcome, sent in (
        (True, Outcome.UNKNOWN, "a"),
        (True, Outcome.UNKNOWN, "a"),
        (False, Outcome.DONE, "aab"),
    ):
        shelf.is_dark = is_dark
        with open_journal(str(tmp_path / "journal"), subject="shelf", cluster_id="x") as journal:
            assert engine_of(Stacking(shelf, "ab"), journal).to_the_end().outcome is outcome
        assert "".join(shelf.sent) == sent


class Hasty(Stacking):
    """A journey that goes by what it saw before its gate."""

    def admit(self, plan: Boxes, seen: frozenset[str]) -> PreparedStep:
        self.run.observe()
        return PreparedStep(step=self.step_of(plan), plan=plan, seen=seen)


class Wilful(Stacking):
    """A journey that takes another step than the planned one."""

    def admit(self, plan: Boxes, seen: frozenset[str]) -> PreparedStep:
        return PreparedStep(step="z", plan=plan, seen=seen)


class Credulous(Stacking):
    """A journey that says of its one step that it was the goal, without a look."""

    def resume(self, seen: frozenset[str]) -> End:
        return self.run.end(Outcome.DONE, (), seen)


class Forgetful(Stacking):
    """A journey that sends although an earlier run left something open."""

    def resume(self, seen: frozenset[str]) -> frozenset[str]:
        return seen


@pytest.mark.parametrize(
    ("journey", "message"),
    [(Hasty, "newest observation only"), (Wilful, "2: z"), (Credulous, "4: done"), (Forgetful, "3: intent")],
)
def test_journey_that_breaks_the_invariant_is_caught(journey: type[Stacking], message: str) -> None:
    journal = RunJournal()
    journal.append("begin", {"goal": None})
    journal.append("intent", {"box": "a"})
    if journey is not Forgetful:
        journal.append("failed", {"of": 1, "known": "not-sent"})
    with pytest.raises(AssertionError, match=message):
        engine_of(journey(Shelf(), "ab"), journal).to_the_end()


def test_wait_looks_at_least_once_and_gives_what_it_saw_last() -> None:
    clock, seen = SteppedClock(), iter(range(9))
    waited: list[int] = []
    until = Deadline.after(30, clock)
    assert wait_until(lambda: next(seen), lambda n: n == 2, until=until, every_ms=10, waiting=waited.append) == 2
    assert wait_until(lambda: next(seen), lambda n: False, until=until, every_ms=10) == 4
    assert (waited, clock.now_ms()) == ([0, 1], 30)
    assert wait_until(lambda: next(seen), lambda n: False, until=until, every_ms=10) == 5


def test_moment_is_over_when_it_is_reached_and_not_before() -> None:
    clock = SteppedClock()
    until = Deadline.after(2, clock)
    clock.sleep_ms(1)
    assert (until.left_ms, until.passed) == (1, False)
    clock.sleep_ms(1)
    assert (until.left_ms, until.passed) == (0, True)


class Sure(Stacking):
    """A journey whose one step is the goal."""

    def verify(self, ready: PreparedStep, answer: str) -> Verification:
        return changed(super().verify(ready, answer), reached=True)


def test_goal_that_a_step_reached_is_what_was_seen_then() -> None:
    end = engine_of(Sure(Shelf(boxes={"b"}), "a")).to_the_end()
    assert (end.outcome, end.seen) == (Outcome.DONE, frozenset("ab"))


def test_run_that_never_began_leaves_no_word_in_the_journal() -> None:
    for shelf in (Shelf(boxes={"a"}), Shelf(locked_until_ms=1_000)):
        journal = RunJournal()
        end = engine_of(Stacking(shelf, "a"), journal).to_the_end()
        assert end.outcome in (Outcome.NOTHING_TO_DO, Outcome.REFUSED)
        assert journal.entries == ()


@pytest.mark.parametrize("outcome", [Outcome.PARTIAL, Outcome.FAILED])
@pytest.mark.parametrize("interrupted", [False, True])
def test_only_a_run_that_was_not_interrupted_ends_in_the_journal(outcome: Outcome, interrupted: bool) -> None:
    journal = RunJournal()
    engine = engine_of(Stacking(Shelf(), "a"), journal)
    engine.began = True
    end = engine.end(outcome, (), None, interrupted=interrupted)
    assert (end.outcome, end.interrupted) == (outcome, interrupted)
    assert [entry.entry for entry in journal.entries] == ([] if interrupted else ["end"])
