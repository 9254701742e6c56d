"""The Spark source `kraftlog`: stretches of metadata logs, decoded and folded where Spark's workers are.

A split is a run of whole batches of one segment, checked by their CRC before anything of them is used. Its rows are the
patches of partitions (`patches.fold`), and beside them, packed into few rows, the bodies that they point to and every
record that has to be replayed as it stands. Where Spark is to merge patches, all kinds of rows go through one
aggregate: what is no patch has a key of its own. Where the driver is to, they are packed, too.

The one file of this room that touches the world: it reads byte ranges of files, in the workers.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from typing import Any, BinaryIO, Final

import numpy as np
import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from kafkactl.dryrun.columns import KEY_BYTES, Columns, Other, Window
from kafkactl.dryrun.fetched import within_fetched
from kafkactl.dryrun.patches import COUNTERS, FIELDS, fold
from kafkactl.errors import FailedError
from kafkactl.frozen import frozen
from kafkactl.protocol.crc32c import crc32c
from kafkactl.protocol.record_batch import CRC_END, CRC_START, HEADER_BYTES, LENGTH_END

# Kinds of rows: a patch; many of them as Arrow's stream; records that stand as they are; bodies; JSON: counts of
# records before the window, offsets of transactions that were kept out; a batch whose CRC is wrong: its file.
PATCH, PATCHES, OTHERS, BODIES, BEFORE, ABORTED, WRONG = range(7)
PATCH_OFFSETS: Final = ("first_offset", "last_offset", "reset_at")
PATCH_NUMBERS: Final = (*PATCH_OFFSETS, *COUNTERS, *FIELDS)
GROUP: Final = ("log", "kind", "key", "era")
MERGED_BY: Final = {"first_offset": "min", **dict.fromkeys(COUNTERS, "sum")}  # all others by max
SCHEMA: Final = pa.schema(
    [
        ("log", pa.int32()), ("kind", pa.int32()), ("key", pa.binary()), ("era", pa.int32()),
        *((name, pa.int64()) for name in PATCH_NUMBERS),
    ]
)  # fmt: skip
_SQL_TYPES: Final = {pa.int32(): "int", pa.int64(): "long", pa.binary(): "binary"}
_PLACE: Final = struct.Struct(">ii")  # the number of the stretch, and that of the row among those of its kind
_OTHER: Final = struct.Struct(">qiiqiqi")  # an Other, its content by its length
_LENGTH: Final = struct.Struct(">i")
_ROWS: Final = 50_000  # of an Arrow batch
_ROW_BYTES: Final = 256 * 1024
_PIECE_BYTES: Final = 16 * 1024 * 1024


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

    Small stretches share a task, up to `task_bytes`. `is_packed`: patches come as PATCHES, to be merged by the driver.
    """

    stretches: tuple[Stretch, ...]
    windows: tuple[Window, ...]
    eras: tuple[tuple[int, ...], ...] = field(default=())
    task_bytes: int = 1
    is_packed: bool = False

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
                "is_packed": self.is_packed,
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
            is_packed=read["is_packed"],
        )


_STRETCH = ("log", "number", "file", "path", "start", "end")


class KraftLog(DataSource):  # type: ignore[misc]
    """`spark.read.format("kraftlog")` with the option `job` (`Job.to_json`)."""

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return "kraftlog"

    def schema(self) -> str:
        """The columns; see SCHEMA."""
        return ", ".join(f"{one.name} {_SQL_TYPES[one.type]}" for one in SCHEMA)

    def reader(self, schema: object) -> KraftLogReader:
        """What plans the splits and reads them."""
        return KraftLogReader(Job.from_json(self.options["job"]))


class _Split(InputPartition):  # type: ignore[misc]
    def __init__(self, stretches: tuple[Stretch, ...]) -> None:
        super().__init__(stretches)
        self.stretches = stretches


