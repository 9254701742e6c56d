"""The forward plan: every step from the observed state to the end, finished steps marked as done.

The steps are those of the states, in the order of the procedure. It is the order of Kafka's documentation, made
stricter: the quorum before any broker, brokers one at a time with the ZooKeeper controller last, a barrier before the
last one because the copy then begins automatically, no KRaft file on a broker's disk before the copy is verified, the
leader of the quorum last of all. Each step has a gate of its own; `gates.py` has the exit gates of the states.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from kafkactl.core.findings import Finding, Outcome, Severity, blockers, warning
from kafkactl.core.frozen import changed
from kafkactl.migration.copy.forecast import CopyOutcome
from kafkactl.migration.inventory import Inventory
from kafkactl.migration.observed.observation import Observation
from kafkactl.migration.state.evidence import Evidence, evidence_of
from kafkactl.migration.state.names import State
from kafkactl.migration.state.unknown import several_clusters
from kafkactl.migration.steps import m3, m7
from kafkactl.migration.steps.broken_states import WayOut, way_out_of
from kafkactl.migration.steps.m5 import expected_copy
from kafkactl.migration.steps.rollback import rollback_of, wipes
from kafkactl.migration.steps.step import Barrier, File, Move, Progress, Step, Way, numbered
from kafkactl.migration.steps.table import PROCEDURE, ObservedState, definition_of, state_of_evidence

# Started again on its old disk, a controller continues with the old log: a split brain within seconds.
_FATAL_LEFTOVERS: Final = frozenset({"controller-disk-left-over", "migration-znode-left-over"})


def plan_forward(observation: Observation, inventory: Inventory | None = None) -> Way:
    """Return the forward plan from an observation. Never raises for what was observed; exit gates are not a part."""
    evidence = evidence_of(observation)
    return forward_of(evidence, state_of_evidence(evidence), inventory)


def forward_of(e: Evidence, observed: ObservedState, inventory: Inventory | None = None) -> Way:
    """Return the forward plan from evidence that was gathered already."""
    findings = (
        *(_repairable(finding, observed, e) for finding in observed.findings),
        *(
            changed(finding, severity=Severity.BLOCKER)
            for finding in observed.leftovers
            if finding.id in _FATAL_LEFTOVERS
        ),
        *_unnamed(e, observed, inventory),
    )
    if blockers(findings):
        return Way(outcome=Outcome.REFUSED, state=observed.state, steps=(), findings=findings)
    steps = numbered(_steps(e, observed, inventory))
    if all(step.state is Progress.DONE for step in steps):
        return Way(outcome=Outcome.NOTHING_TO_DO, state=observed.state, steps=(), findings=findings)
    return Way(
        outcome=Outcome.PLANNED,
        state=observed.state,
        steps=steps,
        findings=findings,
        consequences=tuple(_consequences(steps)),
    )


def next_step(e: Evidence, observed: ObservedState, inventory: Inventory | None = None) -> Step | None:
    """Return the first step forward, or out of a broken state; None if nothing is left, or no safe step is known."""
    if several_clusters(e):
        return None
    way_out = way_out_of(observed.state)
    if way_out is WayOut.ROLLBACK:
        steps: Iterable[Step] = rollback_of(e, observed, inventory).pending
    elif way_out is WayOut.BROKERS_TO_KRAFT:
        steps = (step for step in m7.plan(e) if step.state is Progress.PENDING)
    elif observed.state is State.M0 and observed.leftovers:
        steps = wipes(e, inventory) or forward_of(e, observed, inventory).pending
    else:
        steps = forward_of(e, observed, inventory).pending
    return next(iter(steps), None)


def _unnamed(e: Evidence, observed: ObservedState, inventory: Inventory | None) -> Iterator[Finding]:
    """Report that the plan has no steps for controllers, because nothing names them."""
    if observed.state.place is not None and not e.observation.controllers and not (inventory and inventory.controllers):
        yield warning(
            "controllers-not-named",
            "controllers",
            "neither the observation nor an inventory names a controller: the plan has no steps for them",
        )


def _repairable(finding: Finding, observed: ObservedState, e: Evidence) -> Finding:
    """Return a blocker as a warning if starting the controllers repairs it.

    The copy begins again from zero, and dual write continues; but a controller would end at the same bad znode again.
    """
    if way_out_of(observed.state) is not WayOut.START_CONTROLLERS or finding.id != observed.state.value:
        return finding
    copy = expected_copy(e, observed.state)
    exits = copy is not None and copy.outcome is CopyOutcome.EXITS
    return finding if exits else changed(finding, severity=Severity.WARNING)


def _steps(e: Evidence, observed: ObservedState, inventory: Inventory | None) -> Iterator[Step]:
    ids = tuple(
        sorted(
            {controller.id for controller in e.observation.controllers}
            | (set() if inventory is None else {controller.id for controller in inventory.controllers})
        )
    )
    place = observed.state.place
    if place is None:
        yield from m3.started(e, ids, State.M5)
        place = State.M5.place or 0
    elif (definition := definition_of(observed.state)) is not None and definition.needs_quorum:
        yield from m3.started(e, m3.ids_down(e, ids), observed.state)
    for definition in PROCEDURE:
        last = definition.shown_until
        if definition.plan is not None and last is not None and place <= (last.place or 0):
            yield from definition.plan(e, ids)


def _consequences(steps: tuple[Step, ...]) -> Iterator[str]:
    pending = [step for step in steps if step.state is Progress.PENDING]
    files = [step.file for step in pending if step.action is Move.RESTART_NODE]
    entering, to_kraft, final = (files.count(file) for file in (File.MIGRATION, File.KRAFT, File.FINAL))
    if entering:
        yield f"{_restarts(entering, 'broker')} into migration mode. Clients see what they see of any rolling restart."
    if any(step.barrier is Barrier.LAST_BROKER for step in pending):
        yield "With the last of them the copy starts automatically, and KRaft takes /controller: check before it."
    if to_kraft:
        yield f"{_restarts(to_kraft, 'broker')} onto KRaft. A rollback remains possible until the end."
    if final:
        yield f"{_restarts(final, 'controller')}. From the first of them on, no rollback is possible."


def _restarts(count: int, what: str) -> str:
    return f"1 restart of a {what}" if count == 1 else f"{count} restarts of {what}s"
