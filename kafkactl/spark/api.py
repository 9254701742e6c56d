"""Tables of metadata logs as files, made in this process: `kafkactl log export`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final, NamedTuple

from kafkactl.core.answers import by_fields, json_of
from kafkactl.core.errors import InputError, KafkactlError
from kafkactl.core.findings import Finding, error_finding
from kafkactl.core.frozen import frozen
from kafkactl.metadata.api.image import load_image
from kafkactl.metadata.dump.lines import Wanted
from kafkactl.spark.columns import STATE_TABLES, TABLES
from kafkactl.spark.disk import logs_on_disk
from kafkactl.spark.job import Build, Failures, LogError, Places
from kafkactl.spark.logs import PlannedLog, by_cluster, scheme_of
from kafkactl.spark.tables import Changes, Findings, Records, State, chosen_of, readable_of
from kafkactl.spark.writing import FORMATS, MODES, Export, export_to

EXPORTED: Final = ("records", "changes", "findings", *STATE_TABLES)
_IN_PATH: Final = "cluster"


@frozen
class ExportedTable:
    """A table that was written."""

    name: str
    path: str
    rows: int
    files: int
    bytes: int

    to_dict = by_fields


@frozen
class ExportedCluster:
    """A cluster whose log was read; the offset is None if it could not be read, and `findings` say why."""

    cluster_id: str | None
    name: str
    source: str
    as_of_offset: int | None
    findings: tuple[Finding, ...]

    to_dict = by_fields


@frozen
class LogExport:
    """Tables that were written, and the clusters in them."""

    tables: tuple[ExportedTable, ...]
    clusters: tuple[ExportedCluster, ...]
    engine: str
    findings: tuple[Finding, ...]

    @property
    def is_partial(self) -> bool:
        """Return True if the log of a cluster could not be read."""
        return any(cluster.as_of_offset is None for cluster in self.clusters)

    to_dict = json_of("tables", "clusters", "engine", "findings", kind="log.export")


def export_tables(
    paths: Sequence[str],
    out: str | os.PathLike[str],
    *,
    tables: Iterable[str] = (),
    form: str = "parquet",
    at: int | None = None,
    at_time_ms: int | None = None,
    mode: str = "error",
    cluster_of: str | None = None,
) -> LogExport:
    """Write tables of metadata logs as `TABLE/cluster=NAME/date=YYYY-MM-DD/part-00000.FORMAT` below a folder.

    `tables` are those of `EXPORTED` (default: the whole state); `form` is parquet, jsonl or csv. With the mode `error`
    nothing is written if a table is there; `append` replaces the days of the clusters that are exported and keeps all
    others; `overwrite` replaces the table. All files are written to a staging folder first.

    Raises InputError `unknown-table`, `no-metadata-log`, `path-needs-copy`, and as reading does if no log can be read;
    RefusedError `table-exists`; FailedError `tables-not-written`; ValueError for another form or mode.
    """
    if form not in FORMATS or mode not in MODES:
        raise ValueError(f"form is {form!r} and mode {mode!r}; expected one of {FORMATS} and of {MODES}")
    names = tuple(dict.fromkeys(tables)) or STATE_TABLES
    for name in names:
        if name not in EXPORTED:
            raise InputError(
                f"there is no table {name!r}",
                id="unknown-table",
                next_step=f"Tables are: {', '.join(EXPORTED)}.",
            )
    units = by_cluster(log for path in paths for log in logs_on_disk(_on_disk(path), cluster_of))
    folder = Path(_on_disk(os.fspath(out)))
    clusters: list[ExportedCluster] = []
    totals = {name: [0, 0, 0] for name in names}
    with export_to(folder, names, form, mode) as export:
        for unit in units:
            with ExitStack() as stack:
                writing = _Writing(names, at, at_time_ms, export, totals)
                clusters.append(_exported(unit, Places(stack), writing))
        if not any(cluster.as_of_offset is not None or not cluster.findings for cluster in clusters):
            raise _none_read(clusters)
    return LogExport(
        tables=tuple(
            ExportedTable(name=name, path=str(folder / name), rows=rows, files=files, bytes=size)
            for name, (rows, files, size) in totals.items()
        ),
        clusters=tuple(clusters),
        engine="local",
        findings=tuple(finding for cluster in clusters for finding in cluster.findings),
    )


def _on_disk(path: str) -> str:
    if scheme_of(path) != "file":
        raise InputError(f"{path} is in a file system that this machine cannot open", id="path-needs-copy")
    return path.removeprefix("file:").replace("//", "/") if path.startswith("file:") else path


def _none_read(clusters: Sequence[ExportedCluster]) -> KafkactlError:
    first = clusters[0].findings[0]
    return InputError(first.message, id=first.id, next_step=first.next_step)


class _Writing(NamedTuple):
    """The tables that are written of each cluster, at which point of its log, and rows, files and bytes so far."""

    names: Sequence[str]
    at: int | None
    at_time_ms: int | None
    export: Export
    totals: dict[str, list[int]]


def _exported(unit: tuple[PlannedLog, ...], places: Places, writing: _Writing) -> ExportedCluster:
    """Write the tables of one cluster."""
    logs = [log for planned in unit for log in places.on_disk(planned)]
    errors = [error_finding(f"log {log.shown}", log.error) for log in logs if isinstance(log, LogError)]
    readable = readable_of(logs)
    if not readable:
        log = logs[0]
        assert isinstance(log, LogError)
        return ExportedCluster(
            cluster_id=log.cluster_id, name=log.cluster, source=log.shown, as_of_offset=None, findings=tuple(errors)
        )
    first = readable[0]
    try:
        chosen = chosen_of(readable)
        loaded = load_image(chosen.log, at=writing.at, at_time_ms=writing.at_time_ms)
    except KafkactlError as error:
        failure = error_finding(f"log {first.shown}", error)
        return ExportedCluster(
            cluster_id=first.source.cluster_id,
            name=first.cluster,
            source=first.shown,
            as_of_offset=None,
            findings=(*errors, failure),
        )
    place = loaded.provenance
    for name in writing.names:
        columns = tuple(column for column in TABLES[name] if column.name != _IN_PATH)
        rows = _without_cluster(name, _build(name, writing.at, writing.at_time_ms)(list(readable)), places)
        written = writing.export.write(name, first.cluster, place.timestamp_ms, columns, rows)
        for at, added in enumerate((written.rows, 1, written.bytes)):
            writing.totals[name][at] += added
    return ExportedCluster(
        cluster_id=chosen.cluster.cluster_id,
        name=first.cluster,
        source=chosen.log.name,
        as_of_offset=place.offset,
        findings=(*errors, *loaded.findings),
    )


def _without_cluster(table: str, rows: Iterable[tuple[Any, ...]], places: Places) -> Iterator[tuple[Any, ...]]:
    at = [column.name for column in TABLES[table]].index(_IN_PATH)
    for row in map(places.row, rows) if places.renamed else rows:
        yield (*row[:at], *row[at + 1 :])


def _build(table: str, at: int | None, at_time_ms: int | None) -> Build:
    failures = Failures(table, raises=False)
    if table == "records":
        return Records(Wanted(to_offset=at), True, failures)
    if table == "changes":
        return Changes(None, None, failures)
    if table == "findings":
        return Findings(failures)
    return State(table, at, at_time_ms, failures)


__all__ = ["EXPORTED", "ExportedCluster", "ExportedTable", "LogExport", "export_tables"]
