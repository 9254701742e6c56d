"""The order in which brokers are restarted, forward and back: one rule for every roll.

A broker that is down comes up before another one is stopped. Then the order is rack by rack, so that replicas in other
racks stay whole, with the broker that holds `/controller` and its rack last: each stop of it causes an election.
"""

from __future__ import annotations

from collections.abc import Iterable

from kafkactl.migration.state.brokers import BrokerEvidence
from kafkactl.migration.state.evidence import Evidence, Holder

_RACK = "broker.rack"


def roll_order(
    brokers: Iterable[BrokerEvidence], e: Evidence, *, last: int | None = None, first: int | None = None
) -> list[BrokerEvidence]:
    """Return the brokers in the order of their restarts; the racks of the ids `last` and `first` go with them."""
    every = list(brokers)
    racks: dict[str | None, list[int]] = {}
    for broker in every:
        racks.setdefault(rack_of(broker, e), []).append(broker.id)

    def place(broker: BrokerEvidence) -> tuple[bool, bool, bool, int, bool, bool, int]:
        ids = racks[rack_of(broker, e)]
        return (
            broker.answers is not False,
            first not in ids,
            last in ids,
            min(ids),
            broker.id != first,
            broker.id == last,
            broker.id,
        )

    return sorted(every, key=place)


def rack_of(broker: BrokerEvidence, e: Evidence) -> str | None:
    """Return a broker's rack by its file, its registration or its znode; None if there is none, or it is not shown."""
    config = None if broker.node is None else broker.node.config
    znode = None if e.tree is None else e.tree.brokers.get(broker.id)
    named = (
        None if config is None else config.get(_RACK, "").strip(),
        None if broker.registration is None else broker.registration.rack,
        None if znode is None else znode.rack,
    )
    return next((rack for rack in named if rack), None)


def known_brokers(e: Evidence) -> list[BrokerEvidence]:
    """Return the brokers that the inventory names or that are in ZooKeeper."""
    return [broker for broker in e.brokers if broker.node is not None or broker.in_zookeeper]


def zookeeper_controller_last(e: Evidence) -> list[BrokerEvidence]:
    """Return the known brokers in the order of their restarts, the broker that is the active controller last."""
    held_by = None
    if e.holder is Holder.ZOOKEEPER and e.tree is not None and e.tree.controller is not None:
        held_by = e.tree.controller.broker_id
    return roll_order(known_brokers(e), e, last=held_by)
