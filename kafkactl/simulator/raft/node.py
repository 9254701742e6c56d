"""Replica of the metadata log: the raft thread of a controller or broker, as a state machine.

Follows `KafkaRaftClient.poll`: after each message the present state is polled, which sends what is due and says how
long to wait. `elections.py`, `following.py` and `leading.py` say what a node does in each state, `transitions.py` how
states follow each other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from kafkactl.cluster.quorum.voter_sets import Voter
from kafkactl.core.kafka_names import NO_LEADER
from kafkactl.core.values import ZERO_UUID, Endpoint, ReplicaKey, Uuid
from kafkactl.simulator.raft import changes, elections, following, leading, serving, transitions
from kafkactl.simulator.raft import messages as wire
from kafkactl.simulator.raft.connections import NEVER, Connections
from kafkactl.simulator.raft.disk import Disk, QuorumState
from kafkactl.simulator.raft.effects import Fault, Purpose, State
from kafkactl.simulator.raft.errors import RaftThreadError
from kafkactl.simulator.raft.leader_state import Leader, ParkedFetch
from kafkactl.simulator.raft.log import Snapshot, SnapshotId
from kafkactl.simulator.raft.ports import Effect
from kafkactl.simulator.raft.profiles import DEFAULT_TIMEOUTS, US_PER_MS, Profile, Timeouts
from kafkactl.simulator.raft.replica_log import ReplicaLog
from kafkactl.simulator.raft.voters import VoterSet

FIRST_BOOTSTRAP_ID: Final = -2  # `KafkaRaftClient`: bootstrap servers are nodes -2, -3, …


class Node:
    """Node of a quorum; `simulator/raft/ports.py` has the calls.

    `leaderless_pause_us` is a shortcut for simulations: Kafka asks bootstrap servers for a leader again as soon as
    one answered that it knows none, hundreds of times a second. With a pause, a node hears of a new leader later only
    if the leader's own announcement does not reach it (BeginQuorumEpoch; observers get none). 0 is Kafka's way.

    Correlation ids begin above `first_correlation_id`. A world gives each process of a node a range of its own: a real
    response arrives on the connection of the process that asked, which its id alone would not tell.
    """

    __slots__ = (
        "auto_join",
        "backing_off",
        "backoff_asked",
        "backoff_deadline",
        "backoff_ms",
        "bootstrap",
        "bootstrap_after",
        "bootstrap_asked",
        "bootstrap_ids",
        "bootstrap_pick",
        "can_become_voter",
        "cluster_id",
        "connections",
        "default_listener",
        "election_asked",
        "election_deadline",
        "endpoints",
        "epoch",
        "fetch_deadline",
        "fetching",
        "has_fetched",
        "has_updated",
        "high_watermark",
        "id",
        "is_voter",
        "key",
        "leader",
        "leader_endpoints",
        "leader_id",
        "leaderless_pause",
        "log",
        "next_correlation_id",
        "out",
        "own_voter",
        "parked",
        "profile",
        "reply_endpoints",
        "retries",
        "shutdown_deadline",
        "state",
        "stored",
        "successors",
        "timeouts",
        "unacknowledged",
        "update_correlation_id",
        "update_deadline",
        "us",
        "voted_directory_id",
        "voted_id",
        "voters",
        "votes",
        "wake_at",
    )

    def __init__(
        self,
        node_id: int,
        directory_id: Uuid,
        disk: Disk,
        *,
        profile: Profile,
        endpoints: Sequence[Endpoint],
        timeouts: Timeouts = DEFAULT_TIMEOUTS,
        cluster_id: str = "",
        static_voters: VoterSet | None = None,
        bootstrap_servers: Sequence[Endpoint] = (),
        can_become_voter: bool = True,
        auto_join: bool = False,
        leaderless_pause_us: int = 0,
        first_correlation_id: int = 1,
    ) -> None:
        self.id = node_id
        self.key = ReplicaKey(node_id=node_id, directory_id=directory_id)
        self.profile = profile
        self.timeouts = timeouts
        self.us = Durations(timeouts, profile)
        self.cluster_id = cluster_id
        self.endpoints = tuple(endpoints)
        self.default_listener = self.endpoints[0].listener
        self.own_voter = Voter(
            node_id=node_id,
            directory_id=directory_id,
            endpoints=self.endpoints,
            min_kraft_version=0,
            max_kraft_version=1,
        )
        self.can_become_voter = can_become_voter
        self.auto_join = auto_join
        self.connections = Connections(self.us.retry_backoff, self.us.request_timeout)
        self.log = ReplicaLog(disk, static_voters)
        self.bootstrap = _bootstrap_nodes(static_voters, bootstrap_servers)
        self.bootstrap_ids = [peer for peer, _server in self.bootstrap]
        self.next_correlation_id = first_correlation_id
        self.update_correlation_id = -1
        self.out: list[Effect] = []
        self.state = State.UNATTACHED
        self.epoch = 0
        self.leader_id = NO_LEADER
        self.leader_endpoints: tuple[Endpoint, ...] = ()
        self.reply_endpoints: tuple[Endpoint, ...] = ()
        self.voted_id = -1
        self.voted_directory_id = ZERO_UUID
        self.high_watermark = -1
        self.leader: Leader | None = None
        self.parked: list[ParkedFetch] = []
        self.election_deadline = self.backoff_deadline = NEVER
        self.election_asked = self.backoff_asked = self.backoff_ms = 0
        self.backing_off = False
        self.retries = 0
        self.votes: dict[int, bool | None] = {}
        self.bootstrap_asked = False
        self.bootstrap_pick = -1
        self.bootstrap_after = 0
        self.leaderless_pause = leaderless_pause_us
        self.fetch_deadline = self.update_deadline = NEVER
        self.fetching: Snapshot | None = None
        self.has_fetched = self.has_updated = False
        self.unacknowledged: set[int] = set()
        self.successors: tuple[ReplicaKey, ...] = ()
        self.shutdown_deadline = -1
        self.wake_at = NEVER
        self.stored = disk.quorum_state or QuorumState()
        self.refresh_voters()

    def start(self, now: int) -> list[Effect]:
        """Choose the first state from the disk that the node was made of (`QuorumState.initialize`)."""
        return self._run(now, lambda: transitions.start(self, now, self.stored))

    def wake(self, now: int) -> list[Effect]:
        """Act on the time `wake_at`, which is reached."""
        return self._run(now, None)

    def receive(self, now: int, message: Any) -> list[Effect]:
        """Handle a request or a response that arrived."""
        if self.state is State.STOPPED:
            return []
        out: list[Effect] = []
        self.out = out
        try:
            if message.is_request:
                _REQUESTS[type(message)](self, now, message)
            else:
                self._handle_response(now, message)
            self._poll(now)
        except RaftThreadError as fault:
            self._fail(fault)
        return out

    def drawn(self, now: int, purpose: Purpose, number: int) -> list[Effect]:
        """Return the answer to a Draw."""
        if purpose is Purpose.ELECTION:
            self.election_deadline = self.election_asked + (self.timeouts.election_timeout_ms + number) * US_PER_MS
            if self._waits_for_election():  # polled once and not again, as by Kafka: a leader's poll is not idempotent
                self.wake_at = min(self.wake_at, self.election_deadline)
            return []
        if purpose is Purpose.BOOTSTRAP:
            self.bootstrap_asked = False
            self.bootstrap_pick = number
        else:
            return self._run(now, lambda: elections.backoff_drawn(self, purpose, number))
        return self._run(now, None)

    def append(self, now: int, content: object, records: int = 1, size: int = 100) -> tuple[int, list[Effect]]:
        """Append data as the controller does; -1 if the node is not the leader."""
        if self.leader is None:
            return -1, []
        offset = self.leader.accumulate(now, content, records, size)
        return offset, self._run(now, None)

    def resign(self, now: int) -> list[Effect]:
        """Give up the epoch if the node leads."""
        if self.leader is not None:
            self.leader.resign_requested = True
        return self._run(now, None)

    def shutdown(self, now: int, timeout_us: int) -> list[Effect]:
        """End gracefully."""
        self.shutdown_deadline = now + timeout_us
        return self._run(now, None)

    def upgrade_kraft_version(self, now: int) -> tuple[str, list[Effect]]:
        """Make a static quorum a dynamic one (4.1). Returns the refusal, or an empty text and the effects."""
        refusal = changes.upgrade_refusal(self)
        return refusal, [] if refusal else self._run(now, lambda: changes.upgrade(self))

    def take_snapshot(self, now: int, end_offset: int, size: int) -> list[Effect]:
        """Write a snapshot of everything below `end_offset`, and forget the log below it."""
        epoch = self._epoch_before(end_offset)
        return self._run(now, lambda: serving.write_snapshot(self, SnapshotId(end_offset, epoch), size))

    @property
    def shown_state(self) -> str:
        """Return the state as Kafka's logs and metrics name it; Unattached with a vote is Voted."""
        voted = self.state is State.UNATTACHED and self.voted_id >= 0
        return "Voted" if voted else self.state.shown

    @property
    def log_start(self) -> int:
        """Return the first offset of the log."""
        return self.log.start

    @property
    def log_end(self) -> int:
        """Return the offset after the last record."""
        return self.log.end

    @property
    def log_end_epoch(self) -> int:
        """Return the epoch of the last record, or of the snapshot that an empty log begins at."""
        return self.log.last_epoch

    @property
    def voters_offset(self) -> int:
        """Return the offset of the last voter set; -1 from the bootstrap snapshot or the configuration."""
        offset = self.log.voters_offset
        return -1 if offset is None else offset

    def refresh_voters(self) -> None:
        """Read the voters from the log again, after control records came or went."""
        self.voters = self.log.voters
        self.is_voter = self.voters.is_voter(self.id, self.key.directory_id)

    def default_endpoint(self, endpoints: tuple[Endpoint, ...]) -> Endpoint | None:
        """Return the one of these that replicas use among themselves."""
        for endpoint in endpoints:
            if endpoint.listener == self.default_listener:
                return endpoint
        return None

    def _run(self, now: int, act: Callable[[], None] | None) -> list[Effect]:
        if self.state is State.STOPPED:
            return []
        out: list[Effect] = []
        self.out = out
        try:
            if act is not None:
                act()
            self._poll(now)
        except RaftThreadError as fault:
            self._fail(fault)
        return out

    def _handle_response(self, now: int, response: Any) -> None:
        if type(response) is wire.Disconnected:
            self.connections.broken(response.source)
        connection = self.connections.awaited(response.correlation_id)
        if connection is None:
            return
        handler = _RESPONSES[type(response)]
        success = handler(self, now, connection.peer, response)
        self.connections.answered(connection, response.correlation_id, success, now)

    def _poll(self, now: int) -> None:
        """Poll the present state until it waits for something (`KafkaRaftClient.poll`)."""
        if self.parked:
            serving.expire_parked(self, now)
        while True:
            if self.shutdown_deadline >= 0 and self._shutdown_is_complete(now):
                self.state = State.STOPPED
                self.wake_at = NEVER
                return
            wait = _POLLS[self.state](self, now)
            if wait > 0:
                break
        wake_at = now + wait
        if self.parked:
            wake_at = min(wake_at, self.parked[0].deadline)
        if self.shutdown_deadline >= 0:
            wake_at = min(wake_at, self.shutdown_deadline)
        self.wake_at = wake_at

    def _shutdown_is_complete(self, now: int) -> bool:
        return (
            now >= self.shutdown_deadline
            or not self.is_voter
            or self.voters.is_only(self.id, self.key.directory_id)
            or (self.leader_id not in (NO_LEADER, self.id))
        )

    def _waits_for_election(self) -> bool:
        if self.shutdown_deadline >= 0 or (self.state is State.CANDIDATE and self.backing_off):
            return False
        return self.state in _ELECTION_STATES

    def _fail(self, fault: RaftThreadError) -> None:
        self.state = State.STOPPED
        self.wake_at = NEVER
        self.out.append(Fault(str(fault)))

    def _epoch_before(self, end_offset: int) -> int:
        """Return the epoch of the record before this offset. Raises ValueError if no snapshot may end."""
        if not self.log.start < end_offset <= self.high_watermark:
            raise ValueError(
                f"a snapshot cannot end at {end_offset}: the log begins at {self.log.start}, "
                f"the high watermark is {self.high_watermark}"
            )
        last = self.log.read(end_offset - 1, 0)[0]
        if last.end != end_offset:
            raise ValueError(f"a snapshot cannot end at {end_offset}, inside a batch of {last.base} to {last.end - 1}")
        return last.epoch


