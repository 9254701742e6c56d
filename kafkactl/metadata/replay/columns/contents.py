"""Content of a run of batches, by columns; the reference is `scan.Contents`, batch by batch.

Records about partitions and no-ops that are written as Kafka writes them are sound, and counted. Every other record,
and every batch that is not usual, is for the reference to read, in the order of the log.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from kafkactl.metadata.log.scan import Contents, FoundBatch
from kafkactl.metadata.log.stretches import Course
from kafkactl.metadata.replay.columns import tagged_fields
from kafkactl.metadata.replay.columns.bytes import Array, Window
from kafkactl.metadata.replay.columns.frame import Batches, Heads, batches, heads
from kafkactl.metadata.replay.columns.tagged_fields import IDS_BYTES
from kafkactl.metadata.replay.topics import CHANGE, NEWEST, PARTITION
from kafkactl.protocol.log.batch_runs import BatchRun
from kafkactl.protocol.log.frame import FRAME_VERSION
from kafkactl.protocol.record_batch import Record, decode_header

_NO_OP: Final = 20
_NO_OP_BYTES: Final = 4  # with its count of tagged fields, which is 0
_LEAST_BYTES: Final = 3 + IDS_BYTES  # of a record about a partition
_FAR: Final = 1 << 62  # offsets beyond are for numbers without bounds
_LOWEST: Final = -_FAR
# Api key and version.
_SOUND: Final = ((_NO_OP, 0), *((key, version) for key in (PARTITION, CHANGE) for version in range(NEWEST + 1)))


class ContentScan:
    """Scan of the runs of a file: its contents and the course of its offsets."""

    def __init__(self, contents: Contents, course: Course, *, file: str) -> None:
        self._contents = contents
        self._course = course
        self._file = file
        self._window = Window()

    def add(self, run: BatchRun) -> None:
        """Take the next run."""
        window = self._window
        window.show(run.data)
        taken = heads(window, run.positions)
        if bool((np.abs(taken.offset) > _FAR).any()):
            for index in range(len(run.positions)):
                self._add_batch(run, index)
            return
        self._follow(taken)
        self._read(run, batches(window, taken, first=_LOWEST, end=1 << 63))

    def _follow(self, taken: Heads) -> None:
        offset, last = taken.offset, taken.last
        follows = bool((offset[1:] == last[:-1] + 1).all()) and bool((last >= offset).all())
        if not (follows and self._course.add_next(int(offset[0]), int(last[-1]))):
            for own in zip(offset.tolist(), last.tolist(), strict=True):
                self._course.add(*own)

    def _read(self, run: BatchRun, found: Batches) -> None:
        """Count what is sound, and leave the rest to the reference, in its order."""
        taken, contents = found.heads, self._contents
        usual = np.flatnonzero(found.row >= 0)
        batch_of = np.repeat(usual, taken.counts[usual])  # of each row of records
        is_read = found.is_usual[batch_of]
        counts, is_sound = self._sound(found, is_read)
        rows = np.flatnonzero(is_read & ~is_sound)
        others = [(number, -1) for number in np.flatnonzero(~found.is_usual).tolist()]
        alone = sorted([*zip(batch_of[rows].tolist(), rows.tolist(), strict=True), *others])
        for number, row in alone:
            if row < 0:
                self._add_content(run, number)
            else:
                contents.add_record(self._record(run, found, number, row), file=self._file)
        contents.pass_over(
            counts,
            batches=int(found.is_usual.sum()),
            end_offset=int(taken.last[-1]) + 1,
            data_end=int(taken.last[found.is_usual].max(initial=-1)) + 1,
            epoch=int(taken.epoch[-1]),
        )

    def _sound(self, found: Batches, is_read: Array) -> tuple[dict[tuple[int, int], int], Array]:
        """Count the records that need not be read, by kind, and mark them.

        The first of a kind is read in its turn, so that where it stands is known.
        """
        window, records = self._window, found.records
        size = records.end - records.start
        head = window.u4[records.start]
        kind, counts = head & 0xFFFFFF, {}
        is_sound = np.zeros(len(kind), bool)
        for key, version in _SOUND:
            of_kind = (kind == FRAME_VERSION | key << 8 | version << 16) & is_read
            if key == _NO_OP:
                own = np.flatnonzero(of_kind & (head >> 24 == 0) & (size == _NO_OP_BYTES))
            else:
                own = np.flatnonzero(of_kind & (size >= _LEAST_BYTES))
                if self._contents.decode_all and len(own):
                    own = own[~_irregular(window, key, records.start[own], records.end[own])]
            if (key, version) not in self._contents.first_offsets:
                own = own[1:]
            is_sound[own] = True
            if len(own):
                counts[key, version] = len(own)
        return counts, is_sound

    def _record(self, run: BatchRun, found: Batches, number: int, row: int) -> Record:
        taken = found.heads
        start, end = int(found.records.start[row]), int(found.records.end[row])
        place = run.base + start
        return Record(
            offset=int(taken.offset[number]) + row - int(found.row[number]),
            timestamp_ms=int(taken.timestamp[number]),
            key=None,
            value=run.data[start:end],
            headers=(),
            attributes=0,
            position=place,
            key_position=place,
            value_position=place,
        )

    def _add_batch(self, run: BatchRun, index: int) -> None:
        header = self._add_content(run, index)
        self._course.add(*header)

    def _add_content(self, run: BatchRun, index: int) -> tuple[int, int]:
        """Take a batch by the reference; return its first and last offset."""
        at = run.positions[index]
        header = decode_header(run.data, at, file=self._file, base=run.base)
        data = run.data[at : at + header.size_bytes]
        self._contents.add(FoundBatch(header=header, data=data), file=self._file)
        return header.base_offset, header.last_offset


def _irregular(window: Window, key: int, start: Array, end: Array) -> Array:
    taken = tagged_fields.heads(window, start, end)
    given = tagged_fields.changes(window, taken) if key == CHANGE else tagged_fields.partitions(window, taken)[0]
    return given.irregular
