"""What a report shows of an image: who leads and holds how much, and where the timeline's lanes come from."""

from __future__ import annotations

from collections import Counter

from kafkactl.frozen import frozen
from kafkactl.kafka_names import NO_LEADER
from kafkactl.metadata.image.model import ISR_AT, LEADER_AT, REPLICAS_AT, Image


@frozen
class BrokerLoad:
    """What one broker leads and holds; `lagging` are its replicas that are not in sync. `known`: it is registered."""

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
        """The load of one broker."""
        return next((broker for broker in self.brokers if broker.id == broker_id), None)


def cluster_of(image: Image) -> Cluster:
    """Count the image once; a million partitions take a second or two."""
    leaders: Counter[int] = Counter()
    shapes: Counter[tuple[tuple[int, ...], tuple[int, ...]]] = Counter()  # equal lists are one object, and few
    partitions = 0
    for topic in image.topics.values():
        states = topic.partitions.states.values()
        partitions += len(states)
        for state in states:
            leaders[state[LEADER_AT]] += 1
            shapes[state[REPLICAS_AT], state[ISR_AT]] += 1
    replicas: Counter[int] = Counter()
    lagging: Counter[int] = Counter()
    for (held, isr), count in shapes.items():
        for broker_id in held:
            replicas[broker_id] += count
            if broker_id not in isr:
                lagging[broker_id] += count
    ids = sorted({*image.brokers, *replicas, *leaders} - {NO_LEADER})
    return Cluster(
        brokers=tuple(_load(image, id_, leaders[id_], replicas[id_], lagging[id_]) for id_ in ids),
        topics=len(image.topics),
        partitions=partitions,
        without_leader=leaders[NO_LEADER],
        features=tuple(sorted(image.features.items())),
    )


def _load(image: Image, broker_id: int, leaders: int, replicas: int, lagging: int) -> BrokerLoad:
    registered = image.brokers.get(broker_id)
    return BrokerLoad(
        id=broker_id,
        leaders=leaders,
        replicas=replicas,
        lagging=lagging,
        fenced=registered is None or registered.fenced,
        known=registered is not None,
    )
