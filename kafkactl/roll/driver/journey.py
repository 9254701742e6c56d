"""The journey of a roll, which `change/engine` takes node by node.

Only the next act is taken, on the newest observation (`acts.decide`). No answer of a hook is evidence: a stop is done
when the process is gone, a start when all gates after it hold in two observations. A step that an earlier run left open
is settled by the node itself: the same incarnation that runs was never stopped, none is stopped.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Final

from kafkactl.change import engine
from kafkactl.change.clock import Deadline
from kafkactl.change.engine import End, Engine, Journey, PreparedStep, StepOutcome, StepResult, Verification
from kafkactl.change.hooks.node import Request
from kafkactl.change.hooks.run import HookEnd, HookRun
from kafkactl.change.hooks.words import Value, Verb
from kafkactl.change.journal import WITHDRAWN
from kafkactl.change.progress import Event, ProgressCallback
from kafkactl.core.errors import KafkactlError, RefusedError
from kafkactl.core.findings import Finding, Outcome, blockers, each_once
from kafkactl.core.frozen import changed
from kafkactl.core.wording import some
from kafkactl.roll.case import RollCase, Way, make_case
from kafkactl.roll.driver.acts import Act, Ask, Decision, decide, no_leader, proof_gates
from kafkactl.roll.driver.evidence import has_ended, is_untouched, misplaced, names, phase_of, sha, words
from kafkactl.roll.driver.last_log import last_errors_of
from kafkactl.roll.driver.observed_effect import ObservedEffect, effect_of_stop, missed
from kafkactl.roll.driver.ports import LevelChange, RollGoal, RollPort, RollWaitPolicy
from kafkactl.roll.driver.return_gates import (
    are_brokers,
    findings_of,
    lacks_only_others,
    late_nodes,
    return_gates,
    waits_for_voters,
)
from kafkactl.roll.driver.skipped_steps import done_before, placed_before
from kafkactl.roll.driver.wording import failed_hook, instruction_of, not_back, not_finished, start_failed
from kafkactl.roll.gates import RollGate, passes
from kafkactl.roll.journal import CAME_UP_NOT, Action, RollProgress, progress_of
from kafkactl.roll.liveness import is_alive, lacks_leader
from kafkactl.roll.mark import NodeMark
from kafkactl.roll.start_gates import mark_of

Answer = Mapping[int, HookRun] | LevelChange
_VERBS: Final = {
    Action.INSTALL: Verb.INSTALL,
    Action.PUT_CONFIG: Verb.PUT_CONFIG,
    Action.STOP: Verb.STOP,
    Action.START: Verb.START,
}
_NOT_RUN: Final = (HookEnd.FAILED, HookEnd.NOT_STARTED, HookEnd.NOT_READY, HookEnd.CHANGED_MEANWHILE)
_ABSENT: Final = "absent"
_TWICE: Final = 2


class RollJourney(Journey[RollCase, Decision, Act, Answer]):
    """Journey of a roll. `effects` and `gates` are those of the acts taken, by number; `times` begin and end in ms.

    `skipped` are acts whose effect was observed, each with the number of acts that were taken before it.
    """

    def __init__(
        self, port: RollPort, goal: RollGoal, *, policy: RollWaitPolicy, tell: ProgressCallback, ask: Ask
    ) -> None:
        self.port, self.goal, self.policy, self.tell, self._ask = port, goal, policy, tell, ask
        self.effects: dict[int, ObservedEffect] = {}
        self.gates: dict[int, tuple[RollGate, ...]] = {}
        self.times: dict[int, tuple[int, int | None]] = {}
        self.proof: RollCase | None = None
        self.last: RollCase | None = None
        self.run: Engine[RollCase, Decision, Act, Answer]
        self.skipped: list[tuple[int, Act]] = []
        self._refresh: frozenset[int] | None = None
        self._is_asked: set[str] = set()
        self._before_stop: RollCase | None = None
        self._down_before: frozenset[int] | None = None
        self._is_planned = False

    def observe(self) -> RollCase:
        """Return the case of a new observation. Raise UnreachableError, InputError."""
        seen = self.port.observe(self._refresh)
        self._refresh = frozenset()
        observation = changed(seen, journal=tuple(self.run.journal.entries))
        self.last = make_case(observation, self.goal.request)
        if self._down_before is None:
            self._down_before = frozenset(node.id for node in observation.nodes if node.alive is False)
        return self.last

    @property
    def progress(self) -> RollProgress:
        """Return the progress by the journal as it is now."""
        return progress_of(self.run.journal.entries)

    def plan(self, seen: RollCase) -> Decision:
        """Return the next act."""
        found = decide(
            seen,
            self.goal,
            self.progress,
            policy=self.policy,
            has_begun=self.run.began,
            down_before=self._down_before or frozenset(),
            outdated=self._outdated(seen),
        )
        if found.plan is not None and not self._is_planned:
            self._is_planned = True
            self._skip(done_before(seen, self._handled()))
        return found

    def _outdated(self, seen: RollCase) -> frozenset[int]:
        """Return the nodes that do not answer, and whose process runs with binaries or a file from before."""
        silent = (id for id in self.progress.replaced_since if is_alive(seen, id) is False)
        return frozenset(id for id in silent if self.port.is_running(id))

    def _handled(self) -> set[tuple[Action, int]]:
        """Return the actions and nodes that this run has carried out, or skipped."""
        acts = [*(taken.step for taken in self.run.taken), *(act for _, act in self.skipped)]
        return {(act.action, node_id) for act in acts for node_id in act.nodes}

    def _skip(self, acts: Sequence[Act]) -> None:
        for act in acts:
            self.skipped.append((len(self.run.taken), changed(act, number=self._next_number())))

    def _next_number(self) -> int:
        """Return the number after those of the journal, and of this run."""
        own: list[int] = [*(taken.step.number for taken in self.run.taken), *(act.number for _, act in self.skipped)]
        return 1 + max([*own, self.progress.steps if self.progress.is_under_way else 0])

    def may_pass(self, plan: Decision) -> bool:
        """Return True if a gate that is closed is worth waiting for: while the roll is under way."""
        return plan.may_pass and (self.run.began or self.progress.is_under_way)

    def waits(self, plan: Decision) -> None:
        """Report the gate that is waited for."""
        found = blockers(plan.findings)
        where = "a leader" if plan.act is None else f"the gate before the stop of {names(plan.act)}"
        self.tell(Event(kind="wait", text=where, seen=some(finding.message for finding in found)))

    def step_of(self, plan: Decision) -> Act:
        """Return the act."""
        assert plan.act is not None
        return plan.act

    def key(self, step: Act) -> Hashable:
        """Return the action and its nodes."""
        return step.action, step.nodes

    def changes(self, step: Act) -> bool:
        """Return True unless the step only observes."""
        return step.action is not Action.VERIFY

    def admit(self, plan: Decision, seen: RollCase) -> PreparedStep | End | None:
        """Return the act; a stop only after its gate was open in two observations, and for the time of --soak."""
        act = self.step_of(plan)
        if (refusal := self._confirmed(act, seen)) is not None:
            return self.run.refused((*plan.findings, refusal), seen)
        if act.action is Action.STOP:
            until = Deadline.after(max(self.policy.interval_ms, self.policy.soak_ms), self.port.clock)
            while not until.passed:
                self.tell(Event(kind="wait", text=f"the gate before the stop of {names(act)} to be confirmed"))
                self.port.clock.sleep_ms(min(self.policy.interval_ms, max(1.0, until.left_ms)))
                seen = self.run.observe()
                plan = self.plan(seen)
                if plan.outcome is not Outcome.PLANNED or self.key(self.step_of(plan)) != self.key(act):
                    return None
            act = self.step_of(plan)
        self._skip(placed_before(act, seen, self.goal, self.progress, self._handled()))
        return PreparedStep(step=changed(act, number=self._next_number()), plan=plan, seen=seen)

    def _confirmed(self, act: Act, seen: RollCase) -> Finding | None:
        """Ask the operator once before anything is done, and once before levels are raised."""
        key = "levels" if act.action is Action.RAISE_LEVELS else "start"
        if key in self._is_asked or (act.action is Action.VERIFY and not self.run.began):
            return None
        self._is_asked.add(key)
        return self._ask(act, seen.observation.cluster_id)

    def begin(self, ready: PreparedStep) -> Mapping[str, Any]:
        """Return the goal with the releases before; a run that resumes keeps those of the first one."""
        case: RollCase = ready.seen
        record, progress, options = case.record, self.progress, list(self.goal.request.options)
        if record is not None and progress.is_under_way and record.to == self.goal.request.to:
            return {"goal": progress.goal, "kept": progress.kept, "options": options}
        before = {
            str(node.id): None if (version := case.last.get(node.id)) is None else str(version)
            for node in case.observation.nodes
        }
        way = Way.RESTART if self.goal.request.to is None else case.way
        goal = {"to": self.goal.request.to, "from": before, "way": way.value}
        return {"goal": goal, "kept": self.port.kept_folder(len(self.run.journal.entries)), "options": options}

    def intent(self, ready: PreparedStep) -> Mapping[str, Any]:
        """Return the step with what is known of its nodes before their stop."""
        act, case = ready.step, ready.seen
        self._before_stop = case if act.action is Action.STOP else None
        self.times[act.number] = (self.run.journal.now_ms(), None)
        if act.gates:
            self.gates[act.number] = act.gates
        return {
            "number": act.number,
            "action": act.action.value,
            "nodes": list(act.nodes),
            "release": act.release,
            "marks": [mark.to_dict() for mark in self._marks(act, case)],
            "kept": [node.id for node in case.observation.nodes if node.id in act.nodes and node.config is not None]
            if act.action is Action.PUT_CONFIG
            else [],
        }

    def _marks(self, act: Act, case: RollCase) -> list[NodeMark]:
        if act.action not in (Action.STOP, Action.START):
            return []
        progress = self.progress
        kept = progress.marks if act.action is Action.START else {}
        held = [node for node in case.observation.nodes if node.id in act.nodes]
        return [
            kept[node.id] if node.id in progress.pending and node.id in kept else mark_of(case, node) for node in held
        ]

    def send(self, ready: PreparedStep, seq: int) -> Answer | engine.UnsentRequest:
        """Run the hooks of the act."""
        act: Act = ready.step
        self.tell(Event(kind="action", text=words(act), step=act))
        self._refresh = frozenset(act.nodes)
        if act.action is Action.RAISE_LEVELS:
            try:
                return self.port.raise_levels(str(act.release))
            except KafkactlError as error:
                return engine.UnsentRequest(error=RefusedError(error.message, id=error.id, next_step=error.advice))
        if not act.needs_hook:
            return {}
        return self.port.ask([self._request(act, node_id, ready.seen, seq) for node_id in act.nodes])

    def _request(self, act: Act, node_id: int, case: RollCase, seq: int) -> Request:
        extra: dict[str, Value] = {}
        text = b""
        if act.action is Action.INSTALL:
            extra["release"] = str(act.release)
        elif act.action is Action.PUT_CONFIG:
            node = case.observation.node(node_id)
            text = self.goal.request.rendered[node_id].encode("utf-8", "surrogatepass")
            extra = {"sha_before": _ABSENT, "sha_after": sha(text)}
            if node is not None and node.config is not None:
                before = node.config.encode("utf-8", "surrogatepass")
                extra["sha_before"] = self.port.keep(before, folder=self.progress.kept, node_id=node_id)
        instruction = instruction_of(act.action, node_id, act.release)
        return Request(
            verb=_VERBS[act.action], node=node_id, phase=act.phase.value, seq=seq, instruction=instruction, text=text,
            extra=extra,
        )  # fmt: skip

    def answered(self, answer: Answer) -> Mapping[str, Any] | None:
        """Return the outcomes of the hooks."""
        if isinstance(answer, LevelChange):
            return {"outcome": answer.outcome.value}
        return {"hooks": {str(id): run.to_dict() for id, run in answer.items()}} if answer else None

    def verify(self, ready: PreparedStep, answer: Answer) -> Verification:
        """Verify the effect of the act."""
        act: Act = ready.step
        if isinstance(answer, LevelChange):
            is_done = answer.outcome in (Outcome.DONE, Outcome.NOTHING_TO_DO)
            result = StepResult.UNKNOWN if answer.outcome is Outcome.UNKNOWN else StepResult.FAILED
            return Verification(result=StepResult.DONE if is_done else result, findings=answer.findings)
        match act.action:
            case Action.STOP:
                return self._stopped(act, answer)
            case Action.START:
                return self._started(act, answer)
            case Action.VERIFY:
                return self._proved(act)
            case _:
                return self._placed(act, answer)

    def _placed(self, act: Act, runs: Mapping[int, HookRun]) -> Verification:
        """Check that binaries or files are in place, as far as it can be observed."""
        bad = [failed_hook(act, node_id, run) for node_id, run in runs.items() if not run.is_done and
               run.end is not HookEnd.ASKED]  # fmt: skip
        until = Deadline.after(self.policy.operator_ms, self.port.clock)
        while True:
            self._refresh = frozenset(act.nodes)
            case = self.run.observe()
            wrong = [finding for id in act.nodes if (finding := misplaced(act, case, case.observation.node(id)))]
            is_asked = any(run.end is HookEnd.ASKED for run in runs.values())
            if not wrong or bad or not is_asked or until.passed:
                break
            self.tell(Event(kind="wait", text=words(act), seen=some(finding.message for finding in wrong)))
            self.port.clock.sleep_ms(self.policy.observe_every_ms)
        if bad or wrong:
            return Verification(result=StepResult.FAILED, findings=(*bad, *wrong), seen=case)
        return Verification(result=StepResult.DONE, seen=case)

    def _stopped(self, act: Act, runs: Mapping[int, HookRun]) -> Verification:
        """Wait until the processes are gone. Raise FailedError `shutdown-not-finished`; nothing is ever killed."""
        bad = [failed_hook(act, id, run) for id, run in runs.items() if run.end in _NOT_RUN]
        limit_ms = self._limit_ms(runs, self.policy.stop_ms)
        until = Deadline.after(limit_ms, self.port.clock)
        untouched = 0
        while True:
            case = self.run.observe()
            left = [id for id in act.nodes if not self._is_gone(case, id)]
            if not left:
                return self._effect(act, case)
            untouched = untouched + 1 if bad and all(is_untouched(case, self.progress, id) for id in left) else 0
            if untouched >= _TWICE:
                return Verification(
                    result=StepResult.FAILED, findings=tuple(bad), data={"not_stopped": left}, seen=case
                )
            if until.passed:
                never = all(is_untouched(case, self.progress, id) for id in left)
                raise not_finished(case, left, limit_ms, never_began=never)
            self.tell(Event(kind="wait", text=f"the process of {names(act)} to end"))
            self.port.clock.sleep_ms(self.policy.observe_every_ms)

    def _is_gone(self, case: RollCase, node_id: int) -> bool:
        return is_alive(case, node_id) is False and self.port.is_running(node_id) is not True

    def _limit_ms(self, runs: Mapping[int, HookRun], limit_ms: int) -> int:
        asked = any(run.end is HookEnd.ASKED for run in runs.values())
        return max(limit_ms, self.policy.operator_ms) if asked else limit_ms

    def _effect(self, act: Act, case: RollCase) -> Verification:
        data: dict[str, Any] = {}
        if self._before_stop is not None:
            effect = effect_of_stop(self._before_stop, case, act.nodes)
            self.effects[act.number] = effect
            data["observed"] = effect.to_dict()
            if (found := missed(names(act), act.predicted, effect)) is not None:
                self.run.notes.append(found)
        return Verification(result=StepResult.DONE, data=data, seen=case)

    def _started(self, act: Act, runs: Mapping[int, HookRun]) -> Verification:
        """Wait until all gates after the start hold in two observations."""
        bad = [failed_hook(act, id, run) for id, run in runs.items() if run.end in _NOT_RUN]
        late = [failed_hook(act, id, run) for id, run in runs.items() if run.end is HookEnd.TIMED_OUT]
        until = Deadline.after(self._limit_ms(runs, self.policy.gate_ms), self.port.clock)
        began_ms = self.port.clock.now_ms()
        open_count = gone_count = 0
        without_leader = was_unasked = False
        while True:
            self._refresh = frozenset(act.nodes)
            case = self.run.observe()
            marks = self.progress.marks
            gates = self.gates[act.number] = return_gates(case, act.nodes, marks)
            findings = findings_of(gates)
            is_open = passes(findings) is True or lacks_only_others(case, act.nodes, marks)
            open_count = open_count + 1 if is_open else 0
            if open_count >= _TWICE:
                back_ms = int(self.port.clock.now_ms() - began_ms)
                self.effects[act.number] = ObservedEffect(
                    leader_changes=None, offline=None, under_min_isr=None, shutdown_ms=None, back_ms=back_ms
                )
                return Verification(result=StepResult.DONE, data={"back_ms": back_ms}, seen=case)
            without_leader = without_leader or lacks_leader(case)
            was_unasked = was_unasked or case.observation.quorum_view is None
            down = [id for id in act.nodes if is_alive(case, id) is False and self.port.is_running(id) is False]
            gone_count = gone_count + 1 if down else 0
            if gone_count >= _TWICE + bool(runs and not bad):
                excused = without_leader and are_brokers(case, down)
                log = last_errors_of(self.port, act, down, since_ms=self.times[act.number][0])
                found = start_failed(act, case, down, without_leader=excused, log=log)
                data = {} if without_leader or was_unasked or bad or late else CAME_UP_NOT
                return Verification(
                    result=StepResult.FAILED, retry=excused, findings=(*bad, *late, found), data=data, seen=case
                )
            if waits_for_voters(case, act.nodes):
                found = no_leader(case, self.progress.pending)
                return Verification(result=StepResult.FAILED, retry=True, findings=(*bad, found, *findings), seen=case)
            if until.passed:
                found = not_back(act, case, late_nodes(case, act.nodes, marks), blockers(findings))
                found_all = (*bad, *late, found, *findings)
                data = {} if passes(findings) is None else CAME_UP_NOT
                return Verification(result=StepResult.FAILED, findings=found_all, data=data, seen=case)
            self.tell(Event(kind="wait", text=f"{names(act)} to be back",
                            seen=some(finding.message for finding in blockers(findings))))  # fmt: skip
            pause = self.policy.interval_ms if open_count else self.policy.observe_every_ms
            self.port.clock.sleep_ms(pause)

    def _proved(self, act: Act) -> Verification:
        """Check that every node of the roll is back, in two observations."""
        until = Deadline.after(self.policy.gate_ms, self.port.clock)
        open_count = 0
        while True:
            case = self.run.observe()
            gates = tuple(gate for found in proof_gates(case, self.progress).values() for gate in found)
            findings = each_once(finding for gate in gates for finding in gate.findings)
            open_count = open_count + 1 if passes(findings) is True else 0
            self.gates[act.number] = tuple(gate for gate in gates if gate.passed is not True)
            if open_count >= _TWICE:
                self.proof = case
                return Verification(result=StepResult.DONE, seen=case)
            if until.passed:
                return Verification(result=StepResult.FAILED, findings=findings, seen=case)
            self.port.clock.sleep_ms(self.policy.interval_ms if open_count else self.policy.observe_every_ms)

    def resume(self, seen: RollCase) -> RollCase | End:
        """Settle the step that an earlier run left open, by what its nodes show."""
        flight = self.progress.in_flight
        if flight is None:
            return seen
        self.run.began = True
        action = Action(flight.data["action"])
        nodes = tuple(int(id) for id in flight.data["nodes"])
        act = Act(action=action, nodes=nodes, phase=phase_of(seen, nodes), release=flight.data.get("release"),
                  number=int(flight.data["number"]))  # fmt: skip
        self.tell(Event(kind="note", text=f"an earlier run left a step open: {words(act)}", step=act))
        if action is not Action.STOP:  # each of them can be begun again, and is not if its effect is observed
            found = Verification(result=StepResult.FAILED, data={"known": WITHDRAWN})
            return self.run.settle(flight.seq, act, found, earlier=True) or self.run.observe()
        found, seen = self._open_stop(act, seen)
        return self.run.settle(flight.seq, act, found, earlier=True) or self.run.observe()

    def _open_stop(self, act: Act, case: RollCase) -> tuple[Verification, RollCase]:
        """Return the outcome of a stop: never happened, under way until the processes are gone, or done."""
        until = Deadline.after(self.policy.stop_ms, self.port.clock)
        untouched = 0
        while True:
            left = [id for id in act.nodes if not has_ended(case, self.progress, id) and not self._is_gone(case, id)]
            if not left:
                return Verification(result=StepResult.DONE, seen=case), case
            untouched = untouched + 1 if all(is_untouched(case, self.progress, id) for id in left) else 0
            if untouched >= _TWICE:
                data = {"known": WITHDRAWN, "not_stopped": left}
                return Verification(result=StepResult.FAILED, data=data, seen=case), case
            if until.passed and all(is_alive(case, id) is False for id in left):
                # A process that does not answer shows nothing of a stop: it is asked once more.
                return Verification(result=StepResult.FAILED, data={"known": WITHDRAWN}, seen=case), case
            if until.passed:
                raise not_finished(case, left, self.policy.stop_ms)
            self.port.clock.sleep_ms(self.policy.interval_ms if untouched else self.policy.observe_every_ms)
            case = self.run.observe()

    def noted(self, taken: StepOutcome) -> None:
        """Report the end of a step in one line."""
        act: Act = taken.step
        begun, _ = self.times.get(act.number, (self.run.journal.now_ms(), None))
        self.times[act.number] = (begun, self.run.journal.now_ms())
        kind = "done" if taken.result is StepResult.DONE else "failed"
        self.tell(Event(kind=kind, text=f"{taken.word}: {words(act)}", step=act))

    def again(self, step: Act, found: Verification) -> None:
        """Report a start that is repeated."""
        self.tell(Event(kind="note", text=f"{words(step)} is repeated", step=step))


__all__ = ["RollJourney"]
