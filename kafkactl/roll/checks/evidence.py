"""Checks of the observation itself: parts that are missing, so that other checks find nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kafkactl.core.findings import blocker, warning
from kafkactl.roll.access import log_step, node_step, quorum_step
from kafkactl.roll.case import RollCase
from kafkactl.roll.checks.row import CheckRow, RollFinding, about
from kafkactl.roll.observation import RollNode
from kafkactl.roll.start import forecast_start, wrong_disk

_MISSING: Final = "cluster-evidence-missing"


def check_evidence(case: RollCase) -> Iterator[RollFinding]:
    """Find a metadata log or a quorum that was not observed: levels, settings, ISRs and voters are unknown then."""
    if not case.has_log:
        text = "no metadata log was read: levels, stored settings, registrations and ISRs are unknown"
        yield about(warning(_MISSING, "metadata log", text, log_step(case.observation), missing="metadata log"))
    if case.observation.quorum_view is None:
        text = "the quorum was not observed: its leader, and which voters are alive, is unknown"
        yield about(warning(_MISSING, "quorum", text, quorum_step(case.observation), missing="quorum"))


def check_starts(case: RollCase) -> Iterator[RollFinding]:
    """Find nodes that would not start for a reason of their disks, or of which too little is known for a forecast."""
    for node in case.nodes:
        forecast = forecast_start(case, node)
        if (refusal := wrong_disk(case, node)) is not None:
            text = f"{node.name} does not start with the disk that its file names: {refusal.message}"
            yield about(blocker("start-refused", node.name, text, node=node.id, error=refusal.message), [node.id])
        if forecast.will_start is None:
            text = f"it is unknown if {node.name} starts; missing: {'; '.join(forecast.unknown)}"
            step = _start_step(case, node)
            found = warning("start-unknown", node.name, text, step, node=node.id, missing=list(forecast.unknown))
            yield about(found, [node.id])


def _start_step(case: RollCase, node: RollNode) -> str:
    """Return what the cluster or the node has to allow first; without that the hooks are missing (the remedy)."""
    seen = case.observation
    steps = (
        log_step(seen),
        quorum_step(seen) if node.is_broker else "",
        node_step(seen, node),
    )
    return " ".join(dict.fromkeys(filter(None, steps)))


ROWS = (
    CheckRow(ids=("cluster-evidence-missing",), find=check_evidence),
    CheckRow(ids=("start-refused", "start-unknown"), find=check_starts),
)
