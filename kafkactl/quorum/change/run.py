"""A change of the quorum, carried out: look, plan, take one step, read what came of it, look again.

The law: only the first step of a plan is ever taken, on the strength of what was just seen. A request is written into
the journal before it leaves, leaves once, and its outcome is what the voter sets show afterwards; while that is not
known nothing else is sent. So a run that is killed anywhere is gone on with by the next one, which looks, finds out
what the last request did, and plans. Nothing here decides what is safe: `quorum/plan` does, from what is seen.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import replace

from kafkactl.change.clock import Clock, Deadline
from kafkactl.change.journal import Journal
from kafkactl.errors import FailedError, KafkactlError, UnknownOutcomeError, UnreachableError
from kafkactl.findings import Finding, Outcome, Severity, blocker, blockers, each_once
from kafkactl.quorum.change.journal import (
    InFlight,
    Memory,
    onwards,
    remembered,
    write_answer,
    write_begin,
    write_end,
    write_intent,
    write_known,
    write_not_sent,
    write_undecided,
)
from kafkactl.quorum.change.ports import ChangeResult, Event, Goal, Patience, Tell, World
from kafkactl.quorum.change.steps import after_step, before_conversion, not_caught_up, not_sent, planned_sets
from kafkactl.quorum.change.watch import Eyes, watch_catch_up, watch_outcome, watch_until
from kafkactl.quorum.guard import Circumstances
from kafkactl.quorum.liveness import is_steady
from kafkactl.quorum.order import VoterKeys
from kafkactl.quorum.outcome import Known, Verdict, is_applied
from kafkactl.quorum.plan import foreign_change
from kafkactl.quorum.state import QuorumState
from kafkactl.quorum.step import Action, QuorumChange, Step, StepState, numbered
from kafkactl.values import Endpoint

# Blockers that an election, or a voter that comes back, takes away by itself.
_PASSING_AT_ONCE = frozenset({"high-watermark-unknown"})
_PASSING = _PASSING_AT_ONCE | {"no-quorum-leader", "change-not-committed", "voter-lags", "superseded-leader"}


def plan_only(world: World, goal: Goal, *, clock: Clock, patience: Patience | None = None) -> ChangeResult:
    """The plan from what is seen now; nothing is sent, nothing is written down. Raises UnreachableError."""
    run = _Run(goal, _eyes(world, goal, patience, clock, lambda _: None), None)
    state = run.sight()
    plan = run.planned(state)
    return ChangeResult(outcome=plan.outcome, steps=plan.steps, findings=plan.findings, before=state, after=state)


def carry_out(
    world: World,
    goal: Goal,
    journal: Journal,
    *,
    clock: Clock,
    patience: Patience | None = None,
    tell: Tell = lambda _: None,
) -> ChangeResult:
    """Change the quorum until the goal is reached, refused, failed or not known.

    It ends by itself; KeyboardInterrupt (with `interrupted` in the result) and the command's own time limit end it
    cleanly where something was sent by then, and are raised otherwise. Raises UnreachableError where nothing could be
    seen to begin with, and the errors of the journal.
    """
    run = _Run(goal, _eyes(world, goal, patience, clock, tell), journal)
    try:
        return run.to_the_end()
    except KeyboardInterrupt:
        if not run.has_sent:
            raise
        return run.stopped(interrupted=True)
    except KafkactlError as error:
        if not run.has_sent:
            raise
        return run.stopped(error)


def _eyes(world: World, goal: Goal, patience: Patience | None, clock: Clock, tell: Tell) -> Eyes:
    return Eyes(world, clock, patience or Patience(), tell, node_ids=goal.node_ids)


class _Run:
    """One run of a change; its state is what was done so far."""

    def __init__(self, goal: Goal, eyes: Eyes, journal: Journal | None) -> None:
        self.goal, self.eyes, self.journal = goal, eyes, journal
        self.world, self.patience, self.tell = eyes.world, eyes.patience, eyes.tell
        self.before: QuorumState | None = None
        self.done: list[Step] = []
        self.in_flight: Step | None = None
        self.rest: tuple[Step, ...] = ()
        self.way: tuple[VoterKeys, ...] = ()  # from where this change stands to its end
        self.told: list[Finding] = []
        self.tried: Step | None = None  # sent, and to be tried again: it may be done all the same
        self.attempts: dict[tuple[Action, object], int] = {}
        self.has_sent = False
        self.patient_until: Deadline | None = None

    # --- the whole way ---

    def to_the_end(self) -> ChangeResult:
        """Step after step until there is none, or none may be taken."""
        memory = remembered(self._journal.entries)
        state = self.sight()
        if stop := self._take_up(memory, state):
            return stop
        if memory.in_flight is not None:
            state = self.sight()  # what was seen before the outcome was known is old by now
        begun = False
        while True:
            plan = self.planned(state)
            self.rest = plan.steps
            foreign = self._foreign(state, plan)
            if foreign is not None:
                return self._over(state, (foreign, *plan.findings))
            if plan.outcome is Outcome.REFUSED and self._may_pass(plan):
                state = self.sight()
                continue
            if plan.outcome is not Outcome.PLANNED:
                return self._over(state, plan.findings)
            self.patient_until = None
            if not begun:
                write_begin(self._journal, self.goal.words, state)
                begun = True
            self.tell(Event(kind="plan", text=f"{len(plan.steps)} steps", step=plan.next_step, state=state))
            stop = self._advance(plan, state)
            if stop is not None:
                return stop
            state = self.sight()

    def _may_pass(self, plan: QuorumChange) -> bool:
        """Whether to look again: in the middle of a change, or just after an election, some troubles are over soon."""
        found = {one.id for one in blockers(plan.findings)}
        if not found <= (_PASSING if self.has_sent else _PASSING_AT_ONCE):
            return False
        self.patient_until = self.patient_until or Deadline.after(self.patience.settle_ms, self.eyes.clock)
        if self.patient_until.passed:
            return False
        self.eyes.pause()
        return True

    def _advance(self, plan: QuorumChange, state: QuorumState) -> ChangeResult | None:
        """The first step that changes something, its gate included; a result where the way ends there."""
        step = plan.steps[0]
        if step.action is Action.WAIT:
            found, seen = watch_catch_up(
                self.eyes, step, deadline=Deadline.after(self.patience.catch_up_ms, self.eyes.clock)
            )
            if seen is not None and seen.voter_keys != step.voters_before:
                return None  # somebody else was faster: look anew
            if not found.ready:
                return self._over(seen or state, (*plan.findings, not_caught_up(step, found)))
            self._note(step, StepState.DONE)
            # What was seen before the wait is old by now.
            state = self.sight()
            plan = self.planned(state)
            same = plan.outcome is Outcome.PLANNED and (plan.steps[0].action, plan.steps[0].key) == (
                step.action,
                step.key,
            )
            if not same or self._foreign(state, plan) is not None:
                return None
            step = plan.steps[1]
        if step.action is Action.UPGRADE:
            if (refusal := before_conversion(self.eyes, step)) is not None:
                return self._over(state, (*plan.findings, refusal))
            state = self.sight()  # the leader may have taken its time
            plan = self.planned(state)
            if plan.outcome is not Outcome.PLANNED or plan.steps[0].action is not Action.UPGRADE:
                return None
        return self._take(step, plan, state)

    def _take(self, step: Step, plan: QuorumChange, state: QuorumState) -> ChangeResult | None:
        """Send the request of a step, once, and find out what it did."""
        step = replace(step, number=len(self.done) + 1)  # as it will stand in the answer
        endpoints = self._endpoints(step, state)
        if step.action is Action.ADD and not endpoints:
            return self._over(state, (*plan.findings, _no_endpoint(step)))
        self.way = planned_sets(plan.steps)
        seq = write_intent(self._journal, step, state, way=self.way, unread_ms=self.world.unread_ms)
        self.tell(Event(kind="send", text=_words(step), step=step, state=state))
        self.in_flight, self.has_sent = step, True
        sent_at_ms = self.eyes.now_ms()
        try:
            answer = self.world.send(step, endpoints)
        except UnreachableError as error:
            write_not_sent(self._journal, seq, error.message)
            self.in_flight = None
            return self._again_or(step, state, (*plan.findings, not_sent(step, error)))
        write_answer(self._journal, seq, answer)
        if step.leader_leaves:
            self.eyes.own_elections += 1
        verdict, seen = watch_outcome(self.eyes, step, answer, sent_at_ms=sent_at_ms, unread_ms=self.world.unread_ms)
        return self._judged(seq, step, verdict, seen or state)

    def _judged(self, seq: int, step: Step, verdict: Verdict, state: QuorumState) -> ChangeResult | None:
        """Write down what became of a step, and go on, again, or end."""
        if verdict.known is Known.FAILED:
            write_known(self._journal, seq, verdict, state)
            self.in_flight = None
            return self._again_or(step, state, verdict.findings, may_retry=verdict.retry)
        if verdict.known is not Known.DONE:
            write_undecided(self._journal, seq, verdict.may_happen)
            self._note(step, StepState.UNKNOWN)
            self.in_flight = None
            return self._result(Outcome.UNKNOWN, state, verdict.findings, verdict.may_happen)
        write_known(self._journal, seq, verdict, state)
        self.in_flight = None
        self._note(step, StepState.DONE)
        self.way = onwards(self.way, step)
        self.attempts.clear()
        self.tried = None
        problem, told = after_step(self.eyes, step)
        self.told += told
        return None if problem is None else self._over(self.eyes.last or state, (problem,))

    def _again_or(
        self, step: Step, state: QuorumState, findings: Sequence[Finding], *, may_retry: bool = True
    ) -> ChangeResult | None:
        """None where the step may be planned again, and was not tried too often; else the end."""
        tries = self.attempts[step.action, step.key] = self.attempts.get((step.action, step.key), 0) + 1
        if may_retry and tries < self.patience.attempts:
            self.tried = step
            self.tell(Event(kind="note", text=findings[-1].message, step=step, state=state))
            self.eyes.pause()
            return None
        self._note(step, StepState.FAILED)
        outcome = Outcome.PARTIAL if self._changed else Outcome.FAILED
        return self._result(outcome, state, findings)

    # --- going on where another run ended ---

    def _take_up(self, memory: Memory, state: QuorumState) -> ChangeResult | None:
        """Find out what the last request of an earlier run did; then nothing is on its way any longer."""
        known = state.high_watermark
        if known is not None and known < memory.high_watermark:
            return self._over(state, (_behind(memory.high_watermark, known),))
        same = self.goal.is_journey and memory.words == self.goal.words and not memory.ended
        if memory.in_flight is not None:
            self.tell(Event(kind="note", text="an earlier run left a request on its way", step=memory.in_flight.step))
            if stop := self._resolve(memory.in_flight, state):
                return stop
            memory = remembered(self._journal.entries)
        if same:
            self.way = memory.way
        return None

    def _resolve(self, in_flight: InFlight, state: QuorumState) -> ChangeResult | None:
        """What became of a request that an earlier run sent, or may have sent."""
        self.has_sent = True
        ago_ms = max(0, self._journal.now_ms() - in_flight.sent_at_ms)
        verdict, seen = watch_outcome(
            self.eyes,
            in_flight.step,
            in_flight.answer,
            sent_at_ms=self.eyes.now_ms() - ago_ms,
            unread_ms=in_flight.unread_ms,
            already=state,
        )
        if verdict.known in (Known.DONE, Known.FAILED):
            write_known(self._journal, in_flight.seq, verdict, seen)
            if verdict.known is Known.DONE:
                self._note(in_flight.step, StepState.DONE)
            return None
        write_undecided(self._journal, in_flight.seq, verdict.may_happen)
        self._note(in_flight.step, StepState.UNKNOWN)
        return self._result(Outcome.UNKNOWN, seen, verdict.findings, verdict.may_happen)

    # --- looking and planning ---

    def sight(self) -> QuorumState:
        """Everything that can be seen, and who is seen to follow the leader now. Raises UnreachableError.

        A look that finds no leader, or nobody at all, is not the last word, nor is one that meets an election: it is
        taken again for a while, a short one before anything was sent, for as long as an election takes after.
        """
        within_ms = self.patience.settle_ms if self.has_sent else self.patience.glance_ms
        state = watch_until(self.eyes, is_steady, within_ms=within_ms, see=self.eyes.prove)
        return self._first(self.eyes.prove() if state is None else state)

    def _first(self, state: QuorumState) -> QuorumState:
        self.before = self.before or state
        return state

    def planned(self, state: QuorumState) -> QuorumChange:
        """The plan of the goal for this sight."""
        circumstances: Circumstances = replace(
            self.goal.circumstances,
            earlier=self.eyes.earlier,
            recent_elections=self.eyes.recent_elections,
            epoch_age_ms=self.eyes.epoch_age_ms,
        )
        return self.goal.plan(state, circumstances)

    def _foreign(self, state: QuorumState, plan: QuorumChange) -> Finding | None:
        """What stops the way because somebody else is on it, too."""
        if plan.outcome is Outcome.NOTHING_TO_DO or not state.has_leader:
            return None
        found = foreign_change(state, self.way)
        if found is None:
            return None
        if not self.goal.replan:
            return found
        self.told.append(replace(found, severity=Severity.WARNING))
        self.way = ()
        return None

    def _endpoints(self, step: Step, state: QuorumState) -> tuple[Endpoint, ...]:
        if step.action is not Action.ADD or step.key is None:
            return ()
        return self.goal.endpoints.get(step.key) or self.world.endpoints_of(step.key.node_id, state)

    # --- ends ---

    @property
    def _journal(self) -> Journal:
        assert self.journal is not None, "a plan alone writes nothing"
        return self.journal

    @property
    def _changed(self) -> bool:
        return any(one.state is StepState.DONE and one.action is not Action.WAIT for one in self.done)

    def _note(self, step: Step, state: StepState) -> None:
        self.done = [one for one in self.done if (one.action, one.key) != (step.action, step.key)]
        self.done.append(replace(step, state=state))
        self.tell(Event(kind="done", text=_words(step), step=self.done[-1], state=self.eyes.last))

    def _over(self, state: QuorumState, findings: Sequence[Finding]) -> ChangeResult:
        """The end of the way: reached, or refused here."""
        if blockers(findings):
            return self._result(Outcome.PARTIAL if self._changed else Outcome.REFUSED, state, findings)
        self.rest = ()
        if self.tried is not None and is_applied(self.tried, state):
            self._note(self.tried, StepState.DONE)
        if not self._changed:
            return self._result(Outcome.NOTHING_TO_DO, state, findings)
        return self._result(Outcome.DONE, state, [one for one in findings if one.id != "removed-already"])

    def stopped(self, error: KafkactlError | None = None, *, interrupted: bool = False) -> ChangeResult:
        """The end in the middle: by the operator, by the time limit, or by an error after something was sent."""
        open_ended = self.in_flight is not None
        if self.in_flight is not None:
            self._note(self.in_flight, StepState.UNKNOWN)
            self.in_flight = None
        outcome = Outcome.UNKNOWN if open_ended else Outcome.PARTIAL if self._changed else Outcome.FAILED
        if isinstance(error, UnknownOutcomeError):
            outcome = Outcome.UNKNOWN
        told = () if error is None else (_error_finding(error),)
        return self._result(outcome, self.eyes.last, told, interrupted=interrupted)

    def _result(
        self,
        outcome: Outcome,
        state: QuorumState | None,
        findings: Sequence[Finding],
        may_happen: tuple[str, ...] = (),
        *,
        interrupted: bool = False,
    ) -> ChangeResult:
        if self.journal is not None and self.has_sent and outcome is not Outcome.UNKNOWN and not interrupted:
            with contextlib.suppress(FailedError):  # what counts is done; the next run looks anyway
                write_end(self.journal, outcome.value)
        taken = {(one.action, one.key) for one in self.done}
        rest = (
            tuple(one for one in self.rest if (one.action, one.key) not in taken) if outcome is not Outcome.DONE else ()
        )
        return ChangeResult(
            outcome=outcome,
            steps=numbered((*self.done, *rest)),
            findings=each_once((*self.told, *findings)),
            before=self.before,
            after=state,
            may_happen=may_happen,
            interrupted=interrupted,
        )


def _words(step: Step) -> str:
    return step.action.value if step.id is None else f"{step.action.value} {step.id}"


def _no_endpoint(step: Step) -> Finding:
    return blocker(
        "candidate-endpoint-unknown",
        f"controller {step.id}",
        f"nobody tells at which endpoints controller {step.id} answers: it is not registered in the metadata log",
        "Wait until it has registered, or use `kafkactl quorum add-controller` with its own configuration.",
    )


def _behind(journal: int, cluster: int) -> Finding:
    return blocker(
        "cluster-behind-journal",
        "journal",
        f"the journal has seen the high watermark {journal}, the cluster is at {cluster}: it was restored from an "
        "earlier state, or the journal is another's",
        "Find out which; move the journal away if it no longer belongs to what runs.",
        journal=journal,
        cluster=cluster,
    )


def _error_finding(error: KafkactlError) -> Finding:
    return blocker(error.id, "quorum", error.message, error.next_step or "Run the command again: it looks first.")
