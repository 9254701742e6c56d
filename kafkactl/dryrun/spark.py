"""The Spark source `kraftlog`: stretches of metadata logs, decoded and folded where Spark's workers are.

A split is a run of whole batches of one segment, checked by their CRC before anything of them is used. Two passes:
`records` gives every record that is not a partition record, `patches` the patches of partitions (`patches.fold`) with
the bodies that they point to, and those partition records that have to be replayed one by one.

The one file of this room that touches the world: it reads byte ranges of files, in the workers.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import Final

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from kafkactl.dryrun.columns import Columns, Other, Window, batches_in, decode
from kafkactl.dryrun.patches import COUNTERS, FIELDS, fold
from kafkactl.errors import FailedError
from kafkactl.frozen import frozen
from kafkactl.protocol.crc32c import crc32c
from kafkactl.protocol.record_batch import CRC_END, CRC_START, LENGTH_END

RECORDS, PATCHES = "records", "patches"
# Kinds of rows beside `columns.VALUE` and `BATCH`: a body with its number; counts of records before the window as JSON;
# a batch whose CRC is wrong; a patch.
BODY, BEFORE, WRONG, PATCH = 2, 3, 4, 5
_PLACE: Final = (
    ("log", pa.int32()), ("split", pa.int32()), ("file", pa.int32()), ("kind", pa.int32()),
    ("position", pa.int64()), ("number", pa.int32()), ("offset", pa.int64()), ("epoch", pa.int32()),
    ("timestamp_ms", pa.int64()), ("content", pa.binary()),
)  # fmt: skip
PATCH_KEYS: Final = ("key", "era")
PATCH_OFFSETS: Final = ("first_offset", "last_offset", "reset_at")
_PATCH: Final = (
    ("key", pa.binary()), ("era", pa.int32()), *((name, pa.int64()) for name in (*PATCH_OFFSETS, *COUNTERS, *FIELDS)),
)  # fmt: skip
SCHEMAS: Final = {RECORDS: pa.schema(_PLACE), PATCHES: pa.schema((*_PLACE, *_PATCH))}
_SQL_TYPES: Final = {pa.int32(): "int", pa.int64(): "long", pa.binary(): "binary"}


@frozen
class Stretch:
    """Whole batches of a segment: bytes `start` to `end` of the file `path`, which is the `file`th of its `log`.

    `number` ascends along the log. `is_before`: all of it stands before the window.
    """

    log: int
    number: int
    file: int
    path: str
    start: int
    end: int
    is_before: bool = False


@frozen
class Job:
    """What is read: stretches of several logs, and for each log its window and the offsets of its ClearElrRecords.

    Small stretches share a task, up to `task_bytes`.
    """

    stretches: tuple[Stretch, ...]
    windows: tuple[Window, ...]
    eras: tuple[tuple[int, ...], ...] = field(default=())
    task_bytes: int = 1

    def to_json(self) -> str:
        """As the option `job` of the source."""
        return json.dumps(
            {
                "stretches": [[getattr(one, name) for name in _STRETCH] for one in self.stretches],
                "windows": [
                    [one.first, one.end, one.withheld, sorted(raw.hex() for raw in one.exact), one.all_exact]
                    for one in self.windows
                ],
                "eras": self.eras,
                "task_bytes": self.task_bytes,
            }
        )

    @classmethod
    def from_json(cls, text: str) -> Job:
        """The job of an option."""
        read = json.loads(text)
        return cls(
            stretches=tuple(Stretch(**dict(zip(_STRETCH, one, strict=True))) for one in read["stretches"]),
            windows=tuple(
                Window(
                    first=first,
                    end=end,
                    withheld=tuple((begin, last) for begin, last in withheld),
                    exact=frozenset(bytes.fromhex(one) for one in exact),
                    all_exact=all_exact,
                )
                for first, end, withheld, exact, all_exact in read["windows"]
            ),
            eras=tuple(tuple(one) for one in read["eras"]),
            task_bytes=read["task_bytes"],
        )


_STRETCH = ("log", "number", "file", "path", "start", "end", "is_before")


class KraftLog(DataSource):  # type: ignore[misc]
    """`spark.read.format("kraftlog")` with the options `mode` (`records` or `patches`) and `job` (`Job.to_json`)."""

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return "kraftlog"

    def schema(self) -> str:
        """The columns of the mode."""
        return ", ".join(f"{one.name} {_SQL_TYPES[one.type]}" for one in SCHEMAS[self.options["mode"]])

    def reader(self, schema: object) -> KraftLogReader:
        """What plans the splits and reads them."""
        return KraftLogReader(self.options["mode"], Job.from_json(self.options["job"]))


class _Split(InputPartition):  # type: ignore[misc]
    def __init__(self, stretches: tuple[Stretch, ...]) -> None:
        super().__init__(stretches)
        self.stretches = stretches


class KraftLogReader(DataSourceReader):  # type: ignore[misc]
    """One split for each large stretch, or for several small ones."""

    def __init__(self, mode: str, job: Job) -> None:
        self._mode = mode
        self._job = job

    def partitions(self) -> Sequence[InputPartition]:
        """The splits, in the driver."""
        splits: list[InputPartition] = []
        pending: list[Stretch] = []
        for one in self._job.stretches:
            if self._mode == PATCHES and one.is_before:
                continue
            if pending and one.end - one.start + sum(it.end - it.start for it in pending) > self._job.task_bytes:
                splits.append(_Split(tuple(pending)))
                pending = []
            pending.append(one)
        return [*splits, _Split(tuple(pending))]

    def read(self, partition: _Split) -> Iterator[pa.RecordBatch]:
        """The rows of a split, in a worker."""
        for stretch in partition.stretches:
            yield from self._rows_of(stretch)

    def _rows_of(self, stretch: Stretch) -> Iterator[pa.RecordBatch]:
        data = _bytes_of(stretch)
        positions = list(batches_in(data))
        wrong = _wrong_crc(data, positions)
        if wrong is not None:
            place = Other(stretch.start + wrong, 0, WRONG, 0, 0, 0, stretch.path.encode())
            yield from _batches(_rows(stretch, [place]), self._mode)
            return
        window, with_patches = self._job.windows[stretch.log], self._mode == PATCHES
        columns = decode(data, positions, stretch.start, window, partitions=with_patches)
        if not with_patches:
            before = json.dumps(columns.before).encode()
            counted = [Other(stretch.start, 0, BEFORE, 0, 0, 0, before)] if columns.before else []
            yield from _batches(_rows(stretch, [*columns.others, *counted]), RECORDS)
            return
        yield from _batches(_rows(stretch, [*columns.others, *_bodies(columns)]), PATCHES)
        yield from _batches(_patches(stretch, columns, self._job.eras[stretch.log]), PATCHES)


def _bytes_of(stretch: Stretch) -> bytes:
    """Raises FailedError `log-changed-while-read`."""
    size = stretch.end - stretch.start
    with open(stretch.path, "rb", buffering=0) as file:  # noqa: PTH123
        file.seek(stretch.start)
        parts = []
        while size and (part := file.read(size)):
            parts.append(part)
            size -= len(part)
    if size:
        raise FailedError(
            f"{stretch.path} became shorter while it was read: byte {stretch.end} is gone",
            id="log-changed-while-read",
            next_step="Ask again, or copy the log first: a node may have cut or deleted the segment.",
        )
    return b"".join(parts)


def _wrong_crc(data: bytes, positions: list[int]) -> int | None:
    for at in positions:
        end = at + LENGTH_END + int.from_bytes(data[at + 8 : at + LENGTH_END], "big")
        if crc32c(data[at + CRC_END : end]) != int.from_bytes(data[at + CRC_START : at + CRC_END], "big"):
            return at
    return None


def _bodies(columns: Columns) -> list[Other]:
    return [Other(0, number, BODY, 0, 0, 0, body) for number, body in enumerate(columns.bodies)]


def _rows(stretch: Stretch, others: Sequence[Other]) -> pa.Table:
    count = len(others)
    made = {
        "log": pa.array([stretch.log] * count, pa.int32()),
        "split": pa.array([stretch.number] * count, pa.int32()),
        "file": pa.array([stretch.file] * count, pa.int32()),
    }
    for name, type in _PLACE[3:]:
        made[name] = pa.array([getattr(one, name) for one in others], type)
    return pa.table(made)


def _patches(stretch: Stretch, columns: Columns, eras: Sequence[int]) -> pa.Table:
    folded = fold(columns, stretch.number, eras)
    count = folded.num_rows
    made = {name: folded[name] for name in folded.column_names}
    made["log"] = pa.array([stretch.log] * count, pa.int32())
    made["kind"] = pa.array([PATCH] * count, pa.int32())
    return pa.table(made)


def _batches(table: pa.Table, mode: str) -> list[pa.RecordBatch]:
    """In the columns of the mode; those that a kind of rows does not have are null."""
    if not table.num_rows:
        return []
    schema, names = SCHEMAS[mode], set(table.column_names)
    columns = [
        table[one.name].cast(one.type) if one.name in names else pa.nulls(table.num_rows, one.type) for one in schema
    ]
    batches: list[pa.RecordBatch] = pa.Table.from_arrays(columns, schema=schema).to_batches(max_chunksize=50_000)
    return batches
