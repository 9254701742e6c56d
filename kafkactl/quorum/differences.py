"""Differences between two observations of a quorum, a line each: leader, voters, and the nodes that are alive."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kafkactl.cluster.quorum.state import QuorumState, Replica
from kafkactl.core.kafka_names import NO_LEADER
from kafkactl.core.values import ReplicaKey
from kafkactl.core.wording import counted

_ALIVE = {True: "alive", False: "not alive", None: "not known to be alive"}


def quorum_differences(before: QuorumState, after: QuorumState) -> tuple[str, ...]:
    """Return the changes as lines. Offsets and lags change all the time, and are left out."""
    return (*_leader(before, after), *_replicas(before, after), *_tolerance(before, after))


def _leader(before: QuorumState, after: QuorumState) -> Iterator[str]:
    if before.leader_id != after.leader_id:
        yield f"leader {_name(before.leader_id)} → {_name(after.leader_id)}, epoch {after.leader_epoch}"
    elif before.leader_epoch != after.leader_epoch:
        yield f"controller {after.leader_id} leads again, epoch {before.leader_epoch} → {after.leader_epoch}"


def _name(leader_id: int) -> str:
    return "none" if leader_id == NO_LEADER else str(leader_id)


def _replicas(before: QuorumState, after: QuorumState) -> Iterator[str]:
    earlier, later = _roles(before), _roles(after)
    for key in sorted(earlier.keys() | later.keys()):
        (was, old), (is_now, new) = earlier.get(key, (None, None)), later.get(key, (None, None))
        if was != is_now:
            yield f"node {key.node_id}: {was or 'absent'} → {is_now or 'absent'}"
        if old is not None and new is not None and old.alive is not new.alive:
            yield f"{is_now} {key.node_id}: {_ALIVE[old.alive]} → {_ALIVE[new.alive]}"


def _roles(state: QuorumState) -> Mapping[ReplicaKey, tuple[str, Replica]]:
    voters = {replica.key: ("voter", replica) for replica in state.voters}
    return {replica.key: ("observer", replica) for replica in state.observers} | voters


def _tolerance(before: QuorumState, after: QuorumState) -> Iterator[str]:
    if before.tolerates != after.tolerates:
        yield f"the quorum survives {_failures(before.tolerates)} → {_failures(after.tolerates)}"


def _failures(tolerates: int | None) -> str:
    return "an unknown number of failures" if tolerates is None else counted(tolerates, "failure")
