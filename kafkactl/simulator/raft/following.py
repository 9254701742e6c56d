"""Followers and observers: learning who leads, fetching, truncating, snapshots, and asking to be a voter."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from kafkactl.core.values import Endpoint
from kafkactl.simulator.raft import changes, errors, transitions
from kafkactl.simulator.raft.connections import NEVER
from kafkactl.simulator.raft.disk import AppendLog, FlushLog, TruncateLog, WriteSnapshot
from kafkactl.simulator.raft.effects import Draw, Purpose, State
from kafkactl.simulator.raft.errors import RaftThreadError
from kafkactl.simulator.raft.log import RecordKind, Snapshot, SnapshotId
from kafkactl.simulator.raft.messages import (
    AddRaftVoterRequest,
    AddRaftVoterResponse,
    Disconnected,
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    RemoveRaftVoterRequest,
    RemoveRaftVoterResponse,
    UpdateRaftVoterRequest,
    UpdateRaftVoterResponse,
)
from kafkactl.simulator.raft.sending import no_top_level_error, send

if TYPE_CHECKING:
    from kafkactl.simulator.raft.node import Node

_SUCCESS_BY_ERROR: Final = {errors.BROKER_NOT_AVAILABLE: False, errors.INVALID_VOTER_KEY: True}
NO_HIGH_WATERMARK_FIELD: Final = (1 << 63) - 1  # what a leader reads if the version lacks the field


def learn_leader(node: Node, now: int, leader_id: int, epoch: int, endpoints: tuple[Endpoint, ...]) -> None:
    """Learn the leader of an epoch that is not lower than the node's epoch (`maybeTransition`)."""
    if not _is_consistent(node, leader_id, epoch):
        raise RaftThreadError(
            f"Received request or response with leader {leader_id} and epoch {epoch} which is "
            f"inconsistent with current leader {node.leader_id} and epoch {node.epoch}"
        )
    if epoch > node.epoch:
        if leader_id >= 0:
            transitions.to_follower(node, now, epoch, leader_id, endpoints)
        else:
            transitions.to_unattached(node, now, epoch)
    elif leader_id >= 0 and (node.leader_id < 0 or len(endpoints) > len(node.leader_endpoints)):
        transitions.to_follower(node, now, epoch, leader_id, endpoints)


def _is_consistent(node: Node, leader_id: int, epoch: int) -> bool:
    if leader_id == node.id:
        return node.state is State.LEADER
    return epoch != node.epoch or leader_id < 0 or node.leader_id < 0 or leader_id == node.leader_id


def handle_common(node: Node, now: int, response: Any, endpoints: tuple[Endpoint, ...] | None = None) -> bool | None:
    """Adopt epoch and leader of a response; return None if the rest is to be read (`maybeHandleCommonResponse`).

    Raises RaftThreadError for INVALID_REQUEST, as Kafka throws: this is how a broker that was made a voter exits.
    """
    error, leader_id, epoch = response.error_code, response.leader_id, response.leader_epoch
    if epoch == node.epoch and error == errors.NONE and (leader_id < 0 or node.leader_id >= 0):
        return None
    if endpoints is None:
        endpoints = response.node_endpoints
    if not endpoints and leader_id >= 0:
        endpoints = node.voters.endpoints(leader_id)
    if epoch < node.epoch or error == errors.UNKNOWN_LEADER_EPOCH:
        return True
    if epoch > node.epoch or error in (errors.FENCED_LEADER_EPOCH, errors.NOT_LEADER_OR_FOLLOWER):
        learn_leader(node, now, leader_id, epoch, endpoints)
        return True
    if leader_id >= 0 and node.leader_id < 0:
        transitions.to_follower(node, now, epoch, leader_id, endpoints)
        return None if error == errors.NONE else True
    if error == errors.INVALID_REQUEST:
        raise RaftThreadError("Received unexpected invalid request error")
    return _SUCCESS_BY_ERROR.get(error)


