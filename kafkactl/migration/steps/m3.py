"""M3: the controllers start, one leads a majority, and the quorum waits for the brokers."""

from __future__ import annotations

from typing import Final

from kafkactl.migration.state.conditions import entering
from kafkactl.migration.state.evidence import Evidence, Quorum
from kafkactl.migration.state.names import State
from kafkactl.migration.steps.definition import Row


def _waits(e: Evidence) -> bool:
    """Return True if a quorum with a majority waits. Whom it waits for is in its log, else in its leader's answer."""
    return entering(e) and e.controllers is not Quorum.MINORITY


QUORUM_WAITS: Final = Row(State.M3, _waits, "a majority of the controllers is led, and no broker has entered")
