"""Poll of a leader: resign, write, announce the epoch (`pollLeader`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkactl.core.values import Endpoint, ReplicaKey
from kafkactl.simulator.raft import serving, transitions
from kafkactl.simulator.raft.connections import NEVER
from kafkactl.simulator.raft.disk import AppendLog, FlushLog
from kafkactl.simulator.raft.errors import RaftThreadError
from kafkactl.simulator.raft.leader_state import UNKNOWN, Leader
from kafkactl.simulator.raft.messages import BeginQuorumEpochRequest
from kafkactl.simulator.raft.profiles import BeginPacing
from kafkactl.simulator.raft.sending import send

if TYPE_CHECKING:
    from kafkactl.simulator.raft.node import Node


def poll_leader(node: Node, now: int) -> int:
    """Run one round of a leader's duties, and return the time until the next."""
    leader = node.leader
    assert leader is not None
    until_check = NEVER if len(leader.replicas) == 1 else leader.check_deadline - now
    if node.shutdown_deadline >= 0 or leader.resign_requested or until_check <= 0:
        transitions.to_resigned(node, now)
        return 0
    until_pending = leader.expire_pending(node, now)
    if leader.waiting and leader.time_until_drain(now, node.us.append_linger) == 0:
        _write_waiting(node, now, leader)
    until_drain = leader.time_until_drain(now, node.us.append_linger)
    until_begin = _announce(node, now, leader)
    return min(until_check, until_pending, until_drain, until_begin)


def _write_waiting(node: Node, now: int, leader: Leader) -> None:
    """Append, count the own end, answer parked fetches, and only then flush, in Kafka's order (`flushLeaderLog`)."""
    batches = leader.drain(node.epoch)
    node.log.append(batches)
    node.out.append(AppendLog(batches))
    node.refresh_voters()
    leader.own_end_moved(node.log.end, node.voters)
    serving.update_high_watermark(node, now, leader)
    serving.complete_parked(node, now, node.log.end)
    node.out.append(FlushLog())


def _announce(node: Node, now: int, leader: Leader) -> int:
    """Send BeginQuorumEpoch to the voters at the pace of the release, and return the time until the next."""
    if node.profile.begin_pacing is BeginPacing.UNACKNOWLEDGED:
        silent = [key for key in node.voters.keys if not leader.replicas[key.node_id].acknowledged]
        return _send_begin(node, now, silent) if silent else NEVER
    if leader.begin_deadline > now:
        return leader.begin_deadline - now
    targets = [key for key in node.voters.keys if key.node_id != node.id]
    if node.profile.begin_pacing is BeginPacing.SILENT_VOTERS:
        targets = [key for key in targets if _is_silent(leader, key, now, node.us.begin_epoch)]
    wait = _send_begin(node, now, targets)
    leader.begin_deadline = now + node.us.begin_epoch
    return wait


def _is_silent(leader: Leader, key: ReplicaKey, now: int, half: int) -> bool:
    last = leader.replicas[key.node_id].last_fetch
    return last == UNKNOWN or now - last >= half


def _send_begin(node: Node, now: int, keys: list[ReplicaKey]) -> int:
    shortest = NEVER
    for key in keys:
        endpoint = node.default_endpoint(node.voters.endpoints(key.node_id))
        if endpoint is None:
            raise RaftThreadError(f"Unknown endpoint for voter id {key.node_id}")

        def make(correlation_id: int, address: Endpoint, to: ReplicaKey = key) -> BeginQuorumEpochRequest:
            return BeginQuorumEpochRequest(
                node.id,
                to.node_id,
                correlation_id,
                address,
                node.cluster_id,
                to.node_id,
                to.directory_id,
                node.id,
                node.epoch,
                node.endpoints,
            )

        shortest = min(shortest, send(node, now, key.node_id, endpoint, make))
    return shortest
