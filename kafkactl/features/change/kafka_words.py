"""The lines that Kafka's `FeatureCommand` prints about a change, so that scripts that read them go on reading."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kafkactl.core.findings import Outcome
from kafkactl.features.change.answer import Answered
from kafkactl.features.plan.request import Operation

_WELL = frozenset({Outcome.DONE, Outcome.PLANNED})
_DONE = {Operation.UPGRADE: "upgraded", Operation.DOWNGRADE: "downgraded", Operation.DISABLE: "disabled"}


def result_lines(
    operation: Operation, results: Iterable[Answered], levels: Mapping[str, int], *, dry_run: bool
) -> list[str]:
    """Return a line a feature, by name, from the results of an answer: what was done to it, or not and why.

    What was done is what was found afterwards; Kafka's tool prints what was answered.
    """
    return [
        _line(operation, answered, levels[answered.result.name], dry_run=dry_run)
        for answered in sorted(results, key=lambda answered: answered.result.name)
    ]


def failure_line(results: Iterable[Answered]) -> str | None:
    """Return the last line, for stderr, where something failed."""
    results = tuple(results)
    failed = sum(answered.outcome not in _WELL for answered in results)
    return f"{failed} out of {len(results)} operation(s) failed." if failed else None


def _line(operation: Operation, answered: Answered, level: int, *, dry_run: bool) -> str:
    goal = "" if operation is Operation.DISABLE else f" to {level}"
    name = answered.result.name
    if answered.outcome in _WELL:
        return f"{name} {'can be' if dry_run else 'was'} {_DONE[operation]}{goal}."
    return f"{'Can' if dry_run else 'Could'} not {operation.value} {name}{goal}. {answered.result.message}".rstrip()
