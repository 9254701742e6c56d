"""M0: the cluster is on ZooKeeper, and nothing of a migration has begun or is left."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kafkactl.core.kafka_names import ZkMigrationState
from kafkactl.core.values import Role
from kafkactl.migration.state.conditions import not_up
from kafkactl.migration.state.evidence import CopyMarker, Evidence, Holder
from kafkactl.migration.state.names import State
from kafkactl.migration.state.unknown import what_is_left_over
from kafkactl.migration.steps.definition import Level, Milestone, Row, StateDefinition
from kafkactl.migration.steps.epoch import epoch_gate
from kafkactl.migration.steps.m2 import disks_unseen, wiped
from kafkactl.migration.steps.m3 import controllers_stopped
from kafkactl.migration.steps.m4 import brokers_back
from kafkactl.migration.steps.m5 import znodes_removed
from kafkactl.migration.steps.rollback_case import RollbackCase
from kafkactl.migration.steps.step import File, Move, Step

# Recognition


def _is_rolled_back(e: Evidence) -> bool:
    """Return True if the log is that of controllers that are gone, and ZooKeeper has no sign of them."""
    is_of_a_migration = e.kraft_state in (ZkMigrationState.PRE_MIGRATION, ZkMigrationState.MIGRATION)
    is_held = e.holder in (Holder.ZOOKEEPER, Holder.NONE)
    return is_of_a_migration and not_up(e) and is_held and e.copy_marker is CopyMarker.ABSENT


ROLLED_BACK: Final = Row(
    State.M0,
    _is_rolled_back,
    "a ZooKeeper controller is active and no sign of a migration is in ZooKeeper or on a broker; the log is"
    " that of controllers that are gone",
)
NOTHING_BEGUN: Final = Row(State.M0, lambda _: True, "nothing of a migration is there")


# Rollback


def undo(case: RollbackCase) -> Iterator[Step]:
    """Finish a rollback that the journal knows of, and repair epochs that are still too low."""
    goes_on = case.inventory is not None and case.remembered.goes_back
    if goes_on:
        yield from _files_back(case)
    if epoch_gate(case.evidence).is_beaten:
        yield controllers_stopped(case)
        yield from znodes_removed(case)
        yield from brokers_back(case)
    else:
        yield from case.started_again()
    if case.inventory is not None and goes_on:
        left = (node.id for node in case.inventory.controllers if node.name not in case.remembered.wiped)
        yield from wiped(case.evidence, left, disks_unseen(case))


def _files_back(case: RollbackCase) -> Iterator[Step]:
    """Yield the files of brokers that were changed and never started with: a restart would enter the migration."""
    leftovers = what_is_left_over(case.evidence)
    names = {finding.subject for finding in leftovers if finding.id == "broker-file-left-over"}
    for broker in () if case.inventory is None else case.inventory.brokers:
        if broker.name in names:
            yield Step(
                action=Move.RESTORE_CONFIG,
                target=broker.name,
                gate="its file is the one from before the migration",
                why="with the migration's file its next start would look for controllers that are gone",
                node=broker.id,
                role=Role.BROKER,
                file=File.ORIGINAL,
            )


BEGIN: Final = Milestone(name="begin", precedes=lambda step: step.barrier is None)

M0: Final = StateDefinition(state=State.M0, level=Level.PREPARED, undo=undo, milestone=BEGIN)
