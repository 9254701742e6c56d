"""A change of the quorum, carried out: the journey that `change/engine` takes towards a goal.

Only the first step of a plan is ever taken, on the strength of what was just observed. What became of a request is what
the voter sets show afterwards; while that is not known nothing else is sent. Nothing here decides what is safe:
`quorum/plan` does, from what is observed.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from kafkactl.change.clock import Clock, Deadline
from kafkactl.change.engine import (
    End,
    Engine,
    Journey,
    PreparedStep,
    StepOutcome,
    StepResult,
    UnsentRequest,
    Verification,
    out_of_time,
)
from kafkactl.change.journal import Journal, RunJournal
from kafkactl.change.progress import Event, ProgressCallback, in_silence
from kafkactl.cluster.quorum.liveness import is_steady
from kafkactl.cluster.quorum.state import QuorumState, ids_of
from kafkactl.core.errors import KafkactlError, RefusedError, UnreachableError
from kafkactl.core.findings import (
    NO_ACCESS,
    NOT_AUTHORISED,
    Finding,
    Outcome,
    Severity,
    blocker,
    blockers,
    error_finding,
)
from kafkactl.core.frozen import changed
from kafkactl.core.values import Endpoint, ReplicaKey
from kafkactl.quorum.change.journal import (
    answer_entry,
    begin_entry,
    known_entry,
    onwards,
    quorum_in_flight,
    remembered,
    step_entry,
)
from kafkactl.quorum.change.ports import ChangeResult, Goal, QuorumPort, QuorumWaitPolicy
from kafkactl.quorum.change.steps import after_step, before_conversion, not_caught_up, not_sent, planned_sets
from kafkactl.quorum.change.watch import QuorumWatcher, watch_catch_up, watch_outcome, watch_until
from kafkactl.quorum.guard import Circumstances
from kafkactl.quorum.order import VoterKeys
from kafkactl.quorum.outcome import Answer, Known, Verdict, is_applied
from kafkactl.quorum.plan import concurrent_change
from kafkactl.quorum.step import Action, QuorumChange, Step, StepState, numbered

# Blockers that an election, or a voter that comes back, resolves.
_PASSING_AT_ONCE = frozenset({"high-watermark-unknown"})
_PASSING = _PASSING_AT_ONCE | {"no-quorum-leader", "change-not-committed", "voter-lags", "superseded-leader"}
_STOPPED = (Outcome.FAILED, Outcome.PARTIAL, Outcome.REFUSED)
_RESULTS = {Known.DONE: StepResult.DONE, Known.FAILED: StepResult.FAILED}


def plan_only(world: QuorumPort, goal: Goal, *, clock: Clock, policy: QuorumWaitPolicy | None = None) -> ChangeResult:
    """Return the plan from what is observed now; nothing is sent, nothing is written down. Raises UnreachableError."""
    policy = policy or QuorumWaitPolicy()
    journey = QuorumJourney(goal, QuorumWatcher(world, clock, policy, in_silence, node_ids=goal.node_ids))
    state = Engine(journey, RunJournal(), clock=clock, policy=policy).observe()
    plan = journey.plan_of(state)
    return ChangeResult(outcome=plan.outcome, steps=plan.steps, findings=plan.findings, before=state, after=state)


def carry_out(
    world: QuorumPort,
    goal: Goal,
    journal: Journal,
    *,
    clock: Clock,
    policy: QuorumWaitPolicy | None = None,
    tell: ProgressCallback = in_silence,
) -> ChangeResult:
    """Change the quorum until the goal is reached, refused, failed or not known.

    It ends unprompted; KeyboardInterrupt (with `interrupted` in the result) and the command's own time limit end it
    cleanly where something was sent by then, and are raised otherwise. Raises UnreachableError if nothing could be
    observed to begin with, and the errors of the journal.
    """
    policy = policy or QuorumWaitPolicy()
    journey = QuorumJourney(goal, QuorumWatcher(world, clock, policy, tell, node_ids=goal.node_ids))
    return journey.result(Engine(journey, journal, clock=clock, policy=policy).to_the_end())


class QuorumJourney(Journey[QuorumState, QuorumChange, Step, Answer]):
    """A goal on its way. `planned_voter_sets`: those that the change passes, from where it is now to its end."""

    lists_once = True

    def __init__(self, goal: Goal, watcher: QuorumWatcher) -> None:
        self.goal, self.watcher = goal, watcher
        self.port, self.policy, self.tell = watcher.port, watcher.policy, watcher.tell
        self.planned_voter_sets: tuple[VoterKeys, ...] = ()
        self.endpoints: tuple[Endpoint, ...] = ()
        self.tried: Step | None = None  # sent, and to be tried again: it may be done all the same
        self.settling: Step | None = None  # done, and the quorum is not known to be well since
        self.sent_at_ms = 0.0

    def observe(self) -> QuorumState:
        """Return the whole state, with the nodes that are observed to follow the leader now. Raise UnreachableError.

        An observation without a leader or a node, or during an election, is repeated: for a short time before the first
        request, for the time of an election after it.
        """
        within_ms = self.policy.settle_ms if self.run.began else self.policy.recheck_ms
        state = watch_until(self.watcher, is_steady, within_ms=within_ms, see=self.watcher.prove)
        return self.watcher.prove() if state is None else state

    def plan(self, seen: QuorumState) -> QuorumChange:
        """Return the plan, refused where another operator or process changes the voters, too."""
        plan = self.plan_of(seen)
        concurrent = self._concurrent_change(seen, plan)
        return plan if concurrent is None else changed(plan, findings=(concurrent, *plan.findings))

    def plan_of(self, state: QuorumState) -> QuorumChange:
        """Return the plan of the goal for this observation."""
        circumstances: Circumstances = replace(
            self.goal.circumstances,
            earlier=self.watcher.earlier,
            recent_elections=self.watcher.recent_elections,
            epoch_age_ms=self.watcher.epoch_age_ms,
        )
        return self.goal.plan(state, circumstances)

    def _concurrent_change(self, state: QuorumState, plan: QuorumChange) -> Finding | None:
        if plan.outcome is Outcome.NOTHING_TO_DO or not state.has_leader:
            return None
        found = concurrent_change(state, self.planned_voter_sets)
        if found is None or not self.goal.replan:
            return found
        self.run.notes.append(replace(found, severity=Severity.WARNING))
        self.planned_voter_sets = ()
        return None

    def may_pass(self, plan: QuorumChange) -> bool:
        """Return True if all blockers are temporary in the middle of a change or just after an election."""
        return {finding.id for finding in blockers(plan.findings)} <= (_PASSING if self.run.began else _PASSING_AT_ONCE)

    def step_of(self, plan: QuorumChange) -> Step:
        """Return the first step that changes something; a wait before it is its gate."""
        return next(step for step in plan.steps if step.action is not Action.WAIT)

    def key(self, step: Step) -> Hashable:
        """Return the action and the voter of the step."""
        return step.action, step.key

    def changes(self, step: Step) -> bool:
        """Return True unless the step is a wait."""
        return step.action is not Action.WAIT

    def admit(self, plan: QuorumChange, seen: QuorumState) -> PreparedStep | End | None:
        """Return the first step that changes something, after its gate is open."""
        first = plan.steps[0]
        self.tell(Event(kind="plan", text=f"{len(plan.steps)} steps", step=first, state=seen))
        stop = None
        if first.action is Action.WAIT:
            stop = self._caught_up(first, plan, seen)
        elif first.action is Action.UPGRADE and (refusal := before_conversion(self.watcher, first)) is not None:
            stop = self.run.refused((*plan.findings, refusal), seen)
        if stop is not None:
            return stop if isinstance(stop, End) else None
        if first.action in (
            Action.WAIT,
            Action.UPGRADE,
        ):  # what was seen before the gate is old by now
            seen = self.run.observe()
            plan = self.plan(seen)
            if plan.outcome is not Outcome.PLANNED or self.key(plan.steps[0]) != self.key(first):
                return None
        step = replace(self.step_of(plan), number=len(self.run.taken) + 1)  # as it will be in the answer
        self.endpoints = self._endpoints_of(step, seen)
        if step.action is Action.ADD and not self.endpoints:
            return self.run.refused((*plan.findings, _no_endpoint(step, seen)), seen)
        return PreparedStep(step=step, plan=plan, seen=seen)

    def _caught_up(self, wait: Step, plan: QuorumChange, seen: QuorumState) -> End | bool | None:
        """Wait until a candidate has caught up: None if it has, True if the run has to observe again."""
        until = Deadline.after(self.policy.catch_up_ms, self.watcher.clock)
        found, latest = watch_catch_up(self.watcher, wait, deadline=until)
        if latest is not None and latest.voter_keys != wait.voters_before:
            return True  # another operator or process was faster
        if not found.ready:
            return self.run.refused((*plan.findings, not_caught_up(wait, found)), latest or seen)
        self.run.note(wait, StepResult.DONE)
        return None

    def _endpoints_of(self, step: Step, state: QuorumState) -> tuple[Endpoint, ...]:
        if step.action is not Action.ADD or step.key is None:
            return ()
        return self.goal.endpoints.get(step.key) or self.port.endpoints_of(step.key.node_id, state)

    def begin(self, ready: PreparedStep) -> Mapping[str, Any]:
        """Return the goal, and the voters now."""
        return begin_entry(self.goal.description, ready.seen)

    def intent(self, ready: PreparedStep) -> Mapping[str, Any]:
        """Return the step, and the voter sets from here on."""
        self.planned_voter_sets = planned_sets(ready.plan.steps)
        return step_entry(ready.step, ready.seen, sets=self.planned_voter_sets, unread_ms=self.port.unread_ms)

    def send(self, ready: PreparedStep, seq: int) -> Answer | UnsentRequest:
        """Return the one request of the step."""
        self.tell(Event(kind="send", text=_words(ready.step), step=ready.step, state=ready.seen))
        self.sent_at_ms = self.watcher.now_ms()
        try:
            return self.port.send(ready.step, self.endpoints)
        except (UnreachableError, RefusedError) as error:
            return UnsentRequest(error=error)

    def answered(self, answer: Answer) -> Mapping[str, Any]:
        """Return the entry for the answer, or for a missing answer."""
        return answer_entry(answer)

    def verify(self, ready: PreparedStep, answer: Answer) -> Verification:
        """Check the outcome of the step against the voter sets."""
        step, unread_ms = ready.step, self.port.unread_ms
        if step.leader_leaves:
            self.watcher.own_elections += 1
        found, seen = watch_outcome(self.watcher, step, answer, sent_at_ms=self.sent_at_ms, unread_ms=unread_ms)
        return _verification(found, seen or ready.seen)

    def not_sent(self, ready: PreparedStep, error: KafkactlError) -> Finding:
        """Return the finding that no node could be reached."""
        return not_sent(ready.step, error)

    def again(self, step: Step, found: Verification) -> None:
        """Store the step that is repeated: an observation may show that the first request was done."""
        self.tried = step
        self.tell(Event(kind="note", text=found.findings[-1].message, step=step, state=found.seen))

    def after(self, step: Step) -> Finding | None:
        """Wait until the quorum is well."""
        self.planned_voter_sets = onwards(self.planned_voter_sets, step)
        self.tried = None
        self.settling = step
        problem, notes = after_step(self.watcher, step)
        self.settling = None
        self.run.notes += notes
        return problem

    def reached(self, seen: QuorumState) -> None:
        """Mark a repeated step as done if the voter set contains its change."""
        if self.tried is not None and is_applied(self.tried, seen):
            self.run.note(self.tried, StepResult.DONE)

    def noted(self, taken: StepOutcome) -> None:
        """Report the end of a step in one line."""
        step = _shown(taken)
        self.tell(Event(kind="done", text=_words(step), step=step, state=self.watcher.last))

    def resume(self, seen: QuorumState) -> QuorumState | End:
        """Find out what the last request of an earlier run did; then no request is on its way any longer."""
        journal = self.run.journal
        recorded, known = remembered(journal.entries), seen.high_watermark
        if known is not None and known < recorded.high_watermark:
            return self.run.refused((_behind(recorded.high_watermark, known),), seen)
        is_same = self.goal.is_journey and recorded.goal == self.goal.description and not recorded.ended
        if recorded.in_flight is not None:
            flight = quorum_in_flight(recorded.in_flight)
            self.tell(Event(kind="note", text="an earlier run left a request on its way", step=flight.step))
            self.run.began = True
            ago_ms = max(0, journal.now_ms() - flight.sent_at_ms)
            found, latest = watch_outcome(
                self.watcher,
                flight.step,
                flight.answer,
                sent_at_ms=self.watcher.now_ms() - ago_ms,
                unread_ms=flight.unread_ms,
                already=seen,
            )
            end = self.run.settle(flight.seq, flight.step, _verification(found, latest), earlier=True)
            if end is not None:
                return end
            recorded, seen = remembered(journal.entries), self.run.observe()
        if is_same:
            self.planned_voter_sets = recorded.planned_voter_sets
        return seen

    def error_finding(self, error: KafkactlError) -> Finding:
        """Return the finding for an error that ended a run before its goal."""
        if error.id == "timed-out":
            return out_of_time("quorum", error, list(self._known()))
        return error_finding("quorum", error)

    def _known(self) -> Iterator[str]:
        """Yield the finished steps, whether a request is open, and the condition that the run waited for."""
        of = {result: [_words(each.step) for each in self.run.taken if each.result is result] for result in StepResult}
        yield f"done: {', '.join(of[StepResult.DONE]) or 'nothing'}"
        unknown = of[StepResult.UNKNOWN]
        yield f"not known of: {', '.join(unknown)}" if unknown else "no request is open"
        state = self.watcher.last
        if self.settling is not None:
            yield f"the quorum was not yet well after {_words(self.settling)}"
        dead = () if state is None else [voter.key for voter in state.voters if voter.alive is False]
        if state is not None and dead:
            yield f"at the end not alive: voters {_listed(dead)}, of {_listed(state.voter_keys)}"

    def result(self, end: End) -> ChangeResult:
        """Return the answer of a run: the steps that were taken, and those that are left of the last plan."""
        taken = {self.key(step_taken.step) for step_taken in end.taken}
        is_done = end.outcome is Outcome.DONE
        after = self.watcher.last if end.seen is None else end.seen
        left = () if is_done or end.plan is None else [step for step in end.plan.steps if self.key(step) not in taken]
        return ChangeResult(
            outcome=end.outcome,
            steps=numbered((*map(_shown, end.taken), *left)),
            findings=tuple(finding for finding in end.findings if not (is_done and finding.id == "removed-already")),
            before=end.first,
            after=self._proved_again(after) if end.outcome in _STOPPED and not end.interrupted else after,
            may_happen=end.may_happen,
            interrupted=end.interrupted,
        )

    def _proved_again(self, state: QuorumState | None) -> QuorumState | None:
        """Return the quorum with what is known of its voters' lives, which a look at an outcome does not show."""
        if state is None or state.tolerates is not None:
            return state
        try:
            return self.watcher.prove()
        except KafkactlError:
            return state


