"""The data source `kafka-metadata`: tables of logs in file systems that all workers have as folders.

    spark.dataSource.register(kafkactl.spark.KafkaMetadata)
    spark.read.format("kafka-metadata").option("table", "records").load("/logs/prod/__cluster_metadata-0")

Workers import kafkactl: it is installed there, or `kafkactl.spark.ship_code(session)` was called. The source takes over
no filters of Spark: in Spark 4.3 all scans of a DataFrame share one reader, and its filters stay for the next query.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Final

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from kafkactl.core.wording import did_you_mean
from kafkactl.spark.arrow import batches
from kafkactl.spark.columns import TABLES, Column, Columns, check_state_table, ddl
from kafkactl.spark.disk import logs_on_disk
from kafkactl.spark.frames import failures_of, limits_of, point_of
from kafkactl.spark.job import Build, Places
from kafkactl.spark.logs import PlannedLog, by_cluster, path_list
from kafkactl.spark.tables import Records, State

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

_OF_ALL: Final = ("table", "path", "paths", "cluster_of", "on_error")  # `load` passes a list of paths as `paths`
_OF_RECORDS: Final = ("types", "from_offset", "to_offset", "from_time", "to_time")
_OF_STATE: Final = ("at_offset", "at_time")


class KafkaMetadata(DataSource):  # type: ignore[misc]
    """Tables of metadata logs; options: `table` (`records` or one of the state), `cluster_of`, `on_error` (`rows`,
    `raise`); for records `types` (with commas), `from_offset`, `to_offset`, `from_time`, `to_time`; for a table of the
    state `at_offset` or `at_time`."""

    @classmethod
    def name(cls) -> str:
        """Return the name for `format`."""
        return "kafka-metadata"

    def schema(self) -> str:
        """Return the schema of the table. Raises as `reader`."""
        self.reader(None)  # with the errors of the options, before the first query
        return ddl(TABLES[self._table])

    def reader(self, schema: StructType | None) -> DataSourceReader:
        """Return the reader of the table, or of the columns in the caller's schema.

        Raises as `frames.records` and `frames.state`; ValueError for an option or a column of another table.
        """
        return _Reader(self._table, schema, self.options)

    @property
    def _table(self) -> str:
        table = str(self.options.get("table", "records"))
        if table != "records":
            check_state_table(table)
        return table


class _Unit(InputPartition):  # type: ignore[misc]
    """The logs of one task: a single log, or those of a cluster."""

    def __init__(self, logs: tuple[PlannedLog, ...]) -> None:
        super().__init__(logs)
        self.logs = logs


class _Reader(DataSourceReader):  # type: ignore[misc]
    def __init__(self, table: str, schema: StructType | None, options: Mapping[str, str]) -> None:
        self._table = table
        _check_names(table, options)
        self._columns, self._places = _chosen(table, schema)
        several = options.get("paths")
        self._paths = path_list(json.loads(several) if several else options.get("path", ""))
        self._cluster_of = options.get("cluster_of")
        self._build = _build(table, options)

    def partitions(self) -> Sequence[InputPartition]:
        """Return a task for each log, or for each cluster."""
        logs = logs_on_disk(self._paths, self._cluster_of)
        units = [(log,) for log in logs] if self._table == "records" else by_cluster(logs)
        return [_Unit(unit) for unit in units]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Return the rows of a task."""
        assert isinstance(partition, _Unit)
        with ExitStack() as stack:
            places = Places(stack)
            logs = [log for planned in partition.logs for log in places.on_disk(planned)]
            rows = self._build(logs)
            named = map(places.row, rows) if places.renamed else rows
            yield from batches(self._columns, (tuple(row[at] for at in self._places) for row in named))


def _chosen(table: str, schema: StructType | None) -> tuple[Columns, Sequence[int]]:
    """Return the columns that a schema names, and their places in a row of the table; without a schema all columns.

    Raises ValueError for a column that the table does not have, or has with another type.
    """
    columns = TABLES[table]
    if schema is None:
        return columns, range(len(columns))
    places = {column.name.lower(): at for at, column in enumerate(columns)}
    chosen: dict[int, Column] = {}
    for field in schema.fields:
        at = places.get(field.name.lower())
        if at is None:
            names = ", ".join(column.name for column in columns)
            raise ValueError(f"kafka-metadata: the table {table} has no column {field.name}; it has {names}")
        found = field.dataType.simpleString()
        if found != columns[at].type:
            raise ValueError(f"kafka-metadata: the column {field.name} of {table} is {columns[at].type}, not {found}")
        if any(f'"{rule}":false' in field.json() for rule in ("nullable", "containsNull")):
            raise ValueError(f"kafka-metadata: the column {field.name} of {table} can be null: omit NOT NULL")
        chosen[at] = columns[at]._replace(name=field.name)
    if not chosen:  # rows without a value would be no rows
        raise ValueError(f"kafka-metadata: the schema names no column of the table {table}")
    return tuple(chosen.values()), tuple(chosen)


def _check_names(table: str, options: Mapping[str, str]) -> None:
    """Raise ValueError for an option that the table does not have: a misspelled limit is none, and gives other rows."""
    known = (*_OF_ALL, *(_OF_RECORDS if table == "records" else _OF_STATE))
    other = next((name for name in options if name.lower() not in known), None)
    if other is not None:
        raise ValueError(f"kafka-metadata: the table {table} has no option {other}.{did_you_mean(other, known)}")


def _build(table: str, options: Mapping[str, str]) -> Build:
    failures = failures_of(table, options.get("on_error", "rows"))
    if table != "records":
        return State(table, *point_of(_number(options, "at_offset"), options.get("at_time")), failures)
    types = [name.strip() for name in options.get("types", "").split(",") if name.strip()]
    offsets = _number(options, "from_offset"), _number(options, "to_offset")
    wanted, times = limits_of(types, *offsets, options.get("from_time"), options.get("to_time"))
    return Records(wanted, True, failures, times)


def _number(options: Mapping[str, str], name: str) -> int | None:
    text = options.get(name)
    try:
        return None if text is None else int(text)
    except ValueError:
        raise ValueError(f"kafka-metadata: {name} is {text!r}; expected a whole number") from None
