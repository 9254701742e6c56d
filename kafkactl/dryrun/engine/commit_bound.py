"""The offset up to which a log is certainly committed, from the logs of several voters.

The disk does not record what is committed. But a record that is in the logs of a majority of the voters is committed
if these logs have, at or after it, a record of the newest epoch: a leader commits records of earlier epochs only with
one of its own (KIP-595, `LeaderState.updateHighWatermark`). Logs are compared by their epochs: two logs in which the
same epochs begin at the same offsets are equal up to the end of the shorter one.
"""

from __future__ import annotations

from collections.abc import Sequence

from kafkactl.frozen import frozen
from kafkactl.metadata.log.lineage import BatchIndex
from kafkactl.quorum.majority import majority


@frozen
class Lineage:
    """The epochs of a log: (epoch, first offset) in their order; `end_offset` is the first behind the last record."""

    epochs: tuple[tuple[int, int], ...]
    end_offset: int


def lineage_of(index: BatchIndex, sound_end: int) -> Lineage:
    """The lineage of a log up to where a starting node would cut it."""
    epochs: list[tuple[int, int]] = []
    for offset, epoch in zip(index.base_offsets, index.epochs, strict=True):
        if offset >= sound_end:
            break
        if not epochs or epochs[-1][0] != epoch:
            epochs.append((epoch, offset))
    return Lineage(epochs=tuple(epochs), end_offset=min(index.end_offset, sound_end) if epochs else 0)


def commit_bound(logs: Sequence[Lineage], voters: int) -> int | None:
    """The last offset that these logs prove to be committed, of a quorum of so many voters; None where they prove none.

    Each log is to be of another voter.
    """
    needed = majority(voters)
    held = [lineage for lineage in logs if lineage.epochs]
    if len(held) < needed:
        return None
    best = max(held, key=lambda lineage: (lineage.epochs[-1][0], lineage.end_offset))
    ends = sorted((_common_end(best, lineage) for lineage in held), reverse=True)
    bound = ends[needed - 1]
    newest_start = best.epochs[-1][1]
    return bound - 1 if bound > newest_start else None


def _common_end(best: Lineage, other: Lineage) -> int:
    """Up to where two logs are the same."""
    starts = dict(other.epochs)
    kept = {epoch: start for epoch, start in best.epochs if starts.get(epoch) == start}
    if not kept:
        return 0
    last = max(kept)
    ends = [log.end_offset for log in (best, other)]
    ends += [start for log in (best, other) for epoch, start in log.epochs if epoch > last]
    return min(ends)
