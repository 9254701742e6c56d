"""The leader epochs of a replica, and what a leader with them makes of the remote log.

Source: `RemoteLogManager.java` (`findHighestRemoteOffset`, `findLogStartOffset`, `isRemoteSegmentWithinLeaderEpochs`),
`LeaderEpochFileCache.java`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator

from kafkactl.core.frozen import frozen
from kafkactl.tiered.epoch_index import EpochState, Segment
from kafkactl.tiered.partition_log import PartitionLog

NO_OFFSET = -1


@frozen(kw_only=False)
class Lineage:
    """(leader epoch, its first offset), ascending and not empty; `log_end` is one after the last offset, None if it
    is not known."""

    epochs: tuple[tuple[int, int], ...]
    log_end: int | None = None

    @property
    def log_start(self) -> int:
        """Return the log start, which is in the first entry (`LeaderEpochFileCache.truncateFromStart`)."""
        return self.epochs[0][1]

    def ranges(self) -> Iterator[tuple[int, int, int | None]]:
        """Yield each epoch with its first offset and its end; None for the last epoch if the end is unknown."""
        for at, (epoch, start) in enumerate(self.epochs):
            yield epoch, start, self.epochs[at + 1][1] if at + 1 < len(self.epochs) else self.log_end


def highest_offset(partition: PartitionLog, lineage: Lineage) -> int:
    """Return a leader's answer to ListOffsets latest-tiered; -1 if nothing was copied in any of its epochs."""
    for epoch, _, end in reversed(list(lineage.ranges())):
        state = partition.epochs.get(epoch)
        if state is not None and state.highest is not None:
            return end - 1 if end is not None and end <= state.highest else state.highest
    return NO_OFFSET


def first_listed(epochs: Iterable[EpochState | None]) -> int | None:
    """Return the first offset of the earliest segment in the first of these epochs that lists any."""
    for state in epochs:
        starts = [] if state is None else [segment.start_offset for segment in state.known()]
        if starts:
            return min(starts)
    return None


class LineageCheck:
    """Check of segments against a lineage; one for many segments."""

    def __init__(self, lineage: Lineage) -> None:
        kept = with_records(lineage.epochs)
        self._starts = dict(kept)
        self._epochs = [epoch for epoch, _ in kept]
        self._entries = kept
        self._log_end = lineage.log_end

    def has(self, segment: Segment) -> bool:
        """Return True if a leader with this lineage counts the segment as its own."""
        epochs = with_records(segment.leader_epochs)
        first, last = self._epochs[0], self._epochs[-1]
        if not first <= epochs[-1][0] <= last:
            return False
        valid = [(epoch, start) for epoch, start in epochs if epoch >= first]
        for at, (epoch, start) in enumerate(valid):
            own_start = self._starts.get(epoch)
            if own_start is None or (at == 0 and epoch != first and start < own_start):
                return False
            following = self._following(epoch)
            if at + 1 < len(valid):
                if following != valid[at + 1]:
                    return False
            elif following is not None and segment.end_offset >= following[1]:
                return False
        return self._log_end is None or segment.end_offset < self._log_end

    def _following(self, epoch: int) -> tuple[int, int] | None:
        at = bisect_right(self._epochs, epoch)
        return self._entries[at] if at < len(self._entries) else None


def with_records(epochs: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
    """Return the epochs without those in which nothing was written: the next one begins at the same offset."""
    return tuple(entry for at, entry in enumerate(epochs) if at + 1 == len(epochs) or epochs[at + 1][1] != entry[1])
