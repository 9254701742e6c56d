"""`--details URI` of a dry run: tables in the layout of an export; a day of a cluster replaces an earlier one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kafkactl.dryrun.api.answering import Answered, Result
from kafkactl.dryrun.api.on_spark import Transfer
from kafkactl.dryrun.brokers.worst_loss import Search
from kafkactl.dryrun.detail_tables import BOOL, COLUMNS, FLOAT, INT, INTS, OUTCOMES, TEXT, TEXTS, Table
from kafkactl.dryrun.io.detail_files import WrittenTable, write_table
from kafkactl.dryrun.prediction import Verdict
from kafkactl.jobs.tasks import frame_of_tasks
from kafkactl.spark.columns import Column
from kafkactl.spark.export.hadoop import HadoopFolder
from kafkactl.spark.export.layout import day_of
from kafkactl.spark.export.local_files import export_to
from kafkactl.spark.export.on_spark import TableRows, kept_rows
from kafkactl.spark.logs import PlannedLog

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from kafkactl.dryrun.answer import ClusterDict

_FORM: Final = "parquet"
_MODE: Final = "append"
_TYPES: Final = {
    TEXT: "string",
    INT: "bigint",
    BOOL: "boolean",
    FLOAT: "double",
    INTS: "array<int>",
    TEXTS: "array<string>",
    OUTCOMES: "array<struct<leader:int,isr:array<int>,elr:array<int>,last_known_elr:array<int>>>",
}
_ROWS: Final = TableRows(
    {table: tuple(Column(name, _TYPES[kind], "") for name, kind in columns) for table, columns in COLUMNS.items()},
    _FORM,
)


def write_here(folder: Path, tables: Iterable[Table | WrittenTable], source: ClusterDict, as_of_ms: int | None) -> None:
    """Write the tables about a cluster to a folder of this machine. Raises FailedError `tables-not-written`."""
    cluster, day = _cluster(source), day_of(as_of_ms)
    with export_to(folder, (), _FORM, _MODE) as export:
        for table in tables:
            with export.file(table.name, cluster, day) as sink:
                write_table(sink, table)


def write_by_worker(
    session: SparkSession,
    uri: str,
    tables: Iterable[Table | WrittenTable],
    source: ClusterDict,
    as_of_ms: int | None,
) -> None:
    """Write tables that this process has to a folder of any file system. Raises as `answers_with_tables`."""
    held = [table._replace(rows=list(table.rows)) for table in tables if isinstance(table, Table)]
    payload: Any = {"source": source}
    sent = Answered(payload, Verdict.OK, tables=held, as_of_ms=as_of_ms)

    def answered(transfer: Transfer) -> list[Result]:
        transfer.collected(frame_of_tasks(session, transfer.rows, [sent], schema=transfer.schema))
        return []

    answers_with_tables(session, uri, answered)


def answers_with_tables(session: SparkSession, uri: str, answered: Callable[[Transfer], list[Result]]) -> list[Result]:
    """Return the answers of tasks whose tables were written by workers to a folder of any file system.

    `answered` returns the answers, which come as it is given. Raises FailedError `tables-not-written`.
    """
    with kept_rows(session, HadoopFolder(session, uri), _ROWS) as kept:

        def collected(frame: DataFrame) -> Mapping[int, Result | Search]:
            return dict(kept.add(frame))

        results = answered(Transfer(_ROWS.ddl, DetailRows(), collected))
        kept.write(_MODE)
    return results


@dataclass(frozen=True, slots=True)
class DetailRows:
    """The rows of the tables of an answer, and the answer without them."""

    def __call__(self, number: int, result: Result | Search) -> Iterator[pa.RecordBatch]:
        """Return the rows about a cluster by its number."""
        if not isinstance(result, Answered):
            return _ROWS.of_cluster((number, result), "", None, (), False)
        tables = ((table.name, table.rows) for table in result.tables or () if isinstance(table, Table))
        about = number, result._replace(tables=None)
        cluster, day = _cluster(result.payload["source"]), day_of(result.as_of_ms)
        return _ROWS.of_cluster(about, cluster, day, tables, True)


def _cluster(source: ClusterDict) -> str:
    """Return the name of the cluster in a path."""
    return PlannedLog(source["paths"][0], (), name=source["cluster"], cluster_id=source["cluster_id"]).cluster
