"""The last errors in the logs of nodes that did not come up."""

from __future__ import annotations

from collections.abc import Iterable

from kafkactl.change.hooks.last_errors import errors_since, last_errors
from kafkactl.change.hooks.node import Request
from kafkactl.change.hooks.words import Verb
from kafkactl.roll.driver.acts import Act
from kafkactl.roll.driver.ports import RollPort


def last_errors_of(port: RollPort, act: Act, node_ids: Iterable[int], *, since_ms: int) -> tuple[str, ...]:
    """Return the last errors in the logs of nodes since their start, by their hook `logs`; empty without one."""
    extra = errors_since(since_ms)
    requests = [
        Request(verb=Verb.LOGS, node=id, phase=act.phase.value, seq=0, instruction="", extra=extra)
        for id in node_ids
        if port.has_hook(Verb.LOGS, id)
    ]
    runs = port.ask(requests) if requests else {}
    return tuple(line for run in runs.values() for line in last_errors(run))
