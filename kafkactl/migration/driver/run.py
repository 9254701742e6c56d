"""The driver of a migration: the journey that `change/engine` takes through a plan, each gate seen open twice.

Only the first step of a plan is ever taken, on the strength of what was just observed. A step is in the journal before
anything is touched, and done there when its gate was observed. So a run that is killed anywhere is resumed by the next
one, which observes and plans; nothing here decides what is safe. What is seen and what the journal remembers have to
agree: if they do not, nothing is touched, and both are shown.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any, cast

from kafkactl.change.clock import Deadline
from kafkactl.change.engine import (
    End,
    Engine,
    Journey,
    PreparedStep,
    StepOutcome,
    StepResult,
    Verification,
    out_of_time,
)
from kafkactl.change.journal import FAILED, WITHDRAWN
from kafkactl.change.progress import Event
from kafkactl.core.errors import KafkactlError, RefusedError, UnreachableError
from kafkactl.core.findings import Finding, Outcome, blockers, each_once, error_finding
from kafkactl.core.frozen import changed, frozen
from kafkactl.core.wording import counted
from kafkactl.migration.driver.actions import Applied
from kafkactl.migration.driver.gate import boot_left_ms, is_blind, limit_of, new_strays, why_closed
from kafkactl.migration.driver.guards import Guard, NoGuard
from kafkactl.migration.driver.journal import BACK, FORWARD, JournalState, PendingAction
from kafkactl.migration.driver.moves import (
    ACTS,
    CONFIRMED_ALREADY,
    WITHOUT_OBSERVATION,
    RunContext,
    StepPlan,
    phase_of,
    step_entry,
)
from kafkactl.migration.driver.ports import DoneStep, RunResult, StepState
from kafkactl.migration.driver.routes import prepares_quorum
from kafkactl.migration.driver.started_node import StartedNode
from kafkactl.migration.driver.stops import (
    disagreement,
    gate_stays_closed,
    level_of,
    moved_against,
    moved_by_another,
)
from kafkactl.migration.driver.watch import AWAY, StepWatch
from kafkactl.migration.observed.observation import Observation
from kafkactl.migration.state.names import State
from kafkactl.migration.steps.broken_states import STOP_AT_ONCE
from kafkactl.migration.steps.step import File, Progress, Step
from kafkactl.migration.steps.table import observed_state

_NOT_UP = frozenset({"step-not-confirmed", "started-node-ended"})  # of a node that an earlier run started
Plan = Callable[[Observation, JournalState], StepPlan]
Ask = Callable[[StepPlan, Step], Finding | None]


def run_migration(
    context: RunContext,
    plan: Plan,
    *,
    goal: str,
    identity: Mapping[str, Any],
    until: str | None = None,
    is_there: Callable[[str], bool] = lambda _: False,
    guard: Guard | None = None,
    ask: Ask = lambda _route, _step: None,
    accept_observed: bool = False,
) -> RunResult:
    """Take the steps of `plan` one by one to its end, or until `is_there` says so of the observed state.

    `guard` says what stops a step, confirmed in two observations; `ask` lets an operator refuse it (a barrier).
    `accept_observed` resumes from what is seen if the journal remembers something else. Raises UnreachableError
    if nothing was seen at all, and nothing touched.
    """
    way = _Way(plan=plan, goal=goal, identity=identity, until=until, is_there=is_there, accept_observed=accept_observed)
    journey = MigrationJourney(context, way, guard or NoGuard(), ask)
    engine = Engine(journey, context.journal, clock=context.world.clock, policy=context.policy)
    try:
        end = engine.to_the_end()
    except KeyboardInterrupt:
        end = engine.stopped(interrupted=True)
    return journey.result(end)


@frozen
class _Way:
    """Direction of a run, and the state at which it ends."""

    plan: Plan
    goal: str
    identity: Mapping[str, Any]
    until: str | None
    is_there: Callable[[str], bool]
    accept_observed: bool


@frozen
class ObservedMigration:
    """An observation, and the plan that was made of it and of what the journal remembered then."""

    seen: Observation
    route: StepPlan


class MigrationJourney(Journey[ObservedMigration, StepPlan, Step, Applied]):
    """Run of a migration: what was observed, and which gates were passed."""

    def __init__(self, context: RunContext, way: _Way, guard: Guard, ask: Ask) -> None:
        self.context, self.way, self.guard, self.ask = context, way, guard, ask
        self.goal = way.goal
        self.known: str | None = None
        self.first: str | None = None
        self.state: str | None = None
        self.watch = StepWatch(context)
        self.seen_done: set[tuple[str, str]] = set()
        self._earlier: PendingAction | None = None  # the open intent of an earlier run

    def observe(self) -> ObservedMigration:
        """Return the present observation and what follows from it.

        Raises RefusedError if another driver moves the migration.
        """
        found = self._observe_once()
        before = self.known
        if before is not None and moved_against(self.goal, before, found.route.state):
            self.context.world.clock.sleep_ms(self.context.policy.apart_ms)
            found = self._observe_once()
            if moved_against(self.goal, before, found.route.state):
                raise moved_by_another(self.goal, before, found.route.state)
        if level_of(found.route.state) is not None:
            self.known = found.route.state
        return found

    def _observe_once(self) -> ObservedMigration:
        """Observe once, after a wait for a ZooKeeper that is away for a moment."""
        context, away = self.context, None
        while True:
            try:
                seen = context.world.observe()
                break
            except UnreachableError as error:
                away = away or Deadline.after(context.policy.znode_ms, context.world.clock)
                if not self.run.began or away.passed:
                    raise
                self._wait_for_zookeeper(error)
        route = self.way.plan(seen, context.journal.recorded)
        if route.state != self.state:
            context.tell(Event(kind="state", text=self._state_words(route), state=route.state))
            self.first = self.first or route.state
            self.state = route.state
            if self.run.began:
                context.journal.append("state", {"state": route.state, "time_ms": seen.time_ms})
        return ObservedMigration(seen=seen, route=route)

    def _state_words(self, route: StepPlan) -> str:
        """Return the position of the run.

        In a rollback that goes as planned, the states in between have alarming names, which only mean that the rollback
        has not ended yet.
        """
        if self.goal != BACK or self.first is None or route.state == State.M0:
            return f"{route.state}: {State(route.state).words}"
        left = sum(step.state is Progress.PENDING for step in route.steps)
        return f"rollback, {counted(left, 'step')} left"

    def _wait(self, what: str, seen: str) -> None:
        self.context.tell(Event(kind="wait", text=what, state=self.state, seen=seen))

    def _wait_for_zookeeper(self, error: UnreachableError) -> None:
        self._wait("ZooKeeper to answer again", error.message)
        self.context.world.clock.sleep_ms(self.context.policy.observe_every_ms)

    def plan(self, seen: ObservedMigration) -> StepPlan:
        """Return the plan with the outcome for this run: refused, reached, or with a step to do."""
        route, way = seen.route, self.way
        if blockers(route.findings) or route.outcome is Outcome.REFUSED:
            return changed(route, outcome=Outcome.REFUSED)
        step = self._next(route)
        is_there = way.is_there(route.state) and not prepares_quorum(route.state, way.until, step)
        return changed(route, outcome=Outcome.NOTHING_TO_DO if is_there or step is None else Outcome.PLANNED)

    def _next(self, route: StepPlan) -> Step | None:
        for step in route.steps:
            if step.state is Progress.PENDING and (step.action.value, step.target) not in self.seen_done:
                return step
        return None

    def step_of(self, plan: StepPlan) -> Step:
        """Return the first step that is pending."""
        step = self._next(plan)
        assert step is not None, "a plan with a step to take has one"
        return step

    def key(self, step: Step) -> Hashable:
        """Return the identity of a step: its action, its target, and the file."""
        return step.action, step.target, step.file

    def may_pass(self, plan: StepPlan) -> bool:
        """Return True between two steps of this run, when some blockers disappear soon."""
        return self.run.began and plan.state not in STOP_AT_ONCE

    def waits(self, plan: StepPlan) -> None:
        """Report a line with each observation."""
        seen = "; ".join(finding.message for finding in blockers(plan.findings)[:1]) or plan.state
        self._wait("the cluster to be in a state from which the next step can be taken", seen)

    def resume(self, seen: ObservedMigration) -> ObservedMigration | End:
        """Settle by the observation what an earlier run left open, after the next step begins."""
        recorded = self.context.journal.recorded
        self._earlier = recorded.pending
        if not self.way.accept_observed and (stop := disagreement(recorded, seen.route.state, seen.seen)) is not None:
            return self.run.refused((stop, *seen.route.findings), None)
        return seen

    def admit(self, plan: StepPlan, seen: ObservedMigration) -> PreparedStep | End | None:
        """Admit a step if nothing stops it, the lock is still held, and the other nodes answer right now."""
        ready = self._admitted(plan, seen)
        if not isinstance(ready, PreparedStep):
            return ready
        lost = self.watch.lock_lost()
        silent = self.watch.fell_silent(ready.seen.seen, ready.step)
        if lost is None and silent is not None and self.watch.may_observe_again(silent):
            return None
        if found := lost or silent:
            return self.run.refused((*ready.plan.findings, found), ready.seen)
        return ready

    def _admitted(self, plan: StepPlan, seen: ObservedMigration) -> PreparedStep | End | None:
        """Admit a step if nothing stops it in two observations and the operator does not refuse it.

        Return None if another step is next by now.
        """
        clock, policy, step = self.context.world.clock, self.context.policy, self.step_of(plan)
        until = Deadline.after(policy.settle_ms if self.run.began else 2 * policy.apart_ms, clock)
        found = self.guard.objections(seen.seen, None, seen.route, step)
        needed = self.guard.observations_needed(seen.route, step)
        times = 0 if found else 1
        while times < needed:
            if found and until.passed:
                return self.run.refused((*plan.findings, *found), seen)
            if found:
                first = f"{found[0].subject}: {found[0].message}"
                self._wait(f"{len(found)} findings to pass before {step.action} {step.target}", first)
            earlier = seen.seen
            clock.sleep_ms(policy.apart_ms)
            seen = self.run.observe()
            plan = self.plan(seen)
            again = self.step_of(plan) if plan.outcome is Outcome.PLANNED else None
            if again is None or (again.action, again.target) != (step.action, step.target):
                return None
            step = again
            found = self.guard.objections(seen.seen, earlier, seen.route, step)
            times = 0 if found else times + 1
        if (refusal := self.ask(seen.route, step)) is not None:
            return self.run.refused((*plan.findings, refusal), seen)
        return PreparedStep(step=step, plan=plan, seen=seen)

    def begin(self, ready: PreparedStep) -> Mapping[str, Any]:
        """Return the goal, and which migration this is."""
        return {"goal": self.goal, "until": self.way.until, "migration": self.way.identity}

    def begun(self, ready: PreparedStep) -> None:
        """Record the first state, every node's own file, and what the operator agreed to."""
        journal, files = self.context.journal, self.context.files
        self.run.began = True
        if self._earlier is not None:
            why = "an earlier run ended here; what is real was looked at"
            self.run.journal.append(FAILED, {"of": self._earlier.seq, "known": WITHDRAWN, "message": why})
        if self.state is not None:
            journal.append("state", {"state": self.state})
        if self.goal == FORWARD:
            files.keep_originals(journal)
        for line in files.settle(journal, ready.seen.seen, ready.plan.steps):
            self.context.tell(Event(kind="note", text=line, state=self.state))

    def prepare(self, ready: PreparedStep) -> None:
        """Save the last copies through the guard."""
        step: Step = ready.step
        self.guard.pass_by(ready.seen.seen, ready.seen.route, step)
        self.context.tell(Event(kind="action", text=f"{step.action} {step.target}", state=self.state))

    def intent(self, ready: PreparedStep) -> Mapping[str, Any]:
        """Return the action; `irreversible` if it cannot be undone."""
        step: Step = ready.step
        irreversible = {"irreversible": True} if step.file is File.FINAL else {}
        return {"action": step.action.value, "target": step.target, **step_entry(step), **irreversible}

    def send(self, ready: PreparedStep, seq: int) -> Applied:
        """Send the action, unless a node that an earlier run started comes up automatically."""
        step: Step = ready.step
        came_up = self._comes_up(step, self.context.journal.recorded.starting.get((step.target, phase_of(step))))
        if isinstance(came_up, Finding):
            return Applied(finding=came_up)
        if came_up:
            return Applied(came_up=True, evidence={"started_by": "an earlier run"})
        return self._act(step, seq, ready.seen.seen)

    def verify(self, ready: PreparedStep, answer: Applied) -> Verification:
        """Check the gate of a step, observed open twice."""
        context, step = self.context, ready.step
        if answer.unknown:
            found = answer.finding or gate_stays_closed(step, (), asked=False)
            return Verification(result=StepResult.UNKNOWN, findings=(found,))
        unseen = answer.asked and is_blind(context, step, asked=True)
        if answer.asked and answer.finding is None:
            words = (
                "no file or disk of it can be read from here: its start will show it" if unseen else "until it is seen"
            )
            context.tell(Event(kind="ask", text=f"waiting: {words}; {step.gate}", state=self.state))
        problem = answer.finding
        if problem is None and not answer.came_up:
            problem = self._gate(step, asked=answer.asked)
        if problem is not None:
            return Verification(
                result=StepResult.FAILED, findings=(problem,), data={"id": problem.id, "told": problem.message}
            )
        entry = {"evidence": answer.evidence, "state": self.state, "seen": not unseen}
        return Verification(result=StepResult.DONE, data=entry, label="asked" if unseen else "")

    def noted(self, taken: StepOutcome) -> None:
        """Report one line a step."""
        words = "asked for, and not to be seen from here" if taken.label else taken.word
        kind = "failed" if taken.result is StepResult.FAILED else "done"
        self.context.tell(Event(kind=kind, text=f"{taken.step.action} {taken.step.target}: {words}"))

    def _comes_up(self, step: Step, started_ms: int | None) -> Finding | bool:
        """Return True if a node that an earlier run started comes up without being started again.

        A finding if nothing may be done to it now.
        """
        context, left_ms = self.context, 0
        if started_ms is not None:
            up_ms = max(0, context.journal.now_ms() - started_ms)
            left_ms = boot_left_ms(context, step, context.place(step, context.journal.next_seq), up_ms)
        if left_ms <= 0:
            return False
        text = f"{step.target} was started {up_ms // 1000} s ago by an earlier run and is booting: its gate is awaited"
        context.tell(Event(kind="note", text=text, state=self.state))
        problem = self._gate(step, asked=False, limit_ms=left_ms)
        return problem is None or (False if problem.id in _NOT_UP else problem)

    def _act(self, step: Step, seq: int, seen: Observation) -> Applied:
        """Apply the step.

        It is repeated, which is harmless, if ZooKeeper was unreachable for a moment and nothing was written.

        A broker that is stopped, and brokers that have no controller, wait for what comes next.
        """
        away: Deadline | None = None
        while True:
            try:
                return ACTS[step.action.value](self.context, step, seq, seen)
            except RefusedError as error:  # a znode that was changed meanwhile: observed again
                return Applied(finding=error_finding(step.target, error))
            except UnreachableError as error:
                away = away or Deadline.after(self.context.policy.znode_ms, self.context.world.clock)
                if error.id not in AWAY or away.passed:
                    return Applied(finding=error_finding(step.target, error))
                self._wait_for_zookeeper(error)

    def _gate(self, step: Step, *, asked: bool, limit_ms: int | None = None) -> Finding | None:
        """Wait until a step's gate was seen open twice; the reason if it stays closed."""
        key = (step.action.value, step.target)
        if key[0] in WITHOUT_OBSERVATION or is_blind(self.context, step, asked=asked):
            self.seen_done.add(key)
            return None
        policy, clock = self.context.policy, self.context.world.clock
        limit_ms = limit_of(step, policy) if limit_ms is None else limit_ms
        until = Deadline.after(policy.operator_ms if asked else limit_ms, clock)
        opened_ms: float | None = None
        before = self.state
        stuck_until: Deadline | None = None
        started = StartedNode(self.context, step, self.context.journal.next_seq)
        while True:
            seen, route = self._again()
            found = blockers(route.findings)
            stuck = self._hopeless(seen, route, before)
            stuck_until = None if stuck is None else stuck_until or Deadline.after(policy.znode_ms, clock)
            if stuck_until is not None and stuck_until.passed:
                return stuck
            if found and (until.passed or route.state in STOP_AT_ONCE):
                return found[0]
            if (broken := new_strays(seen, step) or (None if asked else started.ended(seen))) is not None:
                return broken
            findings = found or ([] if stuck is None else [stuck])
            closed = tuple(finding.message for finding in findings) or why_closed(self.context, step, route, seen)
            if not closed:
                opened_ms = clock.now_ms() if opened_ms is None else opened_ms
                if clock.now_ms() - opened_ms >= policy.apart_ms or key[0] in CONFIRMED_ALREADY:
                    return None
                clock.sleep_ms(policy.apart_ms - (clock.now_ms() - opened_ms))
                continue
            opened_ms = None
            if until.passed:
                return gate_stays_closed(step, closed, asked=asked)
            self._wait(f"{step.action} {step.target} to be seen done ({step.gate})", closed[0])
            clock.sleep_ms(policy.observe_every_ms)

    def _hopeless(self, seen: Observation, route: StepPlan, before: str | None) -> Finding | None:
        """Return the state after which no gate opens if it lasts for a minute.

        A process supervisor may start the node within that minute.

        A situation that stops a run is such a thing if the plan knows a next step from it. A rollback stops the
        controllers itself, in the copy too.
        """
        if route.state == State.M5:
            return self.guard.hopeless(seen)
        if self.goal == BACK or route.state not in STOP_AT_ONCE or route.state == before:
            return None
        return next(iter(blockers(observed_state(seen).findings)), None)

    def _again(self) -> tuple[Observation, StepPlan]:
        """Observe and plan again for a gate: no step is begun on this plan."""
        found = self.observe()
        return found.seen, found.route

    def error_finding(self, error: KafkactlError) -> Finding:
        """Return the finding for an error that ended the run in the middle."""
        return out_of_time("migration", error, ()) if error.id == "timed-out" else error_finding("migration", error)

    def result(self, end: End) -> RunResult:
        """Return the answer of a run: the steps that were done, and those that are left of the last plan."""
        done = [DoneStep(step=taken.step, state=cast("StepState", taken.word)) for taken in end.taken]
        taken = {self.key(taken.step) for taken in end.taken}
        left = [
            DoneStep(step=step, state="pending")
            for step in (() if end.plan is None else end.plan.steps)
            if step.state is Progress.PENDING and self.key(step) not in taken
        ]
        return RunResult(
            outcome=end.outcome,
            state_before=self.first,
            state_after=self.state,
            steps=tuple(changed(step, number=number) for number, step in enumerate([*done, *left], start=1)),
            findings=each_once(end.findings),
            next_action="" if end.seen is None else end.seen.route.next_action,
            interrupted=end.interrupted,
        )
