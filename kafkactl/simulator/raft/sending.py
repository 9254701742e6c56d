"""Sending one request to one peer, and the checks that requests and responses share."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kafkactl.core.values import Endpoint
from kafkactl.simulator.raft import errors
from kafkactl.simulator.raft.connections import BACKING_OFF
from kafkactl.simulator.raft.effects import State

if TYPE_CHECKING:
    from kafkactl.simulator.raft.node import Node


def send(node: Node, now: int, peer: int, endpoint: Endpoint, make: Callable[[int, Endpoint], Any]) -> int:
    """Send, unless a request is on its way there or failed just now. How long until it is worth trying again.

    Follows `KafkaRaftClient.maybeSendRequest`. `make` gets the correlation id and the address of the open connection.
    """
    connections = node.connections
    connection = connections.by_peer.get(peer)
    if connection is not None and connection.state:
        if connection.state == BACKING_OFF:
            left = connection.last_fail + connections.retry_backoff - now
        else:
            left = connection.last_send + connections.request_timeout - now
        if left > 0:
            return left
        connections.reset(peer)
    node.next_correlation_id = correlation_id = node.next_correlation_id + 1
    connections.sent(peer, correlation_id, now)
    node.out.append(make(correlation_id, connections.open.setdefault(peer, endpoint)))
    return connections.request_timeout


def leader_error(node: Node, epoch: int) -> int:
    """Return the error of a request that only a leader serves, or NONE (`validateLeaderOnlyRequest`)."""
    if epoch < node.epoch:
        return errors.FENCED_LEADER_EPOCH
    if epoch > node.epoch:
        return errors.UNKNOWN_LEADER_EPOCH
    if node.state is not State.LEADER:
        return errors.NOT_LEADER_OR_FOLLOWER
    if node.shutdown_deadline >= 0:
        return errors.BROKER_NOT_AVAILABLE
    return errors.NONE


def no_top_level_error(code: int) -> bool:
    """Return True if a response's partition data is to be read.

    `handleTopLevelError` ends the handling for other codes.
    """
    return code == errors.NONE
