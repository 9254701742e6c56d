"""M0: the cluster is on ZooKeeper, and nothing of a migration has begun or is left."""

from __future__ import annotations

from typing import Final

from kafkactl.core.kafka_names import ZkMigrationState
from kafkactl.migration.state.conditions import not_up
from kafkactl.migration.state.evidence import CopyMarker, Evidence, Holder
from kafkactl.migration.state.names import State
from kafkactl.migration.steps.definition import Row


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
