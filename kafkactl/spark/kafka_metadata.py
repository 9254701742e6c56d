"""The data source `kafka-metadata`: tables of logs in file systems that all workers have as folders.

    spark.dataSource.register(kafkactl.spark.KafkaMetadata)
    spark.read.format("kafka-metadata").option("table", "records").load("/logs/prod/__cluster_metadata-0")

Workers import kafkactl: it is installed there, or `kafkactl.spark.ship_code(session)` was called. With the option
`pushdown` filters on type, offset and time of records are carried out while a log is read, and the node Filter of
EXPLAIN has them no longer; Spark's setting `spark.sql.python.filterPushdown.enabled` has to be true for it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    InputPartition,
    LessThan,
    LessThanOrEqual,
)

from kafkactl.core.frozen import changed
from kafkactl.metadata.dump.lines import Wanted
from kafkactl.spark.arrow import batches, micros
from kafkactl.spark.columns import TABLES, check_state_table, ddl
from kafkactl.spark.disk import logs_on_disk
from kafkactl.spark.frames import failures_of, point_of
from kafkactl.spark.job import Build, Places
from kafkactl.spark.logs import PlannedLog, by_cluster, path_list
from kafkactl.spark.record_times import ALL_TIMES, Times
from kafkactl.spark.tables import Records, State

if TYPE_CHECKING:
    import pyarrow as pa

# The first and the last number that a condition leaves, as distances from its value.
_BOUNDS: Final[dict[type, tuple[int | None, int | None]]] = {
    EqualTo: (0, 0),
    GreaterThan: (1, None),
    GreaterThanOrEqual: (0, None),
    LessThan: (None, -1),
    LessThanOrEqual: (None, 0),
}
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECONDS: Final = 1000  # of a millisecond, the unit of records
_NAMES: Final = [column.name for column in TABLES["records"]]
_TYPE_AT: Final = _NAMES.index("type")
_OFFSET_AT: Final = _NAMES.index("offset")
_TIME_AT: Final = _NAMES.index("time")


class KafkaMetadata(DataSource):  # type: ignore[misc]
    """Tables of metadata logs; options: `table` (`records` or one of the state), `at_offset` or `at_time` of a table of
    the state, `cluster_of`, `on_error` (`rows`, `raise`), `pushdown` (`true`)."""

    @classmethod
    def name(cls) -> str:
        """Return the name for `format`."""
        return "kafka-metadata"

    def schema(self) -> str:
        """Return the schema of the table. Raises as `frames.state`; ValueError for a point of the records."""
        self.reader(None)  # with the errors of the options, before the first query
        return ddl(TABLES[self._table])

    def reader(self, schema: Any) -> DataSourceReader:
        """Return the reader of the table. Raises as `frames.state`."""
        reader = _FilteringReader if self.options.get("pushdown", "false").lower() == "true" else _Reader
        return reader(self._table, dict(self.options))

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
    def __init__(self, table: str, options: dict[str, str]) -> None:
        self._table = table
        several = options.get("paths")  # as `load` passes a list
        self._paths = path_list(json.loads(several) if several else options.get("path", ""))
        self._cluster_of = options.get("cluster_of")
        at = options.get("at_offset")
        self._point = point_of(None if at is None else int(at), options.get("at_time"))
        if table == "records" and self._point != (None, None):
            raise ValueError("kafka-metadata: at_offset and at_time are of tables of the state")
        self._failures = failures_of(table, options.get("on_error", "rows"))
        self._wanted = Wanted()
        self._times = ALL_TIMES

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
            rows: Iterator[tuple[Any, ...]] = filter(self._is_wanted, self._build()(logs))
            yield from batches(TABLES[self._table], map(places.row, rows) if places.renamed else rows)

    def _is_wanted(self, row: tuple[Any, ...]) -> bool:
        """Return False for rows that a filter excludes: Spark does not apply the filters that `pushFilters` took
        over."""
        wanted = self._wanted
        if wanted == Wanted() and self._times == ALL_TIMES:
            return True
        type, offset, time_ms = row[_TYPE_AT], row[_OFFSET_AT], row[_TIME_AT]
        if self._times != ALL_TIMES and (micros(time_ms) is None or not self._times.has(time_ms)):
            return False
        has_type = wanted.types is None or type in wanted.types
        is_limited = wanted.from_offset is not None or wanted.to_offset is not None
        return has_type and (not is_limited or (offset is not None and wanted.offset(offset)))

    def _build(self) -> Build:
        if self._table == "records":
            return Records(self._wanted, True, self._failures, self._times)
        return State(self._table, *self._point, self._failures)


class _FilteringReader(_Reader):
    """A reader that takes over filters. Spark refuses one unless its setting for the pushdown of Python is on."""

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802  # as Spark calls it
        """Take over filters on types, offsets and times of records; return the other filters, which Spark applies."""
        for condition in filters:
            if self._table != "records" or not self._takes(condition):
                yield condition

    def _takes(self, condition: Filter) -> bool:
        if isinstance(condition, EqualTo | In) and condition.attribute == ("type",):
            values = (condition.value,) if isinstance(condition, EqualTo) else condition.value
            known = self._wanted.types
            types = frozenset(values) if known is None else known & frozenset(values)
            self._wanted = changed(self._wanted, types=types)
            return True
        bounds = _BOUNDS.get(type(condition))
        if bounds is None or condition.attribute not in (("offset",), ("time",)):
            return False
        is_offset = condition.attribute == ("offset",)
        value = condition.value if is_offset else _microseconds(condition.value)
        first, last = (None if distance is None else value + distance for distance in bounds)
        if is_offset:
            low, high = _limited((self._wanted.from_offset, self._wanted.to_offset), first, last)
            self._wanted = changed(self._wanted, from_offset=low, to_offset=high)
        else:
            first_ms = None if first is None else -(-first // _MICROSECONDS)
            last_ms = None if last is None else last // _MICROSECONDS
            self._times = Times(*_limited(self._times, first_ms, last_ms))
        return True


def _limited(
    limits: tuple[int | None, int | None], first: int | None, last: int | None
) -> tuple[int | None, int | None]:
    """Return the limits that are also within others."""
    low = max((bound for bound in (limits[0], first) if bound is not None), default=None)
    high = min((bound for bound in (limits[1], last) if bound is not None), default=None)
    return low, high


def _microseconds(time: datetime) -> int:
    return (time - _EPOCH) // timedelta(microseconds=1)
