"""The image that the recovered node begins with: the source's, with everything raised that must not go back.

What goes back otherwise: leader epochs (replicas never rejoin) and producer ids (acknowledged records are dropped). The
voters are replaced, registrations of controllers that are gone left out, and topics and partitions that only brokers'
disks know are adopted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from kafkactl.cluster.quorum.voter_sets import Voter
from kafkactl.core.answers import plain_dict
from kafkactl.core.frozen import changed, frozen
from kafkactl.core.values import Uuid
from kafkactl.metadata.image.model import (
    RECOVERED,
    TOPIC_CONFIG,
    UNASSIGNED,
    Image,
    Partition,
    Partitions,
    PartitionState,
    Topic,
    state_of,
)
from kafkactl.quorum.recover.folders import Adoptable
from kafkactl.quorum.recover.published_answers import RecoverAdopted, RecoverRepairs
from kafkactl.quorum.recover.settings import TIERING, AdoptedSettings

LEADER_EPOCHS: Final = 1_000
PRODUCER_IDS: Final = 1_000_000
_EPOCH_AT: Final = 6  # of a PartitionState
_MOST_EPOCH: Final = 2**31 - 1


@frozen
class Repairs:
    """Changes of the source's image, in the form of an answer."""

    adopted: tuple[Adoptable, ...] = ()
    settings: tuple[AdoptedSettings, ...] = ()
    tiered: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    raised_by: int = LEADER_EPOCHS
    partitions: int = 0
    producer_ids: tuple[int, int] = (0, 0)
    controllers_unregistered: tuple[int, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the fields of the repairs in the answer `quorum.recover`."""
        found: RecoverRepairs = {
            "adopted": [_adopted(partition) for partition in self.adopted],
            "adopted_settings": self.settings,
            "topics_tiered": self.tiered,
            "topics_dropped": self.dropped,
            "leader_epochs": {"raised_by": self.raised_by, "partitions": self.partitions},
            "producer_ids": {"from": self.producer_ids[0], "to": self.producer_ids[1]},
            "controllers_unregistered": self.controllers_unregistered,
        }
        return plain_dict(found)


def _adopted(adoptable: Adoptable) -> RecoverAdopted:
    return {
        "topic": adoptable.topic,
        "topic_id": str(adoptable.topic_id),
        "partition": adoptable.partition,
        "replicas": adoptable.brokers,
        "isr": sorted(_isr(adoptable)),
        "leader": adoptable.replicas[0].broker,
        "log_end_offset": adoptable.replicas[0].log_end_offset,
        "folders_to_rename": [
            {
                "broker": folder.broker,
                "from": f"{folder.disk}/{folder.name}",
                "to": f"{folder.disk}/{_plain(adoptable)}",
            }
            for folder in adoptable.replicas
            if folder.name != _plain(adoptable)
        ],
    }


def _plain(adoptable: Adoptable) -> str:
    return f"{adoptable.topic}-{adoptable.partition}"


def merged(
    image: Image,
    *,
    adopt: Sequence[Adoptable] = (),
    settings: Sequence[AdoptedSettings] = (),
    drop: Sequence[Topic] = (),
) -> Image:
    """Return the image with adopted partitions and without dropped topics and their configurations.

    Nothing is raised.
    """
    if not adopt and not drop:
        return image
    gone = {topic.id for topic in drop}
    topics = {id: topic for id, topic in image.topics.items() if id not in gone}
    for partition in adopt:
        topics[partition.topic_id] = _with(topics.get(partition.topic_id), partition)
    names = {topic.name for topic in drop} - {topic.name for topic in topics.values()}
    return changed(
        image,
        topics=topics,
        topic_ids={topic.name: id for id, topic in topics.items()},
        configs={
            **{key: held for key, held in image.configs.items() if key[0] != TOPIC_CONFIG or key[1] not in names},
            **{(TOPIC_CONFIG, given.topic): dict(given.settings) for given in settings if given.settings},
        },
    )


def with_tiering(image: Image, topics: Sequence[str]) -> Image:
    """Return the image in which these topics are tiered."""
    keys = [(TOPIC_CONFIG, topic) for topic in topics]
    tiered = {key: {**image.configs.get(key, {}), **TIERING} for key in keys}
    return changed(image, configs={**image.configs, **tiered}) if tiered else image


def raised(image: Image, *, voter: Voter | None, node_id: int | None, epochs: Mapping[tuple[Uuid, int], int]) -> Image:
    """Return the image with everything above what any disk has seen. `voter` is the only one, None in a static quorum.

    `epochs` are the largest leader epochs on disks: no partition begins below them. Of the controllers' registrations
    that of the recovered node stays, and a transaction that has not ended is left out.
    """
    return changed(
        image,
        topics={id: _raised(topic, epochs) for id, topic in image.topics.items()},
        next_producer_id=(image.next_producer_id or 0) + PRODUCER_IDS,
        controllers={id: controller for id, controller in image.controllers.items() if id == node_id},
        kraft_version=None if voter is None else max(image.kraft_version or 0, 1),
        voters=None if voter is None else (voter,),
        transaction=None,
    )


def repairs_of(
    before: Image,
    after: Image,
    *,
    adopt: Sequence[Adoptable],
    settings: Sequence[AdoptedSettings],
    tiered: Sequence[str],
    drop: Sequence[Topic],
) -> Repairs:
    """Return the changes between the source's image and the image to write."""
    return Repairs(
        adopted=tuple(adopt),
        settings=tuple(settings),
        tiered=tuple(tiered),
        dropped=tuple(topic.name for topic in drop),
        partitions=after.partition_count(),
        producer_ids=(before.next_producer_id or 0, after.next_producer_id or 0),
        controllers_unregistered=tuple(sorted(set(before.controllers) - set(after.controllers))),
    )


def _raised(topic: Topic, epochs: Mapping[tuple[Uuid, int], int]) -> Topic:
    states = topic.partitions.states
    return changed(
        topic,
        partitions=Partitions(
            {number: _raised_state(state, epochs.get((topic.id, number), -1)) for number, state in states.items()}
        ),
    )


def _raised_state(state: PartitionState, on_disk: int) -> PartitionState:
    epoch = min(max(state[_EPOCH_AT], on_disk) + LEADER_EPOCHS, _MOST_EPOCH)
    return (*state[:_EPOCH_AT], epoch, *state[_EPOCH_AT + 1 :])  # type: ignore[return-value]


def _with(topic: Topic | None, adoptable: Adoptable) -> Topic:
    held: dict[int, PartitionState] = {} if topic is None else dict(topic.partitions.states)
    held[adoptable.partition] = _state(adoptable)
    return Topic(name=adoptable.topic, id=adoptable.topic_id, partitions=Partitions(dict(sorted(held.items()))))


def _isr(adoptable: Adoptable) -> list[int]:
    """Return the replicas that are as far as the best."""
    best = adoptable.replicas[0].place
    return [folder.broker for folder in adoptable.replicas if folder.place == best and folder.broker is not None]


def _state(adoptable: Adoptable) -> PartitionState:
    """Return the state with the brokers that have a folder as replicas, led by the best; the epoch is not raised."""
    isr = _isr(adoptable)
    by_broker = {folder.broker: folder for folder in adoptable.replicas if folder.broker is not None}
    replicas = tuple(by_broker)
    epoch = max((folder.leader_epoch or 0 for folder in adoptable.replicas), default=0)
    return state_of(
        Partition(
            replicas=replicas,
            isr=tuple(isr),
            removing_replicas=(),
            adding_replicas=(),
            leader=isr[0],
            leader_recovery_state=RECOVERED,
            leader_epoch=epoch,
            partition_epoch=0,
            directories=tuple(by_broker[id].directory_id or UNASSIGNED for id in replicas),
            eligible_leader_replicas=(),
            last_known_elr=(),
        )
    )
