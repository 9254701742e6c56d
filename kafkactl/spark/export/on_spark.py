"""An export by Spark: each log is folded one time, and Spark writes the files of all tables.

The rows of all tables pass through one job whose result stays on the executors' disks. From there Spark writes table
after table to a staging folder, and the driver renames the folders of tables or days. Only one row a cluster comes to
the driver: what was read, and the number of rows of each table.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafkactl.core.errors import FailedError
from kafkactl.jobs.tasks import reported
from kafkactl.spark.arrow import arrow_schema, batches
from kafkactl.spark.columns import Column, Columns, ddl
from kafkactl.spark.export.answer import ExportedCluster, ExportedTable, LogExport, check_any_read, log_export
from kafkactl.spark.export.cluster_tables import ClusterTables, ExportPlan, Logs, Point, exported_columns
from kafkactl.spark.export.hadoop import OLD_DAYS, OLD_TABLES, HadoopFolder, staging_in
from kafkactl.spark.export.layout import SUCCESS, EarlierTable, check_table, day_folder
from kafkactl.spark.export.texts import csv_cells, json_lines
from kafkactl.spark.frames import frame_of
from kafkactl.spark.job import Places, Units
from kafkactl.spark.listing import planned_clusters
from kafkactl.spark.logs import check_names

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

Row = tuple[Any, ...]
_HEAD: Final = (*(Column(name, "string", "") for name in ("name", "cluster", "day")), Column("summary", "binary", ""))
_TEXTS: Final = {"jsonl": Column("line", "string", ""), "csv": Column("cells", "array<string>", "")}
_MOST_ROWS: Final = 5_000_000
"""Most rows of a file; a larger table of a cluster's day has several."""


class Summary(NamedTuple):
    """The last row about a cluster: what was read, the rows of each table, and the folder of its day if it has one."""

    about: Any
    rows: dict[str, int]
    day: str | None


