"""The rows of each table for the logs of one unit: a single log, or all logs of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from kafkactl.core.errors import KafkactlError, UnknownOutcomeError
from kafkactl.dryrun.api.clusters import Cluster
from kafkactl.dryrun.api.logs import Chosen, choose
from kafkactl.metadata.api.image import load_image
from kafkactl.metadata.api.places import says_empty
from kafkactl.metadata.dump.findings import EMPTY_LOG
from kafkactl.metadata.dump.lines import RecordFilter
from kafkactl.metadata.io.image import LoadedImage
from kafkactl.metadata.io.source import LogSource
from kafkactl.spark.change_rows import change_rows, has_metadata
from kafkactl.spark.finding_rows import finding_rows
from kafkactl.spark.job import Failures, LogError, ReadLog, failed
from kafkactl.spark.prediction_rows import Question, prediction_rows
from kafkactl.spark.record_rows import record_rows
from kafkactl.spark.record_times import ALL_TIMES, Times
from kafkactl.spark.state_rows import state_rows

Row = tuple[Any, ...]
Logs = list[ReadLog | LogError]


@dataclass(frozen=True, slots=True)
class Records:
    """The records of each log."""

    wanted: RecordFilter
    hide: bool
    failures: Failures
    times: Times = ALL_TIMES

    def __call__(self, logs: Logs) -> Iterator[Row]:
        """Return the rows of the logs, one after the other."""
        for log in logs:
            if isinstance(log, LogError):
                yield self.failures.row(log)
                continue
            head = (log.source.cluster_id, log.cluster, log.source.node_id)
            try:
                for row in record_rows(log.source, self.wanted, times=self.times, hide=self.hide):
                    yield (*head, *row, None)
            except KafkactlError as error:
                yield self.failures.row(failed(log, error))


@dataclass(frozen=True, slots=True)
class Findings:
    """The findings of each log; with `errors_only` the logs that cannot be read."""

    failures: Failures
    errors_only: bool = False

    def __call__(self, logs: Logs) -> Iterator[Row]:
        """Return the rows of the logs, one after the other."""
        for log in logs:
            if isinstance(log, LogError):
                yield self.failures.row(log)
                continue
            head = (log.source.cluster_id, log.cluster, log.source.node_id, log.shown)
            errors: list[KafkactlError] = []
            rows = dict.fromkeys(row for path in log.paths for row in finding_rows(path, errors.append))
            if not self.errors_only:
                yield from ((*head, *row, None) for row in rows)
            elif any(row[0] == EMPTY_LOG for row in rows):
                try:
                    loaded_of(log.source)
                except KafkactlError as empty:
                    errors.append(empty)
            for error in {error.id: error for error in errors}.values():
                yield self.failures.row(failed(log, error))


@dataclass(frozen=True, slots=True)
class State:
    """A table of the state of a cluster, from the log that ends last."""

    table: str
    at: int | None
    at_time_ms: int | None
    failures: Failures

    def __call__(self, logs: Logs) -> Iterator[Row]:
        """Return the rows of the cluster, and a row for each log that cannot be read."""
        return _of_cluster(logs, self.failures, self._rows)

    def _rows(self, first: ReadLog, chosen: Chosen) -> Iterator[Row]:
        return rows_of_state(self.table, first, chosen, loaded_of(chosen.log, self.at, self.at_time_ms))


def loaded_of(log: LogSource, at: int | None = None, at_time_ms: int | None = None) -> LoadedImage:
    """Return the state of a log. Raises as `load_image`, and UnknownOutcomeError `empty-metadata-log` if there is none:
    a table without rows would mean a cluster without topics."""
    loaded = load_image(log, at=at, at_time_ms=at_time_ms)
    if says_empty(loaded.findings) and loaded.image.voters is None:
        raise UnknownOutcomeError(
            f"{log.name} contains no metadata record, so it says nothing about the cluster", id=EMPTY_LOG
        )
    return loaded


def rows_of_state(table: str, first: ReadLog, chosen: Chosen, loaded: LoadedImage) -> Iterator[Row]:
    """Return the rows of a table of the state of a cluster: `first` names it, `chosen` was loaded."""
    place = loaded.provenance
    head = (chosen.cluster.cluster_id, first.cluster, place.offset, place.epoch, place.timestamp_ms)
    for row in state_rows(loaded.image, table):
        yield (*head, *row, None)


@dataclass(frozen=True, slots=True)
class Changes:
    """The changes in the log of a cluster that ends last."""

    topic: str | None
    since_ms: int | None
    failures: Failures
    to_offset: int | None = None

    def __call__(self, logs: Logs) -> Iterator[Row]:
        """Return the rows of the cluster, and a row for each log that cannot be read."""
        return _of_cluster(logs, self.failures, self._rows)

    def _rows(self, first: ReadLog, chosen: Chosen) -> Iterator[Row]:
        if not has_metadata(chosen.log):
            loaded_of(chosen.log)
        for row in change_rows(chosen.log, topic=self.topic, since_ms=self.since_ms, to_offset=self.to_offset):
            yield (chosen.cluster.cluster_id, first.cluster, *row, None)


@dataclass(frozen=True, slots=True)
class Predictions:
    """Results of all scenarios on the state of a cluster."""

    questions: tuple[Question, ...]
    failures: Failures

    def __call__(self, logs: Logs) -> Iterator[Row]:
        """Return a row for each scenario, and a row for each log that cannot be read."""
        return _of_cluster(logs, self.failures, self._rows)

    def _rows(self, first: ReadLog, chosen: Chosen) -> Iterator[Row]:
        for question, row in prediction_rows(chosen, self.questions):
            if isinstance(row, KafkactlError):
                if self.failures.raises:
                    raise row
                more = {"scenario": question.scenario, "input": question.shown}
                yield self.failures.row(failed(first, row), **more)
            else:
                yield (chosen.cluster.cluster_id, first.cluster, *row, None)


def _of_cluster(logs: Logs, failures: Failures, rows: Callable[[ReadLog, Chosen], Iterator[Row]]) -> Iterator[Row]:
    """Yield a row for each log that cannot be read, then the rows from the log of the cluster that ends last."""
    yield from map(failures.row, errors_of(logs))
    readable = readable_of(logs)
    if not readable:
        return
    try:
        yield from rows(readable[0], chosen_of(readable))
    except KafkactlError as error:
        yield failures.row(failed(readable[0], error))


def errors_of(logs: Logs) -> list[LogError]:
    """Return the logs that cannot be opened."""
    return [log for log in logs if isinstance(log, LogError)]


def readable_of(logs: Logs) -> list[ReadLog]:
    """Return the logs that were opened."""
    return [log for log in logs if isinstance(log, ReadLog)]


def chosen_of(logs: list[ReadLog]) -> Chosen:
    """Return the log of a cluster that ends last, as the dry run chooses it."""
    ids = {log.source.cluster_id for log in logs} - {None}
    cluster = Cluster(
        paths=tuple(log.shown for log in logs),
        logs=tuple(log.source for log in logs),
        cluster_id=next(iter(ids), None),
        name=logs[0].name,
    )
    return choose(cluster)