def handle_fetch_response(node: Node, now: int, _peer: int, response: FetchResponse) -> bool:
    """Truncate, begin a snapshot, or append and flush (`handleFetchResponse`); then raise the high watermark."""
    if not no_top_level_error(response.top_level_error_code):
        return False
    handled = handle_common(node, now, response)
    if handled is not None:
        if node.state is State.UNATTACHED:
            node.bootstrap_after = now + node.leaderless_pause
        return handled
    if node.state is not State.FOLLOWER:
        raise RaftThreadError(f"Expected to be Follower, but the current state is {node.state.shown}")
    if response.error_code != errors.NONE:
        return False
    if response.diverging_epoch >= 0:
        _truncate(node, response)
    elif response.snapshot_epoch >= 0 or response.snapshot_end_offset >= 0:
        if response.snapshot_epoch < 0 or response.snapshot_end_offset < 0:
            return False
        _begin_snapshot(node, SnapshotId(response.snapshot_end_offset, response.snapshot_epoch))
    else:
        if response.records:
            append_as_follower(node, response)
        if response.high_watermark >= 0:
            update_high_watermark(node, response.high_watermark)
    node.fetch_deadline = now + node.us.fetch_timeout
    node.has_fetched = True
    return True


def _truncate(node: Node, response: FetchResponse) -> None:
    if response.diverging_end_offset < node.high_watermark:
        raise RaftThreadError(
            f"The leader requested truncation to offset {response.diverging_end_offset}, which is below "
            f"the current high watermark {node.high_watermark}"
        )
    offset = node.log.truncation_point(response.diverging_epoch, response.diverging_end_offset)
    if offset < node.log.high_watermark:
        raise RaftThreadError(
            f"Attempt to truncate to offset {offset}, which is below the current high watermark "
            f"{node.log.high_watermark}"
        )
    node.log.truncate(offset)
    node.out.append(TruncateLog(offset))
    node.refresh_voters()


def append_as_follower(node: Node, response: FetchResponse) -> None:
    """Append, and flush if a vote or a promise may rest on it (`appendAsFollower`)."""
    batches = response.records
    try:
        node.log.append(batches)
    except ValueError as error:
        raise RaftThreadError(str(error)) from error
    node.out.append(AppendLog(batches))
    if node.is_voter or node.can_become_voter:
        node.out.append(FlushLog())
    if any(batch.kind is RecordKind.CONTROL for batch in batches):
        node.refresh_voters()


def update_high_watermark(node: Node, leaders: int) -> None:
    """Advance the high watermark to the leader's, as far as the log reaches (`updateFollowerHighWatermark`)."""
    new = min(node.log.end, leaders)
    if new < node.high_watermark:
        raise RaftThreadError(f"Non-monotonic update of high watermark from {node.high_watermark} to {new}")
    node.high_watermark = new
    node.log.high_watermark = max(new, node.log.high_watermark)


def _begin_snapshot(node: Node, snapshot_id: SnapshotId) -> None:
    """Fetch the first bytes of a snapshot with the next request, unless the snapshot is there already."""
    node.fetching = None if node.log.snapshot(snapshot_id) else Snapshot(snapshot_id, 0)


def handle_fetch_snapshot_response(node: Node, now: int, _peer: int, response: FetchSnapshotResponse) -> bool:
    """Collect pieces of a snapshot (`handleFetchSnapshotResponse`); after the last, the log begins at its end."""
    if not no_top_level_error(response.top_level_error_code):
        return False
    handled = handle_common(node, now, response)
    if handled is not None:
        return handled
    if node.state is not State.FOLLOWER:
        raise RaftThreadError(f"Expected to be Follower, but the current state is {node.state.shown}")
    asked = SnapshotId(response.snapshot_end_offset, response.snapshot_epoch)
    if response.error_code == errors.SNAPSHOT_NOT_FOUND or asked.end_offset < 0 or asked.epoch < 0:
        node.fetching = None
    elif response.error_code != errors.NONE:
        return False
    else:
        _collect(node, asked, response)
    node.fetch_deadline = now + node.us.fetch_timeout
    node.has_fetched = True
    return True


def _collect(node: Node, asked: SnapshotId, response: FetchSnapshotResponse) -> None:
    partial = node.fetching
    if partial is None or partial.id != asked or partial.size != response.position:
        raise RaftThreadError(f"Received unexpected fetch snapshot response: {asked} at position {response.position}")
    size = partial.size + response.unaligned_bytes
    if size < response.size:
        node.fetching = partial._replace(size=size)
        return
    node.fetching = None
    whole = Snapshot(asked, size, response.kraft_version, response.voters)
    node.log.add_snapshot(whole)
    node.out.append(WriteSnapshot(whole))
    transitions.truncate_to_snapshot(node, asked)
    update_high_watermark(node, node.log.high_watermark)


