"""The engine of every long change: observe, plan, take the first step, verify it, observe again.

A journey (the voters of a quorum, feature levels, a registration, a migration) says how each of these is done; the
engine decides their order, writes the journal, and says how the run ended. It itself waits for nothing but
findings that pass, and touches nothing: clock, journal and cluster reach it through the journey.

**Invariant.** For a step *s* of a run, at a moment *t*, let

    I(s)       the intent of s is in the journal
    Z(s)       `done` or `failed` of that intent is in the journal: s is settled
    send(s,t)  the request of s may leave at t
    o(t)       the newest observation taken before t, and at(o) the moment at which it was complete
    P(o)       the step that the plan made of o takes first

Then always

    1. send(s,t)      =>  I(s) and not Z(s)                                    journaled before it leaves
    2. send(s,t)      =>  s = P(o(t)), and at(o(t)) > at(Z(s')) for each settled s'       planned on what is so now
    3. I(s) and I(s') =>  Z(s) or Z(s')      for s != s'                       at most one step is in flight
    4. the run ends as done  =>  an observation that shows it was taken after its last send
    5. s is unknown at t     =>  no send after t in this run; in a later run only after Z(s)

Two cases. A run is killed between the intent of a removal and its answer: by 1 the journal has the intent, by 3 it is
the only open one, by 5 the next run first finds out what became of it, and by 2 it plans on what it observed after
that, so nothing is sent twice. A node fails while a step waits for its gate: the gate took a new observation, whose
plan no longer has that step first, so by 2 it is not sent, and the run observes again.

An action of a migration is one request here, though it may be several calls of hooks. Each can be begun again, so what
an earlier run left open is settled by the observation on which the next step is planned (`withdrawn`).
`tests/fakes/engine_checker.py` asserts the five on each run of the engine in each test, from the calls that are made
and not from what the engine reports about itself.
"""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from kafkactl.change.clock import Clock, Deadline
from kafkactl.change.journal import ANSWER, BEGIN, DONE, END, FAILED, INTENT, NOT_SENT, Journal
from kafkactl.change.waiting import WaitPolicy
from kafkactl.core.errors import FailedError, KafkactlError, RefusedError, UnknownOutcomeError, UnreachableError
from kafkactl.core.findings import Finding, Outcome, blocker, each_once
from kafkactl.core.frozen import frozen


