"""M2: the controllers get their files and formatted disks; no majority of them is led yet."""

from __future__ import annotations

from typing import Final

from kafkactl.migration.state.brokers import answers
from kafkactl.migration.state.conditions import formatted
from kafkactl.migration.state.evidence import Evidence
from kafkactl.migration.state.names import State
from kafkactl.migration.steps.definition import Row


def _some_run(e: Evidence) -> bool:
    return any(answers(controller) for controller in e.observation.controllers)


NOT_LED: Final = Row(
    State.M2, _some_run, "controllers run, and no leader of a majority of them was seen to commit anything"
)
FORMATTED: Final = Row(State.M2, formatted, "controllers are formatted and none of them runs")
