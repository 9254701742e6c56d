"""A segment as a starting node reads it, many batches at a time: runs of sound batches up to the first that is not.

`scan.walk_batches` finds the same batches one by one; it decides about everything that is not a sound batch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Final

from kafkactl.metadata.log.scan import FoundBatch, Stop, walk_batches
from kafkactl.protocol.log.batch_runs import BatchRun, is_wrong, sound_run

_OFFSETS_OF_A_SEGMENT: Final = 2**31  # an index keeps offsets as int32, relative to the base
_GAPS_REPORTED: Final = 10


def walk_stretches(pieces: Iterable[bytes], size_bytes: int, *, file: str) -> Iterator[BatchRun | FoundBatch | Stop]:
    """Yield the batches of a file of `size_bytes` in runs, then a `Stop` if the file is not whole. Never raise."""
    source, data, base = iter(pieces), b"", 0
    for piece in source:
        data = data + piece if data else piece
        piece = b""  # noqa: PLW2901  # The piece need not be in memory twice.
        run, rest = sound_run(data, base)
        if run.positions:
            yield run
        data, base = data[rest:], base + rest
        if data and is_wrong(data, 0):
            break
    yield from walk_batches(chain([data], source), size_bytes, file=file, start=base)


@dataclass(slots=True)
class Course:
    """Course of the offsets of a segment; `base_offset` is that of its name, `expected` the offset that is due next.

    `first` is that of the first batch, `out_of_range` the first that an index of this segment cannot hold. `gaps` are
    pairs of the offset that was due and the one that came (the first ten). `ascends` is False if a batch begins
    below what was due, or ends before it begins.
    """

    base_offset: int
    expected: int
    first: int | None = None
    out_of_range: int | None = None
    ascends: bool = True
    gaps: list[tuple[int, int]] = field(default_factory=list)

    def add(self, offset: int, last: int) -> None:
        """Add the next batch by its first and last offset."""
        self.first = offset if self.first is None else self.first
        if offset > self.expected and len(self.gaps) < _GAPS_REPORTED:
            self.gaps.append((self.expected, offset))
        self.ascends = self.ascends and self.expected <= offset <= last
        self.expected = max(self.expected, last + 1)
        if self.out_of_range is None and not self._holds(last):
            self.out_of_range = last

    def add_next(self, offset: int, last: int) -> bool:
        """Add batches that follow on each other, from the first offset of all to the last. Return False without a
        change if `add` for each of them would do more."""
        if not (self._holds(offset) and self._holds(last)):
            return False
        self.add(offset, last)
        return True

    def _holds(self, offset: int) -> bool:
        return 0 <= offset - self.base_offset < _OFFSETS_OF_A_SEGMENT
