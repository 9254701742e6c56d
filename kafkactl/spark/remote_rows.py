"""Tiered storage as rows: the segments of `tiered segments`, and the findings of `tiered audit`.

A task lists the metadata partitions, a task for each folds it, and one task joins the folds and judges them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from kafkactl.core.errors import FailedError, InputError, KafkactlError
from kafkactl.core.uris import is_on_disk, plain
from kafkactl.jobs.pickled import pickled_row, unpickled
from kafkactl.spark.arrow import batches
from kafkactl.spark.columns import TABLES
from kafkactl.spark.finding_rows import finding_row
from kafkactl.spark.job import Failures, LogError
from kafkactl.tiered.api.load import Comparison, Loaded, Request, loaded_from, prepared
from kafkactl.tiered.api.verbs import audit, each_segment
from kafkactl.tiered.io.spark import Folded, Task, folded, joined, task_of

if TYPE_CHECKING:
    import pyarrow as pa

Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class RemoteRequest:
    """Parameters of a table: paths of the sources, name of the cluster, its metadata log, a listing of the store."""

    table: str
    paths: tuple[str, ...]
    name: str | None
    metadata: str | None
    bucket: str | None
    failures: Failures

    @property
    def request(self) -> Request:
        """Return the request as the command makes it."""
        return Request(sources=self.paths, metadata=self.metadata, bucket=self.bucket, engine="local")

    @property
    def title(self) -> str:
        """Return the last part of the first path."""
        return self.paths[0].rstrip("/").rpartition("/")[2]


class Listing(NamedTuple):
    """Segments of the store's listing, and the comparison of the replicas, for which all of these were read."""

    watched: frozenset[bytes] = frozenset()
    comparison: Comparison | None = None


@dataclass(frozen=True, slots=True)
class ListingJob:
    """The task that lists the metadata partitions, each as one pickled row; none if reading the sources fails, which
    the task that judges reports."""

    asked: RemoteRequest

    def __call__(self, rows: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Return a row for each metadata partition, and one about all of them."""
        if not sum(batch.num_rows for batch in rows):
            return
        try:
            found = prepared(self.asked.request)
            with ExitStack() as stack:
                tasks = [task_of(replica, log, stack) for replica, log in found.pairs]
        except KafkactlError:
            return
        yield pickled_row(-1, Listing(found.watched, found.comparison))
        for task in tasks:
            yield pickled_row(task.partition, task)


@dataclass(frozen=True, slots=True)
class FoldJob:
    """Tasks that fold a metadata partition each; the number after the last gives a row without a fold."""

    tasks: tuple[Task, ...]
    watched: frozenset[bytes]

    def __call__(self, rows: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Return the fold of each metadata partition whose number is in `rows`."""
        for batch in rows:
            for number in batch.column(0).to_pylist():
                if number < len(self.tasks):
                    task = self.tasks[number]
                    yield pickled_row(task.partition, folded(False, self.watched, task))
                else:
                    yield pickled_row(-1, None)


@dataclass(frozen=True, slots=True)
class RemoteJob:
    """The task with the folds of all metadata partitions, which are judged together."""

    asked: RemoteRequest
    comparison: Comparison | None

    def __call__(self, rows: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Return the rows of the table."""
        parts = dict(unpickled(rows))
        if parts:
            yield from batches(TABLES[self.asked.table], self._rows(parts))

    def _rows(self, parts: dict[int, Any]) -> Iterator[Row]:
        asked = self.asked
        try:
            loaded = _loaded(asked.request, self.comparison, parts)
            cluster_id = loaded.case.view.cluster_id
            head = (cluster_id, asked.name or cluster_id or asked.title)
            for row in self._remote(loaded):
                yield (*head, *row, None)
        except KafkactlError as error:
            yield asked.failures.row(LogError(asked.paths[0], asked.name or asked.title, None, error))

    def _remote(self, loaded: Loaded) -> Iterator[Row]:
        if self.asked.table == "remote_findings":
            return map(finding_row, audit(loaded).findings)
        return (tuple(segment.to_dict().values()) for segment in each_segment(loaded))


def _loaded(request: Request, comparison: Comparison | None, parts: dict[int, Any]) -> Loaded:
    """Return the combined folds. Raises as reading the sources does, FailedError `log-changed-while-read`."""
    found = prepared(request, comparison)
    logs = [log for _, log in found.pairs]
    if {log.partition for log in logs} != {partition for partition in parts if partition >= 0}:
        raise FailedError(
            f"the metadata partitions in {', '.join(request.sources)} changed while they were read",
            id="log-changed-while-read",
            next_step="Run the query again, or copy the logs first.",
        )
    held: list[Folded] = [parts.pop(log.partition) for log in logs]
    return loaded_from(found, joined(logs, held, keep_deleted=False, watched=found.watched))


def disk_paths(paths: Iterable[str]) -> tuple[str, ...]:
    """Return paths that workers open. Raises InputError `path-needs-copy` for one in another file system."""
    found = []
    for path in paths:
        if not is_on_disk(path):
            raise InputError(
                f"{path} is in a file system whose files workers cannot open, as tiered storage needs",
                id="path-needs-copy",
            )
        found.append(plain(path))
    return tuple(found)
