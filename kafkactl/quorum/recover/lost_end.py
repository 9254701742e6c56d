"""Check for a lost end of the log: all voters' disks are there, and a broker's copy is longer than each of them.

A leader appends before another node fetches, so no copy is ahead of all voters unless they lost records, or were copied
earlier. Started, they lead with the shorter log: running brokers exit, stopped ones cut their copies and rename folders
(measured on 3.9.2, 4.3.1 and 4.4.0 with the log of an only controller cut or zeroed behind its broker's).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from kafkactl.core.frozen import frozen
from kafkactl.quorum.recover.observed_disks import DiskSeen
from kafkactl.quorum.recover.rank import SHOWN, OldVoter, committed_offset, is_disk_of

_KEEP_STOPPED = (
    "eep these controllers stopped. One that starts leads with its shorter log: running brokers exit, stopped ones cut"
    " their copies and rename the folders of newer topics to -stray. This recovery takes the longer copy."
)


@frozen
class LostEnd:
    """The place (epoch, end offset) of the best voter, and the copy that goes further.

    `is_committed`: a majority had records beyond that place. If it is not known, the leader alone may have had them.
    """

    voters_place: tuple[int, int]
    source: DiskSeen
    is_committed: bool

    @property
    def text(self) -> str:
        """Return the loss as the second half of a sentence."""
        (epoch, end), (source_epoch, source_end) = self.voters_place, self.source.place
        what = "lost records that they had" if self.is_committed else "may have lost records"
        return (
            f"no voter's log goes beyond offset {end} (epoch {epoch}), and the copy in {self.source.path} ends at"
            f" offset {source_end} (epoch {source_epoch}): the voters {what}, as by a power failure, or their disks"
            " were copied earlier"
        )

    @property
    def next_step(self) -> str:
        """Return the next step: never start the controllers before it is known."""
        if self.is_committed:
            return f"K{_KEEP_STOPPED}"
        return (
            "If a majority of these controllers did not lose power at the same time, start them: what only a leader had"
            f" was never committed, and brokers drop it. Otherwise, k{_KEEP_STOPPED}"
        )


def lost_end(voters: Sequence[OldVoter], disks: Collection[DiskSeen], source: DiskSeen) -> LostEnd | None:
    """Return the loss of the voters; None if a voter reaches the end of the source, or a voter that may was not
    given."""
    if any(voter.state != SHOWN for voter in voters):
        return None
    own = [disk for disk in disks for voter in voters if is_disk_of(disk, voter.id, voter.directory_id)]
    place = max(disk.place for disk in own)
    if place >= source.place:
        return None
    # A snapshot ends at a committed offset; what the only voter appended is committed with that.
    is_committed = len(voters) == 1 or committed_offset(disks) > place[1]
    return LostEnd(voters_place=place, source=source, is_committed=is_committed)
