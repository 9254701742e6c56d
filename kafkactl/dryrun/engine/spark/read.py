"""Stretches of metadata logs, read, decoded and folded where Spark's workers are, without Spark and Arrow.

A stretch is a run of whole batches of one segment, whose CRCs are checked before anything in them is used. Its result
are the patches of partitions (`columns`) and, packed into few rows, the lists that they refer to and every record that
has to be replayed one by one.

This module has side effects: it reads byte ranges of files, and writes results to files where the driver asks for it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import field
from itertools import chain
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple, TypeAlias

from kafkactl.core.frozen import frozen
from kafkactl.dryrun.engine.columns import Columns, Window
from kafkactl.dryrun.engine.patches import Patches
from kafkactl.dryrun.engine.spark.files import opened_segment
from kafkactl.dryrun.engine.spark.pack import GONE, KEPT, WRONG, kept, packed_columns, packed_patches, placed
from kafkactl.metadata.log.batch_runs import sound_run
from kafkactl.metadata.log.fetched_folder import within_fetched
from kafkactl.metadata.replay.collector import no_collection
from kafkactl.protocol.batch_bounds import MOST_BATCH_BYTES
from kafkactl.protocol.record_batch import HEADER_BYTES, LENGTH_END

PackedRow: TypeAlias = tuple[int, int, bytes]  # the number of the log, a kind, a content
_PIECE_BYTES: Final = 6 * 1024 * 1024


@frozen
class Stretch:
    """Whole batches of a segment: bytes `start` to `end` of the file `path`, which is the `file`th of its `log`.

    `number` ascends along the log.
    """

    log: int
    number: int
    file: int
    path: str
    start: int
    end: int


@frozen
class Job:
    """What is read: stretches of several logs, and for each log its window and the offsets of those ClearElrRecords
    that are known.

    Small stretches share a task, up to `task_bytes`. `is_packed`: patches come packed, to be merged by the driver.
    `folder` is what relative paths are relative to: workers run elsewhere. `results` is a folder for what packed
    stretches give, "" where it comes through Spark.
    """

    stretches: tuple[Stretch, ...]
    windows: tuple[Window, ...]
    eras: tuple[tuple[int, ...], ...] = field(default=())
    task_bytes: int = 1
    is_packed: bool = False
    folder: str = ""
    results: str = ""

    def to_json(self) -> str:
        """As text, for workers."""
        return json.dumps(
            {
                "stretches": [[getattr(stretch, name) for name in _STRETCH] for stretch in self.stretches],
                "windows": [
                    [
                        window.first,
                        window.end,
                        window.withheld,
                        sorted(raw.hex() for raw in window.exact),
                        window.all_exact,
                    ]
                    for window in self.windows
                ],
                "eras": self.eras,
                "task_bytes": self.task_bytes,
                "is_packed": self.is_packed,
                "folder": self.folder,
                "results": self.results,
            }
        )

    @classmethod
    def from_json(cls, text: str) -> Job:
        """The job of such a text."""
        read = json.loads(text)
        return cls(
            stretches=tuple(Stretch(**dict(zip(_STRETCH, stretch, strict=True))) for stretch in read["stretches"]),
            windows=tuple(
                Window(
                    first=first,
                    end=end,
                    withheld=tuple((begin, last) for begin, last in withheld),
                    exact=frozenset(bytes.fromhex(item) for item in exact),
                    all_exact=all_exact,
                )
                for first, end, withheld, exact, all_exact in read["windows"]
            ),
            eras=tuple(tuple(era) for era in read["eras"]),
            task_bytes=read["task_bytes"],
            is_packed=read["is_packed"],
            folder=read["folder"],
            results=read["results"],
        )

    def tasks(self) -> list[tuple[Stretch, ...]]:
        """One task for each large stretch, or for several small ones."""
        tasks: list[tuple[Stretch, ...]] = []
        pending: list[Stretch] = []
        for stretch in self.stretches:
            if pending and stretch.end - stretch.start + sum(it.end - it.start for it in pending) > self.task_bytes:
                tasks.append(tuple(pending))
                pending = []
            pending.append(stretch)
        return [*tasks, tuple(pending)] if pending else tasks


_STRETCH = ("log", "number", "file", "path", "start", "end")


class Taken(NamedTuple):
    """The result of a stretch: its patches by era, and its other rows as kind and content."""

    rows: list[tuple[int, bytes]]
    patches: list[Patches]


def taken(job: Job, stretch: Stretch) -> Taken:
    """Read one. Where a CRC is wrong, or the file is shorter than it was, there is nothing but a row that says so: an
    error would have Spark do it again."""
    with no_collection():
        columns = Columns(job.windows[stretch.log], job.eras[stretch.log] if job.eras else ())
        with opened_anywhere(str(Path(job.folder, stretch.path))) as file:
            wrong = _read_all(file, stretch, columns)
        if wrong is not None:
            kind, at = wrong
            return Taken(list(placed(stretch.number, [(kind, json.dumps([stretch.path, at]).encode())])), [])
        rows = list(placed(stretch.number, packed_columns(columns)))
        return Taken(rows, columns.patches())


def packed_rows(job_text: str, tasks: Iterator[tuple[Stretch, ...]]) -> Iterator[PackedRow]:
    """All rows of some tasks, patches packed. `job_text` is the job as JSON."""
    job = Job.from_json(job_text)
    for stretch in (item for task in tasks for item in task):
        found = taken(job, stretch)
        rows = map(packed_patches, found.patches)
        given: Iterator[tuple[int, bytes]] = chain(found.rows, placed(stretch.number, rows, first=len(found.rows)))
        if job.results:
            given = iter([(KEPT, kept(given, job.results, f"{stretch.log}-{stretch.number}"))])
        for kind, content in given:
            yield stretch.log, kind, content


def opened_anywhere(path: str) -> BinaryIO:
    """A segment; on a worker of another machine what was fetched lies where Spark has put it."""
    try:
        return opened_segment(path)
    except FileNotFoundError:
        inside = within_fetched(path)
        if inside is None:
            raise
        from pyspark import SparkFiles

        return opened_segment(f"{SparkFiles.getRootDirectory()}/{inside}")


def _read_all(file: BinaryIO, stretch: Stretch, columns: Columns) -> tuple[int, int] | None:
    """Take in the batches of a stretch, piece by piece; where one is WRONG or GONE, or None."""
    at, size = stretch.start, _PIECE_BYTES
    while at < stretch.end:
        data = bytes_of(file, at, min(size, stretch.end - at))
        if len(data) < min(size, stretch.end - at):
            return GONE, at + len(data)
        run, sound = sound_run(data, 0)
        if _is_whole(data, sound):
            return WRONG, at + sound
        positions = run.positions
        if not positions and at + len(data) < stretch.end and size <= MOST_BATCH_BYTES:  # the next batch is longer
            size *= 2
            continue
        if not positions:
            return GONE, at
        is_last = at + len(data) >= stretch.end
        at += columns.take(data, positions, at, is_last=is_last)
        size = _PIECE_BYTES
    return None


def bytes_of(file: BinaryIO, start: int, size: int) -> bytes:
    """So many, or fewer at the end of the file."""
    file.seek(start)
    parts = []
    while size and (part := file.read(size)):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _is_whole(data: bytes, at: int) -> bool:
    """Whether the bytes there are as many as their batch says that it has."""
    size = LENGTH_END + int.from_bytes(data[at + 8 : at + LENGTH_END], "big", signed=True)
    return len(data) - at >= HEADER_BYTES and 0 < size <= len(data) - at
