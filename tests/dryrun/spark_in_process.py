"""The Spark engine without Spark: its job runs in this process, and pyarrow merges what it gives."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from kafkactl.dryrun import spark, spark_engine

SESSION: Any = SimpleNamespace(
    sparkContext=SimpleNamespace(defaultParallelism=2), dataSource=SimpleNamespace(register=lambda source: None)
)


@contextmanager
def jobs_in_process(*, piece_bytes: int | None = None) -> Iterator[list[spark.Job]]:
    """`spark_engine.load_logs` can be called with SESSION; gives the jobs that it has run."""
    jobs: list[spark.Job] = []

    def merged(session: Any, job: spark.Job) -> pa.Table:
        jobs.append(job)
        reader = spark.KraftLogReader(spark.Job.from_json(job.to_json()))
        batches = [batch for split in reader.partitions() for batch in reader.read(split)]  # type: ignore[arg-type]
        table = pa.Table.from_batches(batches, schema=spark.SCHEMA)
        if job.is_packed:
            return table
        wanted = [(name, spark.MERGED_BY.get(name, "max")) for name in spark.PATCH_NUMBERS]
        table = table.group_by(list(spark.GROUP)).aggregate(wanted)
        table = table.select([*spark.GROUP, *(f"{name}_{kind}" for name, kind in wanted)])
        return table.rename_columns([*spark.GROUP, *spark.PATCH_NUMBERS])

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(spark_engine, "_merged", merged)
        if piece_bytes is not None:
            patched.setattr(spark, "_PIECE_BYTES", piece_bytes)
        yield jobs
