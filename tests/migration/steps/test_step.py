"""A step in a few words, and what a way says of findings that do not stop it."""

from __future__ import annotations

import pytest

from kafkactl.core.findings import Outcome, Severity, blocker, note, warning
from kafkactl.migration.state.names import State
from kafkactl.migration.steps.step import File, Move, Step, Way


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (
            Step(action=Move.PUT_CONFIG, target="broker 2", gate="", why="", file=File.KRAFT),
            "put-config broker 2 (kraft)",
        ),
        (
            Step(action=Move.STOP_CONTROLLERS, target="controllers 1, 2", gate="", why=""),
            "stop-controllers controllers 1, 2",
        ),
    ],
)
def test_step_names_the_file_that_its_node_gets(step: Step, words: str) -> None:
    assert step.words == words


@pytest.mark.parametrize(
    ("outcome", "severities"),
    [
        (Outcome.PLANNED, [Severity.WARNING, Severity.WARNING, Severity.INFO]),
        (Outcome.NOTHING_TO_DO, [Severity.WARNING, Severity.WARNING, Severity.INFO]),
        (Outcome.REFUSED, [Severity.BLOCKER, Severity.WARNING, Severity.INFO]),
    ],
)
def test_blockers_become_warnings_in_a_planned_route(outcome: Outcome, severities: list[Severity]) -> None:
    way = Way(outcome=outcome, state=State.M3, steps=(), findings=())
    given = (blocker("one", "cluster", "x"), warning("two", "cluster", "x"), note("three", "cluster", "x"))
    found = way.weighed(given)
    assert [finding.severity for finding in found] == severities
    assert [finding.id for finding in found] == ["one", "two", "three"]
