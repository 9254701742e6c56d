"""Host of a simulation: a process, its disk and its clock."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final

from kafkactl.core.values import Endpoint, Uuid
from kafkactl.simulator.chance import Choices
from kafkactl.simulator.invariants import Shadow, voters_in
from kafkactl.simulator.raft.disk import Disk
from kafkactl.simulator.raft.effects import State
from kafkactl.simulator.raft.log import Batch, Snapshot, SnapshotId
from kafkactl.simulator.raft.ports import Effect, Replica
from kafkactl.simulator.raft.voters import VoterSet

DELIVER, WAKE, SYNCED = range(3)  # kinds of events
REFUSED_US: Final = 500  # until a connection to a host without the process is refused
LOOPBACK_US: Final = 200  # never 0: a voter of 3.9.2 without a leader may ask itself, again and again
PORT: Final = 9093
PER_THOUSAND: Final = 1_000
REQUESTS_BITS: Final = 32  # of a correlation id; the bits above it number the processes of a host


@cache
def directory_id(node: int, disk: int) -> Uuid:
    """Return the directory id of the n-th disk of a node: the same in every run.

    >>> str(directory_id(1, 0))
    'ZGlzawAAAAEAAAAAAAAAAA'
    """
    return Uuid(b"disk" + node.to_bytes(4, "big") + disk.to_bytes(8, "big"))


@cache
def endpoint_of(node: int) -> Endpoint:
    """Return the endpoint of a node."""
    return Endpoint(listener="CONTROLLER", host=f"controller-{node}", port=PORT)


class Machine:
    """A host. `life` counts the processes that it has had; what was meant for an earlier one does not reach a later.

    `process` is None while none runs. `choices` are those of bootstrap servers. `open` holds the requests that the
    process has not answered, by sender and correlation id, with the life of the sender's process.
    """

    __slots__ = (
        "ballots", "base_global", "base_local", "busy", "choices", "directory", "disk", "disks", "drift", "endpoint",
        "fault", "id", "is_paused", "is_reachable", "life", "open", "process", "queue", "rest", "seen_epoch",
        "seen_state", "seen_voters", "seen_watermark", "shadow", "sync_us", "wake_at",
    )  # fmt: skip

    def __init__(self, node: int, choices: Choices) -> None:
        self.id = node
        self.choices = choices
        self.endpoint = endpoint_of(node)
        self.disks = 0
        self.directory = directory_id(node, 0)
        self.disk = Disk()
        self.shadow = Shadow()
        self.process: Replica | None = None
        self.life = 0
        self.is_paused = False
        self.is_reachable = True  # False: the host is down, and connections are not refused but time out
        self.busy = False
        self.rest: list[Effect] = []  # effects behind a sync that is under way
        self.queue: deque[Any] = deque()  # messages that wait for the raft thread
        self.open: dict[tuple[int, int], int] = {}
        self.ballots: dict[tuple[int, int], int] = {}  # the epochs of requests for votes that are open
        self.sync_us = 0
        self.drift = 0  # parts per thousand by which the clock runs fast
        self.base_global = self.base_local = 0
        self.wake_at = -1  # the earliest wake-up that is in the world's queue; -1 for none
        self.fault = ""  # why the last process ended itself
        self.forget()

    def forget(self) -> None:
        """Clear the observed state of the process."""
        self.seen_state = State.STOPPED
        self.seen_epoch = -1
        self.seen_watermark = -1
        self.seen_voters: VoterSet | None = None

    def local(self, now: int) -> int:
        """Return the time of the host's clock at a time of the world."""
        if not self.drift:
            return now - self.base_global + self.base_local
        elapsed = now - self.base_global
        return self.base_local + elapsed + elapsed * self.drift // PER_THOUSAND

    def world_time(self, local: int) -> int:
        """Return the first time of the world at which the host's clock says at least `local`."""
        elapsed = local - self.base_local
        if not self.drift:
            return self.base_global + elapsed
        pace = PER_THOUSAND + self.drift
        return self.base_global + -(-elapsed * PER_THOUSAND // pace)

    def set_drift(self, now: int, drift: int) -> None:
        """Set the clock to run faster than the world by `drift` parts per thousand, from now on; it does not jump."""
        self.base_local, self.base_global = self.local(now), now
        self.drift = drift

    def new_disk(self) -> None:
        """Install an empty disk with its own directory id, formatted without voters."""
        self.disks += 1
        self.directory = directory_id(self.id, self.disks)
        self.disk = Disk()
        self.shadow = Shadow()

    def format(self, snapshot: Snapshot) -> None:
        """Write the snapshot 0-0 to an empty disk (`kafka-storage format --initial-controllers`)."""
        self.disk.snapshots.append(snapshot)

    @property
    def last_epoch(self) -> int:
        """Return the epoch of the last record of the log or of the snapshots; 0 if there is none."""
        newest = self.disk.snapshots[-1].id.epoch if self.disk.snapshots else 0
        return self.disk.batches[-1].epoch if self.disk.batches else newest

    def lose_unsynced(self, kept: int) -> None:
        """Apply a crash of the host to the disk."""
        self.disk.lose_unsynced(kept)
        self.shadow.cut_to(self.disk.end)
        self.shadow.durable = self.disk.synced_end

    @property
    def unsynced(self) -> int:
        """Return the number of batches that a crash of the host may lose."""
        return sum(batch.base >= self.disk.synced_end for batch in self.disk.batches)

    def voters_before(self, offset: int) -> VoterSet | None:
        """Return the last voter set in the log below an offset.

        None if it is the bootstrap's or the configuration's.
        """
        for batch in reversed(self.disk.batches):
            if batch.base < offset and (found := voters_in(batch)) is not None:
                return found
        for snapshot in reversed(self.disk.snapshots):
            if snapshot.voters and snapshot.id != SnapshotId(0, 0):
                return snapshot.voters
        return None

    def voter_changes(self, batches: Sequence[Batch]) -> Iterator[tuple[VoterSet, VoterSet]]:
        """Yield each appended voter set with the set before it in the log, if there is one."""
        for batch in batches:
            after = voters_in(batch)
            before = None if after is None else self.voters_before(batch.base)
            if after is not None and before is not None:
                yield before, after

    @property
    def first_correlation_id(self) -> int:
        """Return the first correlation id of the present process: responses to an earlier process may still arrive."""
        return self.life << REQUESTS_BITS

    @property
    def runs(self) -> bool:
        """Return True if a process runs, paused or not."""
        return self.process is not None

    @property
    def leads(self) -> bool:
        """Return True if a process runs that believes to lead."""
        return self.process is not None and self.process.state is State.LEADER

    def role(self) -> str:
        """Return the role as scripts name it: a state, `observer` for a follower or unattached non-voter, or `down`."""
        if self.process is None:
            return "down"
        state = self.process.state
        if state in _QUIET and not self.process.voters.is_voter(self.id, self.directory):
            return "observer"
        return _ROLES[state]


_QUIET: Final = (State.UNATTACHED, State.FOLLOWER)
_ROLES: Final = {
    State.UNATTACHED: "unattached",
    State.PROSPECTIVE: "prospective",
    State.CANDIDATE: "candidate",
    State.LEADER: "leader",
    State.RESIGNED: "resigned",
    State.FOLLOWER: "follower",
    State.STOPPED: "down",
}


def disks_of(machines: Mapping[int, Machine]) -> Iterator[tuple[int, Uuid, Shadow]]:
    """Yield the disks that there are now, as `Monitor` compares them."""
    return ((machine.id, machine.directory, machine.shadow) for machine in machines.values())


def shown_role(machine: Machine, process: Replica) -> tuple[str, str]:
    """Return the present role of a node, and its tone, for a timeline."""
    text = f"{machine.role()}, epoch {process.epoch}"
    known = process.leader_id not in (-1, machine.id)
    return f"{text}, leader {process.leader_id}" if known else text, _TONES.get(process.state, "plain")


_TONES: Final = {State.LEADER: "good", State.CANDIDATE: "warn", State.PROSPECTIVE: "warn"}
