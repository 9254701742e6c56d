"""Cluster of an image as a report shows it: leaders and replicas of each broker, and the timeline's lanes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from operator import itemgetter
from typing import Final, TypeAlias

from kafkactl.core.frozen import frozen
from kafkactl.core.kafka_names import NO_LEADER
from kafkactl.metadata.image.model import ISR_AT, LEADER_AT, REPLICAS_AT, Broker, Image

Lists: TypeAlias = tuple[tuple[int, ...], tuple[int, ...]]  # replicas, ISR

_LEADER: Final = itemgetter(LEADER_AT)
_LISTS: Final = itemgetter(REPLICAS_AT, ISR_AT)


@frozen
class BrokerLoad:
    """Load of one broker: its leaders and replicas; `lagging` are its replicas that are not in sync. `known`: it is
    registered."""

    id: int
    leaders: int
    replicas: int
    lagging: int
    fenced: bool
    known: bool


@frozen
class Cluster:
    """An image in numbers, small whatever its size."""

    brokers: tuple[BrokerLoad, ...]
    topics: int
    partitions: int
    without_leader: int
    features: tuple[tuple[str, int], ...]

    def load(self, broker_id: int) -> BrokerLoad | None:
        """Return the load of one broker."""
        return next((broker for broker in self.brokers if broker.id == broker_id), None)


def cluster_of(image: Image) -> Cluster:
    """Count the image once; a million partitions take a second or two."""
    leaders: Counter[int] = Counter()
    lists: Counter[Lists] = Counter()  # equal lists are one object, and few
    for topic in image.topics.values():
        states = topic.partitions.states.values()
        leaders.update(map(_LEADER, states))
        lists.update(map(_LISTS, states))
    return changed_cluster(image, image.brokers, leaders, lists)


def changed_cluster(
    image: Image, brokers: Mapping[int, Broker], leaders: Mapping[int, int], lists: Mapping[Lists, int]
) -> Cluster:
    """Return the cluster of an image with these brokers.

    `leaders` has the number of partitions that each broker leads (`NO_LEADER`: those without one), `lists` the number
    with these replicas and this ISR.
    """
    replicas: Counter[int] = Counter()
    lagging: Counter[int] = Counter()
    for (held, isr), count in lists.items():
        for broker_id in held:
            replicas[broker_id] += count
            if broker_id not in isr:
                lagging[broker_id] += count
    ids = sorted({*brokers, *replicas, *leaders} - {NO_LEADER})
    return Cluster(
        brokers=tuple(_load(brokers, id_, leaders.get(id_, 0), replicas[id_], lagging[id_]) for id_ in ids),
        topics=len(image.topics),
        partitions=sum(leaders.values()),
        without_leader=leaders.get(NO_LEADER, 0),
        features=tuple(sorted(image.features.items())),
    )


def _load(brokers: Mapping[int, Broker], broker_id: int, leaders: int, replicas: int, lagging: int) -> BrokerLoad:
    registered = brokers.get(broker_id)
    return BrokerLoad(
        id=broker_id,
        leaders=leaders,
        replicas=replicas,
        lagging=lagging,
        fenced=registered is None or registered.fenced,
        known=registered is not None,
    )
