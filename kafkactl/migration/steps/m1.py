"""M1: the migration is planned, and nothing of it is done; only a journal knows of this state."""

from __future__ import annotations

from typing import Final

from kafkactl.migration.state.names import State
from kafkactl.migration.steps.definition import Level, StateDefinition
from kafkactl.migration.steps.m0 import BEGIN

M1: Final = StateDefinition(state=State.M1, level=Level.PREPARED, milestone=BEGIN, observed_as=State.M0)