def handle_update_response(node: Node, now: int, _peer: int, response: UpdateRaftVoterResponse) -> bool:
    """Handle `handleUpdateVoterResponse`: 3.9 uses the leader's endpoint only if the response has none (inverted)."""
    endpoints: tuple[Endpoint, ...] = ()
    if response.leader_id >= 0 and bool(response.host) is node.profile.reads_update_leader:
        endpoints = (Endpoint(listener=node.default_listener, host=response.host, port=response.port),)
    handled = handle_common(node, now, response, endpoints)
    if handled is not None:
        return handled
    if not node.profile.reads_update_leader:
        return True
    if response.error_code not in (errors.NONE, errors.UNSUPPORTED_VERSION):
        return False
    if node.state is not State.FOLLOWER:
        raise RaftThreadError(f"Expected to be Follower, but the current state is {node.state.shown}")
    node.has_updated = node.has_fetched = True
    node.fetch_deadline = now + node.us.fetch_timeout
    return True


def handle_add_response(node: Node, now: int, _peer: int, response: AddRaftVoterResponse) -> bool:
    """Handle the answer to a request to join: wait for the next period (`handleAddVoterResponse`, 4.2)."""
    return _joined(node, now, response.error_code, errors.DUPLICATE_VOTER)


def handle_remove_response(node: Node, now: int, _peer: int, response: RemoveRaftVoterResponse) -> bool:
    """Handle the answer to a request to remove the own old directory (`handleRemoveVoterResponse`, 4.2)."""
    return _joined(node, now, response.error_code, errors.VOTER_NOT_FOUND)


def _joined(node: Node, now: int, error: int, already: int) -> bool:
    if error not in (errors.NONE, errors.REQUEST_TIMED_OUT, already):
        return False
    if node.state is not State.FOLLOWER:
        raise RaftThreadError(f"Expected to be Follower, but the current state is {node.state.shown}")
    node.update_deadline = now + node.us.update_period
    return True


def handle_disconnected(node: Node, _now: int, _peer: int, response: Disconnected) -> bool:
    """Record a failed request to a peer; a probe of a new voter fails with it.

    UpdateRaftVoter is the exception: Kafka's synthetic response has epoch -1, which is handled as an old response and
    as a success (`maybeHandleCommonResponse`).
    """
    changes.probe_failed(node, response.correlation_id)
    return response.correlation_id == node.update_correlation_id


def poll_follower(node: Node, now: int) -> int:
    """Fetch, and give the leader up when it does not answer for the fetch timeout."""
    if node.is_voter:
        return _poll_voter(node, now)
    return _poll_observer(node, now)


def _poll_voter(node: Node, now: int) -> int:
    deadline = node.fetch_deadline
    if deadline <= now:
        if node.profile.pre_vote:
            transitions.to_prospective(node, now)
        else:
            transitions.to_candidate(node, now)
        return 0
    if node.update_deadline > now:
        wait = _fetch(node, now)
        return min(wait, deadline - now, node.update_deadline - now if node.profile.update_periods > 1 else NEVER)
    if _should_update(node):
        sent, wait = _send_update(node, now)
    else:  # once a period, 3.9 tries the leader alone, though another would be asked
        sent, wait = True, _fetch(node, now) if node.profile.pre_vote else _fetch_from_leader(node, now)
    if sent or not node.profile.pre_vote:
        node.update_deadline = now + node.us.update_period
    return min(wait, deadline - now)


def _should_update(node: Node) -> bool:
    if node.log.kraft_version:
        return node.voters.needs_update(node.own_voter)
    return node.profile.static_voters_update and not node.has_updated


def _poll_observer(node: Node, now: int) -> int:
    if node.profile.auto_join:
        if _should_join(node, now):
            sent, wait = _send_join(node, now)
            if sent:
                node.update_deadline = now + node.us.update_period
            return wait
        return _fetch(node, now)
    if node.fetch_deadline <= now:
        return fetch_from_any(node, now)
    return min(_fetch_as_observer(node, now), node.fetch_deadline - now)


def _should_join(node: Node, now: int) -> bool:
    return bool(
        node.auto_join
        and node.profile.auto_join
        and node.can_become_voter
        and node.log.kraft_version
        and node.update_deadline <= now
    )


def _fetch(node: Node, now: int) -> int:
    """Fetch from the leader; since 4.0 from a bootstrap server if the leader is silent (`maybeSendFetchToBestNode`)."""
    if not node.profile.voters_fetch_anywhere:
        return _fetch_from_leader(node, now)
    wait = _fetch_as_observer(node, now)
    return min(wait, node.fetch_deadline - now) if node.fetch_deadline > now else wait


