"""The Spark engine: metadata logs of any number of clusters, in one job, to the same values as the local engine.

1. The driver walks batch headers (or, where they do not lead through a file, scans it as the local engine does) and
   plans stretches of whole batches.
2. A job folds partition records into patches where they are read; the few other records come along. Patches of many
   stretches are merged by a hash aggregate over plain numbers (`spark`); where a log has few, they come packed, and the
   driver merges them (`found`), which is sooner done.
3. The other records show what no partition record contains: what was aborted, when topics and ClearElrRecords were
   written (`outline`). If the job assumed something else, the log is read again with what is now known.
4. The driver replays the other records one by one and puts the partitions in (`fold`).

Why it is so: docs/decisions/0014-the-spark-plan.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kafkactl.core.errors import KafkactlError
from kafkactl.dryrun.engine.local import Loaded, Start, start_of
from kafkactl.dryrun.engine.spark.files import opened_segment
from kafkactl.dryrun.engine.spark.fold import Fold
from kafkactl.dryrun.engine.spark.found import Found, found_in
from kafkactl.dryrun.engine.spark.pack import KEPT, rows_kept
from kafkactl.dryrun.engine.spark.plan import ClusterLog
from kafkactl.dryrun.engine.spark.read import Job, packed_rows
from kafkactl.metadata.replay.collector import no_collection

if TYPE_CHECKING:
    from pyspark import SparkContext

LARGEST_SPLIT_BYTES: Final = 128 * 1024 * 1024
SMALLEST_SPLIT_BYTES: Final = 4 * 1024 * 1024
_SHUFFLES: Final = "spark.sql.shuffle.partitions"
# Beyond the first of each log, whose patches nothing makes fewer: so many the driver can hold and merge, some 12 MB
# each of 200,000 partitions.
_FEW_STRETCHES: Final = 16


def load_logs(
    context: SparkContext, logs: Sequence[ClusterLog], *, split_bytes: int | None = None, results: str = ""
) -> list[Loaded | KafkactlError]:
    """The state at the end of each log, all in the same jobs, or its error; `local.load` gives and raises the same.

    `results` is an empty folder that workers and the driver share, through which results go that Spark need not see;
    without it, they go through Spark.

    Raises FailedError `log-changed-while-read`, and what Spark raises.
    """
    with no_collection():
        starts = [_start(log) for log in logs]
        readable = [(log, start) for log, start in zip(logs, starts, strict=True) if isinstance(start, Start)]
        found = iter(_loaded(context, readable, split_bytes, results) if readable else ())
        return [next(found) if isinstance(start, Start) else start for start in starts]


def _start(log: ClusterLog) -> Start | KafkactlError:
    try:
        return start_of(log.segments, log.checkpoints, log.at)
    except KafkactlError as error:
        return error


def _loaded(
    context: SparkContext, logs: Sequence[tuple[ClusterLog, Start]], split_bytes: int | None, results: str
) -> Iterator[Loaded]:
    size = split_bytes or _split_bytes(context, [log for log, _ in logs])
    folds = [Fold(number, log, start, size) for number, (log, start) in enumerate(logs)]
    wanted: list[Fold] = folds
    while wanted:
        _run(context, folds, wanted, size, results)
        wanted = [item for item in wanted if not item.is_settled()]
    return (fold.loaded() for fold in folds)


def _split_bytes(context: SparkContext, logs: Sequence[ClusterLog]) -> int:
    """A split for each core, within bounds: every split repeats most of the partitions."""
    total = sum(_size(segment.name) for log in logs for segment in log.segments)
    wanted = total // max(1, int(context.defaultParallelism)) + 1
    return min(LARGEST_SPLIT_BYTES, max(SMALLEST_SPLIT_BYTES, wanted))


def _size(path: str) -> int:
    with opened_segment(path) as file:
        return int(file.seek(0, 2))


def _run(context: SparkContext, folds: Sequence[Fold], wanted: Sequence[Fold], task_bytes: int, results: str) -> None:
    """Run the job for the logs that are wanted and give each what it found."""
    job = Job(
        stretches=tuple(stretch for fold in wanted for stretch in fold.plan.stretches),
        windows=tuple(fold.window for fold in folds),
        eras=tuple(fold.eras for fold in folds),
        task_bytes=task_bytes,
        is_packed=sum(max(0, len(fold.plan.stretches) - 1) for fold in wanted) < _FEW_STRETCHES,
        folder=str(Path.cwd()),
        results=results,
    )
    numbers = [number for number, fold in enumerate(folds) if fold in wanted]
    found: Mapping[int, Found] = {}
    if job.stretches:
        found = _packed(context, job) if job.is_packed else _merged(context, job, numbers)
    for number in numbers:
        folds[number].take(found.get(number, Found()))


def _packed(context: SparkContext, job: Job) -> dict[int, Found]:
    """Rows as bytes: nothing for Spark to plan or to compile, and no more Python processes than workers."""
    tasks = job.tasks()
    rows = context.parallelize(tasks, len(tasks)).mapPartitions(partial(packed_rows, job.to_json())).collect()
    by_log: dict[int, list[tuple[int, bytes]]] = {}
    for log, kind, content in rows:
        by_log.setdefault(log, []).extend(rows_kept(content) if kind == KEPT else [(kind, content)])
    return {log: Found(mine) for log, mine in by_log.items()}


def _merged(context: SparkContext, job: Job, logs: Sequence[int]) -> dict[int, Found]:
    """Patches of one partition and era merged by Spark."""
    from pyspark.sql import SparkSession

    from kafkactl.dryrun.engine.spark.source import merged

    builder = SparkSession.builder
    if not context.getConf().contains(_SHUFFLES):
        builder = builder.config(_SHUFFLES, max(2, context.defaultParallelism))
    table = merged(builder.getOrCreate(), job)
    return {log: found_in(table, log) for log in logs}