class KraftLogReader(DataSourceReader):  # type: ignore[misc]
    """One split for each large stretch, or for several small ones."""

    def __init__(self, job: Job) -> None:
        self._job = job

    def partitions(self) -> Sequence[InputPartition]:
        """The splits, in the driver."""
        splits: list[InputPartition] = []
        pending: list[Stretch] = []
        for one in self._job.stretches:
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
        columns = Columns(self._job.windows[stretch.log])
        with _opened(stretch.path) as file:
            wrong = _read_all(file, stretch, columns)
        if wrong is not None:
            yield _blobs(stretch, [(WRONG, json.dumps([stretch.path, wrong]).encode())])
            return
        eras = self._job.eras[stretch.log] if self._job.eras else ()
        yield _blobs(stretch, _packed(columns))
        keys = np.frombuffer(b"".join(columns.keys), np.dtype((np.void, KEY_BYTES)))
        for patches in fold(columns, stretch.number, eras):
            rows = _patches(stretch, keys, patches)
            slices = [rows.slice(at, _ROWS) for at in range(0, rows.num_rows, _ROWS)]
            yield from [_packed_rows(stretch, slices, patches["era"][0])] if self._job.is_packed else slices


def _opened(path: str) -> BinaryIO:
    """A segment; on a worker of another machine what was fetched lies where Spark has put it."""
    try:
        return open(path, "rb", buffering=0)  # noqa: PTH123
    except FileNotFoundError:
        inside = within_fetched(path)
        if inside is None:
            raise
        from pyspark import SparkFiles

        return open(f"{SparkFiles.getRootDirectory()}/{inside}", "rb", buffering=0)  # noqa: PTH123


def _read_all(file: BinaryIO, stretch: Stretch, columns: Columns) -> int | None:
    """Take in the batches of a stretch, piece by piece; where one has a wrong CRC, or None."""
    at, size = stretch.start, _PIECE_BYTES
    while at < stretch.end:
        data = _bytes_of(file, stretch, at, min(size, stretch.end - at))
        positions = list(batches_in(data))
        if not positions and at + len(data) < stretch.end:  # the next batch is longer than that
            size *= 2
            continue
        if not positions:
            raise _changed(stretch, at)
        wrong = _wrong_crc(data, positions)
        if wrong is not None:
            return at + wrong
        is_last = at + len(data) >= stretch.end
        at += columns.take(data, positions, at, is_last=is_last)
        size = _PIECE_BYTES
    return None


def _bytes_of(file: BinaryIO, stretch: Stretch, start: int, size: int) -> bytes:
    """Raises FailedError `log-changed-while-read`."""
    file.seek(start)
    parts = []
    while size and (part := file.read(size)):
        parts.append(part)
        size -= len(part)
    if size:
        raise _changed(stretch, stretch.end - size)
    return b"".join(parts)


def _changed(stretch: Stretch, at: int) -> FailedError:
    return FailedError(
        f"{stretch.path} changed while it was read: what stood at byte {at} is gone",
        id="log-changed-while-read",
        next_step="Ask again, or copy the log first: a node may have cut or deleted the segment.",
    )


def batches_in(data: bytes) -> Iterator[int]:
    """Where the whole batches begin in a stretch of whole ones, the last of which may be cut."""
    at = 0
    while at + HEADER_BYTES <= len(data):
        end = at + LENGTH_END + int.from_bytes(data[at + 8 : at + LENGTH_END], "big", signed=True)
        if end > len(data) or end <= at:
            return
        yield at
        at = end


def _wrong_crc(data: bytes, positions: list[int]) -> int | None:
    for at in positions:
        end = at + LENGTH_END + int.from_bytes(data[at + 8 : at + LENGTH_END], "big")
        if crc32c(data[at + CRC_END : end]) != int.from_bytes(data[at + CRC_START : at + CRC_END], "big"):
            return at
    return None


# --- rows ---------------------------------------------------------------------------------------------------------


