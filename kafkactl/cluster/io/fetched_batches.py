"""Record batches that came over the network: every byte is checked before it is used."""

from __future__ import annotations

from struct import Struct

from kafkactl.core.errors import DecodeError, UnreachableError
from kafkactl.core.frozen import frozen
from kafkactl.protocol.log.batch_runs import sound_run
from kafkactl.protocol.record_batch import LENGTH_END, BatchHeader, decode_header, verify_crc

_PLACE = Struct(">q4xi7xi")  # base offset, leader epoch, last offset delta


@frozen
class FetchedPiece:
    """Whole record batches of the log, byte for byte as on disk; `end_offset` is that after the last record."""

    base_offset: int
    end_offset: int
    data: bytes


class SoundBatches:
    """Filter of answers in their order, which returns the batches that follow those returned before.

    `last_epoch` is the epoch of the record before `next_offset`, None if it is unknown.
    """

    def __init__(self, next_offset: int, *, last_epoch: int | None) -> None:
        self.next_offset = next_offset
        self.last_epoch = last_epoch
        self._may_begin_below = next_offset > 0  # A batch is returned whole, also if its middle was requested.

    def jump(self, next_offset: int, last_epoch: int) -> None:
        """Continue after a snapshot."""
        self.next_offset, self.last_epoch, self._may_begin_below = next_offset, last_epoch, False

    def take(self, data: bytes, *, end: int, committed: int, leader_epoch: int) -> FetchedPiece | None:
        """Return the batches of an answer that begin below `end`; None if there are none.

        None of them may reach above `committed`: followers acknowledge whole batches. A batch that is cut at the end
        of an answer is left for the next one. Raises UnreachableError `invalid-fetch-response`.
        """
        base_offset, position = self._usual(data, end=end, committed=committed, leader_epoch=leader_epoch)
        while position < len(data) and self.next_offset < end:
            header = _header(data, position)
            if header is None:
                if base_offset is None:
                    raise unsound(f"a batch at offset {self.next_offset} is cut short")
                break
            self._follow(header, leader_epoch)
            if header.last_offset >= committed:
                raise unsound(
                    f"a batch ends at offset {header.last_offset}, and the log is committed up to {committed}"
                )
            base_offset = header.base_offset if base_offset is None else base_offset
            position = header.end
        if base_offset is None:
            return None
        return FetchedPiece(base_offset=base_offset, end_offset=self.next_offset, data=bytes(data[:position]))

    def _usual(self, data: bytes, *, end: int, committed: int, leader_epoch: int) -> tuple[int | None, int]:
        """Read the sound batches that follow each other at the beginning of an answer, without a value for each.

        An idle controller writes two batches a second. Return the first offset and the position of the end: at a wrong
        or unusual batch, which is then read one by one.
        """
        first, run, rest = None, *sound_run(data, 0)
        for position in run.positions:
            base_offset, epoch, last_delta = _PLACE.unpack_from(data, position)
            last_offset = base_offset + last_delta
            follows = base_offset == self.next_offset <= last_offset and (self.last_epoch or 0) <= epoch <= leader_epoch
            if self.next_offset >= end or not follows or last_offset >= committed:
                return first, position
            first = base_offset if first is None else first
            self.next_offset, self.last_epoch, self._may_begin_below = last_offset + 1, epoch, False
        return first, rest

    def _follow(self, header: BatchHeader, leader_epoch: int) -> None:
        begins_right = header.base_offset == self.next_offset
        if self._may_begin_below and not begins_right:
            begins_right = 0 <= header.base_offset < self.next_offset <= header.last_offset
        if not begins_right or header.last_offset < header.base_offset:
            raise unsound(
                f"offset {self.next_offset} is next, and a batch of {header.base_offset} to {header.last_offset} came"
            )
        if not (self.last_epoch or 0) <= header.partition_leader_epoch <= leader_epoch:
            raise unsound(
                f"a batch of epoch {header.partition_leader_epoch} at offset {header.base_offset}, behind epoch "
                f"{self.last_epoch}, from the leader of epoch {leader_epoch}"
            )
        self.next_offset, self.last_epoch = header.last_offset + 1, header.partition_leader_epoch
        self._may_begin_below = False


def unsound(what: str) -> UnreachableError:
    """Return the error of an invalid answer."""
    return UnreachableError(f"the metadata log that was answered is not sound: {what}", id="invalid-fetch-response")


def _header(data: bytes, position: int) -> BatchHeader | None:
    """Return the batch at `position`, checked; None if the answer ends within it."""
    left = len(data) - position
    if left < LENGTH_END or int.from_bytes(data[position + 8 : position + LENGTH_END], "big") > left - LENGTH_END:
        return None
    try:
        header = decode_header(data, position)
        verify_crc(data, header)
    except DecodeError as error:
        raise unsound(error.message) from error
    return header
