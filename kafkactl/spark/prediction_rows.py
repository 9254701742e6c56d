"""Predictions as rows: every scenario on the state of a cluster, each with the answer of `kafkactl dryrun`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kafkactl._version import SCHEMA_VERSION
from kafkactl.core.answers import plain_values
from kafkactl.core.errors import InputError, KafkactlError
from kafkactl.core.safe_text import json_text
from kafkactl.dryrun.api.events import after_events
from kafkactl.dryrun.api.logs import Chosen, read_chosen, source_of
from kafkactl.dryrun.api.outputs import answer_of
from kafkactl.dryrun.by_name import find_scenario, run
from kafkactl.dryrun.prediction import Prediction
from kafkactl.dryrun.scenario import Needs, ScenarioContext

Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """A scenario and the fields of its input."""

    scenario: str
    asked: Mapping[str, Any]

    @property
    def shown(self) -> str:
        """Return the fields as JSON text."""
        return _json(dict(self.asked))


def questions_of(scenarios: Iterable[Mapping[str, Any]]) -> tuple[Question, ...]:
    """Return the scenarios, each a mapping with `name` and the fields of its input.

    Raises InputError `unknown-scenario`, `invalid-scenario-input`.
    """
    found = []
    for mapping in [scenarios] if isinstance(scenarios, Mapping | str) else scenarios:
        name = mapping.get("name") if isinstance(mapping, Mapping) else None
        if not isinstance(name, str):
            raise InputError(
                f"the scenario {mapping!r} has no name",
                id="invalid-scenario-input",
                next_step='Write {"name": "broker-loss", "brokers": [3]}: the name, and the fields of the input.',
            )
        asked = {field: value for field, value in mapping.items() if field != "name"}
        find_scenario(name).input_of(asked)
        found.append(Question(name, asked))
    return tuple(found)


def prediction_rows(chosen: Chosen, questions: Iterable[Question]) -> Iterator[tuple[Question, Row | KafkactlError]]:
    """Return each question with its scenario, input, verdict, ids of findings, five counts and the answer, or with the
    error that it has in place of an answer.

    The log is read once, unless a scenario is about an earlier state.
    """
    asked = tuple(questions)
    restarts = any(find_scenario(question.scenario).needs is Needs.STARTS for question in asked)
    contexts: dict[int | None, ScenarioContext | KafkactlError] = {}
    for question in asked:
        scenario = find_scenario(question.scenario)
        try:
            given = scenario.input_of(question.asked)
            at = scenario.at(given)
            if at not in contexts:
                contexts[at] = _context(chosen, at, restarts=restarts)
            context = contexts[at]
            if isinstance(context, KafkactlError):
                raise context
            after_events(context, chosen.cluster.paths, (), at)
            yield question, _row(run(scenario.name, context, given), chosen, context)
        except KafkactlError as error:
            yield question, error


def _context(chosen: Chosen, at: int | None, *, restarts: bool) -> ScenarioContext | KafkactlError:
    try:
        return read_chosen(chosen, at=at, restarts=restarts)
    except KafkactlError as error:
        return error


def _row(found: Prediction, chosen: Chosen, context: ScenarioContext) -> Row:
    answer = plain_values(
        {
            "kind": "dryrun.prediction",
            "schema_version": SCHEMA_VERSION,
            "engine": "spark",
            "source": source_of(chosen, context.loaded),
            "after": [],
            **answer_of(found, with_records=False, facts=context.facts),
            "details": None,
        }
    )
    counts = answer["effects"]["partitions"] or {}
    appended = answer["effects"]["records_appended"]
    return (
        found.scenario,
        _json(answer["input"]),
        answer["verdict"],
        [finding["id"] for finding in answer["findings"]],
        *(counts.get(name) for name in ("leader_changes", "offline", "under_min_isr", "at_min_isr")),
        None if appended is None else appended["count"],
        _json(answer),
    )


def _json(value: Any) -> str:
    return json_text(value, compact=True)
