"""M10: the controllers restart without the migration flag, and the migration is being finalized."""

from __future__ import annotations

from typing import Final

from kafkactl.migration.state.conditions import is_final
from kafkactl.migration.state.names import State
from kafkactl.migration.steps.definition import Row

FINALIZING: Final = Row(
    State.M10, is_final, "the log says POST_MIGRATION, and not every controller runs without the flag yet"
)
