"""Tiered storage as rows: the segments of `tiered segments`, and the findings of `tiered audit`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kafkactl.core.errors import InputError, KafkactlError
from kafkactl.spark.arrow import batches
from kafkactl.spark.columns import TABLES
from kafkactl.spark.finding_rows import finding_row
from kafkactl.spark.job import Failures, LogError
from kafkactl.spark.logs import plain, scheme_of
from kafkactl.tiered.api.load import Loaded, Request, load
from kafkactl.tiered.api.verbs import audit, each_segment

if TYPE_CHECKING:
    import pyarrow as pa

Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class RemoteJob:
    """Task with the metadata partitions of a cluster, which are judged together."""

    table: str
    paths: tuple[str, ...]
    name: str | None
    metadata: str | None
    bucket: str | None
    failures: Failures

    def __call__(self, rows: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Return the rows of the table, one time for each row of the input."""
        count = sum(batch.num_rows for batch in rows)
        for _ in range(count):
            yield from batches(TABLES[self.table], self._rows())

    def _rows(self) -> Iterator[Row]:
        request = Request(sources=self.paths, metadata=self.metadata, bucket=self.bucket, engine="local")
        try:
            loaded = load(request)
            cluster_id = loaded.case.view.cluster_id
            head = (cluster_id, self.name or cluster_id or self._title)
            for row in self._remote(loaded):
                yield (*head, *row, None)
        except KafkactlError as error:
            yield self.failures.row(LogError(self.paths[0], self.name or self._title, None, error))

    def _remote(self, loaded: Loaded) -> Iterator[Row]:
        if self.table == "remote_findings":
            return map(finding_row, audit(loaded).findings)
        return (tuple(segment.to_dict().values()) for segment in each_segment(loaded))

    @property
    def _title(self) -> str:
        return self.paths[0].rstrip("/").rpartition("/")[2]


def disk_paths(paths: Iterable[str]) -> tuple[str, ...]:
    """Return paths that workers open. Raises InputError `path-needs-copy` for one in another file system."""
    found = []
    for path in paths:
        if scheme_of(path) != "file":
            raise InputError(
                f"{path} is in a file system whose files workers cannot open, as tiered storage needs",
                id="path-needs-copy",
            )
        found.append(plain(path))
    return tuple(found)
