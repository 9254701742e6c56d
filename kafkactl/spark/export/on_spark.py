"""An export by Spark: each log is folded one time, and Spark writes the files of all tables.

The rows of all tables pass through one job whose result stays on the executors' disks. From there Spark writes table
after table to a staging folder, and the driver renames the folders of tables or days. Only one row a cluster comes to
the driver: what was read, and the number of rows of each table.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafkactl.core.errors import FailedError, RefusedError
from kafkactl.jobs.tasks import reported
from kafkactl.spark.arrow import arrow_schema, batches
from kafkactl.spark.columns import Column, Columns, ddl
from kafkactl.spark.export.answer import ExportedCluster, ExportedTable, LogExport, check_any_read, log_export
from kafkactl.spark.export.cluster_tables import ClusterTables, ExportPlan, Logs, Point, exported_columns
from kafkactl.spark.export.hadoop import OLD_DAYS, OLD_TABLES, HadoopFolder, staging_in
from kafkactl.spark.export.layout import SUCCESS, check_table, day_folder
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

    cluster: ExportedCluster
    rows: dict[str, int]
    day: str | None


@dataclass(frozen=True, slots=True)
class ExportJob:
    """The rows of all tables of each cluster, then a row about the cluster."""

    names: tuple[str, ...]
    form: str
    point: Point
    units: Units

    def __call__(self, rows: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Return the rows of a task's clusters."""
        return self.units.each(rows, self._batches)

    def _batches(self, logs: Logs, places: Places) -> Iterator[pa.RecordBatch]:
        tables = ClusterTables(logs, self.point, places)
        cluster = tables.cluster
        counts = dict.fromkeys(self.names, 0)
        for name in self.names if tables.is_readable else ():
            for batch in self._of_table(name, tables.rows(name)):
                counts[name] += batch.num_rows
                yield self._wide((name, cluster.name, tables.day, None), batch)
        day = day_folder(cluster.name, tables.day) if tables.is_readable else None
        summary = pickle.dumps(Summary(cluster, counts, day), protocol=pickle.HIGHEST_PROTOCOL)
        yield self._wide((None, cluster.name, tables.day, summary), None)

    def _of_table(self, name: str, rows: Iterator[Row]) -> Iterator[pa.RecordBatch]:
        columns = exported_columns(name)
        if self.form == "parquet":
            return batches(columns, rows)
        texts = json_lines if self.form == "jsonl" else csv_cells
        return batches((_TEXTS[self.form],), ((text,) for text in texts(columns, rows)))

    def _wide(self, head: tuple[str | bytes | None, ...], batch: pa.RecordBatch | None) -> pa.RecordBatch:
        """Return the rows of one table, or a row about a cluster, as rows of all tables."""
        import pyarrow as pa

        count = 1 if batch is None else batch.num_rows
        fields = list(self.schema)
        names = [pa.array([value] * count, type=field.type) for value, field in zip(head, fields, strict=False)]
        held = []
        for field in fields[len(_HEAD) :]:
            if batch is None or (self.form == "parquet" and field.name != head[0]):
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
        structs = [(name, pa.struct(list(arrow_schema(exported_columns(name))))) for name in self.names]
        return pa.schema([*head, *map(pa.field, *zip(*structs, strict=True))])

    @property
    def ddl(self) -> str:
        """Return the schema in Spark's DDL, with the comments of the columns."""
        if self.form != "parquet":
            return ddl((*_HEAD, _TEXTS[self.form]))
        structs = (f"`{name}` struct<{_fields(exported_columns(name))}>" for name in self.names)
        return ", ".join((ddl(_HEAD), *structs))


def _fields(columns: Columns) -> str:
    """Return columns as the fields of a struct.

    >>> _fields((Column("name", "string", "Name of the topic"),))
    "`name`: string COMMENT 'Name of the topic'"
    """
    return ", ".join(ddl((column,)).replace("` ", "`: ", 1) for column in columns)


