"""The answer of `roll run` and `roll rollback`."""

from __future__ import annotations

from typing import Final, Literal

from kafkactl.change.engine import End, StepOutcome, StepResult
from kafkactl.core.answers import by_fields, json_of
from kafkactl.core.findings import Finding, Outcome
from kafkactl.core.frozen import frozen
from kafkactl.core.values import Role
from kafkactl.protocol.catalog.releases import Release
from kafkactl.roll.case import RollCase, Way
from kafkactl.roll.driver.acts import Act
from kafkactl.roll.driver.journey import RollJourney
from kafkactl.roll.driver.observed_effect import ObservedEffect
from kafkactl.roll.driver.wording import NOT_FINISHED
from kafkactl.roll.gates import RollGate
from kafkactl.roll.journal import Action
from kafkactl.roll.observation import RollNode
from kafkactl.roll.planning import RollPlan, RollStep, plan_roll
from kafkactl.roll.predict import StepPrediction
from kafkactl.roll.releases import is_same, rules_of, version_in
from kafkactl.roll.rollback_path import RollbackPath, rollback_path
from kafkactl.roll.start_gates import ISR_WHOLE, RANGES, gates_after

StepState = Literal["done", "skipped", "pending", "failed", "unknown"]
ENDED: Final = ("done", "skipped")
_STATES: dict[StepResult, StepState] = {
    StepResult.DONE: "done", StepResult.FAILED: "failed", StepResult.UNKNOWN: "unknown",
}  # fmt: skip


@frozen
class RollRunStep:
    """A step of a run. Times are those of the clock of this machine, in milliseconds since the epoch."""

    number: int
    action: str
    nodes: tuple[int, ...]
    state: StepState
    """Skipped if its effect was observed before the step: a binary or file in place, or a node that is done."""
    gates: tuple[RollGate, ...] = ()
    """Gates before a stop, or after a start, as they were evaluated last."""
    predicted: StepPrediction | None = None
    observed: ObservedEffect | None = None
    """Counted from the metadata log. Null if the step stopped nothing, or was not carried out by this run."""
    started_ms: int | None = None
    ended_ms: int | None = None

    to_dict = by_fields


@frozen
class RollProof:
    """A node after the run. Null is unknown."""

    node_id: int
    roles: tuple[Role, ...]
    release: str | None
    incarnation: str | None
    """Incarnation of its registration."""
    ranges_ok: bool | None
    """True if the registered feature ranges are those of the release."""
    isr_whole: bool | None
    """True if the node is in the ISR of each of its partitions."""

    to_dict = by_fields


@frozen
class RollRun:
    """Answer of `roll run` and `roll rollback`."""

    outcome: Outcome
    cluster_id: str | None
    way: Way | None
    to: str | None
    steps: tuple[RollRunStep, ...]
    stopped_at: int | None
    """Number of the first step that was not done; null if nothing is left."""
    findings: tuple[Finding, ...]
    proof: tuple[RollProof, ...]
    rollback: RollbackPath | None = None
    interrupted: bool = False
    """True if the operator stopped it (exit code 130)."""

    to_dict = json_of(
        "outcome", "cluster_id", "way", "to", "steps", "stopped_at", "findings", "proof", "way_back=rollback",
        "interrupted", kind="roll.run",
    )  # fmt: skip


def run_answer(journey: RollJourney, end: End) -> RollRun:
    """Return the answer of a run that ended."""
    done = _steps(journey, end)
    case = journey.last
    outcome = end.outcome
    if outcome is Outcome.FAILED or (outcome is Outcome.REFUSED and not _only_observed(end)):
        outcome = Outcome.PARTIAL if journey.run.began else outcome
    if end.error is not None and end.error.id == NOT_FINISHED:
        outcome = Outcome.PARTIAL
    is_over = outcome in (Outcome.DONE, Outcome.NOTHING_TO_DO)
    number = max((step.number for step in done), default=0)
    left = () if is_over or case is None else planned_steps(case, plan_roll(case), after=number)
    undone = [step.number for step in done if step.state not in ENDED]
    return RollRun(
        outcome=outcome,
        cluster_id=None if case is None else case.observation.cluster_id,
        way=_way(journey, case),
        to=journey.goal.request.to,
        steps=(*done, *left),
        stopped_at=None if is_over else undone[-1] if undone else first_pending(left),
        findings=end.findings,
        proof=() if case is None else proof_of(journey.proof or case),
        rollback=None if case is None else rollback_path(case),
        interrupted=end.interrupted,
    )


