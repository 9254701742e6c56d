"""Settings of topics and brokers in a metadata log, as its ConfigRecords leave them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from kafkactl.core.values import Uuid

TOPIC_SETTING: Final = 2
BROKER_SETTING: Final = 4
Resource = tuple[int, str]


@dataclass(slots=True, kw_only=True)
class StoredSettings:
    """The last value of each key by resource (type and name); None if the last record took the value away.

    `removed_topics` are the ids of topics that were deleted: their settings are gone, also those of a snapshot
    before. Values of broker settings may be secrets and stay out of the repr.
    """

    values: dict[Resource, dict[str, str | None]] = field(default_factory=dict, repr=False)
    removed_topics: set[Uuid] = field(default_factory=set, repr=False)

    def add(self, record: Mapping[str, Any]) -> None:
        """Add a ConfigRecord. Settings of clients, groups and users are left out."""
        if record["ResourceType"] in (TOPIC_SETTING, BROKER_SETTING):
            resource = record["ResourceType"], record["ResourceName"]
            self.values.setdefault(resource, {})[record["Name"]] = record["Value"]

    def remove_topic(self, topic_id: Uuid, name: str | None) -> None:
        """Add a RemoveTopicRecord; `name` is None if the topic's own record is before the start of the log."""
        self.removed_topics.add(topic_id)
        if name is not None:
            self.values.pop((TOPIC_SETTING, name), None)


def settings_after(
    snapshot: StoredSettings | None, snapshot_topics: Mapping[Uuid, str], log: StoredSettings
) -> Iterator[tuple[Resource, Mapping[str, str]]]:
    """Return the settings of each resource after a snapshot and the log, which may begin before the snapshot.

    A record of the log that the snapshot has already included sets what the snapshot says.
    """
    merged = {} if snapshot is None else {resource: dict(values) for resource, values in snapshot.values.items()}
    for topic_id in log.removed_topics & set(snapshot_topics):
        merged.pop((TOPIC_SETTING, snapshot_topics[topic_id]), None)
    for resource, values in log.values.items():
        merged.setdefault(resource, {}).update(values)
    for resource, values in merged.items():
        kept = {key: value for key, value in values.items() if value is not None}
        if kept:
            yield resource, kept
