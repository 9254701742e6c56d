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

from kafkactl.adapters.clock import Deadline
from kafkactl.adapters.migration_apply import Applied, strays_of
from kafkactl.adapters.migration_driver_guard import Guard, NoGuard
from kafkactl.adapters.migration_driver_port import DoneStep, Event, RunResult
from kafkactl.adapters.migration_driver_steps import ACTS, SEEN_BY_THEMSELVES, SEEN_TWICE_ALREADY, Crew, Route, words_of
from kafkactl.adapters.migration_driver_stops import (
    LEVELS,
    disagreement,
    error_finding,
    gate_stays_closed,
    isr_incomplete,
    moved_against,
    moved_by_another,
    not_caught_up,
    strays_found,
)
from kafkactl.adapters.migration_journal import BACK, FORWARD, Memory
from kafkactl.errors import FailedError, KafkactlError, RefusedError, UnknownOutcomeError, UnreachableError
from kafkactl.frozen import changed
from kafkactl.migration.observation import NodeRole, Observation
from kafkactl.migration.state import observed_state
from kafkactl.migration.state_names import State
from kafkactl.migration.step import File, Move, Progress, Step
from kafkactl.plan import Finding, Outcome, blockers, each_once

Plan = Callable[[Observation, Memory], Route]
Ask = Callable[[Route, Step], Finding | None]

