"""End of a metadata log for a node of Kafka: its first batch that is not sound.

A node that starts recovers the log from its first byte, whatever snapshots there are. It cuts the log at the first
batch that is cut, impossible or of a wrong CRC and removes all later segments (`LogSegment.recover`,
`LogLoader.recoverLog`). If the newest snapshot then ends after the log, it discards the rest of the log and continues
from the snapshot (`KafkaMetadataLog.truncateToLatestSnapshot`): records after the snapshot are lost as well.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Final

from kafkactl.core.findings import Finding
from kafkactl.core.frozen import frozen
from kafkactl.metadata.dump.findings import log_cut
from kafkactl.protocol.batch_scan import Damage
from kafkactl.protocol.log.batch_runs import BatchRun

_BATCH: Final = struct.Struct(">q15xi30xi")  # base offset, last offset delta, record count


@frozen
class Cut:
    """The end of a log at a bad batch: `offset` is the first that a starting node would not keep."""

    file: str
    offset: int
    damage: Damage


class LogEnd:
    """End of a log: the batches up to its cut, and the number of those that can still be read after it."""

    def __init__(self) -> None:
        self.cut: Cut | None = None
        self._next: int | None = None
        self._batches = self._records = 0
        self._last: int | None = None

    def begin(self, base_offset: int | None) -> None:
        """Begin a segment with this offset."""
        if self._next is None:
            self._next = base_offset

    def pass_run(self, run: BatchRun, positions: Sequence[int]) -> None:
        """Take sound batches: before the cut they move the end, after it they are counted."""
        if self.cut is None:
            if positions:
                offset, delta, _ = _BATCH.unpack_from(run.data, positions[-1])
                self._next = offset + delta + 1
            return
        for at in positions:
            offset, delta, count = _BATCH.unpack_from(run.data, at)
            self._batches += 1
            self._records += count
            self._last = offset + delta

    def stop(self, damage: Damage, file: str) -> None:
        """End the log here; a damage after the first one changes nothing."""
        if self.cut is None:
            self.cut = Cut(file=file, offset=self._next or 0, damage=damage)

    def finding(self, snapshot_end: int | None, wanted: int | None = None) -> Finding | None:
        """Return the finding about records left out of the state, None for a log without a cut.

        `snapshot_end` is the end offset of the snapshot that the state begins with. If it is not below the cut, the
        state is that of the snapshot; nothing is lost if no record after it can be read. `wanted` is the offset whose
        state was asked for.
        """
        if self.cut is None:
            return None
        covered_end = snapshot_end if snapshot_end is not None and snapshot_end >= self.cut.offset else None
        return log_cut(
            self.cut.damage.error,
            end=self.cut.damage.end,
            offset=self.cut.offset,
            records=self._records,
            last_offset=self._last,
            snapshot_end=covered_end,
            wanted=wanted,
        )
