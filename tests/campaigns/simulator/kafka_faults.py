"""Faults of released Kafka that the nodes have, too, because they do what Kafka does; each can be mended for one run.

A run that breaks an invariant, and does not with one of them mended, broke by that fault of Kafka's, not of ours.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple
from unittest.mock import patch

from kafkactl.simulator.campaign import Asked, outcome_of
from kafkactl.simulator.quorum import Quorum
from kafkactl.simulator.raft import elections
from kafkactl.simulator.raft.connections import NEVER
from kafkactl.simulator.raft.disk import FlushLog
from kafkactl.simulator.raft.effects import Purpose
from kafkactl.simulator.raft.node import Node
from kafkactl.simulator.raft.profiles import US_PER_MS
from kafkactl.simulator.raft.replica_log import ReplicaLog
from kafkactl.simulator.world import World


class KafkaFault(NamedTuple):
    """A function that does what Kafka's does, and what `mended` makes of it."""

    name: str
    owner: Any
    attribute: str
    mended: Callable[[Any], Any]


def _reads_again(original: Any) -> Any:
    def truncate(log: ReplicaLog, offset: int) -> None:
        original(log, offset)
        log.read_end = min(log.read_end, log.end)

    return truncate


def _syncs_at_start(original: Any) -> Any:
    def begin(world: Any, machine: Any) -> None:
        machine.disk.apply(FlushLog())
        machine.shadow.durable = machine.shadow.end
        original(world, machine)

    return begin


def _pauses_apart(original: Any) -> Any:
    def drawn(node: Node, purpose: Purpose, number: int) -> None:
        original(node, purpose, number)
        if node.backoff_deadline < NEVER:
            pause = node.backoff_ms % node.timeouts.election_backoff_max_ms
            node.backoff_deadline = node.backoff_asked + pause * US_PER_MS

    return drawn


# docs/decisions/0024-raft.md: voters that a new leader writes below `nextOffset` are not read after a truncation.
UNREAD_VOTERS = KafkaFault("voters not read after a truncation", ReplicaLog, "truncate", _reads_again)
# docs/decisions/0025-simulator.md: a log that is loaded after a kill is not synced before its end is fetched from.
UNSYNCED_START = KafkaFault("a log not synced at the start", World, "begin", _syncs_at_start)
# docs/decisions/0025-simulator.md: up to 3.9, candidates that lost often all pause for the configured maximum, so one
# that cannot win may begin each epoch before the one that can.
EQUAL_PAUSES = KafkaFault("candidates that pause alike", elections, "backoff_drawn", _pauses_apart)
KAFKA_FAULTS = (UNREAD_VOTERS, UNSYNCED_START, EQUAL_PAUSES)


def passes_without(fault: KafkaFault, asked: Asked, quorum: Quorum, seed: int) -> bool:
    """Return True if the run breaks nothing with this fault mended."""
    with patch.object(fault.owner, fault.attribute, fault.mended(getattr(fault.owner, fault.attribute))):
        return outcome_of(asked, quorum, seed, traced=False).passed


def causes_of(asked: Asked, quorum: Quorum, seed: int) -> list[KafkaFault]:
    """Return the faults of Kafka's without which a run that broke does not break; none if it breaks in any case."""
    return [fault for fault in KAFKA_FAULTS if passes_without(fault, asked, quorum, seed)]
