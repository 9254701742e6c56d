"""The area `next-failure`: the worst loss of one more node."""

from __future__ import annotations

from typing import Final

from kafkactl.cluster.node import NotAsked
from kafkactl.core.wording import first_few
from kafkactl.status.answer import AreaStatus, StatusVerdict
from kafkactl.status.next_command import Target
from kafkactl.status.observation import Observation, PredictedFailure
from kafkactl.status.parts import area_of, unknown_area

AREA: Final = "next-failure"


def next_failure_area(observation: Observation, target: Target) -> AreaStatus | None:
    """Return the consequence of the next failure; None if it was not predicted, or if nothing depends on it."""
    found = observation.next_failure
    if found is None or observation.not_copied is not None:
        return None
    if isinstance(found, NotAsked):
        return unknown_area(AREA, found, (), target.command(["quorum", "describe"]))
    text = _text(found)
    return area_of(
        AREA,
        StatusVerdict.OK if found.is_harmless else StatusVerdict.WATCH,
        text,
        headlines=[f"the next failure costs availability: {text}"],
        counts={},
        command=target.command(["dryrun", *found.words]),
    )


def _text(found: PredictedFailure) -> str:
    if found.is_harmless:
        return f"{found.node}: nothing becomes unavailable"
    lost = first_few(found.loses, 2, count=found.loss_count)
    verb = "goes" if found.loss_count == 1 else "go"
    parts = ["the quorum loses its majority"] if found.is_quorum else []
    parts += [f"{lost} {verb} away"] if found.loses else []
    return f"{found.node}: {', '.join(parts)}"
