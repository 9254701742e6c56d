"""Work of a command on Spark: one function that is applied to each of some items, in tasks of a session.

Items and results are pickled, as Spark does it itself. A result is what the command prints or writes, not a log.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, Final, TypeVar

from kafkactl.core.progress import advance, expect, is_heard
from kafkactl.jobs.pickled import PICKLED, collected, pickled_row
from kafkactl.jobs.ship import ship_code, shipped

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark import SparkContext
    from pyspark.sql import DataFrame, SparkSession

Item = TypeVar("Item")
Result = TypeVar("Result")

# A task costs some 0.1 s: small logs share one. A log counts for more than its bytes, because it has to be opened.
_TASK_BYTES: Final = 64 << 20
_LOG_BYTES: Final = 8 << 20
_EVERY_S: Final = 0.2  # between two looks at the tasks


def done_in_tasks(
    session: SparkSession, work: Callable[[Item], Result], items: Sequence[Item], sizes: Sequence[int] | None = None
) -> list[Result]:
    """Return the result of each item, in their order.

    `sizes` are the bytes that each item reads; without them every item has a task of its own. Raises what Spark raises.
    """
    if not items:
        return []
    frame = frame_of_tasks(session, partial(_worked, work), items, sizes)
    with reported(session.sparkContext):
        found = collected(frame)
    return [found[at] for at in range(len(items))]


def frame_of_tasks(
    session: SparkSession,
    work: Callable[[int, Item], Iterable[pa.RecordBatch]],
    items: Sequence[Item],
    sizes: Sequence[int] | None = None,
    schema: str = PICKLED,
) -> DataFrame:
    """Return the rows that `work` gives of the number of each item and the item; otherwise as `done_in_tasks`."""
    ship_code(session)
    cores = max(1, session.sparkContext.defaultParallelism)
    groups = tuple((at,) for at in range(len(items))) if sizes is None else grouped(sizes, cores)
    tasks = _Tasks(work, tuple(items), groups)
    return session.range(0, len(groups), 1, len(groups)).mapInArrow(shipped(tasks), schema)


def _worked(work: Callable[[Item], Result], number: int, item: Item) -> Iterable[pa.RecordBatch]:
    return [pickled_row(number, work(item))]


def grouped(sizes: Sequence[int], cores: int | None = None) -> tuple[tuple[int, ...], ...]:
    """Return the numbers of the items of each task; with `cores` there is work for each of them.

    >>> grouped([1, 1, 1, 1]), grouped([1, 1, 1, 1], cores=2)
    (((0, 1, 2, 3),), ((0, 1), (2, 3)))
    """
    most = _TASK_BYTES
    if cores is not None:
        most = min(most, (sum(sizes) + _LOG_BYTES * len(sizes)) // cores + 1)
    tasks: list[list[int]] = []
    room = 0
    for number, size in enumerate(sizes):
        if size + _LOG_BYTES > room:
            tasks.append([])
            room = most
        tasks[-1].append(number)
        room -= size + _LOG_BYTES
    return tuple(map(tuple, tasks))


@dataclass(frozen=True, slots=True)
class _Tasks:
    """The items of each task, by their numbers, and the work on them."""

    work: Callable[[int, Any], Iterable[pa.RecordBatch]]
    items: tuple[Any, ...]
    groups: tuple[tuple[int, ...], ...]

    def __call__(self, rows: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Return the rows of the items, for the tasks whose numbers are in `rows`."""
        for batch in rows:
            for task in batch.column(0).to_pylist():
                for number in self.groups[task]:
                    yield from self.work(number, self.items[number])


@contextmanager
def reported(context: SparkContext) -> Iterator[None]:
    """Report the tasks that are done of all, as progress, while the body waits for them."""
    if not is_heard():
        yield
        return
    ended = Event()
    thread = Thread(target=copy_context().run, args=(_report, context, ended), name="tasks", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _report(context: SparkContext, ended: Event) -> None:
    done: dict[int, int] = {}
    tracker = context.statusTracker()
    with suppress(Exception):  # the JVM is gone, which is the error of the body
        while not ended.wait(_EVERY_S):
            for stage in tracker.getActiveStageIds():
                info = tracker.getStageInfo(stage)
                if info is not None:
                    if stage not in done:
                        expect(info.numTasks)
                    advance(info.numCompletedTasks - done.get(stage, 0))
                    done[stage] = info.numCompletedTasks
