"""The last errors in the logs of nodes that did not come up."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from kafkactl.change.hooks.last_errors import PATTERN, last_errors
from kafkactl.change.hooks.node import Request
from kafkactl.change.hooks.words import Verb
from kafkactl.roll.driver.acts import Act
from kafkactl.roll.driver.ports import RollPort

_BEFORE_START_MS: Final = 5_000  # the clocks of two machines


def last_errors_of(port: RollPort, act: Act, node_ids: Iterable[int], *, since_ms: int) -> tuple[str, ...]:
    """Return the last errors in the logs of nodes since their start, by their hook `logs`; empty without one."""
    extra = {"pattern": PATTERN, "since_ms": str(since_ms - _BEFORE_START_MS)}
    requests = [
        Request(verb=Verb.LOGS, node=id, phase=act.phase.value, seq=0, instruction="", extra=extra)
        for id in node_ids
        if port.has_hook(Verb.LOGS, id)
    ]
    runs = port.ask(requests) if requests else {}
    texts = (run.stdout.decode("utf-8", "replace") for run in runs.values() if run.is_done)
    return tuple(line for text in texts for line in last_errors(text))
