"""Losses of a recovery from one disk against the content of other disks: entity by entity, never guessed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, Literal, TypedDict

from kafkactl.core.answers import plain_dict
from kafkactl.core.frozen import frozen
from kafkactl.metadata.image.diff import Change, Difference, config_kind, diff
from kafkactl.metadata.image.model import Image
from kafkactl.protocol.redact import redacted_configs, redacted_key
from kafkactl.quorum.recover.observed_disks import PartitionFolder
from kafkactl.quorum.recover.published_answers import RecoverLosses, RecoverStray


class SettingDict(TypedDict):
    """A configuration that goes back. None: not set."""

    entity: str
    key: str
    recovered: str | None
    newer: str | None


class EntityDict(TypedDict):
    """Something that a better disk has, has not, or has otherwise."""

    entity: str
    change: Literal["missing", "returns", "older"]


class OtherDict(EntityDict):
    """Changes of other parts of the image."""

    part: str


@frozen
class Losses:
    """Losses and changes by a recovery from the source as it is planned.

    `records_after_source` are offsets that better disks have, `unknown` says that records may be lost which no disk
    that was shown has. `topics` and the like are those of better disks and of partition folders. What the plan repairs
    is not in it.
    """

    records_after_source: int = 0
    unknown: bool = False
    topics_missing: tuple[str, ...] = ()
    partitions_missing: tuple[str, ...] = ()
    partitions_stray: tuple[PartitionFolder, ...] = ()
    topics_returning_empty: tuple[str, ...] = ()
    topics_returning: tuple[str, ...] = ()
    configs_changed: tuple[SettingDict, ...] = ()
    acls: tuple[EntityDict, ...] = ()
    users: tuple[EntityDict, ...] = ()
    quotas: tuple[EntityDict, ...] = ()
    others: tuple[OtherDict, ...] = ()

    @property
    def partition_count(self) -> int:
        """Return the number of partitions that are lost or become stray; folders of one partition count once."""
        names = {f"{folder.topic}-{folder.partition}" for folder in self.partitions_stray}
        return len(names | set(self.partitions_missing))

    @property
    def count(self) -> int:
        """Return the count that `--confirm-loss` requires: lost partitions, or lost records if no partition is lost."""
        return self.partition_count or self.records_after_source

    @property
    def is_none(self) -> bool:
        """Return True if nothing that can be listed is left."""
        lists = (
            self.topics_missing, self.partitions_missing, self.partitions_stray, self.topics_returning_empty,
            self.topics_returning, self.configs_changed, self.acls, self.users, self.quotas, self.others,
        )  # fmt: skip
        return not self.records_after_source and not any(lists)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields of the losses in the answer `quorum.recover`."""
        found: RecoverLosses = {
            "records_after_source": self.records_after_source,
            "unknown": self.unknown,
            "count": self.count,
            "topics_missing": list(self.topics_missing),
            "partitions_missing": list(self.partitions_missing),
            "partitions_stray": [stray_dict(folder) for folder in self.partitions_stray],
            "topics_returning_empty": list(self.topics_returning_empty),
            "topics_returning": list(self.topics_returning),
            "configs_changed": list(self.configs_changed),
            "acls": list(self.acls),
            "users": list(self.users),
            "quotas": list(self.quotas),
            "others": list(self.others),
        }
        return plain_dict(found)


def stray_dict(folder: PartitionFolder) -> RecoverStray:
    """Return a folder in an answer."""
    return {
        "broker": folder.broker,
        "directory": folder.disk,
        "folder": folder.name,
        "topic": folder.topic,
        "topic_id": None if folder.topic_id is None else str(folder.topic_id),
        "partition": folder.partition,
        "log_end_offset": folder.log_end_offset,
        "bytes": folder.size_bytes,
    }


@frozen
class ImageDifferences:
    """Differences of a better disk's image from the source's."""

    topics_missing: tuple[str, ...] = ()
    partitions_missing: tuple[str, ...] = ()
    topics_removed: tuple[str, ...] = ()
    configs: tuple[SettingDict, ...] = ()
    acls: tuple[EntityDict, ...] = ()
    users: tuple[EntityDict, ...] = ()
    quotas: tuple[EntityDict, ...] = ()
    others: tuple[OtherDict, ...] = ()


_NOTHING: Final = ImageDifferences()
_SILENT: Final = frozenset({"voters", "kraft_version", "producer_ids", "transaction"})  # the plan sets them anyway


def compared(recovered: Image, newer: Image | None) -> ImageDifferences:
    """Return the differences in the form of an answer, without secrets."""
    if newer is None or newer is recovered:
        return _NOTHING
    parts: dict[str, list[Difference]] = {}
    for difference in diff(recovered, newer):
        parts.setdefault(difference.part, []).append(difference)
    topics = parts.pop("topics", [])
    partitions = parts.pop("partitions", [])
    missing = tuple(_name(topic) for topic in topics if topic.change is not Change.REMOVED)
    added = [partition.key for partition in partitions if partition.change is Change.ADDED]
    named = {key: parts.pop(key, []) for key in ("configs", "acls", "scram", "client_quotas")}
    return ImageDifferences(
        topics_missing=missing,
        partitions_missing=tuple(added),
        topics_removed=tuple(_name(topic) for topic in topics if topic.change is Change.REMOVED),
        configs=tuple(entry for change in named["configs"] for entry in _config_changes(change)),
        acls=tuple(_entity(change) for change in named["acls"]),
        users=tuple(_entity(change) for change in named["scram"]),
        quotas=tuple(_entity(change) for change in named["client_quotas"]),
        others=tuple(
            {"part": part, **_entity(difference)}
            for part, held in parts.items()
            if part not in _SILENT
            for difference in held
        ),
    )


def with_tails(newer: ImageDifferences, tails: Iterable[ImageDifferences], recovered: Image) -> ImageDifferences:
    """Return the losses with those of diverging tails: an entity that the recovered image has anyway is not missing."""
    names = set(recovered.topic_ids)
    for tail in tails:
        partitions = [name for name in tail.partitions_missing if not _has(recovered, name)]
        newer = ImageDifferences(
            topics_missing=(*newer.topics_missing, *(name for name in tail.topics_missing if name not in names)),
            partitions_missing=(*newer.partitions_missing, *partitions),
            topics_removed=newer.topics_removed,
            configs=(*newer.configs, *tail.configs),
            acls=(*newer.acls, *tail.acls),
            users=(*newer.users, *tail.users),
            quotas=(*newer.quotas, *tail.quotas),
            others=(*newer.others, *tail.others),
        )
    return newer


def _has(image: Image, name: str) -> bool:
    topic, _, number = name.rpartition("-")
    found = image.topic(topic)
    return found is not None and int(number) in found.partitions.states


def _name(difference: Difference) -> str:
    return str((difference.after or difference.before).get("name") or difference.key.partition(" ")[0])


def _entity(difference: Difference) -> EntityDict:
    words: dict[Change, Literal["missing", "returns", "older"]] = {
        Change.ADDED: "missing",
        Change.REMOVED: "returns",
        Change.CHANGED: "older",
    }
    return {"entity": redacted_key(difference.part, difference.key), "change": words[difference.change]}


def _config_changes(difference: Difference) -> Iterable[SettingDict]:
    """Yield one entry for each changed key."""
    kind = config_kind(difference.key)
    before, after = redacted_configs(kind, dict(difference.before)), redacted_configs(kind, dict(difference.after))
    for name in sorted({*before, *after}):
        yield {"entity": difference.key, "key": name, "recovered": before.get(name), "newer": after.get(name)}
