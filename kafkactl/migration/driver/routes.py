"""The routes of the driver: back to ZooKeeper, forward to KRaft, and past the point of no return.

A route makes a `StepPlan` from one observation; `migration/steps` decides which steps are safe.
"""

from __future__ import annotations

from typing import Any, Final

from kafkactl.core.findings import Outcome
from kafkactl.core.values import Role
from kafkactl.migration.driver.journal import BACK, JournalState
from kafkactl.migration.driver.moves import StepPlan
from kafkactl.migration.inventory import Inventory
from kafkactl.migration.observed.observation import Observation
from kafkactl.migration.state.names import State
from kafkactl.migration.steps.forward import plan_forward
from kafkactl.migration.steps.rollback import plan_rollback
from kafkactl.migration.steps.rollback_case import JournalFacts, started_again
from kafkactl.migration.steps.step import File, Move, Progress, Step


class RollbackRoute:
    """`plan_rollback`, with what the journal remembers: the same list that `rollback --dry-run` shows."""

    def __init__(self, inventory: Inventory, *, accepted: frozenset[str] = frozenset()) -> None:
        self._inventory = inventory
        self._accepted = accepted
        self.goal = BACK

    def __call__(self, seen: Observation, recorded: JournalState) -> StepPlan:
        """Return the route from an observation."""
        found = plan_rollback(seen, self._inventory, accepted=self._accepted, remembered=remembered_of(recorded))
        return StepPlan(outcome=found.outcome, state=found.state.value, steps=found.steps, findings=found.findings)


def remembered_of(recorded: JournalState) -> JournalFacts:
    """Return the facts of a journal that the plans ask for."""
    return JournalFacts(
        goes_back=recorded.goal == BACK,
        begun=frozenset(target for action, target in recorded.unfinished if action == Move.RESTART_NODE),
        wiped=frozenset(target for action, target in recorded.done if action == Move.WIPE_DISK),
        waited=any(action == Move.WAIT_ZOOKEEPER_CONTROLLER for action, _ in recorded.unfinished),
    )


class ForwardRoute:
    """`plan_forward`, up to the point of no return or, for `finalize`, over it."""

    def __init__(self, inventory: Inventory, *, finalize: bool = False) -> None:
        self._inventory = inventory
        self._finalize = finalize

    def __call__(self, seen: Observation, recorded: JournalState) -> StepPlan:
        """Return the route from an observation."""
        found = plan_forward(seen, self._inventory)
        if found.outcome is Outcome.REFUSED:
            return StepPlan(outcome=found.outcome, state=found.state.value, steps=found.steps, findings=found.findings)
        steps = tuple(step for step in found.steps if self._finalize or step.phase is not State.M10)
        if not any(step.action is Move.RESTART_NODE and step.state is Progress.PENDING for step in steps):
            files = {Role.BROKER: File.KRAFT, Role.CONTROLLER: File.FINAL}
            steps = (*steps, *started_again(self._inventory, seen, remembered_of(recorded), files))
        is_left = any(step.state is Progress.PENDING for step in steps)
        return StepPlan(
            outcome=Outcome.PLANNED if is_left else Outcome.NOTHING_TO_DO,
            state=found.state.value,
            steps=steps,
            findings=found.findings,
            next_action="" if is_left or self._finalize else _ARMED,
        )


_QUORUM: Final = (State.M2, State.M3)


def prepares_quorum(state: str, until: str | None, step: Step | None) -> bool:
    """Return True if the step belongs to bringing up the quorum that `until` (M2, M3) asks for.

    One formatted controller makes M2, and a majority M3, but both goals mean all controllers.
    """
    goal = None if until is None else State(until)
    if goal not in _QUORUM or step is None or step.phase not in _QUORUM:
        return False
    return (step.phase.place or 0) <= (goal.place or 0) and State(state).place is not None


def first_due(route: StepPlan, until: str | None) -> Step | None:
    """Return the step that a run would take first; None if `until` is reached."""
    step = next((step for step in route.steps if step.state is Progress.PENDING), None)
    place = State(route.state).place
    is_there = until is not None and place is not None and place >= (State(until).place or 0)
    return None if is_there and not prepares_quorum(route.state, until, step) else step


_ARMED: Final = (
    "Let the cluster run in this state for as long as a rollback may be needed; then `kafkactl migrate"
    " finalize`, which cannot be undone."
)


def identity_of(inventory: Inventory) -> dict[str, Any]:
    """Return the identity of a migration, which the journal compares."""
    return {
        "zookeeper": inventory.zookeeper.connect,
        "nodes": [f"{node.name} {node.host} {node.config}" for node in (*inventory.brokers, *inventory.controllers)],
    }
