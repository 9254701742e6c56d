"""The lines that Kafka's `FeatureCommand` prints about a change, so that scripts that read them go on reading."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kafkactl.features.plan.request import Operation
from kafkactl.findings import Outcome

_WELL = frozenset({Outcome.DONE.value, Outcome.PLANNED.value})
_DONE = {Operation.UPGRADE: "upgraded", Operation.DOWNGRADE: "downgraded", Operation.DISABLE: "disabled"}


def result_lines(
    operation: Operation, results: Iterable[Mapping[str, Any]], levels: Mapping[str, int], *, dry_run: bool
) -> list[str]:
    """A line a feature, by name, from the results of an answer: what was done to it, or not and why.

    What was done is what was found afterwards; Kafka's tool prints what was answered.
    """
    return [
        _line(operation, result, levels[result["name"]], dry_run=dry_run)
        for result in sorted(results, key=lambda result: str(result["name"]))
    ]


def failure_line(results: Iterable[Mapping[str, Any]]) -> str | None:
    """The last line, for stderr, where something failed."""
    results = tuple(results)
    failed = sum(result["outcome"] not in _WELL for result in results)
    return f"{failed} out of {len(results)} operation(s) failed." if failed else None


def _line(operation: Operation, result: Mapping[str, Any], level: int, *, dry_run: bool) -> str:
    goal = "" if operation is Operation.DISABLE else f" to {level}"
    name = result["name"]
    if result["outcome"] in _WELL:
        return f"{name} {'can be' if dry_run else 'was'} {_DONE[operation]}{goal}."
    return f"{'Can' if dry_run else 'Could'} not {operation.value} {name}{goal}. {result['message']}".rstrip()
