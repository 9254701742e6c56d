"""M4 and M4L: the brokers enter migration mode, one at a time.

M4L is the state in which all brokers but one have entered: the copy begins automatically with the last one.
"""

from __future__ import annotations

from typing import Final

from kafkactl.migration.state.conditions import entering
from kafkactl.migration.state.names import State
from kafkactl.migration.steps.definition import Row

ALL_BUT_ONE_ENTERED: Final = Row(
    State.M4L,
    lambda e: entering(e) and bool(e.entered) and len(e.missing) == 1,
    "every broker but one has entered: the copy begins automatically with the last one",
)
SOME_ENTERED: Final = Row(
    State.M4,
    lambda e: entering(e) and bool(e.entered),
    "the quorum waits, and some brokers have entered",
)
