"""A range of times of records, and the batches that have none of them.

Kafka's controllers give every record of a batch the time of its append, which is the base timestamp and the maximum in
the header (`BatchBuilder.writeRecord`, 3.9.2 and 4.4.0).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from itertools import groupby
from typing import Final, NamedTuple

from kafkactl.protocol.log.batch_runs import BatchRun

_TIMES: Final = struct.Struct(">27xqq")  # of the batch header: base timestamp, maximum


class Times(NamedTuple):
    """The first and the last time in ms since 1970, both included; None for no limit."""

    first_ms: int | None = None
    last_ms: int | None = None

    def has(self, time_ms: int) -> bool:
        """Return True if a time is in the range."""
        first, last = self
        return (first is None or time_ms >= first) and (last is None or time_ms <= last)

    def divided(self, run: BatchRun) -> Iterator[tuple[bool, BatchRun]]:
        """Yield the parts of a run in order, each with False if its header shows that no record is in the range."""
        if self == ALL_TIMES:
            yield True, run
            return
        for is_wanted, positions in groupby(run.positions, lambda position: self._may_have(run, position)):
            yield is_wanted, BatchRun(run.data, run.base, list(positions))

    def _may_have(self, run: BatchRun, position: int) -> bool:
        base, most = _TIMES.unpack_from(run.data, position)
        return base != most or self.has(base)


ALL_TIMES: Final = Times()
