"""Answers of `kafkactl dryrun` by tasks of Spark: a task reads one log, and answers the question about it.

A search for the worst set of many is split: the task of the log returns what is searched, tasks search ranges of the
sets, and another task answers with the sets that they found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from kafkactl.core.errors import InputError, KafkactlError
from kafkactl.core.frozen import changed
from kafkactl.dryrun.api.answering import Answered, Question, Result, answer_question, read_state
from kafkactl.dryrun.api.clusters import Cluster
from kafkactl.dryrun.brokers.worst_loss import Loss, Search, search_of, worst_in, worst_of
from kafkactl.dryrun.io.detail_files import written_table
from kafkactl.dryrun.scenario import ScenarioContext
from kafkactl.jobs.pickled import PICKLED, collected, pickled_row
from kafkactl.metadata.image.model import BROKER_CONFIG
from kafkactl.metadata.io.places import fetched_folders, for_tasks
from kafkactl.protocol.redact import is_secret_config, is_secret_text

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

FEW_SETS: Final = 200_000  # a second or two of one task
_RANGES_OF_A_CORE: Final = 2


Losses: TypeAlias = tuple[list[Loss], int]
"""The worst losses, and the number of sets that were searched."""


Rows: TypeAlias = "Callable[[int, Result | Search], Iterable[pa.RecordBatch]]"


class Asked(NamedTuple):
    """A cluster with the worst losses, if they were searched."""

    cluster: Cluster
    losses: Losses | None = None


class Range(NamedTuple):
    """Sets of a search from number `first` to before `stop`; `number` is that of the cluster."""

    number: int
    search: Search
    first: int
    stop: int


class Transfer(NamedTuple):
    """Transfer of results from tasks: the schema of their rows, the rows of a cluster's result by its number, and the
    results by number of the clusters in a frame of rows."""

    schema: str
    rows: Rows
    collected: Callable[[DataFrame], Mapping[int, Result | Search]]


def rows_with_files(number: int, result: Result | Search) -> Iterable[pa.RecordBatch]:
    """Return a result as one row, in which each table is the content of its file."""
    if isinstance(result, Answered) and result.tables is not None:
        result = result._replace(tables=[written_table(table) for table in result.tables])
    return [pickled_row(number, result)]


def _collected(frame: DataFrame) -> Mapping[int, Result | Search]:
    from kafkactl.jobs.tasks import reported

    with reported(frame.sparkSession.sparkContext):
        return collected(frame)


TO_DRIVER: Final = Transfer(PICKLED, rows_with_files, _collected)


def answers_on_spark(
    clusters: Sequence[Cluster], question: Question, master: str | None, name: str, transfer: Transfer = TO_DRIVER
) -> list[Result]:
    """Return the answer about each cluster, or its error, each from one task of the application `name`.

    Raises as `spark_session`.
    """
    from kafkactl.jobs.session import spark_session
    from kafkactl.jobs.tasks import frame_of_tasks

    sizes = [
        sum(Path(file.name).stat().st_size for log in cluster.logs for file in log.segments) for cluster in clusters
    ]
    asked = [Asked(changed(cluster, logs=tuple(map(for_tasks, cluster.logs)))) for cluster in clusters]
    with spark_session(master, name) as session:
        if not session.sparkContext.master.startswith("local"):
            for folder in fetched_folders(log for cluster in clusters for log in cluster.logs):
                session.sparkContext.addFile(folder, recursive=True)
        work = partial(_rows_of, without_secrets(question), transfer.rows)

        def answered(numbers: Sequence[int], losses: Mapping[int, Losses]) -> list[Result | Search]:
            items = [asked[number]._replace(losses=losses.get(number)) for number in numbers]
            frame = frame_of_tasks(session, work, items, [sizes[at] for at in numbers], transfer.schema)
            found = transfer.collected(frame)
            return [found[at] for at in range(len(items))]

        return with_searches(session, len(asked), answered)


def _rows_of(question: Question, rows: Rows, number: int, asked: Asked) -> Iterable[pa.RecordBatch]:
    return rows(number, answer_or_search(question, asked))


def without_secrets(question: Question) -> Question:
    """Return a question whose settings have no secret: no scenario reads one, and a task is sent over the network."""
    if question.static is None:
        return question
    static = {
        name: value
        for name, value in question.static.items()
        if not is_secret_config(BROKER_CONFIG, name) and not is_secret_text(value)
    }
    return changed(question, static=static)


def with_searches(
    session: SparkSession,
    count: int,
    answered: Callable[[Sequence[int], Mapping[int, Losses]], list[Result | Search]],
) -> list[Result]:
    """Return the answers about so many clusters; a search that one needs is split over tasks.

    `answered` returns the answers about clusters by their numbers, with losses that were searched before.
    """
    from kafkactl.jobs.tasks import done_in_tasks

    first = answered(range(count), {})
    searches = {number: found for number, found in enumerate(first) if isinstance(found, Search)}
    if not searches:
        return [found for found in first if not isinstance(found, Search)]
    parts = _RANGES_OF_A_CORE * max(1, session.sparkContext.defaultParallelism)
    ranges = [part for number, search in searches.items() for part in ranges_of(number, search, parts)]
    found = joined(ranges, done_in_tasks(session, worst_of_range, ranges))
    answers = iter(answered(list(searches), found))
    results = (next(answers) if isinstance(result, Search) else result for result in first)
    return [result for result in results if not isinstance(result, Search)]


def answer_or_search(question: Question, asked: Asked) -> Result | Search:
    """Return the answer about a cluster, or its error; or a search that is worth to be split."""
    try:
        state = read_state(asked.cluster, question, "spark")
        if asked.losses is None:
            search = _search(question, state.context)
            if search is not None and search.count > FEW_SETS:
                return search
        state = state._replace(context=changed(state.context, losses=asked.losses))
        return answer_question(state, question, processes=1)
    except KafkactlError as error:
        return error


def _search(question: Question, context: ScenarioContext) -> Search | None:
    size = getattr(question.asked, "worst", None)
    if question.scenario != "broker-loss" or size is None:
        return None
    try:
        return search_of(context.image, context.facts, size, voters=context.voters)
    except InputError:
        return None  # the scenario raises it, with what else there is to say


def ranges_of(number: int, search: Search, count: int) -> list[Range]:
    """Return the sets of a search as so many ranges."""
    bounds = [search.count * at // count for at in range(count + 1)]
    return [Range(number, search, bounds[at], bounds[at + 1]) for at in range(count)]


def worst_of_range(part: Range) -> list[Loss]:
    """Return the worst sets of a range."""
    return worst_in(part.search, part.first, part.stop)


def joined(ranges: Iterable[Range], found: Iterable[list[Loss]]) -> dict[int, Losses]:
    """Return the worst sets of each cluster, and the number of its sets."""
    losses: dict[int, list[Loss]] = {}
    counts: dict[int, int] = {}
    for part, worst in zip(ranges, found, strict=True):
        losses.setdefault(part.number, []).extend(worst)
        counts[part.number] = part.search.count
    return {number: (worst_of(each), counts[number]) for number, each in losses.items()}