def _only_observed(end: End) -> bool:
    """Return True if all steps of a run were proofs, which change nothing."""
    acts = [taken.step for taken in end.taken]
    return bool(acts) and all(act.action is Action.VERIFY for act in acts)


def _way(journey: RollJourney, case: RollCase | None) -> Way | None:
    """Return the way as the roll began: after its end every node runs the goal, which looks like a restart."""
    begun = journey.progress.goal
    if isinstance(begun, dict) and begun.get("to") == journey.goal.request.to:
        return Way(begun["way"])
    return None if case is None else case.way


def _steps(journey: RollJourney, end: End) -> tuple[RollRunStep, ...]:
    """Return the steps of a run in order: those taken, and those whose effect was observed before."""
    found: list[RollRunStep] = []
    for at, taken in enumerate([*end.taken, None]):
        found += [_row(act, "skipped") for before, act in journey.skipped if before == at]
        if taken is not None:
            found.append(_taken(journey, taken))
    return tuple(found)


def _row(act: Act, state: StepState) -> RollRunStep:
    return RollRunStep(number=act.number, action=act.action.value, nodes=act.nodes, state=state)


def first_pending(steps: tuple[RollRunStep, ...]) -> int | None:
    """Return the number of the first step that is pending; None if there is none."""
    return next((step.number for step in steps if step.state == "pending"), None)


def _taken(journey: RollJourney, taken: StepOutcome) -> RollRunStep:
    act: Act = taken.step
    started, ended = journey.times.get(act.number, (None, None))
    return RollRunStep(
        number=act.number,
        action=act.action.value,
        nodes=act.nodes,
        state=_STATES[taken.result],
        gates=journey.gates.get(act.number, ()),
        predicted=act.predicted,
        observed=journey.effects.get(act.number),
        started_ms=started,
        ended_ms=ended,
    )


def planned_steps(case: RollCase, plan: RollPlan, *, after: int = 0) -> tuple[RollRunStep, ...]:
    """Return the steps of a plan that are not carried out yet; binaries and files in place are skipped."""
    return tuple(
        RollRunStep(
            number=after + step.number,
            action=step.action.value,
            nodes=step.nodes,
            state="skipped" if _is_placed(case, step) else "pending",
            gates=step.gate_before or step.gate_after,
            predicted=step.predicted,
        )
        for step in plan.steps
    )


def _is_placed(case: RollCase, step: RollStep) -> bool:
    """Return True if the binaries or files of a step are known to be in place."""
    nodes = [node for node in case.observation.nodes if node.id in step.nodes]
    if step.action is Action.INSTALL and case.goal is not None:
        installed = [version_in(node.installed) for node in nodes]
        return all(version is not None and is_same(version, case.goal) for version in installed)
    if step.action is Action.PUT_CONFIG:
        return all(node.config is not None and node.config == case.request.rendered.get(node.id) for node in nodes)
    return False


def _release(case: RollCase, node: RollNode) -> Release | None:
    """Return the release whose ranges a node has to show: the goal if it runs, else the release that runs."""
    return rules_of(case.target_of(node)) if case.is_done(node) else None


def proof_of(case: RollCase) -> tuple[RollProof, ...]:
    """Return the release and state that every node reports."""
    found = []
    for node in case.observation.nodes:
        gates = {gate.id: gate.passed for gate in gates_after(case, node, release=_release(case, node))}
        held = case.image.brokers.get(node.id) if node.is_broker else case.image.controllers.get(node.id)
        running = case.versions.get(node.id)
        found.append(
            RollProof(
                node_id=node.id,
                roles=node.roles,
                release=None if running is None else str(running),
                incarnation=None if held is None else str(held.incarnation_id),
                ranges_ok=None if running is None else gates[RANGES],
                isr_whole=gates[ISR_WHOLE],
            )
        )
    return tuple(found)
