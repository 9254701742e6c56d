"""Checks of the other nodes before a node is stopped: alive is who answered at its address under its id just now.

An open port, a registration that has not expired and a place in an ISR are older: ZooKeeper and the quorum need seconds
to notice that a broker is gone, and in these seconds the next restart would stop the last replica.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kafkactl.core.findings import Finding, blocker
from kafkactl.core.kafka_names import ZkMigrationState
from kafkactl.core.values import Role
from kafkactl.core.wording import some
from kafkactl.migration.observed.observation import NodeSeen, Observation
from kafkactl.migration.observed.silence import silent_brokers
from kafkactl.migration.state.evidence import Evidence, evidence_of
from kafkactl.migration.steps.step import Move, Step

_STOPS: Final = frozenset({Move.RESTART_NODE, Move.STOP_NODE})
_VOTERS_THAT_STAND_A_LOSS: Final = 3
_CAUGHT_UP: Final = 100  # records behind the high watermark, of which no-ops alone make two a second


def stops_a_living_node(observation: Observation, step: Step) -> bool:
    """Return True if a step stops a node that answers; the start of a dead node stops none."""
    node = None if step.node is None else observation.node(step.node, step.role)
    return step.action in _STOPS and node is not None and node.alive is True


def others_alive(observation: Observation, step: Step) -> tuple[NodeSeen, ...]:
    """Return the nodes that answered in this observation, without the node of the step."""
    return tuple(
        node for node in observation.nodes if node.alive is True and (node.id, node.role) != (step.node, step.role)
    )  # fmt: skip


def majority_at_risk(observation: Observation, step: Step) -> tuple[Finding, ...]:
    """Report the stop of a controller if a majority would not answer without it; two voters have none to lose."""
    if step.role is not Role.CONTROLLER or not stops_a_living_node(observation, step):
        return ()
    quorum = observation.quorum
    voters = (
        {controller.id for controller in observation.controllers}
        if quorum is None
        else {voter.id for voter in quorum.voters}
    )
    if len(voters) < _VOTERS_THAT_STAND_A_LOSS:
        return ()
    behind = _behind(observation)
    alive = {
        controller.id for controller in observation.controllers if controller.alive is True and controller.id in voters
    } - {step.node}
    counted = sorted(alive - behind)
    if 2 * len(counted) > len(voters):
        return ()
    lacking = some(f"controller {id}" for id in sorted(voters - set(counted) - {step.node}))
    return (
        blocker(
            "controller-majority-at-risk",
            step.target,
            f"without {step.target} only {len(counted)} of {len(voters)} controllers are seen to answer and to have the"
            f" log: {lacking} is down, silent or behind, so the restart would leave the quorum without a majority",
            alive=counted,
            voters=sorted(voters),
        ),
    )


def _behind(observation: Observation) -> set[int]:
    quorum = observation.quorum
    if quorum is None or quorum.high_watermark is None:
        return set()
    ends = {voter.id: voter.log_end_offset for voter in quorum.voters if voter.log_end_offset is not None}
    return {id for id, end in ends.items() if quorum.high_watermark - end > _CAUGHT_UP}


def replicas_at_risk(observation: Observation, step: Step) -> tuple[Finding, ...]:
    """Report partitions that the stop of a broker would leave without a replica in sync that answers."""
    if step.role is not Role.BROKER or step.node is None or not stops_a_living_node(observation, step):
        return ()
    silent = silent_brokers(observation)
    if not silent:
        return ()
    lost = [
        name
        for name, replicas, isr in _partitions(evidence_of(observation))
        if len(replicas) > 1 and step.node in isr and not set(isr) - silent - {step.node}
    ]
    if not lost:
        return ()
    return (
        blocker(
            "last-replica-at-risk",
            step.target,
            f"{some(lost)}: {step.target} is the only replica in sync that answers;"
            f" no answer from {some(f'broker {id}' for id in sorted(silent))}",
            partitions=len(lost),
        ),
    )


def _partitions(e: Evidence) -> Iterator[tuple[str, tuple[int, ...], tuple[int, ...]]]:
    """Yield name, replicas and ISR of each partition, by the side that is active."""
    in_kraft = any(controller.alive for controller in e.observation.controllers) and e.kraft_state in (
        ZkMigrationState.MIGRATION,
        ZkMigrationState.POST_MIGRATION,
    )
    if in_kraft and e.log is not None:
        for topic in e.log.image.topics.values():
            for number, partition in topic.partitions.items():
                yield f"{topic.name}-{number}", partition.replicas, partition.isr
    elif e.tree is not None:
        for name, found in e.tree.topics.items():
            for number, part in found.partitions.items():
                if part.state is not None:
                    yield f"{name}-{number}", part.replicas, part.state.isr
