"""M6: the copy is done, KRaft decides and mirrors to ZooKeeper, and every broker is in ZooKeeper mode."""

from __future__ import annotations

from typing import Final

from kafkactl.migration.state.conditions import copied
from kafkactl.migration.state.names import State
from kafkactl.migration.steps.definition import Row

COPIED: Final = Row(State.M6, copied, "the copy is done, and all brokers are in ZooKeeper mode")
