"""The Spark source `kraftlog`: stretches of metadata logs as rows of plain numbers, for a hash aggregate to merge.

A row is the patch of a partition within a stretch. Other rows pass through the same aggregate, with their packed
content as their key. What workers do is in `read`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from kafkactl.dryrun.engine.patches import KEY, MERGED_BY, PATCH_NUMBERS, Patches, said_by
from kafkactl.dryrun.engine.spark.pack import PATCH
from kafkactl.dryrun.engine.spark.read import Job, Stretch, taken

GROUP: Final = ("log", "kind", "key", "era")
SCHEMA: Final = pa.schema(
    [
        ("log", pa.int32()), ("kind", pa.int32()), ("key", pa.binary()), ("era", pa.int32()),
        *((name, pa.int64()) for name in PATCH_NUMBERS),
    ]
)  # fmt: skip
_SQL_TYPES: Final = {pa.int32(): "int", pa.int64(): "long", pa.binary(): "binary"}
_ROWS: Final = 50_000  # of an Arrow batch


class KraftLog(DataSource):  # type: ignore[misc]
    """`spark.read.format("kraftlog")` with the option `job` (`Job.to_json`)."""

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return "kraftlog"

    def schema(self) -> str:
        """The columns; see SCHEMA."""
        return ", ".join(f"{item.name} {_SQL_TYPES[item.type]}" for item in SCHEMA)

    def reader(self, schema: object) -> KraftLogReader:
        """What plans the splits and reads them."""
        return KraftLogReader(Job.from_json(self.options["job"]))


class _Split(InputPartition):  # type: ignore[misc]
    def __init__(self, stretches: tuple[Stretch, ...]) -> None:
        super().__init__(stretches)
        self.stretches = stretches


class KraftLogReader(DataSourceReader):  # type: ignore[misc]
    """One split for each task of a job."""

    def __init__(self, job: Job) -> None:
        self._job = job

    def partitions(self) -> Sequence[InputPartition]:
        """The splits, in the driver."""
        return [_Split(task) for task in self._job.tasks()]

    def read(self, partition: _Split) -> Iterator[pa.RecordBatch]:
        """The rows of a split, in a worker."""
        for stretch in partition.stretches:
            found = taken(self._job, stretch)
            yield _contents(stretch, found.rows)
            for patches in found.patches:
                rows = _patches(stretch, patches)
                yield from (rows.slice(at, _ROWS) for at in range(0, rows.num_rows, _ROWS))


def merged(spark: Any, job: Job) -> pa.Table:
    """All rows of a job from a Spark session, patches of one partition and era merged."""
    from pyspark.sql import functions as sql

    spark.dataSource.register(KraftLog)
    frame = spark.read.format(KraftLog.name()).option("job", job.to_json()).load()
    merging = (getattr(sql, MERGED_BY.get(name, "max"))(name).alias(name) for name in PATCH_NUMBERS)
    return frame.groupBy(*GROUP).agg(*merging).toArrow()


def _contents(stretch: Stretch, rows: Iterable[tuple[int, bytes]]) -> pa.RecordBatch:
    kinds, keys = zip(*rows, strict=True) if rows else ((), ())
    count = len(keys)
    return pa.record_batch(
        [
            pa.array([stretch.log] * count, pa.int32()), pa.array(kinds, pa.int32()), pa.array(keys, pa.binary()),
            pa.array([0] * count, pa.int32()), *(pa.nulls(count, pa.int64()) for _ in PATCH_NUMBERS),
        ],
        schema=SCHEMA,
    )  # fmt: skip


def _patches(stretch: Stretch, patches: Patches) -> pa.RecordBatch:
    count, numbers = len(patches.keys), said_by(stretch.number, patches.numbers)
    raw = patches.keys.tobytes()
    ends = np.arange(0, KEY.itemsize * (count + 1), KEY.itemsize, dtype=np.int32)
    key = pa.Array.from_buffers(pa.binary(), count, [None, pa.py_buffer(ends), pa.py_buffer(raw)])
    return pa.record_batch(
        [
            pa.array(np.full(count, stretch.log, np.int32)), pa.array(np.full(count, PATCH, np.int32)), key,
            pa.array(np.full(count, patches.era, np.int32)),
            *(pa.array(numbers[name], pa.int64()) for name in PATCH_NUMBERS),
        ],
        schema=SCHEMA,
    )  # fmt: skip
