"""Invariants of a run, checked after every event against the disks and every record ever committed.

The state of a log up to a batch is a number: the place of that batch in a tree of all logs that this run has seen
(`_Prefixes`), so that two logs are equal up to an offset if their numbers there are. Nothing is checked again that did
not change: an event costs a few comparisons.

Sources of the invariants: Ongaro and Ousterhout 2014, figure 3; `RaftEventSimulationTest` of Kafka 3.9, which has six
of them; KIP-853 for the voter sets. What each says is in docs/simulate.md.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from kafkactl.cluster.quorum.majority import majorities_always_meet
from kafkactl.core.frozen import frozen
from kafkactl.core.values import Uuid
from kafkactl.simulator.raft.log import Batch, RecordKind, Voters
from kafkactl.simulator.raft.voters import VoterSet

ELECTION_SAFETY: Final = "election-safety"
LEADER_APPEND_ONLY: Final = "leader-append-only"
LOG_MATCHING: Final = "log-matching"
LEADER_COMPLETENESS: Final = "leader-completeness"
STATE_MACHINE_SAFETY: Final = "state-machine-safety"
MONOTONIC_WATERMARK: Final = "monotonic-watermark"
MAJORITY_HAS_COMMITTED: Final = "majority-has-committed"
MONOTONIC_EPOCH: Final = "monotonic-epoch"
VOTER_SETS_OVERLAP: Final = "voter-sets-overlap"
ONE_VOTE: Final = "one-vote-an-epoch"
NO_TRUNCATION: Final = "no-truncation-below-watermark"
LIVENESS: Final = "liveness"


@frozen
class Violation:
    """An invariant that was broken: when (virtual microseconds, number of the event), at which node, and how."""

    invariant: str
    time_us: int
    event: int
    node: int | None
    text: str


class Shadow:
    """A log, as far as it is compared: the ends of its batches, and the number of the log up to each."""

    __slots__ = ("base_end", "base_number", "durable", "ends", "numbers")

    def __init__(self) -> None:
        self.base_end = self.base_number = 0
        self.ends: list[int] = []
        self.numbers: list[int] = []
        self.durable = 0  # the end of what survives a crash of the machine

    @property
    def end(self) -> int:
        """Return the end of the log."""
        return self.ends[-1] if self.ends else self.base_end

    def number_at(self, end: int) -> int | None:
        """Return the number of the log up to `end`; None if no batch ends there."""
        if end == self.base_end:
            return self.base_number
        place = bisect_left(self.ends, end)
        return self.numbers[place] if place < len(self.ends) and self.ends[place] == end else None

    def cut_to(self, end: int) -> None:
        """Forget the batches that end after `end`."""
        place = bisect_left(self.ends, end + 1)
        del self.ends[place:], self.numbers[place:]
        self.durable = min(self.durable, self.end)


class Monitor:
    """The invariants of one run. `violations` grows; the world looks at it after each event.

    `disks` gives the disks that there are now: node, directory id, log.
    """

    def __init__(self, disks: Callable[[], Iterable[tuple[int, Uuid, Shadow]]]) -> None:
        self._disks = disks
        self.violations: list[Violation] = []
        self.committed_end = 0
        self.time_us = 0
        self.event = 0
        self._numbers: dict[tuple[int, Batch], int] = {}
        self._number_by_last: dict[tuple[int, int], int] = {}
        self._committed: dict[int, int] = {0: 0}  # end of a committed batch -> number of the log up to it
        self._leaders: dict[int, tuple[int, Uuid]] = {}
        self._led: dict[int, int] = {}  # the last epoch that a node led
        self._commits: dict[int, int] = {}  # up to where the leader of an epoch committed
        self._votes: dict[tuple[Uuid, int], tuple[int, Uuid]] = {}
        self._epochs: dict[Uuid, int] = {}

    def appended(self, node: int, shadow: Shadow, batches: Sequence[Batch]) -> None:
        """Check appended batches (log matching): the same offset and epoch never ends two different logs."""
        number = shadow.numbers[-1] if shadow.numbers else shadow.base_number
        for batch in batches:
            if batch.base != shadow.end:
                self._broken(LOG_MATCHING, node, f"node {node} appended offset {batch.base} behind {shadow.end}")
            key = (number, batch)
            number = self._numbers.setdefault(key, len(self._numbers) + 1)
            known = self._number_by_last.setdefault((batch.end, batch.epoch), number)
            if known != number:
                self._broken(
                    LOG_MATCHING,
                    node,
                    f"node {node} has another log up to offset {batch.end - 1} in epoch {batch.epoch} than another",
                )
            shadow.ends.append(batch.end)
            shadow.numbers.append(number)

    def truncated(self, node: int, shadow: Shadow, end: int, watermark: int, *, epoch: int, leads: bool) -> None:
        """Check a truncation to `end`: a leader never truncates its log, and no node truncates below its high
        watermark.

        A node that does not know the epoch of a newer leader may truncate records which that leader committed: its copy
        was not counted. Leader completeness applies to records committed in earlier epochs.
        """
        if leads:
            self._broken(LEADER_APPEND_ONLY, node, f"node {node} leads and truncates its log to {end}")
        lost = next((at for at in reversed(shadow.ends) if at in self._committed), 0)
        if end < watermark:
            text = f"node {node} truncates its log to {end}, below its high watermark {watermark}"
            self._broken(NO_TRUNCATION, node, text)
        elif end < lost and shadow.number_at(lost) == self._committed[lost] and epoch >= self._committed_in(lost):
            text = f"node {node} truncates its log to {end}; offset {lost - 1} of it is committed"
            self._broken(NO_TRUNCATION, node, text)
        shadow.cut_to(end)

    def _committed_in(self, end: int) -> int:
        """Return the epoch whose leader committed up to `end`; 0 for what an operator recovered."""
        return min((epoch for epoch, committed in self._commits.items() if committed >= end), default=0)

    def restarted_at(self, node: int, shadow: Shadow, end: int) -> None:
        """Check a log that is cleared and starts at a snapshot, which contains the committed records up to `end`."""
        number = self._committed.get(end)
        if number is None:
            text = f"node {node} loads a snapshot up to {end}, which was never committed"
            self._broken(STATE_MACHINE_SAFETY, node, text)
        shadow.base_end, shadow.base_number, shadow.durable = end, number or 0, end
        shadow.ends.clear()
        shadow.numbers.clear()

    def recovered(self, shadow: Shadow, taken: int, end: int) -> None:
        """Record that an operator declared the log up to `taken` committed and ended it at `end`.

        The protocol has no such step: from now on that history is committed, whatever was before.
        """
        number = shadow.number_at(taken)
        self._committed[end] = number if end == taken and number is not None else -end
        self.committed_end = max(self.committed_end, end)

    def cleaned(self, node: int, shadow: Shadow, end: int) -> None:
        """Check the deletion of a log below a snapshot at `end`."""
        number = shadow.number_at(end)
        if number is None or self._committed.get(end) != number:
            self._broken(STATE_MACHINE_SAFETY, node, f"node {node} deletes its log below {end}, which is not committed")
        place = bisect_left(shadow.ends, end + 1)
        shadow.base_end, shadow.base_number = end, number or 0
        del shadow.ends[:place], shadow.numbers[:place]
        shadow.durable = max(shadow.durable, end)

    def epoch_of(self, directory: Uuid) -> int:
        """Return the newest epoch that was written to a disk; 0 before any was."""
        return self._epochs.get(directory, 0)

    def state_written(self, node: int, directory: Uuid, epoch: int, voted: tuple[int, Uuid] | None) -> None:
        """Check a written quorum-state: the epoch of a disk never falls, and it has one vote an epoch."""
        known = self.epoch_of(directory)
        if epoch < known:
            self._broken(MONOTONIC_EPOCH, node, f"node {node} wrote epoch {epoch} after epoch {known}")
        self._epochs[directory] = max(known, epoch)
        if voted is not None:
            self.voted(node, directory, epoch, voted)

    def voted(self, node: int, directory: Uuid, epoch: int, candidate: tuple[int, Uuid]) -> None:
        """Check a vote that was written to a disk, or granted to a candidate."""
        first = self._votes.setdefault((directory, epoch), candidate)
        if first[0] != candidate[0]:
            text = f"node {node} voted for {first[0]} and for {candidate[0]} in epoch {epoch}"
            self._broken(ONE_VOTE, node, text)

    def leads(self, node: int, directory: Uuid, epoch: int, shadow: Shadow) -> None:
        """Check that the leader is the only one of its epoch, and has all records committed in earlier epochs.

        A vote may be counted late, when a newer epoch has a leader already; records which that leader committed may be
        missing.
        """
        first = self._leaders.setdefault(epoch, (node, directory))
        if first != (node, directory):
            self._broken(ELECTION_SAFETY, node, f"nodes {first[0]} and {node} both lead epoch {epoch}")
        self._led[node] = epoch
        end = max((end for led, end in self._commits.items() if led < epoch), default=0)
        if shadow.base_end <= end and shadow.number_at(end) != self._committed[end]:
            text = f"node {node} leads epoch {epoch} without committed offset {end - 1}; its log ends at {shadow.end}"
            self._broken(LEADER_COMPLETENESS, node, text)

    def watermark(self, node: int, before: int, now: int, shadow: Shadow, voters: VoterSet | None) -> None:
        """Check a new high watermark of a process after `before` (-1: none). `voters` are a leader's, else None."""
        if now < before:
            self._broken(MONOTONIC_WATERMARK, node, f"the high watermark of node {node} fell from {before} to {now}")
        number = shadow.number_at(now)
        if now in self._committed:
            if now >= shadow.base_end and number != self._committed[now]:
                text = f"node {node} has another record committed at offset {now - 1} than was committed there before"
                self._broken(STATE_MACHINE_SAFETY, node, text)
        elif voters is None or number is None:
            text = f"node {node} has the high watermark {now}, up to which no leader has committed"
            self._broken(STATE_MACHINE_SAFETY, node, text)
        elif now > self.committed_end:
            self._commit(node, now, number, shadow, voters)

    def _commit(self, node: int, end: int, number: int, shadow: Shadow, voters: VoterSet) -> None:
        having = sum(
            voters.is_voter(id, directory) and disk.durable >= end and disk.number_at(end) == number
            for id, directory, disk in self._disks()
        )
        if having < voters.majority:
            text = (
                f"node {node} commits offset {end - 1}, which {having} of {voters} have on disk, not {voters.majority}"
            )
            self._broken(MAJORITY_HAS_COMMITTED, node, text)
        if shadow.number_at(self.committed_end) != self._committed[self.committed_end]:
            text = f"node {node} commits offset {end - 1} on a log without committed offset {self.committed_end - 1}"
            self._broken(STATE_MACHINE_SAFETY, node, text)
        place = bisect_left(shadow.ends, self.committed_end + 1)
        while place < len(shadow.ends) and shadow.ends[place] <= end:
            self._committed[shadow.ends[place]] = shadow.numbers[place]
            place += 1
        self.committed_end = self._commits[self._led.get(node, 0)] = end

    def voters_changed(self, node: int, before: VoterSet, after: VoterSet) -> None:
        """Check that every majority of an appended voter set shares a voter with every majority of the set before."""
        if before.voters and not majorities_always_meet(before.keys, after.keys):
            text = f"node {node} replaced voters {before} by {after}, which have majorities without a common voter"
            self._broken(VOTER_SETS_OVERLAP, node, text)

    def not_live(self, text: str) -> None:
        """Record that a quorum with all conditions for progress committed nothing in time."""
        self._broken(LIVENESS, None, text)

    def _broken(self, invariant: str, node: int | None, text: str) -> None:
        self.violations.append(
            Violation(invariant=invariant, time_us=self.time_us, event=self.event, node=node, text=text)
        )


def voters_in(batch: Batch) -> VoterSet | None:
    """Return the voter set that a batch puts in force; None for any other batch."""
    if batch.kind is not RecordKind.CONTROL:
        return None
    sets = [record for record in batch.content if isinstance(record, Voters)]
    return sets[-1].voters if sets else None
