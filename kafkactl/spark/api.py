"""Tables of metadata logs as files: `kafkactl log export`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kafkactl.core.errors import InputError
from kafkactl.core.extras import install_advice
from kafkactl.core.uris import is_on_disk, path_needs_spark, plain
from kafkactl.dryrun.api.engines import (
    LOCAL,
    REPLAY_S_PER_GB,
    SPARK,
    Engine,
    Weighed,
    context_master,
    engine_for,
    weighed,
)
from kafkactl.dryrun.api.on_spark import TO_DRIVER, Transfer, answers_on_spark
from kafkactl.jobs.session import spark_session
from kafkactl.spark.columns import STATE_TABLES
from kafkactl.spark.disk import absolute_path, logs_on_disk
from kafkactl.spark.export.answer import ExportedCluster, ExportedTable, LogExport, check_any_read, log_export
from kafkactl.spark.export.cluster_tables import EXPORTED, ClusterTables, ExportPlan, Point, exported_columns
from kafkactl.spark.export.layout import FORMATS, MODES
from kafkactl.spark.export.local_files import export_to
from kafkactl.spark.job import Places
from kafkactl.spark.logs import PlannedLog, by_cluster, check_names

if TYPE_CHECKING:
    from kafkactl.dryrun.answer import ClusterDict
    from kafkactl.dryrun.api.answering import Question, Result
    from kafkactl.dryrun.api.clusters import Cluster
    from kafkactl.dryrun.detail_tables import Table
    from kafkactl.dryrun.io.detail_files import WrittenTable
    from kafkactl.spark.answers import PlannedClusters

_PASSES: Final = 3.0  # work of the whole state as Parquet, in replays of the log
SETTINGS: Final = {
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",  # as pyarrow writes times; Spark's default is INT96
    "spark.sql.parquet.writeLegacyFormat": "false",  # as pyarrow names the elements of lists
    "spark.sql.session.timeZone": "UTC",
}


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
    engine: str = "auto",
    master: str | None = None,
    chosen: Callable[[Engine], None] = lambda _: None,
) -> LogExport:
    """Write tables of metadata logs as `TABLE/cluster=NAME/date=YYYY-MM-DD/….FORMAT` below a folder.

    `paths` and `out` are paths, or URIs of any file system that Spark has; `tables` are those of `EXPORTED` (default:
    the whole state); `form` is parquet, jsonl or csv. With the mode `error` nothing is written if a table is there;
    `append` replaces the days of the clusters that are exported and keeps all others; `overwrite` replaces the table,
    but no folder with anything that no export has written. All files are written to a staging folder first.

    `engine` is `auto`, `local` or `spark`, `master` a Spark master; `chosen` receives the engine before the work.

    Raises InputError `unknown-table`, `no-metadata-log`, `path-needs-spark`, and as reading does if no log can be read;
    RefusedError `table-exists`; FailedError `tables-not-written` (InputError for an empty path); ValueError for another
    form or mode; with Spark also as `spark_session`.
    """
    if form not in FORMATS or mode not in MODES:
        raise ValueError(f"form is {form!r} and mode {mode!r}; expected one of {FORMATS} and of {MODES}")
    if not os.fspath(out):
        raise InputError(
            "the path of the tables is empty", id="tables-not-written", next_step="Name the directory of the tables."
        )
    names = tuple(dict.fromkeys(tables)) or STATE_TABLES
    for name in names:
        if name not in EXPORTED:
            raise InputError(
                f"there is no table {name!r}",
                id="unknown-table",
                next_step=f"Tables are: {', '.join(EXPORTED)}.",
            )
    plan = ExportPlan(tuple(paths), os.fspath(out), names, form, Point(at, at_time_ms), mode, cluster_of)
    found = _engine(engine, master, plan)
    chosen(found)
    return _by_spark(found, plan) if found.name == SPARK else _in_process(plan)


def _engine(asked: str, master: str | None, plan: ExportPlan) -> Engine:
    """Return the engine by the file systems of sources and target, else by the bytes of the logs."""
    remote = next((place for place in (*plan.paths, plan.out) if not is_on_disk(place)), None)
    if remote is not None and asked == "auto" and master is None:
        why = f"on Spark: {remote} is in a file system that Spark opens"
        return Engine(name=SPARK, master=context_master(None), why=why)

    def weigh() -> Weighed:
        clusters = by_cluster(logs_on_disk(plan.paths, plan.cluster_of))
        sizes = [sum(log.size for log in logs) for logs in clusters]
        seconds = [size / 1e9 * REPLAY_S_PER_GB * _PASSES for size in sizes]
        return weighed(seconds, os.cpu_count() or 1, what=f"{sum(sizes) / 1e9:.2f} GB of logs")

    found = engine_for(asked, master, context_master(None), weigh)
    if found.name == LOCAL and remote is not None:
        raise path_needs_spark(remote)
    return found


def _by_spark(engine: Engine, plan: ExportPlan) -> LogExport:
    from kafkactl.spark.export.on_spark import export_by_spark

    absolute = plan._replace(paths=tuple(map(_absolute, plan.paths)), out=_absolute(plan.out))
    with spark_session(engine.master, "kafkactl log export") as given:
        session = given.newSession()  # with settings of its own
        for name, value in SETTINGS.items():
            session.conf.set(name, value)
        return export_by_spark(session, absolute)


def _absolute(path: str) -> str:
    """Return a path of this machine as a URI, so that Spark does not look in its default file system."""
    if not is_on_disk(path):
        return path
    return f"file://{absolute_path(path)}"


def _in_process(plan: ExportPlan) -> LogExport:
    if plan.form == "parquet" and find_spec("pyarrow") is None:
        raise InputError(
            "Parquet needs the extra `spark`: pyarrow cannot be imported",
            id="spark-needs-extra",
            next_step=f"{install_advice('spark')}, or write jsonl or csv.",
        )
    units = by_cluster(logs_on_disk(plan.paths, plan.cluster_of))
    check_names(units)
    folder = Path(plain(plan.out))
    clusters: list[ExportedCluster] = []
    totals = {name: [0, 0, 0] for name in plan.names}
    with export_to(folder, plan.names, plan.form, plan.mode) as export:
        for unit in units:
            with ExitStack() as stack:
                places = Places(stack)
                logs = [log for planned in unit for log in places.on_disk(planned)]
                held = ClusterTables(logs, plan.point, places)
                clusters.append(held.cluster)
                for name in plan.names if held.is_readable else ():
                    written = export.write(name, held.cluster.name, held.day, exported_columns(name), held.rows(name))
                    for at, added in enumerate((written.rows, 1, written.bytes)):
                        totals[name][at] += added
        check_any_read(clusters)
    tables = (
        ExportedTable(name=name, path=str(folder / name), rows=rows, files=files, bytes=size)
        for name, (rows, files, size) in totals.items()
    )
    return log_export(tables, clusters, LOCAL)


def planned_sources(
    sources: Sequence[str], *, same_cluster: bool, cluster_of: str | None, master: str | None, name: str
) -> PlannedClusters:
    """List the logs of a dry run that workers read, and group them by cluster.

    `name` is that of the application. Raises as `answers.planned_sources` and `spark_session`.
    """
    from kafkactl.spark import answers

    with spark_session(master, name) as session:
        return answers.planned_sources(session, sources, same_cluster=same_cluster, cluster_of=cluster_of)


def answers_by_workers(
    clusters: Sequence[Cluster],
    planned: PlannedClusters | None,
    question: Question,
    *,
    details: str | None,
    master: str | None,
    name: str,
) -> list[Result]:
    """Return the answer of a dry run about each cluster, or its error, each from a task.

    The logs are `planned` if workers read them from another file system. The tables of a question with tables are
    written to the URI `details`; without one they are in the answers. `name` is that of the application. Raises as
    `spark_session`; FailedError `tables-not-written`.
    """
    from kafkactl.spark import answers
    from kafkactl.spark.export.details import answers_with_tables

    with spark_session(master, name) as session:

        def answered(transfer: Transfer) -> list[Result]:
            if planned is None:
                return answers_on_spark(clusters, question, master, name, transfer)
            return answers.planned_answers(session, planned, question, transfer)

        return answered(TO_DRIVER) if details is None else answers_with_tables(session, _absolute(details), answered)


def check_cluster_names(clusters: Iterable[Cluster]) -> None:
    """Raise InputError `several-clusters` if the tables of two clusters would be in one folder."""
    check_names(
        [(PlannedLog(cluster.paths[0], (), name=cluster.name, cluster_id=cluster.cluster_id),) for cluster in clusters]
    )


def write_details_to(
    uri: str,
    tables: Iterable[Table | WrittenTable],
    source: ClusterDict,
    *,
    as_of_ms: int | None,
    master: str | None,
    name: str,
) -> None:
    """Write the tables of a dry run about a cluster in the layout of `export_tables`; a day of a cluster is replaced.

    Raises InputError `invalid-file-uri`, FailedError `tables-not-written`, and for a file system of Hadoop's as
    `spark_session`.
    """
    from kafkactl.spark.export.details import write_by_worker, write_here

    if is_on_disk(uri):
        write_here(Path(plain(uri)), tables, source, as_of_ms)
        return
    with spark_session(master, name) as session:
        write_by_worker(session, uri, tables, source, as_of_ms)


__all__ = [
    "EXPORTED",
    "ExportedCluster",
    "ExportedTable",
    "LogExport",
    "answers_by_workers",
    "check_cluster_names",
    "export_tables",
    "planned_sources",
    "spark_session",
    "write_details_to",
]
