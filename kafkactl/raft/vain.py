"""Nodes that ask and learn nothing: whether one does, whom it asks next, and what stands when it asked so for a while.

Since 3.9.1 a node without a leader asks bootstrap servers as fast as these answer, as observers always did; a follower
does so while its leader refuses connections; and a candidate of 3.9 whom a voter does not know asks that voter without
an end. None of these rounds changes anything but the request that is under way. `simulator/rounds.py` runs a world of
them in a loop of its own; what is said here follows `raft/following.py`, `raft/elections.py` and `raft/serving.py`, and
`tests/simulator/test_skip.py` compares it with stepping.
"""

from __future__ import annotations

from typing import Final

from kafkactl.raft import elections, errors, following
from kafkactl.raft.connections import BACKING_OFF, READY
from kafkactl.raft.effects import State
from kafkactl.raft.messages import FetchRequest, VoteRequest
from kafkactl.raft.node import Node
from kafkactl.values import ZERO_UUID, Endpoint

LEADER: Final = -1  # the place of the leader among those that are asked; the others are places of bootstrap servers


def is_still(node: Node) -> bool:
    """Whether a call before `still_until` that brings nothing new leaves the node as it is (its poll does nothing)."""
    if node.state in (State.LEADER, State.STOPPED) or node.parked or node.shutdown_deadline >= 0:
        return False
    if node.bootstrap_asked or node.bootstrap_pick >= 0 or node.auto_join:
        return False
    fetches = node.state in (State.FOLLOWER, State.UNATTACHED) and asks_anybody(node)
    return not fetches or len(node.connections.in_flight) == 1


def still_until(node: Node) -> int:
    """Before this time, by its own clock, a poll of a still node changes nothing."""
    if node.state is State.FOLLOWER and node.is_voter and node.profile.update_periods:
        return min(node.wake_at, node.update_deadline)
    return node.wake_at


def asks_anybody(node: Node) -> bool:
    """Whether a node asks bootstrap servers when it knows no leader, or its leader does not answer."""
    return node.profile.voters_fetch_anywhere or not node.is_voter


def asks_in_vain(node: Node) -> bool:
    """Whether a still node goes on asking for a leader for as long as no answer names one."""
    if not asks_anybody(node) or node.fetching is not None:
        return False
    if node.state is State.UNATTACHED:
        return node.leader_id < 0
    return node.state is State.FOLLOWER and bool(node.reply_endpoints)


def asks_leader(node: Node, now: int) -> bool:
    """Whether one that asks in vain asks the leader that it follows first, where it is not pausing for it.

    Else bootstrap servers only: it follows none, or is an observer whose fetch timeout is over.
    """
    if node.state is State.UNATTACHED:
        return False
    return node.is_voter or node.profile.auto_join or node.fetch_deadline > now


def refuses_fetch(asker: Node, asked: Node) -> bool:
    """Whether a still node refuses another's fetch, and the other learns nothing by it."""
    if asker.epoch < asked.epoch or asker.log.last_epoch > asker.epoch:
        return False
    error = errors.UNKNOWN_LEADER_EPOCH if asker.epoch > asked.epoch else errors.NOT_LEADER_OR_FOLLOWER
    return teaches_nothing(asker, error, asked.leader_id, asked.epoch, asked.reply_endpoints)


def teaches_nothing(node: Node, error: int, leader_id: int, epoch: int, endpoints: tuple[Endpoint, ...]) -> bool:
    """Whether a refusal leaves the receiver as it was, and is taken for an answer (`following.handle_common`)."""
    if epoch < node.epoch or error == errors.UNKNOWN_LEADER_EPOCH:
        return True
    if error != errors.NOT_LEADER_OR_FOLLOWER or epoch > node.epoch or leader_id == node.id:
        return False
    if leader_id < 0:
        return True
    known = endpoints or node.voters.endpoints(leader_id)
    return leader_id == node.leader_id and len(known) <= len(node.leader_endpoints)


def asks_votes_in_vain(node: Node) -> bool:
    """Whether a still node asks voters that do not know it for as long as they refuse (INVALID_VOTER_KEY)."""
    may_ask = node.state in (State.CANDIDATE, State.PROSPECTIVE) and not node.backing_off
    pre_vote = node.state is State.PROSPECTIVE
    return may_ask and 0 <= node.log.last_epoch < node.epoch + pre_vote


def refuses_vote(candidate: Node, asked: Node, voter_id: int) -> bool:
    """Whether a still node answers that another directory of it is meant: the candidate asks again at once."""
    voter = candidate.voters.by_id.get(voter_id)
    return (
        voter is not None
        and candidate.votes.get(voter_id, False) is None
        and (asked.leader_id < 0 or candidate.leader_id >= 0)
        and asked.epoch == candidate.epoch
        and (asked.profile.pre_vote or candidate.state is State.CANDIDATE)
        and asked.profile.directory_ids
        and not asked.profile.strict_senders
        and (asked.id != voter_id or voter.directory_id not in (ZERO_UUID, asked.key.directory_id))
    )


def backing_off_until(node: Node, peer: int) -> int:
    """Until when a peer is not asked; 0 where no request to it failed just now."""
    connection = node.connections.by_peer.get(peer)
    if connection is None or connection.state != BACKING_OFF:
        return 0
    return connection.last_fail + node.connections.retry_backoff


def fetch_again(node: Node, place: int, correlation_id: int) -> FetchRequest:
    """The request of a node that asks a bootstrap server, or its leader (place LEADER)."""
    peer, server = (node.leader_id, node.reply_endpoints[0]) if place == LEADER else node.bootstrap[place]
    return following.fetch_request(node, peer, correlation_id, node.connections.address(peer, server))


def vote_again(node: Node, voter_id: int, correlation_id: int) -> VoteRequest:
    """The question of a candidate, once more."""
    endpoint = node.default_endpoint(node.voters.endpoints(voter_id))
    assert endpoint is not None
    address = node.connections.address(voter_id, endpoint)
    return elections.vote_request(node, voter_id, correlation_id, address)


def note_answered(node: Node, correlation_id: int) -> None:
    """The request that was under way was answered; what came behind it is noted by `note_failed` and `note_sent`."""
    connection = node.connections.in_flight.pop(correlation_id)
    connection.state, connection.correlation_id = READY, -1


def note_failed(node: Node, peer: int, last_fail: int) -> None:
    """The last request to this peer failed then."""
    connections = node.connections
    connections.sent(peer, -1, last_fail)
    del connections.in_flight[-1]
    connection = connections.by_peer[peer]
    connection.state, connection.last_fail = BACKING_OFF, last_fail


def note_sent(node: Node, peer: int, correlation_id: int, sent: int) -> None:
    """This request is under way since `sent`. The poll of a node that is still sets `wake_at` by it."""
    node.connections.sent(peer, correlation_id, sent)
