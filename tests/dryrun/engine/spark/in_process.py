"""The Spark engine without Spark: its job runs in this process, and pyarrow merges what it gives."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from kafkactl.dryrun.engine.spark import engine as spark_engine
from kafkactl.dryrun.engine.spark import found as spark_found
from kafkactl.dryrun.engine.spark import read as spark_read
from kafkactl.dryrun.engine.spark import source as spark


class _Rows:
    """The one chain of calls that the engine makes of an RDD."""

    def __init__(self, tasks: list[Any]) -> None:
        self._found = iter(tasks)

    def mapPartitions(self, work: Any) -> _Rows:
        return _Rows(work(self._found))

    def collect(self) -> list[Any]:
        return list(self._found)


CONTEXT: Any = SimpleNamespace(defaultParallelism=2, master="local[2]", parallelize=lambda tasks, count: _Rows(tasks))


@contextmanager
def jobs_in_process(*, piece_bytes: int | None = None) -> Iterator[list[spark_read.Job]]:
    """`spark_engine.load_logs` can be called with CONTEXT; gives the jobs that it has run."""
    jobs: list[spark_read.Job] = []
    packed = spark_engine._packed

    def kept(context: Any, job: spark_read.Job) -> dict[int, spark_found.Found]:
        jobs.append(job)
        with TemporaryDirectory() as folder:
            return packed(context, replace(job, results=folder))

    def merged(context: Any, job: spark_read.Job, logs: list[int]) -> dict[int, spark_found.Found]:
        jobs.append(job)
        reader = spark.KraftLogReader(spark_read.Job.from_json(job.to_json()))
        batches = [batch for split in reader.partitions() for batch in reader.read(split)]  # type: ignore[arg-type]
        table = pa.Table.from_batches(batches, schema=spark.SCHEMA)
        wanted = [(name, spark.MERGED_BY.get(name, "max")) for name in spark.PATCH_NUMBERS]
        table = table.group_by(list(spark.GROUP)).aggregate(wanted)
        table = table.select([*spark.GROUP, *(f"{name}_{kind}" for name, kind in wanted)])
        table = table.rename_columns([*spark.GROUP, *spark.PATCH_NUMBERS])
        return {log: spark_found.found_in(table, log) for log in logs}

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(spark_engine, "_packed", kept)
        patched.setattr(spark_engine, "_merged", merged)
        if piece_bytes is not None:
            patched.setattr(spark_read, "_PIECE_BYTES", piece_bytes)
        yield jobs
