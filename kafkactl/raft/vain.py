"""Nodes that ask and learn nothing: whether one does, whom it asks next, and what stands when it asked so for a while.

Since 3.9.1 a node without a leader asks bootstrap servers as fast as these answer, as observers always did; a follower
does so while its leader refuses connections; and a candidate of 3.9 whom a voter does not know asks that voter without
an end. None of these rounds changes anything but the request that is under way. `simulator/rounds.py` runs a world of
them in a loop of its own; what is said here follows `raft/following.py`, `raft/elections.py` and `raft/serving.py`, and
`tests/simulator/test_skip.py` compares it with stepping.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from kafkactl.raft import elections, errors, following, serving, transitions
from kafkactl.raft.connections import BACKING_OFF, NEVER, READY
from kafkactl.raft.effects import State
from kafkactl.raft.messages import Disconnected, FetchRequest, FetchResponse, VoteRequest
from kafkactl.raft.node import Node
from kafkactl.raft.sending import leader_error
from kafkactl.values import ZERO_UUID, Endpoint

LEADER: Final = -1  # the place of the leader among those that are asked; the others are places of bootstrap servers
_FETCHING: Final = (State.FOLLOWER, State.UNATTACHED)


def is_still(node: Node) -> bool:
    """Whether a call before `still_until` that brings nothing new leaves the node as it is (its poll does nothing)."""
    if node.state in (State.LEADER, State.STOPPED) or node.parked or node.shutdown_deadline >= 0:
        return False
    if node.bootstrap_asked or node.bootstrap_pick >= 0 or node.auto_join:
        return False
    if node.state not in _FETCHING or not has_node_to_ask(node) or len(node.connections.in_flight) == 1:
        return True
    is_pausing = node.state is State.UNATTACHED and node.bootstrap_after >= node.wake_at
    return is_pausing and not node.connections.in_flight


def still_until(node: Node) -> int:
    """Before this time, by its own clock, a poll of a still node changes nothing."""
    if node.state is State.FOLLOWER and node.is_voter and node.profile.update_periods:
        return min(node.wake_at, node.update_deadline)
    return node.wake_at


def has_node_to_ask(node: Node) -> bool:
    """Whether a node asks bootstrap servers when it knows no leader, or its leader does not answer."""
    return node.profile.voters_fetch_anywhere or not node.is_voter


def asks_in_vain(node: Node) -> bool:
    """Whether a still node goes on asking for a leader for as long as no answer names one."""
    if not has_node_to_ask(node) or node.fetching is not None:
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


# one question and one answer, without the poll behind it


def refusal(node: Node, now: int, request: FetchRequest) -> FetchResponse | None:
    """How a node that is still refuses a fetch; None where it may do more than that, and is to be given the request."""
    if node.state is State.LEADER or not is_still(node) or now >= still_until(node):
        return None
    if request.cluster_id != node.cluster_id or not 0 <= request.last_fetched_epoch <= request.current_leader_epoch:
        return None
    error = leader_error(node, request.current_leader_epoch)
    return serving.empty_response(node, request, error) if error else None


def note_vain_answer(node: Node, now: int, message: FetchResponse | Disconnected) -> bool:
    """Take an answer that leaves a node as it was but for the question that it asks next; False where it does more."""
    connections = node.connections
    connection = connections.in_flight.get(message.correlation_id)
    if connection is None or not asks_in_vain(node) or not is_still(node) or now >= still_until(node):
        return False
    if type(message) is FetchResponse:
        if message.top_level_error_code or not teaches_nothing(
            node, message.error_code, message.leader_id, message.leader_epoch, message.node_endpoints
        ):
            return False
        if node.state is State.UNATTACHED:
            node.bootstrap_after = now + node.leaderless_pause
    elif message.correlation_id == node.update_correlation_id:
        return False
    else:
        connections.broken(message.source)
    connections.answered(connection, message.correlation_id, type(message) is FetchResponse, now)
    return True


def asks_servers_only(node: Node, now: int) -> bool:
    """Whether one that asks in vain, and waits for no answer, asks any bootstrap server now."""
    if node.state is State.UNATTACHED:
        return node.bootstrap_after <= now
    return node.connections.backoff_left(node.leader_id, now) > 0 or not asks_leader(node, now)


def next_question(node: Node, now: int, first: int) -> FetchRequest | None:
    """The fetch to a bootstrap server, `first` or the next one that is not paused for.

    None where all are paused for: then the node knows its draw, and is to be polled.
    """
    connections, servers = node.connections, node.bootstrap
    for place in range(first, first + len(servers)):
        peer, server = servers[place % len(servers)]
        if connections.is_ready(peer, now):
            node.next_correlation_id = correlation_id = node.next_correlation_id + 1
            connections.sent(peer, correlation_id, now)
            node.wake_at = min(now + connections.request_timeout, _deadline(node, now))
            return following.fetch_request(node, peer, correlation_id, connections.address(peer, server))
    node.bootstrap_pick = first
    return None


def _deadline(node: Node, now: int) -> int:
    """When a node that asks in vain does something else."""
    if node.state is State.UNATTACHED:
        return node.election_deadline if node.is_voter else NEVER
    deadline = node.fetch_deadline if node.is_voter or node.fetch_deadline > now else NEVER
    return min(deadline, node.update_deadline) if node.is_voter and node.profile.update_periods > 1 else deadline


# votes that are asked of hosts without a process


def asks_voters(node: Node) -> bool:
    """Whether a candidate, or one that asks for pre-votes, goes on asking who has not answered."""
    may_ask = node.state in (State.CANDIDATE, State.PROSPECTIVE) and not node.backing_off
    return may_ask and node.shutdown_deadline < 0 and not transitions.is_vote_rejected(node)


def votes_until(node: Node, refused: Collection[int]) -> int:
    """Before this time such a node, but for its questions to these voters, does nothing of its own."""
    connections, until = node.connections, node.election_deadline
    for connection in connections.in_flight.values():
        if connection.peer not in refused:
            until = min(until, connection.last_send + connections.request_timeout)
    for connection in connections.by_peer.values():
        if connection.state == BACKING_OFF and connection.peer not in refused:
            until = min(until, connection.last_fail + connections.retry_backoff)
    return until


def note_vote_sent(node: Node, voter_id: int, correlation_id: int, sent: int) -> None:
    """A question to this voter is under way since `sent`."""
    endpoint = node.default_endpoint(node.voters.endpoints(voter_id))
    assert endpoint is not None
    node.connections.sent(voter_id, correlation_id, sent)
    node.connections.address(voter_id, endpoint)