class Durations:
    """The timeouts in microseconds, and those that are derived from them."""

    __slots__ = (
        "append_linger",
        "begin_epoch",
        "check_quorum",
        "election_timeout",
        "fetch_timeout",
        "request_timeout",
        "retry_backoff",
        "update_period",
    )

    def __init__(self, timeouts: Timeouts, profile: Profile) -> None:
        self.election_timeout = timeouts.election_timeout_ms * US_PER_MS
        self.fetch_timeout = timeouts.fetch_timeout_ms * US_PER_MS
        self.request_timeout = timeouts.request_timeout_ms * US_PER_MS
        self.retry_backoff = timeouts.retry_backoff_ms * US_PER_MS
        self.append_linger = timeouts.append_linger_ms * US_PER_MS
        self.check_quorum = timeouts.fetch_timeout_ms * 3 // 2 * US_PER_MS
        self.begin_epoch = timeouts.fetch_timeout_ms // 2 * US_PER_MS
        self.update_period = self.fetch_timeout * profile.update_periods if profile.update_periods else NEVER


def _bootstrap_nodes(static: VoterSet | None, servers: Sequence[Endpoint]) -> list[tuple[int, Endpoint]]:
    """Return the peers that are asked for the leader. Raises ValueError if there are neither voters nor servers."""
    if servers:
        return [(FIRST_BOOTSTRAP_ID - place, server) for place, server in enumerate(servers)]
    if static is None:
        raise ValueError("a node needs static voters or bootstrap servers (controller.quorum.bootstrap.servers)")
    return [(voter.node_id, voter.endpoints[0]) for voter in static.voters]


