"""A log gone through for the deltas of a starting node, with the records about partitions passed over by columns."""

from __future__ import annotations

from typing import Final

import numpy as np

from kafkactl.core.errors import DecodeError
from kafkactl.dryrun.engine.deltas import Deltas
from kafkactl.dryrun.engine.local import decoded_records
from kafkactl.metadata.image.model import Image, LogRecord
from kafkactl.metadata.replay.columns.bytes import Array, Window
from kafkactl.metadata.replay.columns.frame import Batches, batches, heads
from kafkactl.metadata.replay.topics import CHANGE, PARTITION
from kafkactl.protocol.log.batch_runs import BatchRun
from kafkactl.protocol.log.frame import FRAME_VERSION, decode_record

_NO_OP: Final = 20
_PASSED_OVER: Final = [FRAME_VERSION | kind << 8 for kind in (PARTITION, CHANGE, _NO_OP)]
_NO_END: Final = 2**63 - 1


class LogDeltas:
    """The `deltas` of a log from an image on, given the runs of its segments in their order.

    They know the phantoms and the three parts; the rest of their state, partitions above all, stays as it was.
    """

    def __init__(self, start: Image, from_offset: int, *, keeps_configs: bool) -> None:
        self.deltas = Deltas(start, keeps_configs=keeps_configs)
        self._from_offset = from_offset
        self._window = Window()

    def take_run(self, run: BatchRun) -> bool:
        """Take the next run; return False if a batch reaches back before the start, which is not possible here."""
        window = self._window
        window.show(run.data)
        found = batches(window, heads(window, run.positions), first=self._from_offset, end=_NO_END)
        if int(found.heads.offset.min()) < 0:
            return False
        decoded = _decoded_rows(window, found)
        next_decoded = 0
        first_row, is_usual, offset = found.row.tolist(), found.is_usual.tolist(), found.heads.offset.tolist()
        last, size = found.heads.last.tolist(), (found.heads.end - found.heads.at).tolist()
        for at, position in enumerate(run.positions):
            if last[at] < self._from_offset:
                continue
            if offset[at] < self._from_offset:
                return False
            self.deltas.begin_batch(offset[at], size[at])
            if not is_usual[at]:
                for record, header in decoded_records(run.data, position, run.base, ""):
                    self.deltas.take(record, is_control=header.is_control)
                continue
            row = first_row[at]
            behind = row + last[at] - offset[at] + 1
            while next_decoded < len(decoded) and decoded[next_decoded] < behind:
                self.deltas.pass_over(decoded[next_decoded] - row)
                row = decoded[next_decoded] + 1
                self._take(found, row - 1, offset[at] + row - 1 - first_row[at])
                next_decoded += 1
            self.deltas.pass_over(behind - row)
        return True

    def _take(self, found: Batches, row: int, offset: int) -> None:
        value = self._window.data[int(found.records.start[row]) : int(found.records.end[row])]
        try:
            record: object = decode_record(value)
        except DecodeError as error:
            record = error
        self.deltas.take(LogRecord(offset, -1, -1, record), is_control=False)


def _decoded_rows(window: Window, found: Batches) -> list[int]:
    """Return the records of usual batches that are not passed over."""
    bounds: Array = np.zeros(len(found.records.start) + 1, np.int64)
    usual = np.flatnonzero(found.is_usual)
    np.add.at(bounds, found.row[usual], 1)
    np.add.at(bounds, found.row[usual] + found.heads.counts[usual], -1)
    lies = np.cumsum(bounds[:-1]) > 0
    kind = window.u4[np.where(lies, found.records.start, 0)] & 0xFFFF
    return np.flatnonzero(lies & ~np.isin(kind, _PASSED_OVER)).tolist()
