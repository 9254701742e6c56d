"""Leader's state of its epoch: progress of each replica, committed offset, and records waiting to be written.

Follows `LeaderState` and `BatchAccumulator`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkactl.core.values import ZERO_UUID, ReplicaKey, Uuid
from kafkactl.simulator.raft import errors
from kafkactl.simulator.raft.connections import NEVER
from kafkactl.simulator.raft.errors import RaftThreadError
from kafkactl.simulator.raft.log import Batch, ControlRecord, KRaftVersion, LeaderChange, RecordKind, Voters
from kafkactl.simulator.raft.messages import (
    AddRaftVoterRequest,
    AddRaftVoterResponse,
    FetchRequest,
    FetchResponse,
    RemoveRaftVoterRequest,
    RemoveRaftVoterResponse,
)
from kafkactl.simulator.raft.profiles import BATCH_MAX_BYTES, CAUGHT_UP_WITHIN_US, OBSERVER_SESSION_US
from kafkactl.simulator.raft.voters import VoterSet

if TYPE_CHECKING:
    from kafkactl.simulator.raft.node import Node

UNKNOWN: Final = -1
CONTROL_RECORD_BYTES: Final = 120  # of one control batch, roughly; only counts against the limit of a fetch


class Replica:
    """Progress of one replica, by its fetches from this leader; -1 is unknown (`LeaderState.ReplicaState`)."""

    __slots__ = ("acknowledged", "end", "key", "last_caught_up", "last_fetch", "leader_end_at_fetch")

    def __init__(self, key: ReplicaKey) -> None:
        self.key = key
        self.end = UNKNOWN
        self.last_fetch = UNKNOWN
        self.last_caught_up = UNKNOWN
        self.leader_end_at_fetch = UNKNOWN
        self.acknowledged = False

    def matches(self, directory_id: Uuid) -> bool:
        """Return True if a replica of this id with this directory is meant; unknown (zero) here matches every one."""
        mine = self.key.directory_id
        return mine is directory_id or mine in (ZERO_UUID, directory_id)

    def fetched(self, now: int, offset: int, leader_end: int) -> None:
        """Record a fetch at this offset: the replica has all records below it."""
        if offset >= leader_end:
            self.last_caught_up = now
        elif self.leader_end_at_fetch > 0 and offset >= self.leader_end_at_fetch:
            self.last_caught_up = max(self.last_caught_up, self.last_fetch)
        self.leader_end_at_fetch = leader_end
        self.last_fetch = now
        self.end = offset
        self.acknowledged = True


class ParkedFetch:
    """A fetch that found nothing new and waits. `response` is what it gets when its time is over."""

    __slots__ = ("deadline", "offset", "request", "response")

    def __init__(self, deadline: int, request: FetchRequest, response: FetchResponse) -> None:
        self.deadline = deadline
        self.offset = request.fetch_offset
        self.request = request
        self.response = response


class PendingChange:
    """A change of voters that has no answer yet. `offset` is -1 while a new voter is probed."""

    __slots__ = ("correlation_id", "deadline", "offset", "request")

    def __init__(self, request: AddRaftVoterRequest | RemoveRaftVoterRequest, deadline: int) -> None:
        self.request = request
        self.deadline = deadline
        self.offset = UNKNOWN
        self.correlation_id = UNKNOWN  # of the probe

    def answer(self, node: Node, error: int, message: str | None = None) -> None:
        """Send the response."""
        response = AddRaftVoterResponse if isinstance(self.request, AddRaftVoterRequest) else RemoveRaftVoterResponse
        node.out.append(response(node.id, self.request.source, self.request.correlation_id, error, message))


class Leader:
    """The state of one leadership."""

    __slots__ = (
        "adding",
        "begin_deadline",
        "check_deadline",
        "epoch_start",
        "fetched_voters",
        "linger_deadline",
        "next_offset",
        "node_id",
        "observers",
        "own",
        "removing",
        "replicas",
        "resign_requested",
        "shown_entries",
        "urgent",
        "waiting",
    )

    def __init__(self, node: Node, now: int) -> None:
        self.node_id = node.id
        self.epoch_start = node.log.end
        self.replicas = {key.node_id: Replica(key) for key in node.voters.keys}
        self.own = self.replicas[node.id]
        self.own.acknowledged = True
        self.observers: dict[ReplicaKey, Replica] = {}
        self.fetched_voters: set[int] = set()
        self.check_deadline = now + node.us.check_quorum
        self.begin_deadline = now
        self.resign_requested = False
        self.adding: PendingChange | None = None
        self.removing: PendingChange | None = None
        self.waiting: list[Batch] = []
        self.next_offset = node.log.end
        self.linger_deadline = NEVER
        self.urgent = False
        self.shown_entries = {node.id: node.own_voter}  # of a static quorum: which voter has shown its entry

    def accumulate(self, now: int, content: object, records: int, size: int) -> int:
        """Queue data that is written after the linger, and return the offset of its last record.

        Raises ValueError for no records.

        What is offered within a linger goes into one batch while it fits; a batch that is full ends the linger
        (`BatchAccumulator.maybeAllocateBatch`, `timeUntilDrain`).
        """
        if records < 1:
            raise ValueError("Append failed because there are no records")
        if self.linger_deadline == NEVER:
            self.linger_deadline = now
        end = self.next_offset + records
        batch = Batch(self.next_offset, end, UNKNOWN, RecordKind.DATA, (content,), size)
        last = self.waiting[-1] if self.waiting else None
        if last is not None and last.kind is RecordKind.DATA and last.size + size <= BATCH_MAX_BYTES:
            batch = last._replace(end=end, content=(*last.content, content), size=last.size + size)
            self.waiting.pop()
        elif last is not None:
            self.urgent = True
        self.waiting.append(batch)
        self.next_offset = end
        return end - 1

    def append_control(self, records: tuple[ControlRecord, ...]) -> int:
        """Append control records, written at once with everything that waits, and return the offset of the last one."""
        size = CONTROL_RECORD_BYTES * len(records)
        batch = Batch(self.next_offset, self.next_offset + len(records), UNKNOWN, RecordKind.CONTROL, records, size)
        self.waiting.append(batch)
        self.next_offset = batch.end
        self.urgent = True
        return batch.end - 1

    def append_start_of_epoch(self, node: Node, _now: int, granting: tuple[int, ...]) -> None:
        """Append LeaderChange, and the voters if the snapshot 0-0 has them or the leader's entry is outdated."""
        voters = node.voters
        records: list[ControlRecord] = [LeaderChange(node.id, tuple(voters.by_id), granting)]
        if node.log.kraft_version:
            offset = node.log.voters_offset
            if offset is None:
                raise RaftThreadError("The kraft.version is 1 but there is no voter set in the log or checkpoint")
            if offset == -1 or voters.needs_update(node.own_voter):
                updated = voters.updating(node.own_voter)
                if updated is None:
                    raise RaftThreadError(f"Update expected for leader node {node.id} and voter set {voters}")
                records += [KRaftVersion(node.log.kraft_version), Voters(updated)]
        self.append_control(tuple(records))

    def time_until_drain(self, now: int, linger: int) -> int:
        """Return the time for which waiting batches may still wait; NEVER if no batch waits."""
        if self.urgent:
            return 0
        return NEVER if self.linger_deadline == NEVER else max(0, self.linger_deadline + linger - now)

    def drain(self, epoch: int) -> tuple[Batch, ...]:
        """Return all waiting batches in this epoch, and clear the queue."""
        batches = tuple(batch._replace(epoch=epoch) for batch in self.waiting)
        self.waiting.clear()
        self.urgent = False
        self.linger_deadline = NEVER
        return batches

    def replica(self, node_id: int, directory_id: Uuid) -> tuple[Replica, bool]:
        """Return the state of this replica, and whether the replica is a voter."""
        replica = self.replicas.get(node_id)
        if replica is not None and replica.matches(directory_id):
            return replica, True
        key = ReplicaKey(node_id=node_id, directory_id=directory_id)
        observer = self.observers.get(key)
        if observer is None:
            observer = self.observers[key] = Replica(key)
        return observer, False

    def voter_fetched(self, now: int, node_id: int, is_voter: bool, check_quorum: int) -> None:
        """Note a voter's fetch: a majority must fetch in each period (`updateCheckQuorumForFollowingVoter`)."""
        fetched = self.fetched_voters
        if is_voter:
            fetched.add(node_id)
        needed = len(self.replicas) // 2 + 1 - (self.node_id in self.replicas)
        if len(fetched) >= needed:
            fetched.clear()
            self.check_deadline = now + check_quorum

    def committed(self) -> int:
        """Return the largest offset that a majority of the voters reached; -1 if unknown.

        It commits nothing unless it is above `epoch_start`: a record of the own epoch must be among it.
        """
        ends = sorted((replica.end for replica in self.replicas.values()), reverse=True)
        return ends[len(ends) // 2]

    def own_end_moved(self, end: int, voters: VoterSet) -> None:
        """Update the leader after its own log grew, perhaps with another voter set (`updateLocalState`)."""
        self.own.end = end
        if voters.keys != tuple(replica.key for replica in self.replicas.values()):
            self._take_voters(voters)

    def _take_voters(self, voters: VoterSet) -> None:
        old = self.replicas
        self.replicas = {}
        for key in voters.keys:
            known = old.get(key.node_id)
            if known is not None and known.matches(key.directory_id):
                del old[key.node_id]
                known.key = key
            else:
                known = self.observers.pop(key, None) or Replica(key)
            self.observers.pop(key, None)
            self.replicas[key.node_id] = known
        for replica in old.values():
            self.observers.setdefault(replica.key, replica)

    def acknowledge(self, node_id: int) -> None:
        """Record a voter's answer to BeginQuorumEpoch."""
        replica = self.replicas.get(node_id)
        if replica is None:
            raise RaftThreadError(f"Unexpected acknowledgement from non-voter {node_id}")
        replica.acknowledged = True

    def is_caught_up(self, key: ReplicaKey, now: int) -> bool:
        """Return True if an observer reached the end of this leader's log, and fetched within an hour
        (`isReplicaCaughtUp`)."""
        replica = self.observers.get(key)
        return (
            replica is not None
            and replica.last_caught_up > 0
            and replica.last_fetch > 0
            and replica.last_fetch > now - CAUGHT_UP_WITHIN_US
        )

    def active_observers(self, now: int) -> list[Replica]:
        """Return the observers that fetched within five minutes, and the leader itself; remove the others.

        An observer that never fetched from this leader is removed, too, as by `LeaderState.clearInactiveObservers`,
        which subtracts its -1 from the time of day.
        """
        for key, replica in list(self.observers.items()):
            seen = replica.last_fetch >= 0 and now - replica.last_fetch < OBSERVER_SESSION_US
            if replica is not self.own and not seen:
                del self.observers[key]
        return list(self.observers.values())

    def successors(self) -> tuple[ReplicaKey, ...]:
        """Return the other voters, the longest log first, then by key."""
        others = [replica for replica in self.replicas.values() if replica is not self.own]
        others.sort(key=lambda replica: (-replica.end, replica.key))
        return tuple(replica.key for replica in others)

    @property
    def pending(self) -> PendingChange | None:
        """Return the change that is not answered."""
        return self.adding or self.removing

    def expire_pending(self, node: Node, now: int) -> int:
        """Answer a change that took too long; its record, if there is one, stays. How long the next may still take."""
        pending = self.pending
        if pending is None:
            return NEVER
        if pending.deadline > now:
            return pending.deadline - now
        pending.answer(node, errors.REQUEST_TIMED_OUT)
        self.adding = self.removing = None
        return NEVER

    def close(self, node: Node) -> None:
        """End the leadership: pending voter changes are answered with NOT_LEADER_OR_FOLLOWER."""
        if self.pending is not None:
            self.pending.answer(node, errors.NOT_LEADER_OR_FOLLOWER)
        self.adding = self.removing = None


def state_row(replica: Replica, now_ms: int | None = None) -> tuple[int, Uuid, int, int, int]:
    """Return one replica as DescribeQuorum shows it, times in ms; the leader's own times are the present time."""
    fetch, caught_up = (
        (now_ms, now_ms) if now_ms is not None else (_ms(replica.last_fetch), _ms(replica.last_caught_up))
    )
    return replica.key.node_id, replica.key.directory_id, replica.end, fetch, caught_up


def _ms(microseconds: int) -> int:
    return UNKNOWN if microseconds < 0 else microseconds // 1_000