def _stopped(_node: Node, _now: int) -> int:
    return NEVER


_ELECTION_STATES: Final = (State.UNATTACHED, State.PROSPECTIVE, State.CANDIDATE, State.RESIGNED)
_POLLS: Final = {
    State.UNATTACHED: elections.poll_unattached,
    State.PROSPECTIVE: elections.poll_prospective,
    State.CANDIDATE: elections.poll_candidate,
    State.LEADER: leading.poll_leader,
    State.RESIGNED: elections.poll_resigned,
    State.FOLLOWER: following.poll_follower,
    State.STOPPED: _stopped,
}
_REQUESTS: Final[dict[type[Any], Callable[..., None]]] = {
    wire.VoteRequest: elections.handle_vote_request,
    wire.BeginQuorumEpochRequest: elections.handle_begin_request,
    wire.EndQuorumEpochRequest: elections.handle_end_request,
    wire.FetchRequest: serving.handle_fetch_request,
    wire.FetchSnapshotRequest: serving.handle_fetch_snapshot_request,
    wire.DescribeQuorumRequest: serving.handle_describe_request,
    wire.ApiVersionsRequest: serving.handle_api_versions_request,
    wire.AddRaftVoterRequest: changes.handle_add_request,
    wire.RemoveRaftVoterRequest: changes.handle_remove_request,
    wire.UpdateRaftVoterRequest: changes.handle_update_request,
}
_RESPONSES: Final[dict[type[Any], Callable[..., bool]]] = {
    wire.VoteResponse: elections.handle_vote_response,
    wire.BeginQuorumEpochResponse: elections.handle_begin_response,
    wire.EndQuorumEpochResponse: elections.handle_end_response,
    wire.FetchResponse: following.handle_fetch_response,
    wire.FetchSnapshotResponse: following.handle_fetch_snapshot_response,
    wire.ApiVersionsResponse: changes.handle_api_versions_response,
    wire.AddRaftVoterResponse: following.handle_add_response,
    wire.RemoveRaftVoterResponse: following.handle_remove_response,
    wire.UpdateRaftVoterResponse: following.handle_update_response,
    wire.Disconnected: following.handle_disconnected,
}
