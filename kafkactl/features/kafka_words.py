"""The lines that Kafka's `FeatureCommand` prints about a change, so that scripts that read them go on reading."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kafkactl.features.request import Operation
from kafkactl.features.results import FeatureResult, Reply

_DONE = {Operation.UPGRADE: "upgraded", Operation.DOWNGRADE: "downgraded", Operation.DISABLE: "disabled"}


def result_lines(
    operation: Operation, results: Iterable[FeatureResult], levels: Mapping[str, int], *, dry_run: bool
) -> list[str]:
    """A line a feature, by name: what was done to it, or could not be done and why."""
    return [
        _line(operation, result, levels[result.name], dry_run=dry_run)
        for result in sorted(results, key=lambda result: result.name)
    ]


def failure_line(results: Iterable[FeatureResult]) -> str | None:
    """The last line, for stderr, where something failed."""
    results = tuple(results)
    failed = sum(result.reply is not Reply.ACCEPTED for result in results)
    return f"{failed} out of {len(results)} operation(s) failed." if failed else None


def _line(operation: Operation, result: FeatureResult, level: int, *, dry_run: bool) -> str:
    goal = "" if operation is Operation.DISABLE else f" to {level}"
    if result.reply is Reply.ACCEPTED:
        return f"{result.name} {'can be' if dry_run else 'was'} {_DONE[operation]}{goal}."
    return f"{'Can' if dry_run else 'Could'} not {operation.value} {result.name}{goal}. {result.message}".rstrip()
