"""Rows of an export for the logs of one cluster, read one time for all tables of the state."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final, NamedTuple

from kafkactl.core.errors import KafkactlError
from kafkactl.core.findings import Finding, error_finding
from kafkactl.core.frozen import changed
from kafkactl.dryrun.api.logs import Chosen
from kafkactl.metadata.dump.lines import RecordFilter
from kafkactl.metadata.io.image import LoadedImage
from kafkactl.spark.columns import STATE_TABLES, TABLES, Columns
from kafkactl.spark.export.answer import ExportedCluster
from kafkactl.spark.export.layout import day_of
from kafkactl.spark.job import Failures, LogError, Places, ReadLog
from kafkactl.spark.tables import (
    Changes,
    Findings,
    Records,
    chosen_of,
    errors_of,
    loaded_of,
    readable_of,
    rows_of_state,
)

Row = tuple[Any, ...]
Logs = list[ReadLog | LogError]
EXPORTED: Final = ("records", "changes", "findings", *STATE_TABLES)
_IN_PATH: Final = "cluster"


@dataclass(frozen=True, slots=True)
class Point:
    """A point of the logs: an offset, a time in ms, or neither for their ends."""

    at: int | None = None
    at_time_ms: int | None = None

    @property
    def is_end(self) -> bool:
        """Return True for the ends of the logs."""
        return self.at is None and self.at_time_ms is None


class ExportPlan(NamedTuple):
    """Parameters of an export: sources, target, tables, format, point of the logs, mode, and names of clusters."""

    paths: tuple[str, ...]
    out: str
    names: tuple[str, ...]
    form: str
    point: Point
    mode: str
    cluster_of: str | None


def exported_columns(table: str) -> Columns:
    """Return the columns in a table's files: all but the cluster, which the path has."""
    return tuple(column for column in TABLES[table] if column.name != _IN_PATH)


class ClusterTables:
    """The tables of one cluster; `rows` may be called if `is_readable`."""

    def __init__(self, logs: Logs, point: Point, places: Places) -> None:
        """Read the log that ends last."""
        self._logs = logs
        self._places = places
        self._loaded: tuple[ReadLog, Chosen, LoadedImage] | None = None
        self._point = point
        errors = [error_finding(f"log {log.shown}", log.error) for log in errors_of(logs)]
        readable = readable_of(logs)
        if readable:
            self.cluster = self._read(readable, errors)
        else:
            log = logs[0]
            assert isinstance(log, LogError)
            self.cluster = ExportedCluster(
                cluster_id=log.cluster_id, name=log.cluster, source=log.shown, as_of_offset=None, findings=tuple(errors)
            )

    def _read(self, readable: list[ReadLog], errors: list[Finding]) -> ExportedCluster:
        first = readable[0]
        unread = ExportedCluster(
            cluster_id=first.source.cluster_id, name=first.cluster, source=first.shown, as_of_offset=None, findings=()
        )
        try:
            chosen = chosen_of(readable)
            loaded = loaded_of(chosen.log, self._point.at, self._point.at_time_ms)
        except KafkactlError as error:
            return changed(unread, findings=(*errors, error_finding(f"log {first.shown}", error)))
        self._loaded = first, chosen, loaded
        return ExportedCluster(
            cluster_id=chosen.cluster.cluster_id,
            name=first.cluster,
            source=self._places.text(chosen.log.name),
            as_of_offset=loaded.provenance.offset,
            findings=(*errors, *map(self._shown, loaded.findings)),
        )

    def _shown(self, finding: Finding) -> Finding:
        text = self._places.text
        return changed(finding, subject=text(finding.subject), message=text(finding.message))

    @property
    def is_readable(self) -> bool:
        """Return True if the cluster has rows."""
        return self._loaded is not None

    @property
    def day(self) -> str | None:
        """Return the day of the last record in the log."""
        return None if self._loaded is None else day_of(self._loaded[2].provenance.timestamp_ms)

    def rows(self, table: str) -> Iterator[Row]:
        """Return the rows of a table with the values of `exported_columns`."""
        at = [column.name for column in TABLES[table]].index(_IN_PATH)
        rows: Iterable[Row] = self._rows(table)
        for row in map(self._places.row, rows) if self._places.renamed else rows:
            yield (*row[:at], *row[at + 1 :])

    def _rows(self, table: str) -> Iterator[Row]:
        assert self._loaded is not None
        first, chosen, loaded = self._loaded
        failures = Failures(table, raises=False)
        if table == "findings":
            return Findings(failures)(self._logs)
        last = None if self._point.is_end else loaded.provenance.offset
        if table == "records":
            return Records(RecordFilter(to_offset=last), True, failures)(self._logs)
        if table == "changes":
            return Changes(None, None, failures, to_offset=last)(self._logs)
        errors = map(failures.row, errors_of(self._logs))
        return chain(errors, rows_of_state(table, first, chosen, loaded))
