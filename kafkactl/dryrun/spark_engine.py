"""The Spark engine: metadata logs of any number of clusters, in two jobs, to the same values as the local engine.

1. The driver walks batch headers (or, where they do not lead through a file, scans it as the local engine does) and
   plans stretches of whole batches.
2. A first job collects the records that are not partition records; from them follows what was aborted, and when topics
   and ClearElrRecords came (`outline`).
3. A second job folds partition records into patches where they are read; a hash aggregate over plain numbers merges
   them.
4. The driver replays the other records one by one and puts the partitions in. A topic in which anything is unusual is
   replayed record by record, too: rare, and then exact.

Why it is so: docs/decisions/0014-the-spark-plan.md.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafkactl.dryrun.columns import BATCH, VALUE, Body, body_of
from kafkactl.dryrun.local import Loaded, LogFile, Start, start_of
from kafkactl.dryrun.outline import Outline, outline_of
from kafkactl.dryrun.patches import COUNTERS, FIELDS, Patch, applied, cleared, is_regular, unpacked
from kafkactl.dryrun.spark import (
    BEFORE,
    BODY,
    PATCH,
    PATCH_KEYS,
    PATCH_OFFSETS,
    PATCHES,
    RECORDS,
    WRONG,
    Job,
    KraftLog,
    Stretch,
)
from kafkactl.dryrun.spark_plan import NO_END, ClusterLog, Planning, Played, Row, planned
from kafkactl.errors import DecodeError, FailedError, KafkactlError
from kafkactl.metadata.image import PartitionState
from kafkactl.metadata.replay_batches import BatchReplaying, no_collection
from kafkactl.protocol.record_batch import (
    decode_header,
    decode_records,
)
from kafkactl.values import Uuid

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

LARGEST_SPLIT_BYTES: Final = 64 * 1024 * 1024
SMALLEST_SPLIT_BYTES: Final = 4 * 1024 * 1024


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
    damaged: set[str] = set()
    while True:
        size = split_bytes or _split_bytes(spark, [log for log, _ in logs])
        plans = [planned(number, log, start, damaged, size) for number, (log, start) in enumerate(logs)]
        found = _collected(_read(spark, RECORDS, _records_job(plans, size)), plans)
        wrong = {row.content.decode() for rows in found for row in rows if row.kind == WRONG}
        if not wrong - damaged:
            break
        damaged |= wrong
    folds = [_Fold(plan, rows) for plan, rows in zip(plans, found, strict=True)]
    unusual = folds
    while unusual:  # again where topics turned out to be so
        _fold(spark, folds, unusual, size)
        unusual = [one for one in unusual if one.unusual()]
    return (fold.loaded(log.checkpoints) for fold, (log, _) in zip(folds, logs, strict=True))


# --- jobs ---------------------------------------------------------------------------------------------------------


def _split_bytes(spark: SparkSession, logs: Sequence[ClusterLog]) -> int:
    """A split for each core, within bounds: every split repeats most of the partitions."""
    total = sum(_size(segment.name) for log in logs for segment in log.segments)
    wanted = total // max(1, int(spark.sparkContext.defaultParallelism)) + 1
    return min(LARGEST_SPLIT_BYTES, max(SMALLEST_SPLIT_BYTES, wanted))


def _size(path: str) -> int:
    with open(path, "rb") as file:  # noqa: PTH123
        return int(file.seek(0, 2))


def _all(plans: Sequence[Planning]) -> tuple[Stretch, ...]:
    return tuple(stretch for plan in plans for stretch in plan.stretches)


def _records_job(plans: Sequence[Planning], task_bytes: int) -> Job:
    return Job(stretches=_all(plans), windows=tuple(plan.window for plan in plans), task_bytes=task_bytes)


def _read(spark: SparkSession, mode: str, job: Job) -> DataFrame:
    return spark.read.format(KraftLog.name()).option("mode", mode).option("job", job.to_json()).load()


def _collected(frame: DataFrame, plans: Sequence[Planning]) -> list[list[Row]]:
    """The rows of each log, in the order of the log."""
    table = frame.select("log", *Row._fields).toArrow()
    rows: list[list[Row]] = [[] for _ in plans]
    for log, row in zip(
        table["log"].to_pylist(), zip(*(table[name].to_pylist() for name in Row._fields), strict=True), strict=True
    ):
        rows[log].append(Row._make(row))
    for one in rows:
        one.sort(key=lambda row: row[:3])
    return rows


def _fold(spark: SparkSession, folds: Sequence[_Fold], wanted: Sequence[_Fold], task_bytes: int) -> None:
    """Run the second job for the logs that are wanted and give each what it found."""
    from pyspark.sql import functions as sql

    job = Job(
        stretches=_all([fold.plan for fold in wanted]),
        windows=tuple(fold.window for fold in folds),
        eras=tuple(tuple(offset for offset, _ in fold.outline.clears) for fold in folds),
        task_bytes=task_bytes,
    )
    if not any(not one.is_before for one in job.stretches):
        return
    frame = _read(spark, PATCHES, job).persist()
    try:
        rows = _collected(frame.where(sql.col("kind") != PATCH), [fold.plan for fold in folds])
        merged = (
            frame.where(sql.col("kind") == PATCH)
            .groupBy("log", *PATCH_KEYS)
            .agg(
                sql.min("first_offset").alias("first_offset"),
                *(sql.max(name).alias(name) for name in ("last_offset", "reset_at")),
                *(sql.sum(name).alias(name) for name in COUNTERS),
                *(sql.max(name).alias(name) for name in FIELDS),
            )
            .toArrow()
        )
    finally:
        frame.unpersist()
    names = ("log", *PATCH_KEYS, *PATCH_OFFSETS, *COUNTERS, *FIELDS)
    patches: list[dict[bytes, list[Patch]]] = [{} for _ in folds]
    for log, key, era, *numbers in zip(*(merged[name].to_pylist() for name in names), strict=True):
        patches[log].setdefault(key, []).append(Patch._make((era, *numbers[:9], tuple(numbers[9:]))))
    for fold, its_rows, its_patches in zip(folds, rows, patches, strict=True):
        if fold in wanted:
            fold.take(its_rows, its_patches)


# --- one log ------------------------------------------------------------------------------------------------------


class _Fold:
    """One log between the jobs and its state."""

    def __init__(self, plan: Planning, rows: list[Row]) -> None:
        self.plan = plan
        self.window = plan.window
        for row in rows:
            if row.kind == BEFORE:
                plan.before.counts.update(json.loads(row.content))
            elif row.kind == BATCH and row.offset < plan.window.first:
                plan.before.take(row.content, 0, row.position)
        self._others = [row for row in rows if row.kind in (VALUE, BATCH)]
        self.outline: Outline = outline_of(self._values(), plan.start.image)
        self.window = replace(
            plan.window,
            withheld=self.outline.withheld,
            exact=self.outline.exact,
            all_exact=not plan.is_ascending or plan.start.image.transaction is not None,
        )
        self._exact: list[Row] = []
        self._patches: dict[bytes, list[Patch]] = {}
        self._bodies: dict[tuple[int, int], Body] = {}

    def _values(self) -> Iterator[tuple[int, bytes]]:
        for row in self._others:
            if row.kind == VALUE:
                yield row.offset, row.content
                continue
            header = decode_header(row.content, 0)
            try:
                records = () if header.is_control else decode_records(row.content, header)
            except DecodeError:
                continue
            for one in records:
                if self.window.first <= one.offset < self.window.end and one.key is None and one.value is not None:
                    yield one.offset, one.value

    def take(self, rows: list[Row], patches: dict[bytes, list[Patch]]) -> None:
        """What the second job found."""
        for row in rows:
            if row.kind == WRONG:
                raise FailedError(
                    f"{row.content.decode()} changed while it was read, at byte {row.position}",
                    id="log-changed-while-read",
                    next_step="Ask again, or copy the log first: a node may be writing there.",
                )
        self._exact = [row for row in rows if row.kind == VALUE]
        self._bodies = {
            (row.split, row.number): meant for row in rows if row.kind == BODY and (meant := body_of(row.content))
        }
        self._patches = {key: sorted(found) for key, found in patches.items()}

    def unusual(self) -> bool:
        """Whether there are topics that have to be replayed record by record; the window then says so."""
        lives: dict[bytes, _Life] = {}
        found: set[bytes] = set()
        unversioned = max((end for _, end in self.outline.unversioned), default=-1)
        for key, patches in self._patches.items():
            raw = key[4:]
            life = lives.get(raw)
            if life is None:
                life = lives[raw] = self._life(raw)
            first, last = patches[0].first, patches[-1].last
            there = life.after < first and last < life.before and first > unversioned
            if not there or not is_regular(patches, known=_number(key) in life.base):
                found.add(raw)
        self.window = replace(self.window, exact=self.window.exact | found)
        return bool(found)

    def _life(self, raw: bytes) -> _Life:
        """Between which offsets a topic was there without a doubt, and its partitions at the start."""
        born = self.outline.born.get(raw, ())
        topic = self.plan.start.image.topics.get(Uuid(raw))
        after = NO_END
        if topic is not None and not born:
            after = -1
        elif topic is None and len(born) == 1:
            after = born[0]
        base = {} if topic is None else topic.partitions.states
        return _Life(after, self.outline.gone.get(raw, NO_END), base)

    def _base(self, key: bytes) -> PartitionState | None:
        topic = self.plan.start.image.topics.get(Uuid(key[4:]))
        return None if topic is None else topic.partitions.states.get(_number(key))

    def loaded(self, checkpoints: Sequence[LogFile]) -> Loaded:
        """Replay what is left, put the partitions in, and say what the local engine says."""
        replaying = self.plan.replaying
        rows = [*self._others, *self._exact, *self.plan.older_epochs]
        for row in sorted(rows, key=lambda row: row[:3]):
            replaying.play(row)
        self._put_in(replaying)
        self._set_position(replaying)
        return self.plan.loaded(checkpoints)

    def _put_in(self, replaying: Played) -> None:
        """In the order in which a replay would meet them."""
        topics = replaying.state.topics
        values = _Values(self._bodies, replaying)
        resets = changes = 0
        for key, patches in sorted(self._patches.items(), key=lambda one: one[1][0].first):
            resets += sum(one.resets for one in patches)
            changes += sum(one.changes for one in patches)
            topic = topics.get(key[4:])
            if topic is not None:
                topic.own()[_number(key)] = self._state(key, patches, values)
        for name, count in (("PartitionRecord", resets), ("PartitionChangeRecord", changes)):
            if count:
                replaying.counts[name] += count

    def _state(self, key: bytes, patches: list[Patch], values: _Values) -> PartitionState:
        clears = self.outline.clears
        state = self._base(key) if not patches[0].resets else None
        if not clears:
            return applied(state, patches[0], values.get)
        by_era = {one.era: one for one in patches}
        for era in range(len(clears) + 1):
            if era in by_era:
                state = applied(state, by_era[era], values.get)
            if era < len(clears) and state is not None and clears[era][1] in (None, key[4:]):
                state = cleared(state)
        if state is None:
            raise ValueError("a partition without a record of its own")
        return state

    def _set_position(self, replaying: Played) -> None:
        """That of the last record, which may have been a partition's."""
        for one in reversed(self.plan.last):
            with open(one.path, "rb") as file:  # noqa: PTH123
                file.seek(one.start)
                data = file.read(one.end - one.start)
            last = BatchReplaying(first_offset=self.window.first, end_offset=self.window.end)
            last.take_run(data, [0], one.start)
            if last.position is not None:
                replaying.position = last.position
                return


class _Life(NamedTuple):
    """Records of a topic are plain between these offsets; `base` has its partitions at the start."""

    after: int
    before: int
    base: Mapping[int, PartitionState]


class _Values:
    """The fields that patches point to; equal ones are one object."""

    def __init__(self, bodies: Mapping[tuple[int, int], Body], replaying: BatchReplaying) -> None:
        self._bodies = bodies
        self._state = replaying.state
        self._known: list[dict[int, Any]] = [{} for _ in FIELDS]

    def get(self, field: int, packed: int) -> Any:
        """The value of a field by its place in FIELDS."""
        known = self._known[field]
        if packed not in known:
            known[packed] = self._new(field, packed)
        return known[packed]

    def _new(self, field: int, packed: int) -> Any:
        place = unpacked(packed)
        if place is None:
            raise ValueError("a field that nothing gave")
        value = self._bodies[place].fields[field]
        if isinstance(value, tuple):
            return self._state.ids(value)
        return self._state.joined(value) if isinstance(value, bytes) else value


def _number(key: bytes) -> int:
    return int.from_bytes(key[:4], "big", signed=True)
