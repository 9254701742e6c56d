"""In which order brokers are restarted, forward and back: one rule for every roll.

One that is down comes up before another one is stopped. Then rack by rack, so that replicas in other racks stay whole,
the broker that holds `/controller` last of all, and its rack with it: each time it stops, another one is elected.
"""

from __future__ import annotations

from collections.abc import Iterable

from kafkactl.migration.state.brokers import BrokerEvidence
from kafkactl.migration.state.evidence import Evidence

_RACK = "broker.rack"


def roll_order(
    brokers: Iterable[BrokerEvidence], e: Evidence, *, last: int | None = None, first: int | None = None
) -> list[BrokerEvidence]:
    """The brokers as they are restarted; `last` and `first` are ids that their racks go with."""
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
    """A broker's rack by its file, its registration or its znode; None for none, or one that is not shown."""
    config = None if broker.node is None else broker.node.config
    znode = None if e.tree is None else e.tree.brokers.get(broker.id)
    named = (
        None if config is None else config.get(_RACK, "").strip(),
        None if broker.registration is None else broker.registration.rack,
        None if znode is None else znode.rack,
    )
    return next((rack for rack in named if rack), None)
