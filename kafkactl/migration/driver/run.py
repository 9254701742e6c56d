"""The driver of a migration: look, check, plan, take one step, see its gate open twice, write it down, look again.

The law: only the first step of a plan is ever taken, on the strength of what was just seen. It is in the journal before
anything is touched, and done there when its gate was observed. So a run that is killed anywhere is gone on with by the
next one, which looks and plans; nothing here decides what is safe. What is seen and what the journal remembers have to
agree: where they do not, nothing is touched, and both are shown.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from kafkactl.change.clock import Deadline
from kafkactl.errors import FailedError, KafkactlError, RefusedError, UnknownOutcomeError, UnreachableError
from kafkactl.findings import Finding, Outcome, blockers, each_once
from kafkactl.frozen import changed
from kafkactl.migration.driver.actions import Applied
from kafkactl.migration.driver.gate import boot_left_ms, is_blind, limit_of, new_strays, why_closed
from kafkactl.migration.driver.guards import Guard, NoGuard
from kafkactl.migration.driver.journal import BACK, FORWARD, Memory
from kafkactl.migration.driver.ports import DoneStep, Event, RunResult
from kafkactl.migration.driver.routes import prepares_quorum
from kafkactl.migration.driver.steps import (
    ACTS,
    SEEN_BY_THEMSELVES,
    SEEN_TWICE_ALREADY,
    Crew,
    Route,
    phase_of,
    words_of,
)
from kafkactl.migration.driver.stops import (
    LEVELS,
    STOP_AT_ONCE,
    disagreement,
    error_finding,
    gate_stays_closed,
    moved_against,
    moved_by_another,
)
from kafkactl.migration.driver.watch import AWAY, StepWatch
from kafkactl.migration.observed.observation import Observation
from kafkactl.migration.plan.step import File, Progress, Step
from kafkactl.migration.state.names import State
from kafkactl.migration.state.table import observed_state
from kafkactl.wording import counted

Plan = Callable[[Observation, Memory], Route]
Ask = Callable[[Route, Step], Finding | None]

_TAKEN: Final = frozenset({"done", "asked"})


def run_migration(
    crew: Crew,
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
    """Go the way that `plan` makes, step by step, to its end, or until `is_there` says so of the observed state.

    `guard` says what stands in the way of a step, seen twice; `ask` lets an operator refuse it (a barrier).
    `accept_observed` goes on from what is seen where the journal remembers something else. Raises UnreachableError
    where nothing was seen at all, and nothing touched.
    """
    drive = _Drive(crew, plan, is_there, guard or NoGuard(), ask)
    try:
        return drive.to_the_end(goal, identity, until, accept_observed=accept_observed)
    except KeyboardInterrupt:
        return drive.stopped(interrupted=True)
    except KafkactlError as error:
        if not drive.began:
            raise
        return drive.stopped(error)


class _Drive:
    """One run: what was seen, what was done, and how it ends."""

    def __init__(self, crew: Crew, plan: Plan, is_there: Callable[[str], bool], guard: Guard, ask: Ask) -> None:
        self.crew, self.plan, self.is_there, self.guard, self.ask = crew, plan, is_there, guard, ask
        self.began = False
        self.goal = ""
        self.known: str | None = None
        self.first: str | None = None
        self.state: str | None = None
        self.done: list[DoneStep] = []
        self.rest: tuple[Step, ...] = ()
        self.taking: Step | None = None
        self.patient_until: Deadline | None = None
        self.watch = StepWatch(crew)
        self.seen_done: set[tuple[str, str]] = set()

    # --- the whole way ---

    def to_the_end(
        self, goal: str, identity: Mapping[str, Any], until: str | None, *, accept_observed: bool
    ) -> RunResult:
        """Step after step until there is none, or none may be taken."""
        journal = self.crew.journal
        memory = journal.memory
        self.goal = goal
        seen, route = self._look()
        if not accept_observed and (stop := disagreement(memory, route.state, seen)) is not None:
            return self._over(Outcome.REFUSED, (stop, *route.findings))
        begun = False
        while True:
            self.rest = route.steps
            if blockers(route.findings) or route.outcome is Outcome.REFUSED:
                if self._may_pass(route):
                    seen, route = self._look()
                    continue
                return self._over(self._refused(), route.findings, route.next_action)
            self.patient_until = None
            if self.is_there(route.state) and not prepares_quorum(route.state, until, self._next(route)):
                return self._over(self._reached(), route.findings, route.next_action)
            step = self._next(route)
            if step is None:
                return self._over(self._reached(), route.findings, route.next_action)
            seen, route, step, stop_here = self._admitted(seen, route, step)
            if stop_here is None and step is not None:
                lost = self.watch.lock_lost()
                silent = self.watch.fell_silent(seen, step)
                if lost is None and silent is not None and self.watch.may_look_again(silent):
                    seen, route = self._look()
                    continue
                if found := lost or silent:
                    return self._over(self._refused(), (*route.findings, found), route.next_action)
                if not begun:
                    self._begin(goal, identity, until, memory)
                    for line in self.crew.files.settle(journal, seen, route.steps):
                        self.crew.tell(Event(kind="note", text=line, state=self.state))
                    begun = True
                self.guard.pass_by(seen, route, step)
                stop_here = self._take(step, seen)
            if stop_here is not None:
                return stop_here
            seen, route = self._look()

    def _admitted(
        self, seen: Observation, route: Route, step: Step
    ) -> tuple[Observation, Route, Step | None, RunResult | None]:
        """Whether a step may be taken: nothing stands in its way in two looks, and nobody refuses it.

        Without a step in the answer another one is next by now.
        """
        clock, patience = self.crew.world.clock, self.crew.patience
        until = Deadline.after(patience.settle_ms if self.began else 2 * patience.apart_ms, clock)
        found = self.guard.objections(seen, None, route, step)
        needed = self.guard.looks_needed(route, step)
        times = 0 if found else 1
        while times < needed:
            if found and until.passed:
                return seen, route, None, self._over(self._refused(), (*route.findings, *found), route.next_action)
            if found:
                first = f"{found[0].subject}: {found[0].message}"
                self._wait(f"{len(found)} findings to pass before {step.action} {step.target}", first)
            earlier = seen
            clock.sleep_ms(patience.apart_ms)
            seen, route = self._look()
            again = self._next(route)
            if again is None or (again.action, again.target) != (step.action, step.target):
                return seen, route, None, None
            step = again
            found = self.guard.objections(seen, earlier, route, step)
            times = 0 if found else times + 1
        if (refusal := self.ask(route, step)) is not None:
            return seen, route, None, self._over(self._refused(), (*route.findings, refusal), route.next_action)
        return seen, route, step, None

    def _begin(self, goal: str, identity: Mapping[str, Any], until: str | None, memory: Memory) -> None:
        journal = self.crew.journal
        journal.begin(goal, identity, until=until)
        self.began = True
        if memory.pending is not None:
            journal.withdrawn(memory.pending.seq, "an earlier run ended here; what is real was looked at")
        if self.state is not None:
            journal.state(self.state, {})
        if goal == FORWARD:
            self.crew.files.keep_originals(self.crew.journal)

    def _may_pass(self, route: Route) -> bool:
        """Whether to look again: between two steps of ours some troubles are over soon."""
        if not self.began or route.state in STOP_AT_ONCE:
            return False
        clock, patience = self.crew.world.clock, self.crew.patience
        self.patient_until = self.patient_until or Deadline.after(patience.znode_ms, clock)
        if self.patient_until.passed:
            return False
        seen = "; ".join(one.message for one in blockers(route.findings)[:1]) or route.state
        self._wait("the cluster to be in a state from which the next step can be taken", seen)
        clock.sleep_ms(patience.look_every_ms)
        return True

    def _wait(self, what: str, seen: str) -> None:
        self.crew.tell(Event(kind="wait", text=what, state=self.state, seen=seen))

    def _next(self, route: Route) -> Step | None:
        for step in route.steps:
            if step.state is Progress.PENDING and (step.action.value, step.target) not in self.seen_done:
                return step
        return None

    # --- one step ---

    def _take(self, step: Step, seen: Observation) -> RunResult | None:
        """Take a step; None where its gate was passed, else the end."""
        crew = self.crew
        crew.tell(Event(kind="action", text=f"{step.action} {step.target}", state=self.state))
        started_ms = crew.journal.memory.starting.get((step.target, phase_of(step)))
        irreversible = {"irreversible": True} if step.file is File.FINAL else {}
        seq = crew.journal.intent(step.action.value, step.target, {**words_of(step), **irreversible})
        self.taking = step
        came_up = self._comes_up(step, started_ms)
        if isinstance(came_up, Finding):
            return self._failed(step, seq, came_up)
        if came_up:
            self._seen_done(step, seq, {"started_by": "an earlier run"}, seen=True)
            return None
        applied = self._act(step, seq, seen)
        if applied.unknown:
            self._note(step, "unknown")
            self.taking = None
            found = applied.finding or gate_stays_closed(step, (), asked=False)
            return self._over(Outcome.UNKNOWN, (found,))
        if applied.finding is not None:
            return self._failed(step, seq, applied.finding)
        if applied.asked:
            blind = is_blind(crew, step, asked=True)
            words = (
                "no file or disk of it can be read from here: its start will show it" if blind else "until it is seen"
            )
            crew.tell(Event(kind="ask", text=f"waiting: {words}; {step.gate}", state=self.state))
        problem = self._gate(step, asked=applied.asked)
        if problem is not None:
            return self._failed(step, seq, problem)
        unseen = applied.asked and is_blind(crew, step, asked=True)
        self._seen_done(step, seq, applied.evidence, seen=not unseen)
        return None

    def _seen_done(self, step: Step, seq: int, evidence: Mapping[str, Any], *, seen: bool) -> None:
        self.crew.journal.done(seq, {"evidence": evidence, "state": self.state, "seen": seen})
        self._note(step, "done" if seen else "asked")
        self.taking = None

    def _comes_up(self, step: Step, started_ms: int | None) -> Finding | bool:
        """Whether a node that an earlier run started comes up without being started again; a finding where nothing may
        be done to it now.
        """
        crew, left_ms = self.crew, 0
        if started_ms is not None:
            up_ms = max(0, crew.journal.now_ms() - started_ms)
            left_ms = boot_left_ms(crew, step, crew.place(step, crew.journal.next_seq), up_ms)
        if left_ms <= 0:
            return False
        told = f"{step.target} was started {up_ms // 1000} s ago by an earlier run and is booting: its gate is awaited"
        crew.tell(Event(kind="note", text=told, state=self.state))
        problem = self._gate(step, asked=False, limit_ms=left_ms)
        return problem is None or (False if problem.id == "step-not-confirmed" else problem)

    def _act(self, step: Step, seq: int, seen: Observation) -> Applied:
        """Do it; begun again, which is harmless, where ZooKeeper was away for a moment and nothing was written there.

        A broker that is stopped, and brokers that have no controller, wait for what comes next.
        """
        away: Deadline | None = None
        while True:
            try:
                return ACTS[step.action.value](self.crew, step, seq, seen)
            except RefusedError as error:  # a znode that somebody changed meanwhile: looked at anew
                return Applied(finding=error_finding(step.target, error))
            except UnreachableError as error:
                away = away or Deadline.after(self.crew.patience.znode_ms, self.crew.world.clock)
                if error.id not in AWAY or away.passed:
                    return Applied(finding=error_finding(step.target, error))
                self._wait_for_zookeeper(error)

    def _wait_for_zookeeper(self, error: UnreachableError) -> None:
        self._wait("ZooKeeper to answer again", error.message)
        self.crew.world.clock.sleep_ms(self.crew.patience.look_every_ms)

    def _failed(self, step: Step, seq: int, finding: Finding) -> RunResult:
        self.crew.journal.failed(seq, {"id": finding.id, "told": finding.message})
        self._note(step, "failed")
        self.taking = None
        changed_something = any(one.state in _TAKEN for one in self.done)
        return self._over(Outcome.PARTIAL if changed_something else Outcome.FAILED, (finding,))

    # --- gates ---

    def _gate(self, step: Step, *, asked: bool, limit_ms: int | None = None) -> Finding | None:
        """Wait until a step's gate was seen open twice; the reason where it stays closed."""
        key = (step.action.value, step.target)
        if key[0] in SEEN_BY_THEMSELVES or is_blind(self.crew, step, asked=asked):
            self.seen_done.add(key)
            return None
        patience, clock = self.crew.patience, self.crew.world.clock
        limit_ms = limit_of(step, patience) if limit_ms is None else limit_ms
        until = Deadline.after(patience.operator_ms if asked else limit_ms, clock)
        opened_ms: float | None = None
        before = self.state
        stuck_until: Deadline | None = None
        while True:
            seen, route = self._look()
            found = blockers(route.findings)
            stuck = self._hopeless(seen, route, before)
            stuck_until = None if stuck is None else stuck_until or Deadline.after(patience.znode_ms, clock)
            if stuck_until is not None and stuck_until.passed:
                return stuck
            if found and (until.passed or route.state in STOP_AT_ONCE):
                return found[0]
            if (strays := new_strays(seen, step)) is not None:
                return strays
            told = found or ([] if stuck is None else [stuck])
            closed = tuple(one.message for one in told) or why_closed(self.crew, step, route, seen)
            if not closed:
                opened_ms = clock.now_ms() if opened_ms is None else opened_ms
                if clock.now_ms() - opened_ms >= patience.apart_ms or key[0] in SEEN_TWICE_ALREADY:
                    return None
                clock.sleep_ms(patience.apart_ms - (clock.now_ms() - opened_ms))
                continue
            opened_ms = None
            if until.passed:
                return gate_stays_closed(step, closed, asked=asked)
            self._wait(f"{step.action} {step.target} to be seen done ({step.gate})", closed[0])
            clock.sleep_ms(patience.look_every_ms)

    def _hopeless(self, seen: Observation, route: Route, before: str | None) -> Finding | None:
        """What no gate opens behind if it lasts for a minute, in which whoever watches over a process may start it.

        A situation that stops a run is such a thing where the plan knows a way on from it. A way back stops the
        controllers itself, in the copy too.
        """
        if route.state == State.M5:
            return self.guard.hopeless(seen)
        if self.goal == BACK or route.state not in STOP_AT_ONCE or route.state == before:
            return None
        return next(iter(blockers(observed_state(seen).findings)), None)

    # --- looking ---

    def _look(self) -> tuple[Observation, Route]:
        """What is there now and what follows from it. Raises RefusedError where somebody else moves it."""
        seen, route = self._look_once()
        before = self.known
        if before is not None and moved_against(self.goal, before, route.state):
            self.crew.world.clock.sleep_ms(self.crew.patience.apart_ms)
            seen, route = self._look_once()
            if moved_against(self.goal, before, route.state):
                raise moved_by_another(self.goal, before, route.state)
        if route.state in LEVELS:
            self.known = route.state
        return seen, route

    def _look_once(self) -> tuple[Observation, Route]:
        """A ZooKeeper that is away for a moment is waited for."""
        away: Deadline | None = None
        while True:
            try:
                seen = self.crew.world.observe()
                break
            except UnreachableError as error:
                away = away or Deadline.after(self.crew.patience.znode_ms, self.crew.world.clock)
                if not self.began or away.passed:
                    raise
                self._wait_for_zookeeper(error)
        route = self.plan(seen, self.crew.journal.memory)
        if route.state != self.state:
            self.crew.tell(Event(kind="state", text=self._state_words(route), state=route.state))
            self.first = self.first or route.state
            self.state = route.state
            if self.began:
                self.crew.journal.state(route.state, {"time_ms": seen.time_ms})
        return seen, route

    def _state_words(self, route: Route) -> str:
        """Where the run is. On a way back that goes as planned the states in between have alarming names, which mean
        nothing but that it is not over yet.
        """
        if self.goal != BACK or self.first is None or route.state == State.M0:
            return f"{route.state}: {State(route.state).words}"
        left = sum(one.state is Progress.PENDING for one in route.steps)
        return f"on the way back, {counted(left, 'step')} left"

    # --- ends ---

    def _note(self, step: Step, state: str) -> None:
        self.done.append(DoneStep(step=step, state=state))
        words = "asked for, and not to be seen from here" if state == "asked" else state
        kind = "failed" if state == "failed" else "done"
        self.crew.tell(Event(kind=kind, text=f"{step.action} {step.target}: {words}"))

    def _refused(self) -> Outcome:
        return Outcome.PARTIAL if any(one.state in _TAKEN for one in self.done) else Outcome.REFUSED

    def _reached(self) -> Outcome:
        return Outcome.DONE if self.done else Outcome.NOTHING_TO_DO

    def stopped(self, error: KafkactlError | None = None, *, interrupted: bool = False) -> RunResult:
        """The end in the middle: by the operator, or by an error after something was touched."""
        open_ended = self.taking is not None
        if self.taking is not None:
            self._note(self.taking, "unknown")
            self.taking = None
        outcome = Outcome.UNKNOWN if open_ended or isinstance(error, UnknownOutcomeError) else self._refused()
        if outcome is Outcome.REFUSED:
            outcome = Outcome.FAILED
        told = () if error is None else (error_finding("migration", error),)
        return self._over(outcome, told, interrupted=interrupted)

    def _over(
        self, outcome: Outcome, findings: Sequence[Finding], next_action: str = "", *, interrupted: bool = False
    ) -> RunResult:
        if self.began and outcome is not Outcome.UNKNOWN and not interrupted:
            with contextlib.suppress(FailedError):  # what counts is done; the next run looks anyway
                self.crew.journal.end(outcome.value)
        taken = {(one.step.action, one.step.target, one.step.file) for one in self.done}
        left = [
            DoneStep(step=one, state=one.state.value)
            for one in self.rest
            if one.state is Progress.PENDING and (one.action, one.target, one.file) not in taken
        ]
        steps = [changed(one, number=number) for number, one in enumerate([*self.done, *left], start=1)]
        return RunResult(
            outcome=outcome,
            state_before=self.first,
            state_after=self.state,
            steps=tuple(steps),
            findings=each_once(findings),
            next_action=next_action,
            interrupted=interrupted,
        )
