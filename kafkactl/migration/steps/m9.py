"""M9: an operator has approved the end of the migration; only a journal knows of this state."""

from __future__ import annotations

from typing import Final

from kafkactl.migration.state.names import State
from kafkactl.migration.steps.definition import Level, StateDefinition
from kafkactl.migration.steps.m6 import mirror_follows
from kafkactl.migration.steps.m8 import no_migrating_registration

M9: Final = StateDefinition(
    state=State.M9,
    level=Level.COPIED,
    ends_automatically=True,
    observed_as=State.M8,
    gate=(mirror_follows, no_migrating_registration),
    is_mirrored=True,
)
