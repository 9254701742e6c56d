"""A question of `kafkactl dryrun` to the log of a cluster, and its answer: the same in process and in a task of Spark.

A task folds one log with the local engine, simulates on it, and returns what the command prints and writes. Why it is
so: docs/decisions/0014-the-spark-plan.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, TypeAlias

from kafkactl.core.answers import plain_values
from kafkactl.core.errors import KafkactlError
from kafkactl.core.frozen import changed, frozen
from kafkactl.dryrun.answer import Answer, Earlier, Frame, PredictionDict, ReportDict
from kafkactl.dryrun.api.clusters import Cluster
from kafkactl.dryrun.api.engines import EngineName
from kafkactl.dryrun.api.events import Event, after_events
from kafkactl.dryrun.api.logs import Chosen, choose, read_chosen, source_of
from kafkactl.dryrun.api.outputs import answer_of, detail_tables, log_report, page_part
from kafkactl.dryrun.api.reporting import report
from kafkactl.dryrun.by_name import find_scenario, run
from kafkactl.dryrun.detail_tables import Table
from kafkactl.dryrun.io.detail_files import WrittenTable
from kafkactl.dryrun.page.build import SimulatedScenario
from kafkactl.dryrun.prediction import Prediction, Verdict
from kafkactl.dryrun.scenario import Needs, Observed, ScenarioContext
from kafkactl.protocol.catalog.releases import find_release


@frozen
class Question:
    """Scenario to simulate on a cluster, and the outputs that are requested.

    `scenario` is None for all scenarios that need no argument (`report`); `asked` is its `Input`. `events` are
    simulated before. `kafka_version` and `static` are as in `read_context`.
    """

    scenario: str | None = None
    asked: Any = None
    events: tuple[Event, ...] = ()
    kafka_version: str | None = None
    static: Mapping[str, str] | None = None
    past_damage: bool = False
    observed: Observed | None = None
    with_records: bool = False
    with_page: bool = False
    with_tables: bool = False

    @property
    def at(self) -> int | None:
        """Return the last offset that is read."""
        return None if self.scenario is None else find_scenario(self.scenario).at(self.asked)

    @property
    def restarts(self) -> bool:
        """Return True if the state of a starting node is requested, too."""
        return self.scenario is None or find_scenario(self.scenario).needs is Needs.STARTS

    @property
    def passes(self) -> float:
        """Return the work on a log, in replays of it. Measured on a log of 400,000 records about 20,000 partitions."""
        if self.scenario is None:
            return 6
        return 2 if self.restarts else 1.4


class Opened(NamedTuple):
    """A state on which the events of a question were simulated, the log that it is from, and what an answer reports of
    both."""

    context: ScenarioContext
    chosen: Chosen
    frame: Frame


class Answered(NamedTuple):
    """An answer as it is printed, but for the places of its page and tables, which are not written yet.

    `as_of_ms` is the time of the last record of the log.
    """

    payload: Answer | ReportDict
    verdict: Verdict
    page: bytes | None = None
    tables: Iterable[Table | WrittenTable] | None = None
    as_of_ms: int | None = None


Result: TypeAlias = Answered | KafkactlError


def read_state(cluster: Cluster, question: Question, engine: EngineName = "local") -> Opened:
    """Read the log of a cluster and simulate the events. Raises what reading raises, and as `after_events`."""
    chosen = choose(cluster)
    context = read_chosen(
        chosen,
        release=None if question.kafka_version is None else find_release(question.kafka_version),
        static=question.static,
        at=question.at,
        restarts=question.restarts,
        past_damage=question.past_damage,
    )
    source = source_of(chosen, context.loaded)
    context, before = after_events(context, cluster.paths, question.events, question.at)
    if question.observed is not None:
        context = changed(context, observed=question.observed)
    after: list[Earlier] = [
        {"scenario": found.scenario, "input": dict(found.input), "verdict": found.verdict} for found in before
    ]
    return Opened(context, chosen, {"engine": engine, "source": source, "after": after})


def answer_question(found: Opened, question: Question, *, processes: int | None = None) -> Answered:
    """Return the answer about a state. `processes` are as in `report`. Raises what the scenario raises."""
    if question.scenario is None:
        return _reported(found, question, processes)
    context, frame = found.context, found.frame
    simulated = run(question.scenario, context, question.asked)
    prediction = _prediction(simulated, found, question)
    page = None
    if question.with_page:
        page = log_report(
            [page_part(plain_values({**frame, **prediction}), simulated, context)], context, found.chosen.log
        )
    tables = detail_tables(simulated, context) if question.with_tables else None
    as_of_ms = context.loaded.last_timestamp_ms
    return Answered({**frame, **prediction, "details": None}, simulated.verdict, page, tables, as_of_ms)


def _reported(opened: Opened, question: Question, processes: int | None) -> Answered:
    context, frame = opened.context, opened.frame
    tables: list[Table] = []

    def keep(number: int, found: Prediction) -> tuple[PredictionDict, SimulatedScenario | None]:
        prediction = plain_values(_prediction(found, opened, question))
        if question.with_tables:
            tables.extend(detail_tables(found, context, f"{number}-{found.scenario}/"))
        part = page_part({**plain_values(frame), **prediction}, found, context) if question.with_page else None
        return prediction, part

    # Tables are made in this process, because they are too large to be sent.
    made = report(context, keep, processes=1 if question.with_tables else processes)
    parts = [part for _, part in made.predictions if part is not None]
    answer: ReportDict = {
        **frame,
        "verdict": made.verdict,
        "html": None,
        "details": None,
        "predictions": [prediction for prediction, _ in made.predictions],
    }
    page = log_report(parts, context, opened.chosen.log) if question.with_page else None
    as_of_ms = context.loaded.last_timestamp_ms
    return Answered(answer, made.verdict, page, tables if question.with_tables else None, as_of_ms)


def _prediction(found: Prediction, opened: Opened, question: Question) -> PredictionDict:
    return answer_of(found, with_records=question.with_records, facts=opened.context.facts)