def _shown(taken: StepOutcome) -> Step:
    step: Step = taken.step
    return replace(step, state=StepState(taken.result.value))


def _verification(verdict: Verdict, state: QuorumState | None) -> Verification:
    return Verification(
        result=_RESULTS.get(verdict.known, StepResult.UNKNOWN),
        findings=verdict.findings,
        may_happen=verdict.may_happen,
        retry=verdict.retry,
        data=known_entry(verdict, state),
        seen=state,
    )


def _listed(keys: Iterable[ReplicaKey]) -> str:
    return ",".join(map(str, ids_of(keys)))


def _words(step: Step) -> str:
    return step.action.value if step.id is None else f"{step.action.value} {step.id}"


def _no_endpoint(step: Step, state: QuorumState) -> Finding:
    subject, unknown = f"controller {step.id}", f"the endpoints of controller {step.id} are unknown"
    unread = next((finding for finding in state.findings if finding.id == "metadata-log-not-read"), None)
    if unread is None:
        return blocker("candidate-endpoint-unknown", subject, f"{unknown}: it is not registered in the metadata log")
    access = {NO_ACCESS: True} if unread.evidence.get("error") == NOT_AUTHORISED else {}
    return blocker("candidate-endpoint-unknown", subject, f"{unknown}: {unread.message}", unread.advice, **access)


def _behind(journal: int, cluster: int) -> Finding:
    return blocker(
        "cluster-behind-journal",
        "journal",
        f"the journal has seen the high watermark {journal}, the cluster is at {cluster}: it was restored from an "
        "earlier state, or the journal is another's",
        journal=journal,
        cluster=cluster,
    )
