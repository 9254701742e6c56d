"""Requests for votes that a host without a process refuses: one each retry back-off, until the election time is over.

A candidate asks such a voter again and again. Each time is three events (the question, the refusal, the end of the
pause) that change nothing else; `simulator/rounds.py` passes over them with the other questions in vain.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kafkactl.raft import vain
from kafkactl.raft.connections import AWAITING_RESPONSE
from kafkactl.raft.messages import Disconnected
from kafkactl.raft.node import Node
from kafkactl.simulator.machine import DELIVER, REFUSED_US, Machine

if TYPE_CHECKING:
    from kafkactl.simulator.world import World


class Knock:
    """One voter that one candidate asks. `arrives` and `fails`: of the last question; in the past while it pauses.

    `sequence` is the message in the queue that it begins with, -1 where it pauses.
    """

    __slots__ = (
        "arrives", "asked", "before", "correlation", "fails", "is_found", "machine", "node", "sent", "sequence",
        "there", "voter_id", "was_request",
    )  # fmt: skip

    is_plain = False  # as of the other loops

    def __init__(self, machine: Machine, node: Node, voter_id: int, asked: Machine, there: int) -> None:
        self.machine = machine
        self.node = node
        self.voter_id = voter_id
        self.asked = asked
        self.there = there
        connection = node.connections.by_peer[voter_id]
        self.is_found = connection.state != AWAITING_RESPONSE  # else its message must be in the queue
        self.before = self.correlation = connection.correlation_id
        self.sent = 0
        self.sequence = self.arrives = -1
        self.fails = machine.world_time(connection.last_fail)
        self.was_request = False

    def begin(self, sequence: int, at: int, is_request: bool) -> None:
        """Its message is in the queue: the question, or the refusal."""
        self.is_found, self.sequence, self.was_request = True, sequence, is_request
        self.arrives, self.fails = (at, at + REFUSED_US) if is_request else (-1, at)

    def next_at(self) -> int:
        """When it asks again."""
        machine = self.machine
        return machine.world_time(machine.local(self.fails) + self.node.connections.retry_backoff)

    def waits_until(self) -> int:
        """The last moment before the candidate gives up waiting for an answer."""
        connections = self.node.connections
        sent = connections.by_peer[self.voter_id].last_send
        return self.machine.world_time(sent + connections.request_timeout) - 1

    def ask(self, at: int) -> int:
        """It asks now. The correlation id."""
        self.node.next_correlation_id = self.correlation = self.node.next_correlation_id + 1
        self.sent, self.arrives = at, at + self.there
        self.fails = self.arrives + REFUSED_US
        return self.correlation

    def is_as_before(self, landing: int) -> bool:
        """Whether its message, or its pause, is still that of the beginning."""
        if self.correlation != self.before:
            return False
        return self.sequence < 0 or landing < (self.arrives if self.was_request else self.fails)

    def land(self, world: World, landing: int) -> None:
        """Note in the node, and put into the queue, what is under way then."""
        if self.is_as_before(landing):
            return
        node, machine = self.node, self.machine
        if self.correlation != self.before:
            if self.sequence >= 0:
                vain.note_answered(node, self.before)
            vain.note_vote_sent(node, self.voter_id, self.correlation, machine.local(self.sent))
        if landing < self.arrives:
            question = vain.vote_again(node, self.voter_id, self.correlation)
            world.push(self.arrives, DELIVER, self.asked, question, machine.life)
        elif landing < self.fails:
            refusal = Disconnected(self.asked.id, machine.id, self.correlation)
            world.push(self.fails, DELIVER, machine, refusal, machine.life)
        else:
            node.connections.broken(self.asked.id)
            vain.note_answered(node, self.correlation)
            vain.note_failed(node, self.voter_id, machine.local(self.fails))


def knocks_of(world: World, machine: Machine, node: Node) -> Iterator[Knock]:
    """The voters that a candidate asks in vain now."""
    if not vain.asks_voters(node):
        return
    cuts = world.network.cuts
    for voter_id, vote in node.votes.items():
        endpoint = None if vote is not None else node.default_endpoint(node.voters.endpoints(voter_id))
        if endpoint is None or node.connections.open.get(voter_id, endpoint) != endpoint:
            continue
        asked = world.by_address.get((endpoint.host, endpoint.port))
        if asked is None or asked.id != voter_id or asked.process is not None or not asked.is_reachable:
            continue
        is_cut = (machine.id, voter_id) in cuts or (voter_id, machine.id) in cuts
        if not is_cut and voter_id in node.connections.by_peer:
            yield Knock(machine, node, voter_id, asked, world.network.fates(machine.id, voter_id)[0])