@dataclass(frozen=True, slots=True)
class ExportJob:
    """The rows of all tables of each cluster, then a row about the cluster."""

    names: tuple[str, ...]
    rows: TableRows
    point: Point
    units: Units

    def __call__(self, rows: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Return the rows of a task's clusters."""
        return self.units.each(rows, self._batches)

    def _batches(self, logs: Logs, places: Places) -> Iterator[pa.RecordBatch]:
        tables = ClusterTables(logs, self.point, places)
        wanted = ((name, tables.rows(name)) for name in (self.names if tables.is_readable else ()))
        return self.rows.of_cluster(tables.cluster, tables.cluster.name, tables.day, wanted, tables.is_readable)


@dataclass(frozen=True, slots=True)
class TableRows:
    """Rows of several tables as rows of one frame: a struct for each kind of table, or the text of a row.

    `columns` are those of each kind, which is the last part of a table's name.
    """

    columns: Mapping[str, Columns]
    form: str

    def of_cluster(
        self, about: Any, cluster: str, day: str | None, tables: Iterable[tuple[str, Iterable[Row]]], has_day: bool
    ) -> Iterator[pa.RecordBatch]:
        """Return the rows of the tables, then the summary of the cluster."""
        counts: dict[str, int] = {}
        for name, rows in tables:
            counts[name] = 0
            for batch in self._of_table(kind_of(name), rows):
                counts[name] += batch.num_rows
                yield self._wide((name, cluster, day, None), batch)
        summary = Summary(about, counts, day_folder(cluster, day) if has_day else None)
        yield self._wide((None, cluster, day, pickle.dumps(summary, protocol=pickle.HIGHEST_PROTOCOL)), None)

    def _of_table(self, kind: str, rows: Iterable[Row]) -> Iterator[pa.RecordBatch]:
        columns = self.columns[kind]
        if self.form == "parquet":
            return batches(columns, rows)
        texts = json_lines if self.form == "jsonl" else csv_cells
        return batches((_TEXTS[self.form],), ((text,) for text in texts(columns, rows)))

    def _wide(self, head: tuple[str | bytes | None, ...], batch: pa.RecordBatch | None) -> pa.RecordBatch:
        """Return the rows of one table, or a row about a cluster, as rows of all tables."""
        import pyarrow as pa

        count = 1 if batch is None else batch.num_rows
        kind = kind_of(head[0]) if isinstance(head[0], str) else None
        fields = list(self.schema)
        names = [pa.array([value] * count, type=field.type) for value, field in zip(head, fields, strict=False)]
        held = []
        for field in fields[len(_HEAD) :]:
            if batch is None or (self.form == "parquet" and field.name != kind):
                held.append(pa.nulls(count, field.type))
            elif self.form == "parquet":
                held.append(pa.StructArray.from_arrays(batch.columns, fields=list(batch.schema)))
            else:
                held.append(batch.column(0))
        return pa.RecordBatch.from_arrays([*names, *held], schema=self.schema)

    @property
    def schema(self) -> pa.Schema:
        """Return the schema of the rows of all tables: a struct for each table, or the text of a row."""
        import pyarrow as pa

        head = list(arrow_schema(_HEAD))
        if self.form != "parquet":
            return pa.schema([*head, *arrow_schema((_TEXTS[self.form],))])
        structs = [(kind, pa.struct(list(arrow_schema(columns)))) for kind, columns in self.columns.items()]
        return pa.schema([*head, *map(pa.field, *zip(*structs, strict=True))])

    @property
    def ddl(self) -> str:
        """Return the schema in Spark's DDL, with the comments of the columns."""
        if self.form != "parquet":
            return ddl((*_HEAD, _TEXTS[self.form]))
        structs = (f"`{kind}` struct<{_fields(columns)}>" for kind, columns in self.columns.items())
        return ", ".join((ddl(_HEAD), *structs))


def kind_of(table: str) -> str:
    """Return the kind of a table, which is the last part of its name.

    >>> kind_of("topics"), kind_of("1-replay/topics")
    ('topics', 'topics')
    """
    return table.rpartition("/")[2]


def _fields(columns: Columns) -> str:
    """Return columns as the fields of a struct.

    >>> _fields((Column("name", "string", "Name of the topic"),))
    "`name`: string COMMENT 'Name of the topic'"
    """
    return ", ".join(ddl((column,)).replace("` ", "`: ", 1) for column in columns)


def export_by_spark(session: SparkSession, export: ExportPlan) -> LogExport:
    """Write tables of metadata logs with Spark. Raises as `export_tables`, and what Spark raises."""
    folder = HadoopFolder(session, export.out)
    for name in export.names:
        check_target(folder, name, (), form=export.form, mode=export.mode)
    groups = planned_clusters(session, export.paths, export.cluster_of)
    check_names(groups)
    rows = TableRows({name: exported_columns(name) for name in export.names}, export.form)
    job = partial(ExportJob, export.names, rows, export.point)
    with kept_rows(session, folder, rows) as kept:
        clusters: tuple[ExportedCluster, ...] = tuple(kept.add(frame_of(session, groups, job, rows.ddl)))
        check_any_read(clusters)
        written = kept.write(export.mode)
    out = export.out.rstrip("/")
    tables = (ExportedTable(name=name, path=f"{out}/{name}", **written[name]._asdict()) for name in export.names)
    return log_export(tables, clusters, "spark")


class Written(NamedTuple):
    """A table that was written."""

    rows: int
    files: int
    bytes: int


class KeptRows:
    """Rows of tasks on the executors' disks, which Spark writes to the tables of a folder."""

    def __init__(self, session: SparkSession, folder: HadoopFolder, staging: str, rows: TableRows) -> None:
        self._context = session.sparkContext
        self._folder = folder
        self._staging = staging
        self._rows = rows
        self._summaries: list[Summary] = []
        self.frames: list[DataFrame] = []

    def add(self, frame: DataFrame) -> list[Any]:
        """Do the work of a frame of `TableRows`, keep its rows, and return what it read of each cluster."""
        from pyspark import StorageLevel

        self.frames.append(frame.persist(StorageLevel.DISK_ONLY))
        with reported(self._context):
            rows = frame.where("name is null").select("summary").collect()
        found: list[Summary] = [pickle.loads(row["summary"]) for row in rows]
        self._summaries += found
        return [summary.about for summary in found]

    def write(self, mode: str) -> dict[str, Written]:
        """Write all tables to the staging folder, then move them to their places."""
        folder, form = self._folder, self._rows.form
        days: dict[str, dict[str, int]] = {}
        for summary in self._summaries:
            for name, count in summary.rows.items():
                days.setdefault(name, {})[str(summary.day)] = count
        tables = {}
        kept = self.frames[0]
        for frame in self.frames[1:]:
            kept = kept.unionByName(frame)
        with reported(self._context):
            for name, counts in days.items():
                place = f"{self._staging}/{name}"
                filled = {day for day, count in counts.items() if count}
                _write(kept, name, self._rows, f"{folder.uri}/{place}", None if filled else next(iter(counts)))
                tables[name] = Written(sum(counts.values()), *_checked(folder, self._staging, name, form, filled))
        for name, counts in days.items():
            check_target(folder, name, counts, form=form, mode=mode)
        for name, counts in days.items():
            put_in_place(folder, self._staging, name, mode, list(counts))
        return tables


@contextmanager
def kept_rows(session: SparkSession, folder: HadoopFolder, rows: TableRows) -> Iterator[KeptRows]:
    """Return rows to keep, with a staging folder, until the body ends. A folder that was made and stays empty goes."""
    is_new = not folder.has()
    try:
        with staging_in(folder) as staging:
            kept = KeptRows(session, folder, staging, rows)
            try:
                yield kept
            finally:
                for frame in kept.frames:
                    frame.unpersist()
    finally:
        if is_new and not folder.names():
            folder.delete()


def _write(kept: DataFrame, name: str, rows: TableRows, target: str, empty_day: str | None) -> None:
    """Write the rows of one table in the folders of clusters and days.

    `empty_day` is the folder for a file without rows, if the table has none: readers take the schema from it.
    """
    from pyspark.sql import functions as sql

    form, columns = rows.form, rows.columns[kind_of(name)]
    if form == "parquet":
        held = [sql.col(f"{kind_of(name)}.{column.name}").alias(column.name) for column in columns]
    elif form == "csv":
        held = [sql.col("cells")[at].alias(column.name) for at, column in enumerate(columns)]
    else:
        held = [sql.col("line")]
    wanted = kept.where(sql.col("name") == name)
    if empty_day is None:
        whole = wanted.select(*held, "cluster", sql.col("day").alias("date"))
        writer = whole.write.partitionBy("cluster", "date").option("maxRecordsPerFile", _MOST_ROWS)
    else:
        writer = wanted.select(*held).coalesce(1).write
        target = f"{target}/{empty_day}"
    if form == "parquet":
        writer.parquet(target)
    elif form == "jsonl":
        writer.text(target)
    else:
        options = {"header": True, "escape": '"', "nullValue": "", "emptyValue": ""}
        spaces = {"ignoreLeadingWhiteSpace": False, "ignoreTrailingWhiteSpace": False}
        writer.options(**options, **spaces).csv(target)


def _checked(folder: HadoopFolder, staging: str, table: str, form: str, expected: set[str]) -> tuple[int, int]:
    """Give the files of a staged table their suffix; return their number and bytes.

    Raises FailedError `tables-not-written` if a day with rows has no file.
    """
    written: set[str] = set()
    place = f"{staging}/{table}"
    count = size = 0
    for file in list(folder.files(place)):
        day, _, name = file.name.rpartition("/")
        if name == SUCCESS:
            folder.delete(f"{place}/{file.name}")
            continue
        written.add(day)
        count, size = count + 1, size + file.bytes
        if form == "jsonl":
            folder.move(f"{place}/{file.name}", f"{place}/{file.name.removesuffix('.txt')}.jsonl")
    missing = sorted(expected - written)
    if missing:
        raise FailedError(
            f"the workers wrote {missing[0]} of {table}, and this machine has no such folder in {folder.uri}",
            id="tables-not-written",
            next_step="Name a folder that this machine and all workers share, or one in HDFS or an object store.",
        )
    return count, size


def check_target(folder: HadoopFolder, name: str, days: Iterable[str], *, form: str, mode: str) -> None:
    """Check the place of a table of which `days` are written. Raises RefusedError `table-exists`."""
    earlier = None
    if folder.has(name):
        replaced = [""] if mode == "overwrite" else [f"{day}/" for day in days if folder.has(f"{name}/{day}")]
        removed = (f"{day}{file.name}" for day in replaced for file in folder.files(f"{name}/{day}"))
        earlier = EarlierTable(folder.names(name), (file.name for file in folder.files(name)), removed)
    check_table(folder.uri, name, earlier, form=form, mode=mode)


def put_in_place(folder: HadoopFolder, staging: str, name: str, mode: str, days: Sequence[str]) -> None:
    """Move a staged table to its place, or its days to theirs; `_SUCCESS` comes after all others."""
    if mode == "overwrite" or not folder.has(name):
        folder.exchange(f"{staging}/{name}", name, f"{staging}/{OLD_TABLES}")
    else:
        folder.delete(f"{name}/{SUCCESS}")
        for day in dict.fromkeys(days):
            if folder.has(f"{staging}/{name}/{day}"):
                folder.exchange(f"{staging}/{name}/{day}", f"{name}/{day}", f"{staging}/{OLD_DAYS}")
            else:  # without rows now: those of an earlier export go
                folder.delete(f"{name}/{day}")
    folder.touch(f"{name}/{SUCCESS}")
