"""Partitions with places in place of node ids: those that differ in their brokers alone then share one answer."""

from __future__ import annotations

from collections.abc import Sequence

from kafkactl.core.kafka_names import NO_LEADER
from kafkactl.metadata.image.model import MIGRATING, Partition


def placed(partition: Partition) -> tuple[Partition, tuple[int, ...]]:
    """Return the partition with each broker id replaced by an index, and the ids by index: first the replicas in their
    order, then ids that appear elsewhere in the partition only. Epochs and directories are left out."""
    place = {id: at for at, id in enumerate(partition.replicas)}

    def at(ids: Sequence[int]) -> tuple[int, ...]:
        return tuple(place.setdefault(id, len(place)) for id in ids)

    shape = partition._replace(
        replicas=at(partition.replicas),
        isr=at(partition.isr),
        removing_replicas=at(partition.removing_replicas),
        adding_replicas=at(partition.adding_replicas),
        leader=partition.leader if partition.leader == NO_LEADER else at((partition.leader,))[0],
        leader_epoch=0,
        partition_epoch=0,
        directories=(MIGRATING,) * len(partition.replicas),
        eligible_leader_replicas=at(partition.eligible_leader_replicas),
        last_known_elr=at(partition.last_known_elr),
    )
    return shape, tuple(place)


def named(shape: Partition, ids: Sequence[int]) -> Partition:
    """Return a placed partition with its node ids again; `ids` are those that `placed` gave."""

    def of(places: Sequence[int]) -> tuple[int, ...]:
        return tuple(ids[at] for at in places)

    return shape._replace(
        replicas=of(shape.replicas),
        isr=of(shape.isr),
        removing_replicas=of(shape.removing_replicas),
        adding_replicas=of(shape.adding_replicas),
        leader=shape.leader if shape.leader == NO_LEADER else ids[shape.leader],
        eligible_leader_replicas=of(shape.eligible_leader_replicas),
        last_known_elr=of(shape.last_known_elr),
    )
