"""M8: every broker is on KRaft, ZooKeeper is still written, and a rollback is still possible."""

from __future__ import annotations

from typing import Final

from kafkactl.migration.state.conditions import copied, shown_by_tree_alone
from kafkactl.migration.state.evidence import Evidence
from kafkactl.migration.state.names import State
from kafkactl.migration.steps.definition import Row


def _some_left(e: Evidence) -> bool:
    """Return True if brokers are still registered as migrating; if no log shows them, if they run so."""
    if e.log is None and e.migrating_count is not None:
        return e.migrating_count > 0
    if any(broker.on_kraft is False for broker in e.brokers):
        return True
    unseen = e.log is None and not e.on_kraft
    return unseen and (not shown_by_tree_alone(e) or any(broker.in_zookeeper for broker in e.brokers))


ALL_ON_KRAFT: Final = Row(
    State.M8,
    lambda e: copied(e) and not _some_left(e),
    "the copy is done, and no broker is registered as migrating",
)
