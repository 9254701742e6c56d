"""Effect of topic settings on data after a recovery: settings of adopted topics, and retention.

A broker deletes what retention allows within a minute of its start. A topic that only folders know has no settings in
the image, and Kafka's defaults would delete everything that is older than seven days (measured on 4.3.1).
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from kafkactl.core.answers import json_of
from kafkactl.core.data_files import read_data
from kafkactl.core.frozen import frozen
from kafkactl.core.kafka_names import REMOTE_LOG_METADATA
from kafkactl.core.values import Uuid
from kafkactl.metadata.image.model import BROKER_CONFIG, TOPIC_CONFIG, Image, Topic
from kafkactl.quorum.recover.folders import Adoptable
from kafkactl.quorum.recover.observed_disks import FolderKind, PartitionFolder

Settings = dict[str, str]

TIERING: Final = {"remote.storage.enable": "true"}
_DELETE: Final = "delete"
_DAY_MS: Final = 24 * 60 * 60 * 1000
_DEFAULT_RETENTION_MS: Final = 7 * _DAY_MS  # log.retention.hours (ServerLogConfigs)


@frozen
class AdoptedSettings:
    """Settings of an adopted topic in the image that is written."""

    topic: str
    settings: Settings
    known: bool
    """As a better disk's metadata log has them; else such that nothing is deleted."""

    @property
    def in_order(self) -> Settings:
        """Return the settings by key."""
        return dict(sorted(self.settings.items()))

    to_dict = json_of("topic", "settings=in_order", "known")


def settings_of_adopted(
    image: Image, newest: Image, adopted: Iterable[Adoptable], tiered: Collection[Uuid]
) -> tuple[AdoptedSettings, ...]:
    """Return the settings of every adopted topic that `image` does not contain, by name.

    `newest` is the image of the best disk, which may contain the topic id. A topic without known settings keeps its
    data: schemas/adopted_topics.toml, and tiering if the topic is in `tiered`.
    """
    topics = {partition.topic: partition.topic_id for partition in adopted if partition.topic_id not in image.topics}
    found = []
    for name, id in sorted(topics.items()):
        known = id in newest.topics
        settings = dict(newest.configs.get((TOPIC_CONFIG, name), {})) if known else _kept(name, is_tiered=id in tiered)
        found.append(AdoptedSettings(topic=name, settings=settings, known=known))
    return tuple(found)


def _kept(topic: str, *, is_tiered: bool) -> Settings:
    settings = _unknown().get(topic, _unknown()[""])
    return settings | TIERING if is_tiered else settings


@functools.cache
def _unknown() -> Mapping[str, Settings]:
    """Return the settings by topic, under "" those of every other."""
    import tomli

    table = tomli.loads(read_data("adopted_topics.toml").decode("utf-8"))
    return {"": table["any"], **table["topics"]}


def tiered_topics(image: Image, folders: Sequence[PartitionFolder]) -> frozenset[Uuid]:
    """Return the ids of topics whose logs begin in tiered storage, by what folders show; none in a cluster without it.

    Measured on 4.3.1: where such a topic comes back without `remote.storage.enable`, its leader moves the log's start
    to the oldest segment on its disk, and once tiering is enabled again every object before it is deleted.
    """
    names = {folder.topic for folder in folders} | set(image.topic_ids)
    if REMOTE_LOG_METADATA not in names:
        return frozenset()
    kept = (folder for folder in folders if folder.kind in (FolderKind.LIVE, FolderKind.STRAY))
    return frozenset(folder.topic_id for folder in kept if folder.topic_id is not None and folder.is_tiered)


def untiered(image: Image, tiered: Collection[Uuid]) -> tuple[str, ...]:
    """Return the names of tiered topics without `remote.storage.enable` in the image: the setting is newer."""
    (key, value), *_ = TIERING.items()
    found = [image.topics[id].name for id in tiered if id in image.topics]
    return tuple(sorted(name for name in found if image.configs.get((TOPIC_CONFIG, name), {}).get(key) != value))


@frozen
class ExpiringPartition:
    """A partition on a disk of which the retention in force would remove the oldest data at the next check.

    `is_default`: neither the topic nor the brokers have a setting in the image, so `value` is Kafka's default.
    """

    folder: PartitionFolder
    setting: str
    value: str
    is_default: bool = False


def expiring(
    image: Image, folders: Sequence[PartitionFolder], *, now_ms: int, alive_ms: int | None = None
) -> list[ExpiringPartition]:
    """Return the folders whose oldest segment retention would remove now.

    Of what the image sets itself, for the topic or for brokers, `now_ms` is compared. If it sets nothing, Kafka's
    default is in force unless a broker's file has another, and files are not read: data that was older than this by a
    day already at `alive_ms`, the time of the source's last record, shows that something longer was in force.
    """
    found = []
    for folder in folders:
        topic = None if folder.topic_id is None else image.topics.get(folder.topic_id)
        if folder.kind is not FolderKind.LIVE or topic is None:
            continue
        expires = _expires(image, topic, folder, now_ms, alive_ms)
        if expires is not None:
            found.append(expires)
    return sorted(found, key=lambda held: (held.folder.topic, held.folder.partition, held.folder.broker or -1))


def _expires(
    image: Image, topic: Topic, folder: PartitionFolder, now_ms: int, alive_ms: int | None
) -> ExpiringPartition | None:
    policy = _setting(image, topic.name, folder.broker, "cleanup.policy", "log.cleanup.policy")
    if policy is not None and _DELETE not in policy[1]:
        return None
    age = _setting(image, topic.name, folder.broker, "retention.ms", "log.retention.ms")
    limit, oldest = _number(age), folder.oldest_timestamp_ms
    if age is not None and limit is not None and _is_older(oldest, now_ms - limit):
        return ExpiringPartition(folder=folder, setting=age[0], value=age[1])
    size = _setting(image, topic.name, folder.broker, "retention.bytes", "log.retention.bytes")
    most = _number(size)
    if size is not None and most is not None and 0 < folder.oldest_bytes <= folder.size_bytes - most:
        return ExpiringPartition(folder=folder, setting=size[0], value=size[1])
    if age is None and alive_ms is not None and _is_older(oldest, alive_ms - _DEFAULT_RETENTION_MS - _DAY_MS):
        return ExpiringPartition(
            folder=folder, setting="retention.ms", value=str(_DEFAULT_RETENTION_MS), is_default=True
        )
    return None


def _is_older(timestamp_ms: int | None, limit_ms: int) -> bool:
    return timestamp_ms is not None and 0 <= timestamp_ms < limit_ms


def _setting(image: Image, topic: str, broker: int | None, name: str, of_broker: str) -> tuple[str, str] | None:
    """Return a topic's setting, else the broker's, else that of all brokers: who says it and what."""
    places = ((TOPIC_CONFIG, topic, name), (BROKER_CONFIG, str(broker), of_broker), (BROKER_CONFIG, "", of_broker))
    for kind, resource, key in places:
        value = image.configs.get((kind, resource), {}).get(key)
        if value is not None:
            return key, value
    return None


def _number(setting: tuple[str, str] | None) -> int | None:
    """Return the limit of a setting; None for none, and for one without a limit (-1)."""
    try:
        number = -1 if setting is None else int(setting[1])
    except ValueError:
        return None
    return number if number >= 0 else None
