"""The partitions of a cluster with the facts that a roll needs: replicas, ISR, and how many replicas in sync are
enough."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from kafkactl.core.frozen import frozen
from kafkactl.dryrun.controller.facts import Facts, min_isr_of
from kafkactl.metadata.image.model import ADDING_AT, ISR_AT, LEADER_AT, REMOVING_AT, REPLICAS_AT, Image

SHOWN: Final = 100


class RollPartition(NamedTuple):
    """A partition. `min_isr` is min.insync.replicas of its topic as it is set."""

    topic: str
    number: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    is_moving: bool
    min_isr: int

    @property
    def name(self) -> str:
        """Return topic and number: `orders-3`."""
        return f"{self.topic}-{self.number}"

    @property
    def enough(self) -> int:
        """Return the number of replicas in sync without which writes with acks=all are refused."""
        return min(self.min_isr, len(self.replicas))

    @property
    def is_whole(self) -> bool:
        """Return True if all replicas are in sync."""
        return set(self.isr) >= set(self.replicas)

    @property
    def missing(self) -> tuple[int, ...]:
        """Return the replicas that are not in sync."""
        return tuple(replica for replica in self.replicas if replica not in self.isr)

    @property
    def always_stops(self) -> bool:
        """Return True if the partition cannot do without any one of its replicas: one replica, or as many as
        min.insync.replicas asks for."""
        return len(self.replicas) == 1 or len(self.replicas) <= self.min_isr

    def keeps_enough(self, stopped: Collection[int]) -> bool:
        """Return True if the ISR without these brokers has enough replicas, and at least one."""
        return len([replica for replica in self.isr if replica not in stopped]) >= max(self.enough, 1)


@frozen
class RollPartitions:
    """Partitions of a cluster by topic name and number; those of one broker are found without a search.

    `moving` are those that a reassignment adds replicas to, or removes replicas from.
    """

    all: tuple[RollPartition, ...]
    by_broker: Mapping[int, tuple[int, ...]]
    """Indexes of the partitions with a replica on a broker."""
    moving: tuple[RollPartition, ...]

    def __iter__(self) -> Iterator[RollPartition]:
        return iter(self.all)

    def __len__(self) -> int:
        return len(self.all)

    def with_replica(self, brokers: Iterable[int]) -> list[RollPartition]:
        """Return the partitions that have a replica on one of these brokers."""
        held = {index for broker_id in brokers for index in self.by_broker.get(broker_id, ())}
        return [self.all[index] for index in sorted(held)]


def read_partitions(image: Image, facts: Facts) -> RollPartitions:
    """Return all partitions of an image."""
    found: list[RollPartition] = []
    held: dict[int, list[int]] = defaultdict(list)
    for topic in sorted(image.topics.values(), key=lambda topic: topic.name):
        least = min_isr_of(image, facts, topic.name)
        for number, state in sorted(topic.partitions.states.items()):
            moving = bool(state[ADDING_AT] or state[REMOVING_AT])
            replicas, isr, leader = state[REPLICAS_AT], state[ISR_AT], state[LEADER_AT]
            for replica in replicas:
                held[replica].append(len(found))
            found.append(RollPartition(topic.name, number, replicas, isr, leader, moving, least))
    return RollPartitions(
        all=tuple(found),
        by_broker={broker_id: tuple(indexes) for broker_id, indexes in held.items()},
        moving=tuple(partition for partition in found if partition.is_moving),
    )


def shown(partitions: Sequence[RollPartition]) -> dict[str, Any]:
    """Return partitions as evidence: the first names, and the number of all."""
    return {"partitions": [partition.name for partition in partitions[:SHOWN]], "total": len(partitions)}