def _fetch_as_observer(node: Node, now: int) -> int:
    connections = node.connections
    leader_id = node.leader_id
    if node.bootstrap_asked or node.bootstrap_pick >= 0:
        return fetch_from_any(node, now)
    if connections.has_timed_out(leader_id, now):
        connections.reset(leader_id)
        return fetch_from_any(node, now)
    if connections.backoff_left(leader_id, now) > 0:
        return fetch_from_any(node, now)
    if not connections.has_any_in_flight(now):
        return _fetch_from_leader(node, now)
    return connections.wait_for_bootstrap(node.bootstrap_ids, now)


def _fetch_from_leader(node: Node, now: int) -> int:
    return send(node, now, node.leader_id, _leader_endpoint(node), _next_fetch(node))


def _leader_endpoint(node: Node) -> Endpoint:
    if not node.reply_endpoints:
        raise RaftThreadError(f"Unknown endpoint for leader {node.leader_id}")
    return node.reply_endpoints[0]


def _next_fetch(node: Node) -> Any:
    if node.fetching is None:
        return partial(fetch_request, node, node.leader_id)
    return partial(_fetch_snapshot_request, node)


def fetch_request(node: Node, peer: int, correlation_id: int, address: Endpoint) -> FetchRequest:
    """Return a replica's fetch request to a peer that may be the leader."""
    log = node.log
    return FetchRequest(
        node.id,
        peer,
        correlation_id,
        address,
        node.cluster_id,
        node.id,
        node.key.directory_id,
        node.timeouts.fetch_max_wait_ms,
        node.epoch,
        log.end,
        log.last_epoch,
        node.high_watermark if node.profile.fetch_high_watermark else NO_HIGH_WATERMARK_FIELD,
        node.profile.fetch_max_bytes,
    )


def _fetch_snapshot_request(node: Node, correlation_id: int, address: Endpoint) -> FetchSnapshotRequest:
    assert node.fetching is not None
    return FetchSnapshotRequest(
        node.id,
        node.leader_id,
        correlation_id,
        address,
        node.cluster_id,
        node.id,
        node.key.directory_id,
        node.profile.fetch_max_bytes,
        node.epoch,
        node.fetching.id.end_offset,
        node.fetching.id.epoch,
        node.fetching.size,
    )


def fetch_from_any(node: Node, now: int) -> int:
    """Ask a bootstrap server who leads, the first one by chance (`maybeSendFetchToAnyBootstrap`)."""
    connections = node.connections
    if node.bootstrap_pick < 0:
        if connections.has_any_in_flight(now):
            return connections.wait_for_bootstrap(node.bootstrap_ids, now)
        if node.state is State.UNATTACHED and node.bootstrap_after > now:
            return node.bootstrap_after - now
        if not node.bootstrap_asked:
            node.bootstrap_asked = True
            node.out.append(Draw(Purpose.BOOTSTRAP, len(node.bootstrap)))
        return NEVER
    first, node.bootstrap_pick = node.bootstrap_pick, -1
    servers = node.bootstrap
    for place in range(first, first + len(servers)):
        peer, server = servers[place % len(servers)]
        if connections.is_ready(peer, now):
            return send(node, now, peer, server, partial(fetch_request, node, peer))
    return connections.wait_for_bootstrap(node.bootstrap_ids, now)


def _send_update(node: Node, now: int) -> tuple[bool, int]:
    def make(correlation_id: int, address: Endpoint) -> UpdateRaftVoterRequest:
        node.update_correlation_id = correlation_id
        return UpdateRaftVoterRequest(
            node.id,
            node.leader_id,
            correlation_id,
            address,
            node.cluster_id,
            node.epoch,
            node.id,
            node.key.directory_id,
            node.endpoints,
            node.own_voter.min_kraft_version,
            node.own_voter.max_kraft_version,
        )

    before = len(node.out)
    wait = send(node, now, node.leader_id, _leader_endpoint(node), make)
    return len(node.out) > before, wait


def _send_join(node: Node, now: int) -> tuple[bool, int]:
    """Send a removal of the id's old directory if the set has one; else an addition (auto-join, 4.2)."""
    old = node.voters.by_id.get(node.id)

    def make(correlation_id: int, address: Endpoint) -> AddRaftVoterRequest | RemoveRaftVoterRequest:
        envelope = (node.id, node.leader_id, correlation_id, address, node.cluster_id, node.id)
        if old is not None:
            return RemoveRaftVoterRequest(*envelope, old.directory_id)
        return AddRaftVoterRequest(*envelope, node.key.directory_id, node.endpoints, ack_when_committed=False)

    before = len(node.out)
    wait = send(node, now, node.leader_id, _leader_endpoint(node), make)
    return len(node.out) > before, wait
