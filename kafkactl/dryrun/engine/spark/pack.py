"""What stretches give for the driver alone, packed into bytes: no Arrow, and nothing that the JVM looks into.

On one machine they go through files: Spark's JVM copies each byte some eight times on its way, 0.5 s for 44 MB.

A packed row is a kind and a content, which begins with its place: the number of its stretch, and its own among those.
"""

from __future__ import annotations

import io
import json
import os
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np

from kafkactl.dryrun.engine.columns import Columns, Other
from kafkactl.dryrun.engine.patches import Patches
from kafkactl.metadata.replay.columns.bytes import Array

# Kinds of rows: one patch; many packed patches; records that are not folded; lists that patches refer to by index;
# JSON: counts of records before the window; the offset of the first NoOpRecord that was left out, and how many
# partitions, changes and such NoOpRecords there are; offsets of transactions that were left out; a file and the
# position of a batch in it whose CRC is wrong, or that is gone.
# Or all rows of a stretch in a file, whose path is the content.
PATCH, PATCHES, OTHERS, WORDS, BEFORE, COUNTS, ABORTED, WRONG, GONE, KEPT = range(10)
_ROW: Final = struct.Struct(">iq")  # in a file: the kind, and the length of the content
_PLACE: Final = struct.Struct(">ii")
_OTHER: Final = struct.Struct(">qiiqiqi")  # an Other, its content by its length
_ROW_BYTES: Final = 256 * 1024
_INTEGERS: Final = (np.int8, np.int16, np.int32, np.int64)


def placed(stretch: int, rows: Iterable[tuple[int, bytes]], *, first: int = 0) -> Iterator[tuple[int, bytes]]:
    """Kinds and contents of a stretch's rows with their places, from `first` on."""
    for number, (kind, content) in enumerate(rows, start=first):
        yield kind, _PLACE.pack(stretch, number) + content


def kept(rows: Iterable[tuple[int, bytes]], folder: str, name: str) -> bytes:
    """Write the rows of a stretch into a file of a folder; its path.

    The name of the file ends with this process: two workers that read the same stretch do not write one file.
    """
    path = Path(folder, f"{name}-{os.getpid()}")
    with path.open("wb") as file:
        for kind, content in rows:
            file.write(_ROW.pack(kind, len(content)))
            file.write(content)
    return os.fsencode(path)


def rows_kept(path: bytes) -> Iterator[tuple[int, bytes]]:
    """The rows of such a file."""
    with Path(os.fsdecode(path)).open("rb") as file:
        while head := file.read(_ROW.size):
            kind, length = _ROW.unpack(head)
            yield kind, file.read(length)


def place_of(content: bytes) -> tuple[int, int]:
    """The number of the stretch that a row comes from, and its number there."""
    return _PLACE.unpack_from(content)


def packed_columns(columns: Columns) -> Iterator[tuple[int, bytes]]:
    """All rows but the patches, as their kind and content."""
    if columns.before:
        yield BEFORE, json.dumps(columns.before).encode()
    if columns.aborted:
        yield ABORTED, json.dumps(columns.aborted).encode()
    counts = [columns.partitions, columns.changes, columns.no_ops]
    yield COUNTS, json.dumps([columns.first_no_op, *counts]).encode()
    words = columns.words()
    for at in range(0, len(words), _ROW_BYTES):
        yield WORDS, words[at : at + _ROW_BYTES]
    for joined in _joined(_OTHER.pack(*other[:-1], len(other.content)) + other.content for other in columns.others):
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


def others_in(content: bytes) -> Iterator[Other]:
    """What a row of the kind OTHERS holds."""
    at, end = _PLACE.size, len(content)
    while at < end:
        position, number, kind, offset, epoch, timestamp, length = _OTHER.unpack_from(content, at)
        at += _OTHER.size + length
        yield Other(position, number, kind, offset, epoch, timestamp, content[at - length : at])


def words_in(content: bytes) -> bytes:
    """What a row of the kind WORDS holds: a part of the lists of its stretch."""
    return content[_PLACE.size :]


def json_in(content: bytes) -> Any:
    """What a row of the other kinds holds."""
    return json.loads(content[_PLACE.size :])


def packed_patches(patches: Patches) -> tuple[int, bytes]:
    """The patches of one era of a stretch as a row. Numbers take as few bytes as hold them all."""
    columns: dict[str, Any] = {name: _small(numbers) for name, numbers in patches.numbers.items()}
    sink = io.BytesIO()
    np.savez(sink, keys=patches.keys, era=np.array(patches.era), **columns)
    return PATCHES, sink.getvalue()


def _small(numbers: Array) -> Array:
    low, high = int(numbers.min()), int(numbers.max())
    kind = next(integer for integer in _INTEGERS if np.iinfo(integer).min <= low and high <= np.iinfo(integer).max)
    return numbers.astype(kind)


def patches_in(content: bytes) -> Patches:
    """What a row of the kind PATCHES holds; numbers are as narrow as they were packed."""
    with np.load(io.BytesIO(memoryview(content)[_PLACE.size :]), allow_pickle=False) as held:
        numbers = {name: held[name] for name in held.files if name not in ("keys", "era")}
        return Patches(int(held["era"]), held["keys"], numbers)
