"""M7: the brokers change to KRaft, one at a time."""

from __future__ import annotations

from typing import Final

from kafkactl.migration.state.conditions import copied, shown_by_tree_alone
from kafkactl.migration.state.evidence import Evidence
from kafkactl.migration.state.names import State
from kafkactl.migration.steps.definition import Row


def _some_on_kraft(e: Evidence) -> bool:
    """Return True if some brokers have changed to KRaft; if only ZooKeeper shows brokers, if some have left it."""
    return bool(e.on_kraft) or (shown_by_tree_alone(e) and not all(broker.in_zookeeper for broker in e.brokers))


SOME_ON_KRAFT: Final = Row(
    State.M7,
    lambda e: copied(e) and _some_on_kraft(e),
    "the copy is done, and some brokers are on KRaft, others not",
)
