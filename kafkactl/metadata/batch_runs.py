"""The sound batches of a log that arrives in pieces, and the damage between them, at the speed of the checksum.

A run is a stretch of bytes with the places of the batches in it; whoever reads on unpacks the headers itself. Unlike
`log_scan.walk_batches`, which ends where a starting node would cut the log, the walk goes on behind damage, for what
lies there can still be read. Memory: a piece and what a single batch may take.
"""

from __future__ import annotations

import struct
from collections.abc import Generator, Iterable, Iterator
from typing import NamedTuple

from kafkactl.errors import DecodeError
from kafkactl.metadata.log_scan import LARGEST_BATCH_BYTES
from kafkactl.protocol.batch_scan import Damage, scan_batches
from kafkactl.protocol.crc32c import crc32c
from kafkactl.protocol.record_batch import CRC_END, HEADER_BYTES, LENGTH_END, MAGIC

_HEAD = struct.Struct(">8xi4xBI")  # length, magic, CRC
_LEAST = HEADER_BYTES - LENGTH_END
# Damage longer than this cannot be a batch of Kafka's whose end has not been read yet (KafkaRaftClient, 8 MiB).
_SEARCHED_BYTES = 9 * 1024 * 1024


class BatchRun(NamedTuple):
    """Batches whose CRC is right, at `positions` in `data`; `base` is where `data` begins in the file."""

    data: bytes
    base: int
    positions: list[int]


def walk_runs(pieces: Iterable[bytes], *, file: str | None = None) -> Iterator[BatchRun | Damage]:
    """Runs and damages in the order of the file, covering it whole. Raises only what `pieces` raises.

    A damage at the very end whose error is `truncated-batch` may be a batch that is being written.
    """
    data, base = b"", 0
    for piece in pieces:
        data = data + piece if data else piece
        run, rest = _sound(data, base)
        if run.positions:
            yield run
        if rest < len(data) and _is_wrong(data, rest):
            rest = yield from _behind_damage(data, base, rest, file)
        data, base = data[rest:], base + rest
    while data:
        rest = yield from _behind_damage(data, base, 0, file, is_end=True)
        data, base = data[rest:], base + rest


def _sound(data: bytes, base: int) -> tuple[BatchRun, int]:
    """The whole and sound batches from the beginning on, and where they end."""
    positions: list[int] = []
    at, size, unpack = 0, len(data), _HEAD.unpack_from
    while at + HEADER_BYTES <= size:
        length, magic, crc = unpack(data, at)
        end = at + LENGTH_END + length
        if end > size or length < _LEAST or magic != MAGIC or crc32c(data[at + CRC_END : end]) != crc:
            break
        positions.append(at)
        at = end
    return BatchRun(data, base, positions), at


def _is_wrong(data: bytes, at: int) -> bool:
    """Whether what stands there is more than a batch whose rest has not arrived."""
    if len(data) - at < LENGTH_END:
        return False
    length = int.from_bytes(data[at + 8 : at + LENGTH_END], "big", signed=True)
    return not _LEAST <= length <= LARGEST_BATCH_BYTES or at + LENGTH_END + length <= len(data)


def _behind_damage(
    data: bytes, base: int, start: int, file: str | None, *, is_end: bool = False
) -> Generator[BatchRun | Damage, None, int]:
    """Runs and damages from a damage on; returns where what may still become a batch begins."""
    positions: list[int] = []
    rest = data[start:]
    for found in scan_batches(rest, file=file, base=base + start):
        if not isinstance(found, Damage):
            positions.append(found.position - base)
            continue
        if positions:
            yield BatchRun(data, base, positions)
            positions = []
        unfinished = found.end == base + len(data) and not is_end
        if unfinished and found.end - found.position <= _SEARCHED_BYTES:
            return found.position - base
        if unfinished:
            told = _shortened(found, found.end - _SEARCHED_BYTES)
            yield told
            return told.end - base
        yield found
    if positions:
        yield BatchRun(data, base, positions)
    return len(data)


def _shortened(damage: Damage, end: int) -> Damage:
    error: DecodeError = damage.error
    return Damage(position=damage.position, end=end, error=error, searched_all=damage.searched_all)
