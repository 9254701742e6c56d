"""M5: the active KRaft controller takes `/controller` and copies the metadata; kafkactl only waits."""

from __future__ import annotations

from typing import Final

from kafkactl.migration.state.conditions import claimed_uncopied, copied, entering
from kafkactl.migration.state.names import State
from kafkactl.migration.steps.definition import Row

CLAIMED: Final = Row(State.M5, claimed_uncopied, "KRaft has taken /controller, and the copy is not done yet")
NOT_MIRRORED: Final = Row(
    State.M5,
    lambda e: copied(e) and not e.on_kraft and e.tree is not None and not e.has_dual_written,
    "the copy is committed, and /migration does not follow the log yet",
)
ALL_ENTERED: Final = Row(
    State.M5,
    lambda e: entering(e) and bool(e.entered) and not e.missing,
    "every broker has entered: the copy begins automatically",
)
