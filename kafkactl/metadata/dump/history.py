"""History of a key: every record that changed it, and whether the record is in effect.

A record in a transaction (KIP-868) counts when the transaction ends, and never if it is aborted; what is known of it is
therefore only reported after the transaction is closed, or the log is at its end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from kafkactl.core.errors import DecodeError
from kafkactl.core.frozen import frozen
from kafkactl.metadata.dump.text import record_json
from kafkactl.metadata.image.model import LogRecord
from kafkactl.metadata.log.keys import KeyFilter
from kafkactl.protocol.batch_scan import TAIL_IDS
from kafkactl.protocol.log.frame import MetadataRecord

_BEGIN, _END, _ABORT = 23, 24, 25
_MOST = 1_000


@frozen
class Event:
    """A record about the key. `applied` is False in an aborted transaction, None in one that is still open."""

    record: LogRecord
    file: str
    applied: bool | None

    def to_dict(self, *, hide: bool) -> dict[str, Any]:
        """Return the record as `log dump` shows it, and whether it counts."""
        offset, epoch, timestamp_ms, record = self.record
        return {
            "offset": offset,
            "epoch": epoch,
            "timestamp_ms": timestamp_ms,
            "kind": "record",
            "type": record.type,
            "version": record.version,
            "data": record_json(record, hide=hide),
            "applied": self.applied,
            "file": self.file,
        }


class History:
    """History of a key in a log; `problems` are what could not be read, which may have been about it.

    `tail` is what the log ends with if that is not a whole batch, which is harmless as long as nothing follows.
    `gaps` are the places at which records are missing, or stand there twice: file, the offset that was due, that found.
    `records` counts the metadata records that were read, about the key or not.
    """

    def __init__(self, key: KeyFilter) -> None:
        self.problems: list[DecodeError] = []
        self.problem_count = 0
        self.tail: DecodeError | None = None
        self.gaps: list[tuple[str, int, int]] = []
        self.records = 0
        self._key = key
        self._next: int | None = None  # of the log; not known at its beginning, and after damage
        self._waiting: list[tuple[LogRecord, str]] | None = None  # of the open transaction

    def events(self, records: Iterable[LogRecord], *, file: str, is_segment: bool = True) -> Iterator[Event]:
        """Yield the events of one file; files come in their order, then `rest`."""
        for record in records:
            found = record.record
            if is_segment:
                self._follow(record, file)
            if self.tail is not None:
                self._remember(self.tail)
                self.tail = None
            if isinstance(found, DecodeError) and found.id in TAIL_IDS and is_segment:
                self.tail = found
            elif isinstance(found, DecodeError):
                self._remember(found)
            elif isinstance(found, MetadataRecord):
                self.records += 1
                yield from self._take(record, found, file)

    def rest(self) -> Iterator[Event]:
        """Yield the events of a transaction that is still open at the end of the log."""
        yield from self._close(None)

    def _follow(self, record: LogRecord, file: str) -> None:
        if isinstance(record.record, DecodeError):
            self._next = None
            return
        if self._next not in (None, record.offset) and len(self.gaps) < _MOST:
            self.gaps.append((file, self._next or 0, record.offset))
        self._next = record.offset + 1

    def _remember(self, error: DecodeError) -> None:
        self.problem_count += 1
        if len(self.problems) < _MOST:
            self.problems.append(error)

    def _take(self, record: LogRecord, found: MetadataRecord, file: str) -> Iterator[Event]:
        if found.api_key == _BEGIN:
            self._waiting = self._waiting or []
        elif found.api_key in (_END, _ABORT):
            yield from self._close(found.api_key == _END)
        elif self._key.matches(found):
            if self._waiting is None:
                yield Event(record=record, file=file, applied=True)
            else:
                self._waiting.append((record, file))

    def _close(self, applied: bool | None) -> Iterator[Event]:
        waiting, self._waiting = self._waiting, None
        for record, file in waiting or ():
            yield Event(record=record, file=file, applied=applied)