def _packed(columns: Columns) -> Iterator[tuple[int, bytes]]:
    """All that is no patch, as kinds and contents of rows."""
    if columns.before:
        yield BEFORE, json.dumps(columns.before).encode()
    if columns.aborted:
        yield ABORTED, json.dumps(columns.aborted).encode()
    for joined in _joined(_LENGTH.pack(len(body)) + body for body in columns.bodies):
        yield BODIES, joined
    for joined in _joined(_OTHER.pack(*one[:-1], len(one.content)) + one.content for one in columns.others):
        yield OTHERS, joined


def _joined(parts: Iterable[bytes]) -> Iterator[bytes]:
    held, size = [], 0
    for part in parts:
        held.append(part)
        size += len(part)
        if size > _ROW_BYTES:
            yield b"".join(held)
            held, size = [], 0
    if held:
        yield b"".join(held)


def place_of(key: bytes) -> tuple[int, int]:
    """The number of the stretch that a row comes from which is no patch, and its number there."""
    return _PLACE.unpack_from(key)


def others_in(key: bytes) -> Iterator[Other]:
    """What is packed into the key of a row of the kind OTHERS."""
    at, end = _PLACE.size, len(key)
    while at < end:
        position, number, kind, offset, epoch, timestamp, length = _OTHER.unpack_from(key, at)
        at += _OTHER.size + length
        yield Other(position, number, kind, offset, epoch, timestamp, key[at - length : at])


def bodies_in(key: bytes) -> Iterator[bytes]:
    """What is packed into the key of a row of the kind BODIES."""
    at, end = _PLACE.size, len(key)
    while at < end:
        (length,) = _LENGTH.unpack_from(key, at)
        at += _LENGTH.size + length
        yield key[at - length : at]


def json_in(key: bytes) -> Any:
    """What is in the key of a row of the other kinds."""
    return json.loads(key[_PLACE.size :])


def _blobs(stretch: Stretch, rows: Iterable[tuple[int, bytes]], *, first: int = 0) -> pa.RecordBatch:
    kinds, keys = [], []
    for number, (kind, content) in enumerate(rows, start=first):
        kinds.append(kind)
        keys.append(_PLACE.pack(stretch.number, number) + content)
    count = len(keys)
    return pa.record_batch(
        [
            pa.array([stretch.log] * count, pa.int32()), pa.array(kinds, pa.int32()), pa.array(keys, pa.binary()),
            pa.array([0] * count, pa.int32()), *(pa.nulls(count, pa.int64()) for _ in PATCH_NUMBERS),
        ],
        schema=SCHEMA,
    )  # fmt: skip


def _packed_rows(stretch: Stretch, slices: Sequence[pa.RecordBatch], era: int) -> pa.RecordBatch:
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    rows = []
    for one in slices:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, SCHEMA, options=options) as writer:
            writer.write_batch(one)
        rows.append((PATCHES, sink.getvalue().to_pybytes()))
    return _blobs(stretch, rows, first=int(era) << 16)


def patches_in(key: bytes) -> pa.Table:
    """What is packed into the key of a row of the kind PATCHES."""
    return pa.ipc.open_stream(pa.py_buffer(key)[_PLACE.size :]).read_all()


def _patches(stretch: Stretch, keys: Any, made: dict[str, Any]) -> pa.RecordBatch:
    count = len(made["key"])
    raw = keys[made["key"]].tobytes()
    ends = np.arange(0, KEY_BYTES * (count + 1), KEY_BYTES, dtype=np.int32)
    key = pa.Array.from_buffers(pa.binary(), count, [None, pa.py_buffer(ends), pa.py_buffer(raw)])
    return pa.record_batch(
        [
            pa.array(np.full(count, stretch.log, np.int32)), pa.array(np.full(count, PATCH, np.int32)), key,
            pa.array(made["era"].astype(np.int32)), *(pa.array(made[name], pa.int64()) for name in PATCH_NUMBERS),
        ],
        schema=SCHEMA,
    )  # fmt: skip
