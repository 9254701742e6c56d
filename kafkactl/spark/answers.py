"""Answers of `kafkactl dryrun` about logs that only Hadoop's file systems have: workers read them, not the driver."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from kafkactl.core.errors import FailedError, InputError
from kafkactl.core.frozen import changed
from kafkactl.dryrun.api.answering import Question, Result
from kafkactl.dryrun.api.clusters import Cluster, clusters_of
from kafkactl.dryrun.api.on_spark import (
    TO_DRIVER,
    Asked,
    Losses,
    Rows,
    Transfer,
    answer_or_search,
    with_searches,
    without_secrets,
)
from kafkactl.dryrun.brokers.worst_loss import Search
from kafkactl.metadata.io.source import LogFile, LogSource, read_pieces
from kafkactl.spark.frames import frame_of
from kafkactl.spark.globs import pattern_of
from kafkactl.spark.job import LogError, Places, ReadLog, Units
from kafkactl.spark.listing import planned_logs
from kafkactl.spark.logs import PlannedLog

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession


class PlannedClusters(NamedTuple):
    """Clusters whose logs have names only, and the files of these logs."""

    clusters: tuple[Cluster, ...]
    files: tuple[tuple[PlannedLog, ...], ...]


def planned_sources(
    session: SparkSession, sources: Sequence[str], *, same_cluster: bool = False, cluster_of: str | None = None
) -> PlannedClusters:
    """List the logs of the sources, and group them as `open_clusters` does; no log is read.

    Raises InputError `remote-log-not-found`, FailedError `remote-log-not-read`, and as `clusters_of`.
    """
    logs = planned_logs(session, sources, None)
    failed = next((log for log in logs if log.unlisted is not None), None)
    if failed is not None:
        raise FailedError(f"{failed.path} cannot be listed: {failed.unlisted}", id="remote-log-not-read")
    missing = next((log.path for log in logs if log.is_missing), None)
    if missing is not None:
        raise InputError(f"{missing} contains no metadata log", id="remote-log-not-found")
    logs.sort(key=lambda log: next(at for at, source in enumerate(sources) if _leads_to(source, log)))
    given = [[source for source in sources if _leads_to(source, log)] for log in logs]
    first = [several[0] for several in given]
    names = [name if first.count(name) == 1 else log.path for name, log in zip(first, logs, strict=True)]
    by_name = dict(zip(names, logs, strict=True))
    stubs = [
        (
            LogSource(name=name, segments=(), checkpoints=(), is_folder=not log.singles, cluster_id=log.cluster_id),
            tuple(several) if log.singles else (name,),  # another path to a log is not named, as in process
        )
        for name, log, several in zip(names, logs, given, strict=True)
    ]
    clusters = clusters_of(stubs, same_cluster=same_cluster, cluster_of=cluster_of)
    return PlannedClusters(clusters, tuple(tuple(by_name[log.name] for log in cluster.logs) for cluster in clusters))


def _leads_to(source: str, log: PlannedLog) -> bool:
    pattern = pattern_of(source)
    return any(pattern.match(f"{path}/") for path in (log.path, *log.singles))


def planned_answers(
    session: SparkSession, planned: PlannedClusters, question: Question, transfer: Transfer = TO_DRIVER
) -> list[Result]:
    """Return the answer about each cluster, or its error. Raises what Spark raises."""
    wanted = without_secrets(question)

    def answered(numbers: Sequence[int], losses: Mapping[int, Losses]) -> list[Result | Search]:
        asked = {number: Asked(planned.clusters[number], losses.get(number)) for number in numbers}
        # The name of a log is the number of its cluster here.
        groups = [tuple(replace(log, name=str(number)) for log in planned.files[number]) for number in numbers]
        job = partial(AnswerJob, wanted, transfer.rows, asked)
        found = transfer.collected(frame_of(session, groups, job, transfer.schema))
        return [found[number] for number in numbers]

    return with_searches(session, len(planned.clusters), answered)


@dataclass(frozen=True, slots=True)
class AnswerJob:
    """A question to the logs of several clusters, whose names are their numbers."""

    question: Question
    rows: Rows
    asked: Mapping[int, Asked]
    units: Units

    def __call__(self, rows: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Return the rows of the clusters of a task."""
        return self.units.each(rows, self._answered)

    def _answered(self, logs: list[ReadLog | LogError], places: Places) -> Iterator[pa.RecordBatch]:
        number = int(logs[0].cluster)
        asked = self.asked[number]
        error = next((log.error for log in logs if isinstance(log, LogError)), None)
        opened = tuple(_renamed(log, places) for log in logs if isinstance(log, ReadLog))
        if len(opened) == len(asked.cluster.logs):
            opened = tuple(changed(log, name=stub.name) for log, stub in zip(opened, asked.cluster.logs, strict=True))
        asked = asked._replace(cluster=changed(asked.cluster, logs=opened))
        yield from self.rows(number, error or answer_or_search(self.question, asked))


def _renamed(log: ReadLog, places: Places) -> LogSource:
    """Return a log whose files have the names of the original ones, so that findings name these."""

    def file_of(file: LogFile) -> LogFile:
        return changed(file, name=places.text(file.name), pieces=partial(read_pieces, file.name))

    source = log.source
    return changed(
        source,
        name=log.shown,
        segments=tuple(map(file_of, source.segments)),
        checkpoints=tuple(map(file_of, source.checkpoints)),
    )
