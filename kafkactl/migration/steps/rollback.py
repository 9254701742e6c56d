"""The rollback to ZooKeeper from any state, in the order that was proven on real clusters.

Brokers on KRaft return to migration mode first, because only a live quorum accepts them. Then all controllers are
stopped, by process: `/controller` deleted while one of them lives is a split brain without a log line. Then
`/controller_epoch` is raised if it is too low, and KRaft's `/controller` and `/migration` are deleted. A ZooKeeper
broker is elected, and a broker restarts with its own file after it was observed to follow the new controller: a broker
that still waits for the dead controllers cannot be stopped cleanly. At last the controllers' disks are wiped, because a
registration never expires before the copy. An observation shows which steps are done, so a rollback can begin again at
any step.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kafkactl.core.findings import Outcome, blockers
from kafkactl.migration.inventory import Inventory
from kafkactl.migration.observed.observation import Mode, Observation
from kafkactl.migration.state.evidence import CopyMarker, Evidence, evidence_of
from kafkactl.migration.state.names import State
from kafkactl.migration.steps import m0, m2, m3, m4, m5, m7, m10
from kafkactl.migration.steps.definition import Undo
from kafkactl.migration.steps.refusals import objections
from kafkactl.migration.steps.rollback_case import NOTHING, JournalFacts, RollbackCase, controller_ids
from kafkactl.migration.steps.step import Move, Progress, Step, Way, numbered
from kafkactl.migration.steps.table import ObservedState, state_of_evidence

# The states in reverse, but for the controllers, which stop before ZooKeeper is changed.
_UNDO: Final[tuple[Undo, ...]] = (m10.undo, m7.undo, m3.undo, m5.undo, m4.undo, m2.undo)


def plan_rollback(
    observation: Observation,
    inventory: Inventory | None = None,
    *,
    accepted: frozenset[str] = frozenset(),
    remembered: JournalFacts = NOTHING,
) -> Way:
    """Return the rollback from the observed state. Never raises for what was observed.

    `accepted` are ids of refusals that the operator accepts (`refusals.ACCEPTABLE`), `remembered` is what a journal
    knows of an earlier run.
    """
    evidence = evidence_of(observation)
    return rollback_of(evidence, state_of_evidence(evidence), inventory, accepted=accepted, remembered=remembered)


def rollback_of(
    e: Evidence,
    observed: ObservedState,
    inventory: Inventory | None = None,
    *,
    accepted: frozenset[str] = frozenset(),
    remembered: JournalFacts = NOTHING,
) -> Way:
    """Return the rollback from evidence that was gathered already."""
    found = objections(e, observed, accepted)
    if blockers(found):
        return Way(outcome=Outcome.REFUSED, state=observed.state, steps=(), findings=found)
    findings = (*found, *observed.leftovers)
    case = RollbackCase(evidence=e, state=observed.state, inventory=inventory, remembered=remembered)
    undo = (m0.undo,) if observed.state is State.M0 else _UNDO
    steps = numbered(step for undone in undo for step in undone(case))
    if all(step.state is Progress.DONE for step in steps):
        return Way(outcome=Outcome.NOTHING_TO_DO, state=observed.state, steps=(), findings=findings)
    return Way(
        outcome=Outcome.PLANNED,
        state=observed.state,
        steps=steps,
        findings=findings,
        consequences=tuple(_consequences(e, observed.state, steps)),
    )


def wipes(e: Evidence, inventory: Inventory | None = None) -> tuple[Step, ...]:
    """Return the wipes of disks that are left over when everything else of a rollback is done."""
    return numbered(m2.wiped(e, controller_ids(e, inventory)))


def _consequences(e: Evidence, state: State, steps: tuple[Step, ...]) -> Iterator[str]:
    actions = [step.action for step in steps if step.state is Progress.PENDING]
    if Move.DELETE_CONTROLLER_ZNODE in actions:
        yield (
            "From stop-controllers until a ZooKeeper broker is elected there is no controller: no leader is "
            "elected, no topic"
            " created. The election takes some 10 ms; the duration depends on how fast the controllers stop."
        )
    rolls = actions.count(Move.RESTART_NODE)
    if rolls:
        yield "1 restart." if rolls == 1 else f"{rolls} restarts, one node at a time."
    if any(broker.runs_as is Mode.KRAFT for broker in e.brokers):
        yield "Brokers on KRaft are restarted twice: into migration mode, and out of it."
    if state is State.QUORUM_WITHOUT_BROKERS:
        yield (
            "What the quorum has deleted from ZooKeeper since its start is not restored: stop the controllers, and"
            " compare ZooKeeper with an observation from before. After the last step restart the brokers one by one:"
            " until then they ignore the ZooKeeper controller because they know newer leader epochs than the quorum"
            " wrote."
        )
    elif e.copy_marker is CopyMarker.COPIED and Move.DELETE_CONTROLLER_ZNODE in actions:
        yield "What was changed while ZooKeeper was written is kept. The epochs are looked at again before the raise."
