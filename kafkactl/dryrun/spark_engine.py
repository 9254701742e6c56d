"""The Spark engine: metadata logs of any number of clusters, in one job, to the same values as the local engine.

1. The driver walks batch headers (or, where they do not lead through a file, scans it as the local engine does) and
   plans stretches of whole batches.
2. A job folds partition records into patches where they are read; the few other records come along. Patches of many
   stretches are merged by a hash aggregate over plain numbers, those of a few by the driver, which is sooner done.
3. From these follows what no partition record tells: what was aborted, when topics and ClearElrRecords came
   (`outline`). Where the job went by something else, the log is read again, with what is known now.
4. The driver replays the other records one by one and puts the partitions in (`spark_fold`).

Why it is so: docs/decisions/0014-the-spark-plan.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from kafkactl.dryrun.local import Loaded, Start, start_of
from kafkactl.dryrun.spark import GROUP, MERGED_BY, PATCH_NUMBERS, Job, KraftLog
from kafkactl.dryrun.spark_fold import Fold, Found
from kafkactl.dryrun.spark_plan import ClusterLog
from kafkactl.errors import KafkactlError
from kafkactl.metadata.replay_batches import no_collection

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LARGEST_SPLIT_BYTES: Final = 128 * 1024 * 1024
SMALLEST_SPLIT_BYTES: Final = 4 * 1024 * 1024
_FEW_STRETCHES: Final = 16  # whose patches the driver can hold: of 200,000 partitions some 40 MB each


def load_logs(
    spark: SparkSession, logs: Sequence[ClusterLog], *, split_bytes: int | None = None
) -> list[Loaded | KafkactlError]:
    """The state at the end of each log, all in the same jobs, or its error; `local.load` gives and raises the same.

    Raises FailedError `log-changed-while-read`, and what Spark raises.
    """
    spark.dataSource.register(KraftLog)
    with no_collection():
        starts = [_start(log) for log in logs]
        readable = [(log, start) for log, start in zip(logs, starts, strict=True) if isinstance(start, Start)]
        found = iter(_loaded(spark, readable, split_bytes) if readable else ())
        return [next(found) if isinstance(start, Start) else start for start in starts]


def _start(log: ClusterLog) -> Start | KafkactlError:
    try:
        return start_of(log.segments, log.checkpoints, log.at)
    except KafkactlError as error:
        return error


def _loaded(spark: SparkSession, logs: Sequence[tuple[ClusterLog, Start]], split_bytes: int | None) -> Iterator[Loaded]:
    size = split_bytes or _split_bytes(spark, [log for log, _ in logs])
    folds = [Fold(number, log, start, size) for number, (log, start) in enumerate(logs)]
    wanted: list[Fold] = folds
    while wanted:
        _run(spark, folds, wanted, size)
        wanted = [one for one in wanted if not one.is_settled()]
    return (fold.loaded() for fold in folds)


def _split_bytes(spark: SparkSession, logs: Sequence[ClusterLog]) -> int:
    """A split for each core, within bounds: every split repeats most of the partitions."""
    total = sum(_size(segment.name) for log in logs for segment in log.segments)
    wanted = total // max(1, int(spark.sparkContext.defaultParallelism)) + 1
    return min(LARGEST_SPLIT_BYTES, max(SMALLEST_SPLIT_BYTES, wanted))


def _size(path: str) -> int:
    with open(path, "rb") as file:  # noqa: PTH123
        return int(file.seek(0, 2))


def _run(spark: SparkSession, folds: Sequence[Fold], wanted: Sequence[Fold], task_bytes: int) -> None:
    """Run the job for the logs that are wanted and give each what it found."""
    job = Job(
        stretches=tuple(stretch for fold in wanted for stretch in fold.plan.stretches),
        windows=tuple(fold.window for fold in folds),
        eras=tuple(fold.eras for fold in folds),
        task_bytes=task_bytes,
        is_packed=sum(len(fold.plan.stretches) for fold in wanted) <= _FEW_STRETCHES,
    )
    table = _merged(spark, job) if job.stretches else None
    for number, fold in enumerate(folds):
        if fold in wanted:
            fold.take(Found(table, number))


def _merged(spark: SparkSession, job: Job) -> Any:
    """The rows of all stretches as an Arrow table, patches of one partition and era merged unless they are packed."""
    from pyspark.sql import functions as sql

    frame = spark.read.format(KraftLog.name()).option("job", job.to_json()).load()
    if job.is_packed:
        return frame.select("log", "kind", "key").toArrow()
    merging = (getattr(sql, MERGED_BY.get(name, "max"))(name).alias(name) for name in PATCH_NUMBERS)
    return frame.groupBy(*GROUP).agg(*merging).toArrow()
