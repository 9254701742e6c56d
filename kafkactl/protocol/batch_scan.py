"""A walk over the batches of a file that survives damage and says where each piece of it lies.

Kafka's own recovery stops at the first bad batch and cuts the log there, later segments included
(`core/.../log/LogLoader.scala`), so what matters to an operator is where the first bad byte is, why, and what good
batches follow it. After damage the walk looks for the next place that can only be a batch: magic 2, numbers that
agree with each other, an offset not below the last one, and a CRC that fits.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kafkactl.core.errors import DecodeError
from kafkactl.core.frozen import frozen
from kafkactl.protocol.record_batch import (
    HEADER_BYTES,
    MAGIC,
    MAGIC_POSITION,
    BatchHeader,
    computed_crc,
    decode_header,
    verify_crc,
)

# How much is summed in search of the next batch, as a multiple of the file: hostile bytes may hold a plausible header
# at every step, and each costs a CRC over the length that it claims.
_CRC_BUDGET_FACTOR = 4
_MAGIC_BYTE = bytes([MAGIC])
# What the end of a log may be without harm: a batch on its way to the disk, or room that was never written.
TAIL_IDS: Final = frozenset({"truncated-batch", "zero-tail"})


@frozen
class Damage:
    """Bytes that are not a batch: from `position` up to `end`, where the next batch begins or the data ends.

    `error` says what is wrong at the first of them (`crc-mismatch`, `truncated-batch`, …). `searched_all` is False
    if the search for the next batch gave up, so that good batches may lie in what is called damage.
    """

    position: int
    end: int
    error: DecodeError
    searched_all: bool = True

    @property
    def may_be_tail(self) -> bool:
        """Return True if it is harmless if the log ends with it."""
        return self.error.id in TAIL_IDS


def scan_batches(
    data: bytes, *, file: str | None = None, check_crc: bool = True, base: int = 0, next_offset: int = -(2**63)
) -> Iterator[BatchHeader | Damage]:
    """Yield the headers of all good batches in `data` and the damage between them, in order; never raises.

    The headers and damages cover `data` without gap. With `check_crc` a batch of a wrong CRC is damage. Records are
    not looked at. What is found after damage has no offset below that of what came before, or `next_offset`.
    """
    position = 0
    budget = _CRC_BUDGET_FACTOR * len(data)
    while position < len(data):
        try:
            header = decode_header(data, position, file=file, base=base)
            if check_crc:
                verify_crc(data, header, file=file, base=base)
        except DecodeError as error:
            found, budget = _search(data, position, next_offset, budget, base)
            end = len(data) if found is None else found
            is_blank = end == len(data) and not data[position:].strip(b"\0")
            shown_error = _zeros(base + position, end - position, file) if is_blank else error
            yield Damage(position=base + position, end=base + end, error=shown_error, searched_all=budget >= 0)
            position = end
        else:
            yield header
            position += header.size_bytes
            next_offset = header.last_offset + 1


def _zeros(position: int, size: int, file: str | None) -> DecodeError:
    text = f"{size} zero bytes up to the end hold no batch"
    return DecodeError(text, id="zero-tail", offset=position, path="RecordBatch", file=file)


def _search(data: bytes, damaged: int, next_offset: int, budget: int, base: int) -> tuple[int | None, int]:
    """Return the position of the next batch after `damaged`, and what is left of the budget (negative: gave up)."""
    magic_at = damaged + MAGIC_POSITION
    while (magic_at := data.find(_MAGIC_BYTE, magic_at + 1)) >= 0:
        header = _plausible(data, magic_at - MAGIC_POSITION, next_offset, base)
        if header is None:
            continue
        budget -= header.size_bytes
        if budget < 0:
            return None, budget
        if computed_crc(data, header, base=base) == header.crc:
            return magic_at - MAGIC_POSITION, budget
    return None, budget


def _plausible(data: bytes, position: int, next_offset: int, base: int) -> BatchHeader | None:
    """Return the header at `position` if its numbers can be those of the next batch in the log."""
    if len(data) - position < HEADER_BYTES:
        return None
    try:
        header = decode_header(data, position, base=base)
    except DecodeError:
        return None
    sensible = (
        header.base_offset >= max(next_offset, 0)
        and header.partition_leader_epoch >= -1
        and header.last_offset_delta >= 0
        and header.record_count <= header.last_offset_delta + 1
        and header.record_count <= header.size_bytes
    )
    return header if sensible else None
