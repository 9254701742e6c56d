"""Use cases that carry out a roll or its rollback, or predict one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from kafkactl.change.progress import ProgressCallback, in_silence
from kafkactl.core.errors import RefusedError
from kafkactl.core.findings import Finding, Outcome, blockers
from kafkactl.core.frozen import changed, frozen
from kafkactl.roll.api.observing import OBSERVATION_MS, not_observed
from kafkactl.roll.case import RollRequest
from kafkactl.roll.driver.acts import DYNAMIC, Act, Ask
from kafkactl.roll.driver.answer import RollRun
from kafkactl.roll.driver.other_driver import CONCURRENT

if TYPE_CHECKING:
    from kafkactl.roll.inventory import RollInventory
    from kafkactl.roll.observation import RollObservation


def agree(_act: Act, _cluster_id: str | None) -> Finding | None:
    """Accept every act."""
    return None


def ignore_request(_text: str) -> None:
    """Ignore a request to the operator."""


@frozen
class RollOptions:
    """Timeouts of a roll in milliseconds, as the options of `roll run` name them."""

    gate_interval_ms: int = 10_000
    gate_timeout_ms: int = 600_000
    soak_ms: int = 0
    stop_timeout_ms: int = 360_000


def run(
    inventory: RollInventory,
    request: RollRequest,
    *,
    options: RollOptions | None = None,
    ask: Ask = agree,
    on_event: ProgressCallback = in_silence,
    on_request: Callable[[str], None] = ignore_request,
) -> RollRun:
    """Restart or upgrade the nodes of a cluster one by one, and resume where an earlier run ended.

    `on_request` gets what an operator has to do on nodes without a hook. Raises UnreachableError
    `cluster-id-not-observed`, RefusedError `concurrent-roll`, InputError, and the errors of the journal.
    """
    from kafkactl.change.engine import Engine
    from kafkactl.files.journal import open_journal
    from kafkactl.roll.driver.answer import run_answer
    from kafkactl.roll.driver.journey import RollJourney
    from kafkactl.roll.driver.ports import RollGoal, RollWaitPolicy
    from kafkactl.roll.io.live import LiveRoll
    from kafkactl.roll.io.saved_observation import JOURNAL_SUBJECT

    given = options or RollOptions()
    policy = RollWaitPolicy(
        interval_ms=given.gate_interval_ms,
        observe_every_ms=min(2_000, given.gate_interval_ms),
        gate_ms=given.gate_timeout_ms,
        soak_ms=given.soak_ms,
        stop_ms=given.stop_timeout_ms,
    )
    port = LiveRoll(inventory, observe_ms=OBSERVATION_MS, stop_ms=given.stop_timeout_ms, tell=on_request)
    cluster_id = inventory.cluster_id
    if cluster_id is None:
        seen = port.observe(None)
        cluster_id = seen.cluster_id
    if cluster_id is None:
        text = "no node of the inventory shows the id of the cluster"
        raise not_observed(text, seen.findings, id="cluster-id-not-observed")
    path = inventory.journal_file(cluster_id)
    port.kept = Path(path + ".kept")
    goal = RollGoal(
        request=request,
        installs_between=frozenset(node.id for node in inventory.nodes if node.installs_between),
    )
    try:
        journal = open_journal(path, subject=JOURNAL_SUBJECT, cluster_id=cluster_id)
    except RefusedError as error:
        raise RefusedError(error.message, id=CONCURRENT) from error
    with journal:
        journey = RollJourney(port, goal, policy=policy, tell=on_event, ask=ask)
        engine = Engine(journey, journal, clock=port.clock, policy=policy)
        return run_answer(journey, engine.to_the_end())


def plan_run(observation: RollObservation, request: RollRequest) -> RollRun:
    """Predict `run` without changing anything: outcome `planned`, `refused` or `nothing-to-do`.

    Raises InputError as `make_case`.
    """
    from kafkactl.roll.case import make_case
    from kafkactl.roll.checks.run import check_roll
    from kafkactl.roll.driver.acts import is_blocked
    from kafkactl.roll.driver.answer import first_pending, planned_steps, proof_of
    from kafkactl.roll.journal import Action
    from kafkactl.roll.liveness import is_alive
    from kafkactl.roll.planning import plan_roll
    from kafkactl.roll.rollback_path import rollback_path

    case = make_case(observation, request)
    plan = plan_roll(case, check_roll(case))
    steps = planned_steps(case, plan)
    has_work = any(step.action is not Action.VERIFY for step in plan.steps)
    first = next((step.nodes for step in plan.steps if step.action in (Action.STOP, Action.START)), ())
    starts = any(is_alive(case, node_id) is False for node_id in first)
    is_new = case.record is None or not case.record.is_under_way
    outcome = Outcome.PLANNED if has_work else Outcome.NOTHING_TO_DO
    if is_blocked(plan, is_new=is_new, starts=starts):
        outcome = Outcome.REFUSED
    return RollRun(
        outcome=outcome,
        cluster_id=observation.cluster_id,
        way=case.way,
        to=request.to,
        steps=steps,
        stopped_at=None if outcome is Outcome.NOTHING_TO_DO else first_pending(steps),
        findings=plan.findings,
        proof=proof_of(case),
        rollback=rollback_path(case),
    )


def plan_rollback(observation: RollObservation, request: RollRequest) -> RollRun:
    """Predict `rollback` without changing anything; refused if its release is newer than the running one.

    Raises InputError as `make_case`.
    """
    from kafkactl.roll.case import make_case
    from kafkactl.roll.rollback_path import newer_goal

    planned = plan_run(observation, request)
    found = newer_goal(make_case(observation, request))
    if found is None:
        return planned
    return changed(planned, outcome=Outcome.REFUSED, findings=(found, *planned.findings))


def refuses_old_binary(answer: RollRun) -> bool:
    """Return True if a rollback is refused for more than the roll itself resolves."""
    return any(finding.id not in DYNAMIC for finding in blockers(answer.findings))


def rollback(
    inventory: RollInventory,
    request: RollRequest,
    *,
    options: RollOptions | None = None,
    ask: Ask = agree,
    on_event: ProgressCallback = in_silence,
    on_request: Callable[[str], None] = ignore_request,
) -> RollRun:
    """Return nodes to the old release, after the check that its binary starts under the present levels.

    Raises as `run`, and UnreachableError `cluster-not-reached`.
    """
    from kafkactl.roll.api.observing import observe

    planned = plan_rollback(observe(inventory), request)
    if refuses_old_binary(planned):
        return changed(planned, outcome=Outcome.REFUSED)
    return run(inventory, request, options=options, ask=ask, on_event=on_event, on_request=on_request)
