"""Rollback of a migration to ZooKeeper, or only its plan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafkactl.core.callbacks import NoteCallback, ignore_note
from kafkactl.core.findings import Finding, Outcome, each_once
from kafkactl.core.frozen import frozen
from kafkactl.migration.api import driver
from kafkactl.migration.api.driving import (
    AskCallback,
    DriveOptions,
    DriveResult,
    EventCallback,
    agree,
    asking,
    files_of,
    ignore_event,
    journal_of,
    perform,
)
from kafkactl.migration.driver.files import missing_files
from kafkactl.migration.driver.guards import BackGuard
from kafkactl.migration.driver.journal import BACK
from kafkactl.migration.driver.moves import RunContext
from kafkactl.migration.driver.ports import RunResult
from kafkactl.migration.driver.routes import RollbackRoute, identity_of, remembered_of
from kafkactl.migration.driver.run import run_migration
from kafkactl.migration.steps.refusals import ACCEPTABLE
from kafkactl.migration.steps.rollback import plan_rollback as planned_rollback
from kafkactl.migration.steps.rollback_case import NOTHING
from kafkactl.migration.steps.step import Way

if TYPE_CHECKING:
    from kafkactl.migration.inventory import Inventory
    from kafkactl.migration.observed.observation import Observation

__all__ = ["ACCEPTABLE", "RollbackPlan", "plan_rollback", "rollback"]


def rollback(
    inventory: Inventory,
    *,
    options: DriveOptions | None = None,
    ask: AskCallback = agree,
    on_event: EventCallback = ignore_event,
    on_request: NoteCallback = ignore_note,
) -> DriveResult:
    """Go back to ZooKeeper from wherever the migration is; a finalized one is refused.

    `options.accepted` are refusals that the operator accepts, such as zookeeper-behind-kraft. Callbacks and errors as
    in `run`; `ask` is called once.
    """
    options = options or DriveOptions()

    def drive(context: RunContext, seen: Observation) -> RunResult:
        return run_migration(
            context,
            RollbackRoute(inventory, accepted=options.accepted),
            goal=BACK,
            identity=identity_of(inventory),
            guard=BackGuard(context),
            ask=asking(ask, context, seen, once=True),
            accept_observed=True,
        )

    return perform(inventory, options, drive, on_event, on_request)


@frozen
class RollbackPlan:
    """The steps back to ZooKeeper; `missing` are files without which the rollback would not begin."""

    way: Way
    observation: Observation
    missing: tuple[Finding, ...] = ()

    @property
    def outcome(self) -> Outcome:
        """Return `planned`, `nothing-to-do` or `refused`."""
        return Outcome.REFUSED if self.missing else self.way.outcome

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Return the blockers, and what should be known."""
        return each_once((*self.missing, *self.way.weighed(self.observation.findings), *self.way.findings))

    def to_dict(self) -> dict[str, Any]:
        """Return the answer `migrate.rollback` of a dry run."""
        return {
            "outcome": self.outcome.value,
            "state": self.way.state.value,
            "state_words": self.way.state.words,
            "time_ms": self.observation.time_ms,
            "steps": [step.to_dict() for step in self.way.steps],
            "consequences": list(self.way.consequences),
            "findings": [finding.to_dict() for finding in self.findings],
            "state_before": None,
            "cluster_id": None,
            "next_action": "",
            "journal": None,
            "interrupted": False,
        }


def plan_rollback(
    observation: Observation,
    inventory: Inventory | None = None,
    *,
    options: DriveOptions | None = None,
    is_live: bool = False,
    on_request: NoteCallback = ignore_note,
) -> RollbackPlan:
    """Return the steps back to ZooKeeper from an observed state. Nothing is touched.

    `is_live`: the observation is of the live cluster, so that the files are looked for without which the rollback
    would not begin; a node's hook is asked only for those that the journal does not keep.
    """
    options = options or DriveOptions()
    journal = None if inventory is None else journal_of(inventory, observation)
    remembered = NOTHING if journal is None else remembered_of(journal.recorded)
    way = planned_rollback(observation, inventory, accepted=options.accepted, remembered=remembered)
    missing: tuple[Finding, ...] = ()
    if inventory is not None and journal is not None and is_live:
        files = files_of(inventory, driver.live_world(inventory, on_request), journal, options)
        missing = (
            *files.objections(observation, way.steps),
            *missing_files(files, inventory, way.steps, observation),
        )
    return RollbackPlan(way=way, observation=observation, missing=missing)
