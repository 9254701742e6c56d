"""The sound batches of a log that arrives in pieces, and the damage between them, at the speed of the checksum.

A run is a stretch of bytes with the places of the batches in it; the reader unpacks the headers. Unlike
`scan.walk_batches`, which ends where a starting node would cut the log, the walk continues after damage: what
lies there can still be read. Memory: a piece and what a single batch may take.
"""

from __future__ import annotations

import struct
from collections.abc import Generator, Iterable, Iterator
from typing import Final, NamedTuple

from kafkactl.core.errors import DecodeError
from kafkactl.protocol.batch_bounds import MOST_BATCH_BYTES
from kafkactl.protocol.batch_scan import Damage, scan_batches
from kafkactl.protocol.crc32c import crc32c
from kafkactl.protocol.record_batch import CRC_END, HEADER_BYTES, LENGTH_END, MAGIC

BATCH_HEAD = struct.Struct(">qii5xhiqq14xi")  # base offset, length, epoch, attributes, last delta, times, count
UNUSUAL_BITS: Final = 0x2F  # of the attributes: compressed, append time, control
_HEAD = struct.Struct(">qi4xBI36xi")  # base offset, length, magic, CRC, record count
_OFFSETS = struct.Struct(">q15xi")  # base offset, last offset delta
_FIRST_OFFSET, _LAST_OFFSET = -(2**63), 2**63 - 1
_LEAST = HEADER_BYTES - LENGTH_END
# Damage longer than this cannot be a batch of Kafka's whose end has not been read yet (KafkaRaftClient, 8 MiB).
_SEARCHED_BYTES = 9 * 1024 * 1024


class BatchRun(NamedTuple):
    """Batches whose CRC is right, at `positions` in `data`; `base` is where `data` begins in the file.

    None of them has a base offset below `least_offset`.
    """

    data: bytes
    base: int
    positions: list[int]
    least_offset: int = _FIRST_OFFSET


def walk_runs(pieces: Iterable[bytes], *, file: str | None = None) -> Iterator[BatchRun | Damage]:
    """Yield runs and damages in the order of the file, which they cover whole. Raise only what `pieces` raises.

    A damage at the very end whose error is `truncated-batch` may be a batch that is being written.
    """
    data, base, next_offset = b"", 0, _FIRST_OFFSET
    for piece in pieces:
        data = data + piece if data else piece
        piece = b""  # noqa: PLW2901  # The piece need not be in memory twice.
        run, rest = sound_run(data, base)
        if run.positions:
            next_offset = _end_offset(data, run.positions[-1])
            yield run
        if rest < len(data) and is_wrong(data, rest):
            rest, next_offset = yield from _behind_damage(data, base, rest, next_offset, file=file)
        data, base = data[rest:], base + rest
    if data:
        yield from _behind_damage(data, base, 0, next_offset, file=file, is_end=True)


def sound_run(data: bytes, base: int) -> tuple[BatchRun, int]:
    """Return the whole and sound batches at the beginning of `data`, and their end."""
    positions: list[int] = []
    at, size, unpack = 0, len(data), _HEAD.unpack_from
    least = _LAST_OFFSET
    while at + HEADER_BYTES <= size:
        offset, length, magic, crc, count = unpack(data, at)
        end = at + LENGTH_END + length
        if end > size or not _LEAST <= length <= MOST_BATCH_BYTES or magic != MAGIC or count < 0:
            break
        if crc32c(data[at + CRC_END : end]) != crc:
            break
        positions.append(at)
        if offset < least:  # noqa: PLR1730  # a call of `min` would be a tenth of the checksum
            least = offset
        at = end
    return BatchRun(data, base, positions, least), at


def is_wrong(data: bytes, at: int) -> bool:
    """Return True if the bytes there are more than a batch whose rest has not arrived."""
    if len(data) - at < LENGTH_END:
        return False
    length = int.from_bytes(data[at + 8 : at + LENGTH_END], "big", signed=True)
    return not _LEAST <= length <= MOST_BATCH_BYTES or at + LENGTH_END + length <= len(data)


def end_offset(run: BatchRun) -> int:
    """Return the offset after a run's last batch."""
    return _end_offset(run.data, run.positions[-1])


def _end_offset(data: bytes, position: int) -> int:
    base_offset, last_delta = _OFFSETS.unpack_from(data, position)
    return int(base_offset + last_delta + 1)


def _behind_damage(
    data: bytes, base: int, start: int, next_offset: int, *, file: str | None, is_end: bool = False
) -> Generator[BatchRun | Damage, None, tuple[int, int]]:
    """Yield runs and damages from a damage on; return the begin of a possible batch, and the next offset."""
    positions: list[int] = []
    for found in scan_batches(data[start:], file=file, base=base + start, next_offset=next_offset):
        if not isinstance(found, Damage):
            positions.append(found.position - base)
            next_offset = found.last_offset + 1
            continue
        if positions:
            yield BatchRun(data, base, positions)
            positions = []
        unfinished = found.end == base + len(data) and not is_end
        if unfinished and found.end - found.position <= _SEARCHED_BYTES:
            return found.position - base, next_offset
        damage = _shortened(found, found.end - _SEARCHED_BYTES) if unfinished else found
        yield damage
        if unfinished:
            return damage.end - base, next_offset
    if positions:
        yield BatchRun(data, base, positions)
    return len(data), next_offset


def _shortened(damage: Damage, end: int) -> Damage:
    error: DecodeError = damage.error
    return Damage(position=damage.position, end=end, error=error, searched_all=damage.searched_all)
