"""Elections: votes and pre-votes, the beginning and the end of an epoch, and the states that wait for one."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from kafkactl.core.kafka_names import NO_LEADER
from kafkactl.core.values import ZERO_UUID, Endpoint, ReplicaKey, Uuid
from kafkactl.simulator.raft import errors, following, transitions
from kafkactl.simulator.raft.connections import NEVER
from kafkactl.simulator.raft.effects import Draw, Purpose, State
from kafkactl.simulator.raft.errors import RaftThreadError
from kafkactl.simulator.raft.messages import (
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    VoteRequest,
    VoteResponse,
)
from kafkactl.simulator.raft.profiles import US_PER_MS, ElectionBackoff, ResignedExit
from kafkactl.simulator.raft.sending import no_top_level_error, send

if TYPE_CHECKING:
    from kafkactl.simulator.raft.node import Node


def handle_vote_request(node: Node, now: int, request: VoteRequest) -> None:
    """Answer a vote request (`handleVoteRequest`): a higher epoch is adopted first, even if the vote is refused."""
    if request.cluster_id is not None and request.cluster_id != node.cluster_id:
        _answer_vote(node, request, errors.NONE, False, errors.INCONSISTENT_CLUSTER_ID)
        return
    if request.pre_vote and not node.profile.pre_vote:
        _answer_vote(node, request, errors.NONE, False, errors.UNSUPPORTED_VERSION)
        return
    error = _vote_error(node, request)
    if error:
        _answer_vote(node, request, error, False)
        return
    if request.replica_epoch > node.epoch:
        transitions.to_unattached(node, now, request.replica_epoch)
    if not _is_addressed(node, request.voter_id, request.voter_directory_id):
        _answer_vote(node, request, errors.INVALID_VOTER_KEY, False)
        return
    candidate = ReplicaKey(node_id=request.replica_id, directory_id=request.replica_directory_id)
    is_current = (request.last_offset_epoch, request.last_offset) >= (node.log.last_epoch, node.log.end)
    granted = can_grant(node, candidate, is_current, request.pre_vote)
    may_vote = node.state in (State.UNATTACHED, State.PROSPECTIVE)
    if granted and not request.pre_vote and may_vote and node.voted_id < 0:
        transitions.add_vote(node, now, request.replica_epoch, candidate)
    _answer_vote(node, request, errors.NONE, granted)


def _vote_error(node: Node, request: VoteRequest) -> int:
    last = request.last_offset_epoch
    impossible = last > request.replica_epoch if request.pre_vote else last >= request.replica_epoch
    if request.last_offset < 0 or last < 0 or impossible:
        return errors.INVALID_REQUEST
    return _sender_error(node, request.replica_id, request.replica_epoch)


def _sender_error(node: Node, sender_id: int, epoch: int) -> int:
    """Return the error for a sender (`validateVoterOnlyRequest`): 3.7 asks that both vote, later ones for an id."""
    if epoch < node.epoch:
        return errors.FENCED_LEADER_EPOCH
    if sender_id < 0:
        return errors.INVALID_REQUEST
    if node.profile.strict_senders and (not node.is_voter or sender_id not in node.voters.by_id):
        return errors.INCONSISTENT_VOTER_SET
    return errors.NONE


def _is_addressed(node: Node, voter_id: int, directory_id: Uuid) -> bool:
    """Return True if a request that names its receiver means this one (`isValidVoterKey`)."""
    if voter_id < 0 or not node.profile.directory_ids:
        return True
    return voter_id == node.id and directory_id in (ZERO_UUID, node.key.directory_id)


def can_grant(node: Node, candidate: ReplicaKey, is_current: bool, pre_vote: bool) -> bool:
    """Return True if this state gives its vote (`EpochState.canGrantVote` of each state)."""
    if pre_vote:
        blocked = node.state is State.LEADER or (node.state is State.FOLLOWER and node.has_fetched)
        return is_current and not blocked
    if node.state not in (State.UNATTACHED, State.PROSPECTIVE):
        return False
    if node.voted_id >= 0:
        return node.voted_id == candidate.node_id and node.voted_directory_id in (ZERO_UUID, candidate.directory_id)
    return node.leader_id == NO_LEADER and is_current


def _answer_vote(node: Node, request: VoteRequest, error: int, granted: bool, top_level: int = errors.NONE) -> None:
    node.out.append(
        VoteResponse(
            node.id,
            request.source,
            request.correlation_id,
            top_level,
            error,
            node.leader_id,
            node.epoch,
            granted,
            node.reply_endpoints,
        )
    )


def _learn_from(node: Node, now: int, request: BeginQuorumEpochRequest | EndQuorumEpochRequest) -> tuple[int, int]:
    """Take over the leader that a sound request names; the errors of the response, of all and of the partition."""
    if request.cluster_id is not None and request.cluster_id != node.cluster_id:
        return errors.INCONSISTENT_CLUSTER_ID, errors.NONE
    error = _sender_error(node, request.leader_id, request.leader_epoch)
    if not error:
        endpoints = request.leader_endpoints or node.voters.endpoints(request.leader_id)
        following.learn_leader(node, now, request.leader_id, request.leader_epoch, endpoints)
    return errors.NONE, error


def handle_begin_request(node: Node, now: int, request: BeginQuorumEpochRequest) -> None:
    """Follow a leader (`handleBeginQuorumEpochRequest`), before the addressee is checked."""
    top_level, error = _learn_from(node, now, request)
    if not (top_level or error) and not _is_addressed(node, request.voter_id, request.voter_directory_id):
        error = errors.INVALID_VOTER_KEY
    node.out.append(
        BeginQuorumEpochResponse(
            node.id,
            request.source,
            request.correlation_id,
            top_level,
            error,
            node.leader_id,
            node.epoch,
            node.reply_endpoints,
        )
    )


def handle_end_request(node: Node, now: int, request: EndQuorumEpochRequest) -> None:
    """Cut the fetch timeout to the place among the successors (`handleEndQuorumEpochRequest`)."""
    top_level, error = _learn_from(node, now, request)
    if not (top_level or error) and node.state is State.FOLLOWER and node.leader_id == request.leader_id:
        node.fetch_deadline = now + successor_pause(node, request.preferred_candidates) * US_PER_MS
    node.out.append(
        EndQuorumEpochResponse(
            node.id,
            request.source,
            request.correlation_id,
            top_level,
            error,
            node.leader_id,
            node.epoch,
            node.reply_endpoints,
        )
    )


def successor_pause(node: Node, candidates: tuple[ReplicaKey, ...]) -> int:
    """Return the milliseconds until this replica may try: the first at once, the others one after the other.

    Not in the list: 3.7 tries at once, later releases wait the whole back-off (`endEpochElectionBackoff`,
    `strictExponentialElectionBackoffMs`).
    """
    longest, count = node.timeouts.election_backoff_max_ms, len(candidates)
    for position, candidate in enumerate(candidates):
        if candidate.node_id == node.id and candidate.directory_id in (ZERO_UUID, node.key.directory_id):
            return 0 if position == 0 else min(longest, (longest >> (count - 1)) << (position - 1))
    return longest if node.profile.unlisted_successor_waits and count else 0


def _handled(
    node: Node, now: int, response: VoteResponse | BeginQuorumEpochResponse | EndQuorumEpochResponse
) -> bool | None:
    """Return the result of a response that has an error, or another epoch or leader; None if the rest is to be read."""
    if not no_top_level_error(response.top_level_error_code):
        return False
    handled = following.handle_common(node, now, response)
    return False if handled is None and response.error_code != errors.NONE else handled


def handle_vote_response(node: Node, now: int, peer: int, response: VoteResponse) -> bool:
    """Count a vote (`handleVoteResponse`), and go on if a majority is there, or cannot be any more."""
    if response.top_level_error_code == errors.UNSUPPORTED_VERSION and node.state is State.PROSPECTIVE:
        transitions.to_candidate(node, now)
        return True
    if (handled := _handled(node, now, response)) is not None:
        return handled
    if node.state in (State.CANDIDATE, State.PROSPECTIVE):
        _count_vote(node, now, peer, response.vote_granted)
    return True


def _count_vote(node: Node, now: int, voter_id: int, granted: bool) -> None:
    before = node.votes.get(voter_id, "no voter")
    changed = node.state is State.CANDIDATE and before is not None and before is not granted
    if before == "no voter" or changed:
        raise RaftThreadError(f"Attempt to count a vote of {voter_id}, which is not a voter or voted otherwise before")
    node.votes[voter_id] = granted
    if granted:
        if transitions.is_vote_granted(node):
            if node.state is State.CANDIDATE:
                transitions.to_leader(node, now)
            else:
                transitions.to_candidate(node, now)
    elif transitions.is_vote_rejected(node):
        if node.state is State.PROSPECTIVE:
            _lose_pre_vote(node, now)
        elif node.profile.election_backoff is not None and not node.backing_off:
            _back_off(node, now, node.profile.election_backoff)


def _back_off(node: Node, now: int, backoff: ElectionBackoff) -> None:
    """Pause for a random time that grows with each lost election (3.9 and before)."""
    node.backing_off = True
    node.backoff_asked = now
    node.backoff_deadline = NEVER
    node.out.append(Draw(Purpose.BACKOFF, 2 << min(backoff.most_shifts, node.retries - 1)))


def backoff_drawn(node: Node, purpose: Purpose, number: int) -> None:
    """Add one random number to a pause; after the last number the pause is known."""
    backoff = node.profile.election_backoff
    assert backoff is not None
    if purpose is Purpose.BACKOFF:
        node.backoff_ms = backoff.base_ms * (backoff.lowest + number)
        if backoff.jitter_ms:
            node.out.append(Draw(Purpose.JITTER, backoff.jitter_ms))
            return
        number = 0
    pause = min(node.backoff_ms, node.timeouts.election_backoff_max_ms + number)
    node.backoff_deadline = node.backoff_asked + pause * US_PER_MS


def _lose_pre_vote(node: Node, now: int) -> None:
    """Follow the known leader again, or wait (`prospectiveTransitionAfterElectionLoss`)."""
    if node.leader_id != NO_LEADER and node.leader_endpoints:
        transitions.to_follower(node, now, node.epoch, node.leader_id, node.leader_endpoints)
    else:
        transitions.to_unattached(node, now, node.epoch, node.leader_id)


def handle_begin_response(node: Node, now: int, peer: int, response: BeginQuorumEpochResponse) -> bool:
    """Note that the voter knows its leader (`handleBeginQuorumEpochResponse`)."""
    if (handled := _handled(node, now, response)) is not None:
        return handled
    if node.leader is not None:
        node.leader.acknowledge(peer)
    return True


def handle_end_response(node: Node, now: int, peer: int, response: EndQuorumEpochResponse) -> bool:
    """Note that the voter knows that its leader resigned (`handleEndQuorumEpochResponse`)."""
    if (handled := _handled(node, now, response)) is not None:
        return handled
    if node.state is not State.RESIGNED:
        raise RaftThreadError(f"Expected to be Resigned, but the current state is {node.state.shown}")
    node.unacknowledged.discard(peer)
    return True


def poll_unattached(node: Node, now: int) -> int:
    """Wait for an election or for its end; an observer, and since 4.0 a voter, too, asks bootstrap servers."""
    if node.is_voter:
        if node.shutdown_deadline >= 0:
            return node.shutdown_deadline - now
        if node.election_deadline <= now:
            if node.profile.pre_vote:
                transitions.to_prospective(node, now)
            else:
                transitions.to_candidate(node, now)
            return 0
        if not node.profile.voters_fetch_anywhere:
            return node.election_deadline - now
        return min(following.fetch_from_any(node, now), node.election_deadline - now)
    # Kafka's thread spins here after the timer of its start is over, which an observer does not act upon.
    return following.fetch_from_any(node, now)


def poll_candidate(node: Node, now: int) -> int:
    """Ask for votes until the election time is over; then pause (up to 3.9) or ask for pre-votes."""
    if node.shutdown_deadline >= 0:
        return min(node.shutdown_deadline - now, _ask_for_votes(node, now))
    if node.backing_off:
        if node.backoff_deadline <= now:
            transitions.to_candidate(node, now)
            return 0
        return node.backoff_deadline - now
    if node.election_deadline <= now:
        if node.profile.election_backoff is not None:
            _back_off(node, now, node.profile.election_backoff)
            return NEVER
        transitions.to_prospective(node, now)
        return 0
    return min(_ask_for_votes(node, now), node.election_deadline - now)


def poll_prospective(node: Node, now: int) -> int:
    """Ask for pre-votes until the election time is over."""
    if node.shutdown_deadline >= 0:
        return min(node.shutdown_deadline - now, _ask_for_votes(node, now))
    if node.election_deadline <= now:
        _lose_pre_vote(node, now)
        return 0
    return min(_ask_for_votes(node, now), node.election_deadline - now)


def _ask_for_votes(node: Node, now: int) -> int:
    if transitions.is_vote_rejected(node):
        return NEVER
    shortest = NEVER
    for voter_id in [voter_id for voter_id, vote in node.votes.items() if vote is None]:
        voter = node.voters.by_id.get(voter_id)
        endpoint = None if voter is None else node.default_endpoint(voter.endpoints)
        if voter is None or endpoint is None:
            raise RaftThreadError(f"Unknown endpoint for voter id {voter_id}")
        shortest = min(shortest, send(node, now, voter_id, endpoint, partial(vote_request, node, voter_id)))
    return shortest


def vote_request(node: Node, voter_id: int, correlation_id: int, address: Endpoint) -> VoteRequest:
    """Return the question of a candidate, or of one that asks for pre-votes, to one of its voters."""
    return VoteRequest(
        node.id,
        voter_id,
        correlation_id,
        address,
        node.cluster_id,
        voter_id,
        node.voters.by_id[voter_id].directory_id,
        node.epoch,
        node.id,
        node.key.directory_id if node.profile.directory_ids else ZERO_UUID,
        node.log.last_epoch,
        node.log.end,
        node.state is State.PROSPECTIVE,
    )


def poll_resigned(node: Node, now: int) -> int:
    """Send the end of the epoch to the voters, until each acknowledged it, and wait for an election."""
    shortest = NEVER
    for voter_id in sorted(node.unacknowledged & node.voters.by_id.keys()):
        endpoint = node.default_endpoint(node.voters.endpoints(voter_id))
        if endpoint is None:
            raise RaftThreadError(f"Unknown endpoint for voter id {voter_id}")

        def announce(correlation_id: int, address: Endpoint, to: int = voter_id) -> EndQuorumEpochRequest:
            return EndQuorumEpochRequest(
                node.id,
                to,
                correlation_id,
                address,
                node.cluster_id,
                node.id,
                node.epoch,
                node.successors,
                (),  # Kafka fills in none: a voter must know where the leader of its own voter set answers
            )

        shortest = min(shortest, send(node, now, voter_id, endpoint, announce))
    if node.shutdown_deadline >= 0:
        return min(node.shutdown_deadline - now, shortest)
    if node.election_deadline > now:
        return min(node.election_deadline - now, shortest)
    leave = node.profile.resigned_exit
    if leave is ResignedExit.CANDIDATE or (leave is ResignedExit.CANDIDATE_IF_VOTER and node.is_voter):
        transitions.to_candidate(node, now)
    else:
        transitions.to_unattached(node, now, node.epoch + 1)
    return 0
