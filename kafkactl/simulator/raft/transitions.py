"""Transitions between the states of a node, and the writes of each (`QuorumState`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkactl.core.kafka_names import NO_LEADER
from kafkactl.core.values import ZERO_UUID, Endpoint, ReplicaKey, Uuid
from kafkactl.simulator.raft import errors, serving
from kafkactl.simulator.raft.connections import NEVER
from kafkactl.simulator.raft.disk import QuorumState, StartLogAt, WriteQuorumState
from kafkactl.simulator.raft.effects import Draw, Purpose, State, Transition
from kafkactl.simulator.raft.errors import RaftThreadError
from kafkactl.simulator.raft.leader_state import Leader
from kafkactl.simulator.raft.log import SnapshotId

if TYPE_CHECKING:
    from kafkactl.simulator.raft.node import Node


def start(node: Node, now: int, stored: QuorumState) -> None:
    """Enter the first state, from `quorum-state` and the log (`QuorumState.initialize`,
    `KafkaRaftClient.initialize`)."""
    _recover_log(node)
    node.epoch = stored.leader_epoch
    voted = stored.voted_id >= 0 and (stored.leader_id == NO_LEADER or node.profile.keeps_vote_with_leader)
    if voted:
        node.voted_id, node.voted_directory_id = stored.voted_id, stored.voted_directory_id
    if stored.leader_epoch < node.log.last_epoch:
        node.epoch = node.log.last_epoch
        node.voted_id, node.voted_directory_id = -1, ZERO_UUID
        _begin_unattached(node, now, NO_LEADER)
    elif stored.leader_id == node.id:
        node.leader_id = node.id
        _enter_resigned(node, now, ())
        _write(node)
    elif voted and _is_own_vote(node):
        node.retries = 1
        _enter_candidate(node, now)
    elif voted and not node.profile.keeps_vote_with_leader:
        _begin_unattached(node, now, NO_LEADER)
    elif stored.leader_id != NO_LEADER and node.voters.endpoints(stored.leader_id):
        _enter_follower(node, now, stored.leader_id, node.voters.endpoints(stored.leader_id))
    else:
        _begin_unattached(node, now, stored.leader_id)
    _start_alone(node, now)
    if node.state is State.CANDIDATE:
        _elect_if_granted(node, now)


def _recover_log(node: Node) -> None:
    """Truncate the log after a crash between the download of a snapshot and the truncation."""
    newest = node.log.latest_snapshot_id
    if newest is not None and node.log.is_beyond_end(newest):
        node.log.start_at(newest)
        node.out.append(StartLogAt(newest))
        node.refresh_voters()


def _is_own_vote(node: Node) -> bool:
    return node.voted_id == node.id and node.voted_directory_id in (ZERO_UUID, node.key.directory_id)


def _start_alone(node: Node, now: int) -> None:
    """Start an election immediately if the node is the only voter."""
    if not node.voters.is_only(node.id, node.key.directory_id) or node.state is State.CANDIDATE:
        return
    if node.profile.pre_vote:
        to_prospective(node, now)
    else:
        to_candidate(node, now)


def _begin_unattached(node: Node, now: int, leader_id: int) -> None:
    node.leader_id = leader_id
    node.leader_endpoints = ()
    ask_election_timeout(node, now)
    _enter(node, State.UNATTACHED)
    _write(node)


def to_unattached(node: Node, now: int, epoch: int, leader_id: int = NO_LEADER) -> None:
    """Enter Unattached: a higher epoch without a leader is known, or the pre-vote was lost without one
    (Prospective).

    The rest of a running election timeout is kept: otherwise a candidate whose log is too short keeps all others from
    an election. An observer has no election timeout.
    """
    if epoch < node.epoch or (epoch == node.epoch and node.state is not State.PROSPECTIVE):
        raise RaftThreadError(
            f"Cannot transition to Unattached with epoch {epoch} from {node.state.shown} {node.epoch}"
        )
    if not node.is_voter:
        node.election_deadline = NEVER
    elif not _keeps_election_time(node):
        ask_election_timeout(node, now)
    if epoch != node.epoch:
        node.voted_id, node.voted_directory_id = -1, ZERO_UUID
    node.epoch = epoch
    node.leader_id = leader_id
    node.leader_endpoints = ()
    _enter(node, State.UNATTACHED)
    _write(node)
    _leave(node)
    node.connections.reset_all()


def _keeps_election_time(node: Node) -> bool:
    if node.state is State.PROSPECTIVE:
        return not is_vote_rejected(node)
    if node.state is State.RESIGNED:
        return node.profile.pre_vote
    return node.state in (State.UNATTACHED, State.CANDIDATE)


def add_vote(node: Node, now: int, epoch: int, candidate: ReplicaKey) -> None:
    """Grant a vote: written before it is answered; the election time begins again, for the candidate may win."""
    if candidate.node_id == node.id or epoch != node.epoch or node.voted_id >= 0:
        raise RaftThreadError(f"Cannot add voted key {candidate.node_id} in epoch {epoch} in state {node.state.shown}")
    node.voted_id, node.voted_directory_id = candidate.node_id, candidate.directory_id
    ask_election_timeout(node, now)
    if node.state is State.PROSPECTIVE:  # a new ProspectiveState: its pre-votes are asked again
        node.votes = _fresh_votes(node)
    _enter(node, node.state)
    _write(node)


def to_follower(node: Node, now: int, epoch: int, leader_id: int, endpoints: tuple[Endpoint, ...]) -> None:
    """Enter Follower: the leader of this epoch, and its endpoint, are known."""
    if not endpoints:
        raise RaftThreadError(f"Unknown leader endpoints after request or response with leader {leader_id}")
    if leader_id == node.id or epoch < node.epoch or (epoch == node.epoch and not _may_learn(node, endpoints)):
        raise RaftThreadError(
            f"Cannot transition to Follower with leader {leader_id} and epoch {epoch} from state "
            f"{node.state.shown} in epoch {node.epoch}"
        )
    if epoch != node.epoch or not node.profile.keeps_vote_with_leader:
        node.voted_id, node.voted_directory_id = -1, ZERO_UUID
    node.epoch = epoch
    _enter_follower(node, now, leader_id, endpoints)
    _leave(node)
    node.connections.reset_all()
    serving.fail_parked(node, errors.NOT_LEADER_OR_FOLLOWER)


def _may_learn(node: Node, endpoints: tuple[Endpoint, ...]) -> bool:
    if node.state is State.FOLLOWER:
        return len(endpoints) > len(node.leader_endpoints)
    return node.state is not State.LEADER


def _enter_follower(node: Node, now: int, leader_id: int, endpoints: tuple[Endpoint, ...]) -> None:
    node.leader_id = leader_id
    node.leader_endpoints = endpoints
    node.fetch_deadline = now + node.us.fetch_timeout
    node.update_deadline = now + node.us.update_period
    node.fetching = None
    node.has_fetched = node.has_updated = False
    _enter(node, State.FOLLOWER)
    _write(node)


def to_prospective(node: Node, now: int) -> None:
    """Ask for pre-votes in the present epoch (KIP-996); nothing is written."""
    if not node.is_voter or node.state in (State.LEADER, State.PROSPECTIVE):
        raise RaftThreadError(f"Cannot transition to Prospective from {node.state.shown}")
    if node.state is State.CANDIDATE:
        node.leader_endpoints = ()
    ask_election_timeout(node, now)
    node.votes = _fresh_votes(node)
    _enter(node, State.PROSPECTIVE)
    if is_vote_granted(node):
        to_candidate(node, now)
    else:
        node.connections.reset_all()


def to_candidate(node: Node, now: int) -> None:
    """Ask for votes in the next epoch."""
    if not node.is_voter or node.state is State.LEADER:
        raise RaftThreadError(f"Cannot transition to Candidate from {node.state.shown}")
    node.retries = node.retries + 1 if node.state is State.CANDIDATE else 1
    _leave(node)
    node.epoch += 1
    _enter_candidate(node, now)
    _elect_if_granted(node, now)


def _enter_candidate(node: Node, now: int) -> None:
    node.leader_id = NO_LEADER
    node.leader_endpoints = ()
    node.voted_id, node.voted_directory_id = node.id, node.key.directory_id
    node.backing_off = False
    ask_election_timeout(node, now)
    if not node.is_voter:
        raise RaftThreadError(f"Local replica {node.id} must be in the set of voters {node.voters}")
    node.votes = _fresh_votes(node)
    _enter(node, State.CANDIDATE)
    _write(node)


def _elect_if_granted(node: Node, now: int) -> None:
    if is_vote_granted(node):
        to_leader(node, now)
    else:
        node.connections.reset_all()


def to_leader(node: Node, now: int) -> None:
    """Enter Leader after a majority of votes. The high watermark is unknown until a record of this epoch is
    replicated."""
    granting = tuple(voter for voter, vote in node.votes.items() if vote)
    node.leader_id = node.id
    node.leader_endpoints = node.endpoints
    node.voted_id, node.voted_directory_id = -1, ZERO_UUID
    node.high_watermark = -1
    node.leader = Leader(node, now)
    _enter(node, State.LEADER)
    _write(node)
    node.log.begin_epoch(node.epoch)
    node.leader.append_start_of_epoch(node, now, granting)
    node.connections.reset_all()


def to_resigned(node: Node, now: int) -> None:
    """Enter Resigned, and inform the voters, those with the longest logs first."""
    assert node.leader is not None
    serving.fail_parked(node, errors.NOT_LEADER_OR_FOLLOWER)
    successors = node.leader.successors()
    _leave(node)
    node.leader_id = node.id
    _enter_resigned(node, now, successors)
    node.connections.reset_all()


def _enter_resigned(node: Node, now: int, successors: tuple[ReplicaKey, ...]) -> None:
    node.leader_endpoints = node.endpoints
    node.high_watermark = -1
    node.successors = successors
    node.unacknowledged = {voter.node_id for voter in node.voters.voters if voter.node_id != node.id}
    ask_election_timeout(node, now)
    _enter(node, State.RESIGNED)


def ask_election_timeout(node: Node, now: int) -> None:
    """Request the next election timeout: the configured time plus a random part of it, in whole milliseconds."""
    bound = node.timeouts.election_timeout_ms
    node.election_asked = now
    if bound == 0:
        node.election_deadline = now
        return
    node.election_deadline = NEVER
    node.out.append(Draw(Purpose.ELECTION, bound))


def is_vote_granted(node: Node) -> bool:
    """Return True if a majority of the voters at the beginning of the election granted."""
    return sum(vote is True for vote in node.votes.values()) >= len(node.votes) // 2 + 1


def is_vote_rejected(node: Node) -> bool:
    """Return True if a majority cannot be reached any more."""
    return sum(vote is not False for vote in node.votes.values()) < len(node.votes) // 2 + 1


def _fresh_votes(node: Node) -> dict[int, bool | None]:
    return {voter.node_id: True if voter.node_id == node.id else None for voter in node.voters.voters}


def _leave(node: Node) -> None:
    """Close the state that was left, after the write of the new one: a leader answers the changes that wait."""
    if node.leader is not None:
        node.leader.close(node)
        node.leader = None
    node.fetching = None
    node.has_fetched = False


def _enter(node: Node, state: State) -> None:
    node.state = state
    endpoint = node.default_endpoint(node.leader_endpoints)
    node.reply_endpoints = () if endpoint is None else (endpoint,)
    node.out.append(Transition(node.shown_state, node.epoch, node.leader_id, node.voted_id))


def _write(node: Node) -> None:
    directory: Uuid = node.voted_directory_id if node.log.kraft_version else ZERO_UUID
    node.out.append(WriteQuorumState(QuorumState(node.epoch, node.leader_id, node.voted_id, directory)))


def truncate_to_snapshot(node: Node, snapshot_id: SnapshotId) -> None:
    """Restart the log after a downloaded snapshot that reaches beyond the log. Raise RaftThreadError if it does not."""
    if not node.log.is_beyond_end(snapshot_id):
        raise RaftThreadError(f"Full log truncation expected but didn't happen. Snapshot of {snapshot_id}")
    node.log.start_at(snapshot_id)
    node.out.append(StartLogAt(snapshot_id))
    node.refresh_voters()
