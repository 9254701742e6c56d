"""Forward steps of a migration, also over the point of no return; or only their plan."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from kafkactl.core.callbacks import NoteCallback, ignore_note
from kafkactl.core.findings import Outcome, blocker
from kafkactl.core.frozen import changed
from kafkactl.migration.api.driving import (
    AskCallback,
    DriveOptions,
    DriveResult,
    EventCallback,
    agree,
    asking,
    ignore_event,
    perform,
    rehearse,
)
from kafkactl.migration.checks.ids import is_accepted
from kafkactl.migration.driver.guards import ForwardGuard
from kafkactl.migration.driver.journal import FINALIZE, FORWARD, JournalState
from kafkactl.migration.driver.moves import RunContext, StepPlan
from kafkactl.migration.driver.ports import RunResult
from kafkactl.migration.driver.routes import ForwardRoute, identity_of
from kafkactl.migration.driver.run import Plan, run_migration
from kafkactl.migration.state.evidence import evidence_of
from kafkactl.migration.state.names import State
from kafkactl.migration.state.soak import soak_findings, soak_of
from kafkactl.migration.steps.table import observed_state

if TYPE_CHECKING:
    from kafkactl.migration.inventory import Inventory
    from kafkactl.migration.observed.observation import Observation

_FINALIZABLE = ("M8", "M10", "M11")


def run(
    inventory: Inventory,
    *,
    until: str = "M8",
    options: DriveOptions | None = None,
    ask: AskCallback = agree,
    on_event: EventCallback = ignore_event,
    on_request: NoteCallback = ignore_note,
) -> DriveResult:
    """Migrate a cluster from ZooKeeper to KRaft, up to the state `until` (M2 to M8): observe, check, apply one step.

    A run that was interrupted is resumed by the next. It never finalizes. `on_event` gets the progress, `on_request`
    what the operator is asked to do if the inventory has no hook. Raises UnreachableError if nothing was
    observed and nothing touched, RefusedError `concurrent-migration-run`.
    """
    options = options or DriveOptions()
    place = State(until).place or 0

    def is_there(state: str) -> bool:
        reached = State(state).place
        return reached is not None and reached >= place

    def drive(context: RunContext, seen: Observation) -> RunResult:
        return run_migration(
            context,
            ForwardRoute(inventory),
            goal=FORWARD,
            identity=identity_of(inventory),
            until=until,
            is_there=is_there,
            guard=ForwardGuard(context, accepted=options.accepted, until=until),
            ask=asking(ask, context, seen),
            accept_observed=options.accept_observed,
        )

    return perform(inventory, options, drive, on_event, on_request)


def plan_run(
    inventory: Inventory,
    *,
    until: str = "M8",
    options: DriveOptions | None = None,
    on_request: NoteCallback = ignore_note,
) -> DriveResult:
    """Return the steps of `run` and what would stop them: refused if the run would be. Nothing is touched."""
    return rehearse(inventory, ForwardRoute(inventory), options or DriveOptions(), on_request, until=until)


def finalize(
    inventory: Inventory,
    *,
    options: DriveOptions | None = None,
    ask: AskCallback = agree,
    on_event: EventCallback = ignore_event,
    on_request: NoteCallback = ignore_note,
) -> DriveResult:
    """Restart the controllers without the migration flag, the leader last; from then on there is no rollback.

    The gate of M8 is confirmed in three observations before. Callbacks and errors as in `run`; `ask` is called once.
    """
    options = options or DriveOptions()

    def drive(context: RunContext, seen: Observation) -> RunResult:
        is_begun = observed_state(seen).state is State.M10
        return run_migration(
            context,
            _final_route(inventory),
            goal=FINALIZE,
            identity=identity_of(inventory),
            guard=ForwardGuard(context, accepted=options.accepted),
            ask=asking(agree if is_begun else ask, context, seen, once=True),
            accept_observed=options.accept_observed,
        )

    return perform(inventory, options, drive, on_event, on_request)


def plan_finalize(
    inventory: Inventory, *, options: DriveOptions | None = None, on_request: NoteCallback = ignore_note
) -> DriveResult:
    """Return the steps of `finalize` and what would stop them. Nothing is touched."""
    options = options or DriveOptions()
    route_of = _final_route(inventory)

    def soaked(seen: Observation, recorded: JournalState) -> StepPlan:
        return _with_soak(route_of(seen, recorded), seen, inventory, options.accepted)

    return rehearse(inventory, soaked, options, on_request)


def _final_route(inventory: Inventory) -> Plan:
    way = ForwardRoute(inventory, finalize=True)

    def route_of(seen: Observation, recorded: JournalState) -> StepPlan:
        route = way(seen, recorded)
        return route if recorded.is_finalizing else _refused_where_too_early(route)

    return route_of


def _refused_where_too_early(route: StepPlan) -> StepPlan:
    if route.state in _FINALIZABLE or route.outcome is Outcome.REFUSED:
        return route
    early = blocker(
        "too-early-to-finalize",
        f"state {route.state}",
        f"the migration is in {route.state}; only one with every broker on KRaft (M8) can be ended",
    )
    return changed(route, outcome=Outcome.REFUSED, findings=(*route.findings, early))


def _with_soak(route: StepPlan, observation: Observation, inventory: Inventory, accepted: Collection[str]) -> StepPlan:
    """Add to a plan, which has no guard, the finding whether M8 has lasted long enough."""
    every = soak_findings(soak_of(evidence_of(observation)), wanted_hours=inventory.soak_hours)
    found = tuple(finding for finding in every if not is_accepted(finding, frozenset(accepted)))
    if route.state != _FINALIZABLE[0] or not found:
        return route
    return changed(route, outcome=Outcome.REFUSED, findings=(*route.findings, *found))
