"""The offset up to which a log is certainly committed, from the logs of several voters.

The disk does not record what is committed. But a record that is in the logs of a majority of the voters is committed
if these logs have, at or after it, a record of the newest epoch: a leader commits records of earlier epochs only with
one of its own (KIP-595, `LeaderState.updateHighWatermark`). Logs are compared by their epochs: two logs in which the
same epochs begin at the same offsets are equal up to the end of the shorter one. Voters are counted, not logs: several
copies of one voter's log are one vote, and the log of a broker or observer is none.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from kafkactl.cluster.quorum.majority import majority
from kafkactl.core.frozen import frozen
from kafkactl.metadata.log.lineage import BatchIndex


@frozen
class Lineage:
    """The epochs of a log: (epoch, first offset) in their order; `end_offset` is the first after the last record."""

    epochs: tuple[tuple[int, int], ...]
    end_offset: int


def lineage_of(index: BatchIndex, sound_end: int) -> Lineage:
    """Return the lineage of a log up to the place where a starting node would cut it."""
    epochs: list[tuple[int, int]] = []
    for offset, epoch in zip(index.base_offsets, index.epochs, strict=True):
        if offset >= sound_end:
            break
        if not epochs or epochs[-1][0] != epoch:
            epochs.append((epoch, offset))
    return Lineage(epochs=tuple(epochs), end_offset=min(index.end_offset, sound_end) if epochs else 0)


def commit_bound(logs: Sequence[tuple[Hashable, Lineage]], voters: int) -> int | None:
    """Return the last offset that these logs prove to be committed, of a quorum of so many voters; None for no proof.

    Each log comes with the voter whose log it is, None for a log of any other node.
    """
    needed = majority(voters)
    held = [(voter, lineage) for voter, lineage in logs if lineage.epochs]
    if not held:
        return None
    best = max((lineage for _, lineage in held), key=lambda lineage: (lineage.epochs[-1][0], lineage.end_offset))
    of_voters: dict[Hashable, int] = {}
    for voter, lineage in held:
        if voter is not None:
            of_voters[voter] = max(of_voters.get(voter, 0), _common_end(best, lineage))
    if len(of_voters) < needed:
        return None
    bound = sorted(of_voters.values(), reverse=True)[needed - 1]
    newest_start = best.epochs[-1][1]
    return bound - 1 if bound > newest_start else None


def _common_end(best: Lineage, other: Lineage) -> int:
    """Return the offset up to which two logs are the same."""
    starts = dict(other.epochs)
    kept = {epoch: start for epoch, start in best.epochs if starts.get(epoch) == start}
    if not kept:
        return 0
    last = max(kept)
    ends = [log.end_offset for log in (best, other)]
    ends += [start for log in (best, other) for epoch, start in log.epochs if epoch > last]
    return min(ends)