class Plan(Protocol):
    """Part of a plan that the engine reads. `planned` means that its first step may be taken."""

    @property
    def outcome(self) -> Outcome:
        """Return `planned`, `refused`, or `nothing-to-do` if the goal is reached."""
        ...

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Return all findings of the plan."""
        ...


O = TypeVar("O")  # noqa: E741  an observation
P = TypeVar("P", bound=Plan)
S = TypeVar("S")  # a step
A = TypeVar("A")  # what came back of a request


class StepResult(StrEnum):
    """Known result of a step that was taken."""

    DONE = "done"
    FAILED = "failed"
    UNKNOWN = "unknown"


@frozen
class PreparedStep:
    """A step that may be taken now: the newest observation, its plan, and the step that this plan takes first."""

    step: Any
    plan: Any
    seen: Any


@frozen
class UnsentRequest:
    """Reason why no part of a request left kafkactl. After a refusal it is not tried again."""

    error: UnreachableError | RefusedError


@frozen
class Verification:
    """Observed result of a step after its request.

    `retry`: it is certain that nothing of it is left, so it may be planned again. `refused`: it was not sent, for a
    check right before that refused it. `reached`: the step was the whole
    goal, and was observed to be done. `may_happen` are sentences on what can still come of a step that is unknown.
    `data` goes into the journal, `label` into the answer in place of `done`; `seen` is the last observation.
    """

    result: StepResult
    findings: tuple[Finding, ...] = ()
    may_happen: tuple[str, ...] = ()
    retry: bool = False
    refused: bool = False
    reached: bool = False
    data: Mapping[str, Any] = field(default_factory=dict)
    label: str = ""
    seen: Any = None


@frozen
class StepOutcome:
    """A step that was taken, and what became of it. `label` is the word of the answer, if it is not the result."""

    step: Any
    result: StepResult
    label: str = ""

    @property
    def word(self) -> str:
        """Return the result as answers show it."""
        return self.label or self.result.value


@frozen
class End:
    """End of a run. `plan` is the last plan that a step could have been taken of, `seen` the last observation."""

    outcome: Outcome
    taken: tuple[StepOutcome, ...]
    findings: tuple[Finding, ...]
    plan: Any = None
    first: Any = None
    seen: Any = None
    may_happen: tuple[str, ...] = ()
    interrupted: bool = False
    error: KafkactlError | None = None


class Journey(ABC, Generic[O, P, S, A]):
    """Part of a change that differs between changes. `run` is the engine that carries this journey out."""

    lists_once: ClassVar[bool] = False  # whether a step that is taken again replaces its earlier entry in the answer
    run: Engine[O, P, S, A]

    @abstractmethod
    def observe(self) -> O:
        """Observe the input of the next plan. Raise UnreachableError if nothing can be observed."""

    @abstractmethod
    def plan(self, seen: O) -> P:
        """Return the steps from here to the goal."""

    @abstractmethod
    def step_of(self, plan: P) -> S:
        """Return the first step of a plan whose outcome is `planned`."""

    @abstractmethod
    def key(self, step: S) -> Hashable:
        """Return the key by which two steps are equal."""

    @abstractmethod
    def intent(self, ready: PreparedStep) -> Mapping[str, Any]:
        """Return the journal entry for a step before its request is sent."""

    @abstractmethod
    def send(self, ready: PreparedStep, seq: int) -> A | UnsentRequest:
        """Send the request of a step, once. `seq` is the number of its intent."""

    @abstractmethod
    def verify(self, ready: PreparedStep, answer: A) -> Verification:
        """Observe what became of it."""

    def resume(self, seen: O) -> O | End:
        """Take up what an earlier run left open; the newest observation, or the end if nothing may be sent."""
        return seen

    def may_pass(self, plan: P) -> bool:
        """Return True if what refuses this plan may pass without help, so that it is worth observing again."""
        return False

    def waits(self, plan: P) -> None:
        """Inform the operator that the run waits until the refused plan becomes possible."""

    def admit(self, plan: P, seen: O) -> PreparedStep | End | None:
        """Check the first step: return it, an end, or None if the run has to observe again."""
        return PreparedStep(step=self.step_of(plan), plan=plan, seen=seen)

    def begin(self, ready: PreparedStep) -> Mapping[str, Any]:
        """Return the journal entry before the first intent; `goal` is compared with that of later runs."""
        return {"goal": None}

    def begun(self, ready: PreparedStep) -> None:
        """Note that the run has begun; its first intent follows."""

    def prepare(self, ready: PreparedStep) -> None:
        """Note that the intent of this step is written next."""

    def answered(self, answer: A) -> Mapping[str, Any] | None:
        """Return the journal entry for an answer; None if no entry is written."""
        return None

    def not_sent(self, ready: PreparedStep, error: KafkactlError) -> Finding:
        """Return the reason why a request was not sent."""
        return self.error_finding(error)

    def again(self, step: S, found: Verification) -> None:
        """Note that the step had no effect and is planned again."""

    def after(self, step: S) -> Finding | None:
        """Wait until the cluster is well after a step that was done; what stops the run there."""
        return None

    def reached(self, seen: O) -> None:
        """Note that the goal is reached by this observation."""

    def noted(self, taken: StepOutcome) -> None:
        """Inform the operator about a finished step."""

    def changes(self, step: S) -> bool:
        """Return True if a step that was done changed something."""
        return True

    def error_finding(self, error: KafkactlError) -> Finding:
        """Return an error that ended the run in the middle."""
        return blocker(error.id, "cluster", error.message, error.advice)


def out_of_time(subject: str, error: KafkactlError, known: Sequence[str]) -> Finding:
    """Return the time limit that ended a run in the middle: what is `known` of it by then, and how it is resumed."""
    return blocker(
        error.id,
        subject,
        "; ".join([error.message, *known]),
        "Run the same command again, with a longer --timeout: it finds out what an open request did, and resumes.",
    )


class Engine(Generic[O, P, S, A]):
    """A run of a journey; its state is what was done so far.

    `began`: something may have been changed, by this run or the one that it resumes. `notes` are findings that go into
    the answer whatever the end is.
    """

    def __init__(self, journey: Journey[O, P, S, A], journal: Journal, *, clock: Clock, policy: WaitPolicy) -> None:
        self.journey, self.journal, self.clock, self.policy = journey, journal, clock, policy
        self.began = False
        self.first: O | None = None
        self.taken: list[StepOutcome] = []
        self.notes: list[Finding] = []
        self.in_flight: S | None = None
        self._newest: O | None = None
        self._plan: P | None = None
        self._begin_is_written = False
        self._attempts: dict[Hashable, int] = {}
        self._passing: Deadline | None = None
        journey.run = self

    def to_the_end(self) -> End:
        """Step after step until the goal is reached, refused, failed or unknown.

        An interruption and an error end it with what is known by then if the run began, and are raised otherwise.
        """
        try:
            return self._steps()
        except KeyboardInterrupt:
            if not self.began:
                raise
            return self.stopped(interrupted=True)
        except KafkactlError as error:
            if not self.began:
                raise
            return self.stopped(error)

    def _steps(self) -> End:
        seen = self.journey.resume(self.observe())
        while not isinstance(seen, End):
            plan = self._plan = self.journey.plan(seen)
            if plan.outcome is Outcome.REFUSED:
                if not self._waits_for(plan):
                    return self.refused(plan.findings, seen)
            elif plan.outcome is not Outcome.PLANNED:
                return self._reached(plan.findings, seen)
            else:
                self._passing = None
                ready = self.journey.admit(plan, seen)
                end = self._take(ready) if isinstance(ready, PreparedStep) else ready
                if end is not None:
                    return end
            seen = self.observe()
        return seen

    def observe(self) -> O:
        """Return a new observation."""
        return self.saw(self.journey.observe())

    def saw(self, seen: O) -> O:
        """Store the newest observation: only on this one a step may be started."""
        self._newest = seen
        self.first = seen if self.first is None else self.first
        return seen

    def _waits_for(self, plan: P) -> bool:
        """Return True if to observe again: some findings are resolved without a request."""
        if not self.journey.may_pass(plan):
            return False
        self._passing = self._passing or Deadline.after(self.policy.passing_ms, self.clock)
        if self._passing.passed:
            return False
        self.journey.waits(plan)
        self.clock.sleep_ms(self.policy.observe_every_ms)
        return True

    def _take(self, ready: PreparedStep) -> End | None:
        """Send the request of a step, once, and find out what it did; an end if the run stops there."""
        assert ready.seen is self._newest, "a step is taken on the newest observation only"
        if not self._begin_is_written:
            self.journal.append(BEGIN, self.journey.begin(ready))
            self._begin_is_written = True
            self.journey.begun(ready)
        self.journey.prepare(ready)
        seq = self.journal.append(INTENT, self.journey.intent(ready)).seq
        self.in_flight, self.began = ready.step, True
        answer = self.journey.send(ready, seq)
        if isinstance(answer, UnsentRequest):
            return self.settle(seq, ready.step, self._not_sent(ready, answer))
        if (data := self.journey.answered(answer)) is not None:
            self.journal.append(ANSWER, {"of": seq, **data})
        return self.settle(seq, ready.step, self.journey.verify(ready, answer))

    def _not_sent(self, ready: PreparedStep, answer: UnsentRequest) -> Verification:
        return Verification(
            result=StepResult.FAILED,
            retry=not isinstance(answer.error, RefusedError),
            refused=isinstance(answer.error, RefusedError),
            findings=(*ready.plan.findings, self.journey.not_sent(ready, answer.error)),
            data={"known": NOT_SENT, "message": answer.error.message},
            seen=ready.seen,
        )

    def settle(self, seq: int, step: S, found: Verification, *, earlier: bool = False) -> End | None:
        """Write down what became of a step, then go on, take it again, or end. `earlier`: another run sent it."""
        if found.result is StepResult.UNKNOWN:
            self.journal.append(END, {"outcome": "unknown", "of": seq, "may_happen": list(found.may_happen)})
            self.note(step, found.result)
            self.in_flight = None
            return self.end(Outcome.UNKNOWN, found.findings, found.seen, may_happen=found.may_happen)
        self.journal.append(DONE if found.result is StepResult.DONE else FAILED, {"of": seq, **found.data})
        self.in_flight = None
        if found.result is StepResult.DONE:
            return self._done(step, found, earlier=earlier)
        return None if earlier else self._failed(step, found)

    def _done(self, step: S, found: Verification, *, earlier: bool) -> End | None:
        self.note(step, found.result, found.label)
        self._attempts.clear()
        if earlier:
            return None
        if (problem := self.journey.after(step)) is not None:
            return self.refused((problem,), None)
        return self._reached(found.findings, found.seen) if found.reached else None

    def _failed(self, step: S, found: Verification) -> End | None:
        key = self.journey.key(step)
        tries = self._attempts[key] = self._attempts.get(key, 0) + 1
        if found.retry and tries < self.policy.attempts:
            self.journey.again(step, found)
            self.clock.sleep_ms(self.policy.observe_every_ms)
            return None
        self.note(step, StepResult.FAILED)
        outcome = Outcome.REFUSED if found.refused else Outcome.FAILED
        return self.end(self._unless_changed(outcome), found.findings, found.seen)

    def note(self, step: S, result: StepResult, label: str = "") -> None:
        """Record a finished step, also one ended by its own gate, for the answer."""
        if self.journey.lists_once:
            key = self.journey.key(step)
            self.taken = [taken for taken in self.taken if self.journey.key(taken.step) != key]
        self.taken.append(StepOutcome(step=step, result=result, label=label))
        self.journey.noted(self.taken[-1])

    def refused(self, findings: Sequence[Finding], seen: O | None) -> End:
        """Return the end for a blocker: `partial` if steps were done before."""
        return self.end(self._unless_changed(Outcome.REFUSED), findings, seen)

    def _reached(self, findings: Sequence[Finding], seen: O) -> End:
        self.journey.reached(seen)
        return self.end(Outcome.DONE if self._has_changed else Outcome.NOTHING_TO_DO, findings, seen)

    def stopped(self, error: KafkactlError | None = None, *, interrupted: bool = False) -> End:
        """Return the end before the goal: by the operator, by the timeout, or by an error after a change."""
        is_unknown = self.in_flight is not None or isinstance(error, UnknownOutcomeError)
        if self.in_flight is not None:
            self.note(self.in_flight, StepResult.UNKNOWN)
            self.in_flight = None
        outcome = Outcome.UNKNOWN if is_unknown else self._unless_changed(Outcome.FAILED)
        findings = () if error is None else (self.journey.error_finding(error),)
        return self.end(outcome, findings, None, interrupted=interrupted, error=error)

    @property
    def _has_changed(self) -> bool:
        return any(
            step_taken.result is StepResult.DONE and self.journey.changes(step_taken.step) for step_taken in self.taken
        )

    def _unless_changed(self, outcome: Outcome) -> Outcome:
        return Outcome.PARTIAL if self._has_changed else outcome

    def end(
        self,
        outcome: Outcome,
        findings: Sequence[Finding],
        seen: O | None,
        *,
        may_happen: tuple[str, ...] = (),
        interrupted: bool = False,
        error: KafkactlError | None = None,
    ) -> End:
        """End the run. An unknown or interrupted run has no `end` in the journal, and is resumed."""
        if self.began and outcome is not Outcome.UNKNOWN and not interrupted:
            with contextlib.suppress(FailedError):  # what counts is done; the next run looks anyway
                self.journal.append(END, {"outcome": outcome.value})
        return End(
            outcome=outcome,
            taken=tuple(self.taken),
            findings=each_once((*self.notes, *findings)),
            plan=self._plan,
            first=self.first,
            seen=seen,
            may_happen=may_happen,
            interrupted=interrupted,
            error=error,
        )