_AWAY: Final = frozenset(
    {"zookeeper-unreachable", "zookeeper-timed-out", "zookeeper-connection-lost", "zookeeper-read-only"}
)
"""A ZooKeeper that may be back in a moment."""
STOP_AT_ONCE: Final = frozenset(
    {
        State.SPLIT_BRAIN,
        State.STALE_MIGRATION,
        State.BURNT_QUORUM,
        State.COPY_CRASHED,
        State.FINALIZED_WITH_ZOOKEEPER_BROKER,
        State.STALE_CONTROLLER,
    }
)
"""Situations that waiting makes worse."""


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
            if self.is_there(route.state):
                return self._over(self._reached(), route.findings, route.next_action)
            step = self._next(route)
            if step is None:
                return self._over(self._reached(), route.findings, route.next_action)
            seen, route, step, stop_here = self._admitted(seen, route, step)
            if stop_here is None and step is not None:
                if not begun:
                    self._begin(goal, identity, until, memory)
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
        clock.sleep_ms(patience.look_every_ms)
        return True

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
        irreversible = {"irreversible": True} if step.file is File.FINAL else {}
        seq = crew.journal.intent(step.action.value, step.target, {**words_of(step), **irreversible})
        self.taking = step
        applied = self._act(step, seq, seen)
        if applied.unknown:
            self._note(step, "unknown")
            self.taking = None
            found = applied.finding or gate_stays_closed(step, (), asked=False)
            return self._over(Outcome.UNKNOWN, (found,))
        if applied.finding is not None:
            return self._failed(step, seq, applied.finding)
        if applied.asked:
            crew.tell(Event(kind="ask", text=f"waiting until it is seen: {step.gate}", state=self.state))
        problem = self._gate(step, asked=applied.asked)
        if problem is not None:
            return self._failed(step, seq, problem)
        crew.journal.done(seq, {"evidence": applied.evidence, "state": self.state})
        self._note(step, "done")
        self.taking = None
        return None

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
                if error.id not in _AWAY or away.passed:
                    return Applied(finding=error_finding(step.target, error))
                self._wait_for_zookeeper(error)

    def _wait_for_zookeeper(self, error: UnreachableError) -> None:
        self.crew.tell(Event(kind="wait", text=error.message, state=self.state))
        self.crew.world.clock.sleep_ms(self.crew.patience.look_every_ms)

    def _failed(self, step: Step, seq: int, finding: Finding) -> RunResult:
        self.crew.journal.failed(seq, {"id": finding.id, "told": finding.message})
        self._note(step, "failed")
        self.taking = None
        changed_something = any(one.state == "done" for one in self.done)
        return self._over(Outcome.PARTIAL if changed_something else Outcome.FAILED, (finding,))

    # --- gates ---

    def _gate(self, step: Step, *, asked: bool) -> Finding | None:
        """Wait until a step's gate was seen open twice; the reason where it stays closed."""
        key = (step.action.value, step.target)
        blind = asked and key[0] in ("put-config", "restore-config") and not self._sees_files(step)
        if key[0] in SEEN_BY_THEMSELVES or blind:  # where nobody can look at the file the restart's own gate will tell
            self.seen_done.add(key)
            return None
        patience, clock = self.crew.patience, self.crew.world.clock
        limit_ms = self._limit_ms(step)
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
            if (strays := self._strays(step)) is not None:
                return strays
            told = found or ([] if stuck is None else [stuck])
            closed = tuple(one.message for one in told) or self._closed(step, route, seen)
            if not closed:
                opened_ms = clock.now_ms() if opened_ms is None else opened_ms
                if clock.now_ms() - opened_ms >= patience.apart_ms or key[0] in SEEN_TWICE_ALREADY:
                    return None
                clock.sleep_ms(patience.apart_ms - (clock.now_ms() - opened_ms))
                continue
            opened_ms = None
            if until.passed:
                return gate_stays_closed(step, closed, asked=asked)
            self.crew.tell(Event(kind="wait", text=f"{step.gate}: {closed[0]}", state=route.state))
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

    def _limit_ms(self, step: Step) -> int:
        """How long a gate is waited for. Brokers elect in milliseconds, or the next run has to start one of them anew:
        that is not done unasked, for without a controller a broker may have to be killed to stop.
        """
        patience = self.crew.patience
        if step.action is Move.WAIT_COPY:
            return patience.copy_ms
        if step.action is Move.WAIT_ZOOKEEPER_CONTROLLER:
            return min(patience.znode_ms, patience.gate_ms)
        return patience.gate_ms

    def _closed(self, step: Step, route: Route, seen: Observation) -> tuple[str, ...]:
        """Why the gate of a step is not open, empty where it is."""
        same = [
            one for one in route.steps if (one.action, one.target, one.file) == (step.action, step.target, step.file)
        ]
        if any(one.state is Progress.PENDING for one in same):
            return (f"{step.action} {step.target} is still to be done",)
        if step.action.value == "restart-node" and step.role is NodeRole.BROKER and step.node is not None:
            return isr_incomplete(seen, step.node)
        if step.action.value == "restart-node" and step.node is not None:
            return not_caught_up(seen, step.node)
        return ()

    def _sees_files(self, step: Step) -> bool:
        from kafkactl.migration.hook_words import Verb

        return step.node is not None and self.crew.world.has_hook(Verb.GET_CONFIG, step.node)

    def _strays(self, step: Step) -> Finding | None:
        """No `*-stray` may be there once a broker was started with its KRaft file."""
        if step.action.value != "restart-node" or step.role is not NodeRole.BROKER or str(step.file) != "kraft":
            return None
        assert step.node is not None
        node = self.crew.node(step.node)
        found = strays_of(self.crew.world, self.crew.place(step, self.crew.journal.next_seq), node.log_dirs)
        return strays_found(node.name, found) if found else None

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
            self.crew.tell(Event(kind="state", text=route.state, state=route.state))
            self.first = self.first or route.state
            self.state = route.state
            if self.began:
                self.crew.journal.state(route.state, {"time_ms": seen.time_ms})
        return seen, route

    # --- ends ---

    def _note(self, step: Step, state: str) -> None:
        self.done.append(DoneStep(step=step, state=state))
        self.crew.tell(
            Event(kind="failed" if state == "failed" else "done", text=f"{step.action} {step.target}: {state}")
        )

    def _refused(self) -> Outcome:
        return Outcome.PARTIAL if any(one.state == "done" for one in self.done) else Outcome.REFUSED

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
