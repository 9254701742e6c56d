"""The area `settings`: settings that controllers decide, compared between nodes."""

from __future__ import annotations

from typing import Final

from kafkactl.cluster.node import NotAsked
from kafkactl.core.wording import counted
from kafkactl.status.answer import AreaStatus, StatusVerdict
from kafkactl.status.next_command import Target
from kafkactl.status.observation import Observation
from kafkactl.status.parts import area_of, unknown_area

AREA: Final = "settings"
COUNTS: Final = ("differences",)


def settings_area(observation: Observation, target: Target) -> AreaStatus | None:
    """Return the status of the settings; None if they were not asked for."""
    found, command = observation.settings, target.command(["nodes", "verify"])
    if found is None:
        return None
    if isinstance(found, NotAsked):
        return unknown_area(AREA, found, COUNTS, target.command(["quorum", "describe"]))
    verdict = StatusVerdict.WATCH if found.differences else StatusVerdict.OK
    if verdict is StatusVerdict.OK and not found.is_complete:
        verdict = StatusVerdict.UNKNOWN
    number = counted(found.differences, "difference") if found.differences else "no difference"
    text = f"{number} between nodes in what could be read"
    if found.is_complete:
        text = f"{number} between nodes" if found.differences else "nodes agree"
    return area_of(
        AREA,
        verdict,
        text,
        headlines=[f"the settings of nodes: {text}"],
        counts={"differences": found.differences if found.differences or found.is_complete else None},
        findings=found.findings,
        command=command,
    )