def export_by_spark(session: SparkSession, export: ExportPlan) -> LogExport:
    """Write tables of metadata logs with Spark. Raises as `export_tables`, and what Spark raises."""
    from pyspark import StorageLevel

    folder = HadoopFolder(session, export.out)
    for name in export.names:
        inside = folder.names(name) if folder.has(name) else None
        parts = (file.name for file in folder.files(name) if not file.name.endswith(SUCCESS))
        check_table(export.out, name, inside, parts, form=export.form, mode=export.mode)
    groups = planned_clusters(session, export.paths, export.cluster_of)
    check_names(groups)
    job = ExportJob(tuple(export.names), export.form, export.point, Units(()))
    frame = frame_of(session, groups, lambda units: ExportJob(job.names, job.form, job.point, units), job.ddl)
    is_new = not folder.has()
    with ExitStack() as stack:
        kept = frame.persist(StorageLevel.DISK_ONLY)
        stack.callback(kept.unpersist)
        stack.callback(_remove_empty, folder, is_new)
        staging = stack.enter_context(staging_in(folder))
        stack.enter_context(reported(session.sparkContext))
        rows = kept.where("name is null").select("summary").collect()
        found: list[Summary] = [pickle.loads(row["summary"]) for row in rows]
        clusters = tuple(each.cluster for each in found)
        check_any_read(clusters)
        days = [each.day for each in found if each.day is not None]
        tables = []
        for name in export.names:
            counts = {each.day: each.rows[name] for each in found if each.day is not None and each.rows[name]}
            place = f"{staging}/{name}"
            _write(kept, name, export.form, f"{folder.uri}/{place}", None if counts else days[0])
            files, size = _checked(folder, place, export.form, set(counts))
            path = f"{export.out.rstrip('/')}/{name}"
            tables.append(ExportedTable(name=name, path=path, rows=sum(counts.values()), files=files, bytes=size))
        for name in export.names:
            put_in_place(folder, staging, name, export.mode, days)
    return log_export(tables, clusters, "spark")


def _remove_empty(folder: HadoopFolder, is_new: bool) -> None:
    if is_new and not folder.names():
        folder.delete()


def _write(kept: DataFrame, name: str, form: str, target: str, empty_day: str | None) -> None:
    """Write the rows of one table in the folders of clusters and days.

    `empty_day` is the folder for a file without rows, if the table has none: readers take the schema from it.
    """
    from pyspark.sql import functions as sql

    columns = exported_columns(name)
    if form == "parquet":
        held = [sql.col(f"{name}.{column.name}").alias(column.name) for column in columns]
    elif form == "csv":
        held = [sql.col("cells")[at].alias(column.name) for at, column in enumerate(columns)]
    else:
        held = [sql.col("line")]
    rows = kept.where(sql.col("name") == name)
    if empty_day is None:
        whole = rows.select(*held, "cluster", sql.col("day").alias("date"))
        writer = whole.write.partitionBy("cluster", "date").option("maxRecordsPerFile", _MOST_ROWS)
    else:
        writer = rows.select(*held).coalesce(1).write
        target = f"{target}/{empty_day}"
    if form == "parquet":
        writer.parquet(target)
    elif form == "jsonl":
        writer.text(target)
    else:
        options = {"header": True, "escape": '"', "nullValue": "", "emptyValue": ""}
        spaces = {"ignoreLeadingWhiteSpace": False, "ignoreTrailingWhiteSpace": False}
        writer.options(**options, **spaces).csv(target)


def _checked(folder: HadoopFolder, place: str, form: str, expected: set[str]) -> tuple[int, int]:
    """Give the files of a staged table their suffix; return their number and bytes.

    Raises FailedError `tables-not-written` if a day with rows has no file.
    """
    written: set[str] = set()
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
            f"the workers wrote {missing[0]} of {place.rpartition('/')[2]}, and this machine has no such folder in"
            f" {folder.uri}",
            id="tables-not-written",
            next_step="Name a folder that this machine and all workers share, or one in HDFS or an object store.",
        )
    return count, size


def put_in_place(folder: HadoopFolder, staging: str, name: str, mode: str, days: Sequence[str]) -> None:
    """Move a staged table to its place, or its days to theirs; `_SUCCESS` comes after all others."""
    if mode == "overwrite" or not folder.has(name):
        folder.exchange(f"{staging}/{name}", name, f"{staging}/{OLD_TABLES}")
    elif mode == "error":
        raise RefusedError(f"{folder.uri} contains the table {name} already", id="table-exists")
    else:
        folder.delete(f"{name}/{SUCCESS}")
        for day in dict.fromkeys(days):
            if folder.has(f"{staging}/{name}/{day}"):
                folder.exchange(f"{staging}/{name}/{day}", f"{name}/{day}", f"{staging}/{OLD_DAYS}")
            else:  # without rows now: those of an earlier export go
                folder.delete(f"{name}/{day}")
    folder.touch(f"{name}/{SUCCESS}")
