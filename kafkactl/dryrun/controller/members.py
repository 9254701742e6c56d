"""Broker ids of a cluster: registered ones, formerly registered ones, and those that partitions name.

Unregistering takes a broker's registration away and nothing else: partitions keep it in their replicas, and when its
process starts again it registers as a new broker (`ReplicationControlManager.handleBrokerUnregistered`,
`ClusterControlManager.registerBroker`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kafkactl.core.errors import InputError
from kafkactl.core.values import Uuid
from kafkactl.dryrun.controller.facts import Facts
from kafkactl.metadata.image.model import (
    ELR_AT,
    ISR_AT,
    LAST_KNOWN_ELR_AT,
    LOST,
    MIGRATING,
    REPLICAS_AT,
    UNASSIGNED,
    Broker,
    Image,
)

_NO_DIRECTORY = (UNASSIGNED, MIGRATING, LOST)
_NO_EPOCH = -1


def checked(image: Image, facts: Facts, brokers: Sequence[int]) -> list[int]:
    """Return the brokers named, once each. Raises InputError `no-brokers-named` if there are none, `too-few-brokers`
    if the cluster has none, `unknown-broker` if one was never part of this cluster as far as the log shows."""
    named = list(dict.fromkeys(brokers))
    if not named and not image.brokers:
        step = "Take a log that reaches to where brokers are registered."
        raise InputError("no broker is registered in this log", id="too-few-brokers", next_step=step)
    if not named:
        raise InputError("no broker was named", id="no-brokers-named")
    unknown = set(named) - set(image.brokers) - set(facts.departed)
    strangers = sorted(unknown - _in_partitions(image, unknown)) if unknown else []
    if strangers:
        known = ", ".join(str(broker) for broker in sorted(image.brokers)) or "none"
        raise InputError(
            f"broker {strangers[0]} is not registered in this log, and neither was it before nor does a partition name "
            f"it; registered: {known}",
            id="unknown-broker",
        )
    return named


def last_registration(image: Image, facts: Facts, broker_id: int) -> Broker:
    """Return the registration of a broker, or its last one; if the log no longer holds it, one as far as partitions
    and the other brokers show it."""
    held = image.brokers.get(broker_id) or facts.departed.get(broker_id)
    if held is not None:
        return held
    like = next((image.brokers[id] for id in sorted(image.brokers)), None)
    return Broker(
        id=broker_id,
        epoch=_NO_EPOCH,
        incarnation_id=Uuid(broker_id.to_bytes(16, "big")),
        listeners=() if like is None else like.listeners,
        features={} if like is None else like.features,
        rack=None,
        fenced=True,
        in_controlled_shutdown=False,
        is_migrating_zk_broker=False,
        directories=tuple(sorted(_directories(image, broker_id), key=lambda uuid: uuid.raw)),
        cordoned=None,
    )


def _in_partitions(image: Image, wanted: Iterable[int]) -> set[int]:
    """Return the ids that a partition contains as replica, in its ISR or ELR, or as its last known leader."""
    left, found = set(wanted), set()
    for topic in image.topics.values():
        for state in topic.partitions.states.values():
            here = left.intersection((*state[REPLICAS_AT], *state[ISR_AT], *state[ELR_AT], *state[LAST_KNOWN_ELR_AT]))
            found |= here
            left -= here
            if not left:
                return found
    return found


def _directories(image: Image, broker_id: int) -> set[Uuid]:
    """Return the directories that partitions name for their replicas on a broker."""
    found = set()
    for topic in image.topics.values():
        for partition in topic.partitions.values():
            found |= {at for id, at in zip(partition.replicas, partition.directories, strict=False) if id == broker_id}
    return found.difference(_NO_DIRECTORY)
