"""M11: the migration is finalized; ZooKeeper is not used any more.

`checks/remaining_work.py` has the findings about what is left to do.
"""

from __future__ import annotations

from typing import Final

from kafkactl.core.kafka_names import ZkMigrationState
from kafkactl.migration.observed.observation import NodeSeen
from kafkactl.migration.state.conditions import is_final
from kafkactl.migration.state.evidence import Evidence, file_has_flag, has_flag, state_metric
from kafkactl.migration.state.names import State
from kafkactl.migration.steps.definition import Level, Row, StateDefinition


def _all_controllers_final(e: Evidence) -> bool:
    """Return True if no controller is observed to run with the flag, or to be about to."""
    return not any(
        has_flag(controller)
        or state_metric(controller) in (ZkMigrationState.MIGRATION, ZkMigrationState.PRE_MIGRATION)
        or (has_flag(controller) is None and _may_have_flag(controller, e))
        for controller in e.observation.controllers
    )


def _may_have_flag(controller: NodeSeen, e: Evidence) -> bool:
    """Return True if a silent controller has the flag by its file; if the file is unknown, by its registration."""
    in_file = file_has_flag(controller)
    held = None if e.log is None else e.log.controllers.get(controller.id)
    return (held is not None and held.zk_migration_ready) if in_file is None else in_file


FINALIZED: Final = Row(
    State.M11,
    lambda e: is_final(e) and _all_controllers_final(e),
    "the log says POST_MIGRATION, and no controller has the flag",
)

M11: Final = StateDefinition(state=State.M11, level=Level.FINAL)
