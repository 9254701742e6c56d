"""Differences between two images, as a list of values.

Keys and fields are those of the canonical form (`image_json`). SCRAM credentials and values of configurations stand in
it as they are in the log, so it is redacted before it is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from enum import StrEnum
from typing import Any, Final

from kafkactl.core.answers import by_fields
from kafkactl.core.frozen import frozen
from kafkactl.core.values import Uuid
from kafkactl.metadata.image.json import image_json
from kafkactl.metadata.image.model import Image, Partition, PartitionState, Topic, partition_of


class Change(StrEnum):
    """Kind of a difference."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


@frozen
class Difference:
    """A difference: something that only one state has, or that differs in both.

    `part` is that of `image_json` (`partitions` apart from `topics`), `key` names the thing within it (`foo-3`,
    `4`, `topic foo`), `record` is the Kafka record that has it. `before` and `after` hold the fields that differ,
    as JSON values; of what is only on one side, all fields.
    """

    part: str
    key: str
    change: Change
    record: str
    """The Kafka record type that contains it."""
    before: Mapping[str, Any]
    """The fields that differ (names of Kafka's JSON); of a thing on one side only, all."""
    after: Mapping[str, Any]

    to_dict = by_fields


def diff(before: Image, after: Image) -> tuple[Difference, ...]:
    """Return all differences, in the order of the parts and then of the keys; () for equal images.

    A topic whose id has changed is one that was removed and one that was added, each with its partitions.
    """
    return tuple(_differences(before, after))


def _differences(before: Image, after: Image) -> Iterator[Difference]:
    yield from _topics(before, after)
    left, right = _without_topics(before), _without_topics(after)
    for part, (record, keyed) in _PARTS.items():
        yield from _compared(part, record, keyed(left[part]), keyed(right[part]))


def _without_topics(image: Image) -> dict[str, Any]:
    return image_json(replace(image, topics={}))


def _compared(part: str, record: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Difference]:
    for key in sorted({*before, *after}):
        found = _of_one(part, key, record, before.get(key), after.get(key))
        if found is not None:
            yield found


def _of_one(
    part: str, key: str, record: str, before: Mapping[str, Any] | None, after: Mapping[str, Any] | None
) -> Difference | None:
    if before == after:
        return None
    if before is None or after is None:
        change = Change.ADDED if before is None else Change.REMOVED
        return Difference(part=part, key=key, change=change, record=record, before=before or {}, after=after or {})
    names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    return Difference(
        part=part,
        key=key,
        change=Change.CHANGED,
        record=record,
        before={name: before.get(name) for name in names},
        after={name: after.get(name) for name in names},
    )


def _topics(before: Image, after: Image) -> Iterator[Difference]:
    ids = {**before.topics, **after.topics}
    for id in sorted(ids, key=lambda id: (ids[id].name, id.raw)):
        left, right = before.topics.get(id), after.topics.get(id)
        if left is None or right is None or left.name != right.name:
            found = _of_one("topics", f"{ids[id].name} {id}", "TopicRecord", _topic(left, id), _topic(right, id))
            if found is not None:
                yield found
        yield from _partitions(ids[id].name, left, right)


def _topic(topic: Topic | None, id: Uuid) -> dict[str, Any] | None:
    return None if topic is None else {"name": topic.name, "topicId": str(id)}


def _partitions(name: str, before: Topic | None, after: Topic | None) -> Iterator[Difference]:
    left = before.partitions.states if before is not None else {}
    right = after.partitions.states if after is not None else {}
    if left is right:
        return
    for number in sorted({*left, *right}):
        old, new = left.get(number), right.get(number)
        if old != new:
            found = _of_one("partitions", f"{name}-{number}", "PartitionRecord", _partition(old), _partition(new))
            if found is not None:
                yield found


_FIELDS: Final = {
    "replicas": "replicas",
    "isr": "isr",
    "removing_replicas": "removingReplicas",
    "adding_replicas": "addingReplicas",
    "leader": "leader",
    "leader_recovery_state": "leaderRecoveryState",
    "leader_epoch": "leaderEpoch",
    "partition_epoch": "partitionEpoch",
    "directories": "directories",
    "eligible_leader_replicas": "eligibleLeaderReplicas",
    "last_known_elr": "lastKnownElr",
}


def _partition(state: PartitionState | None) -> dict[str, Any] | None:
    if state is None:
        return None
    held: Partition = partition_of(state)
    values = held._asdict()
    values["directories"] = [str(uuid) for uuid in held.directories]
    return {_FIELDS[name]: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


Keyed = Callable[[Any], Mapping[str, Any]]


def _by(*names: str) -> Keyed:
    return lambda held: {" ".join(str(entry[name]) for name in names): entry for entry in held}


def _single(name: str) -> Keyed:
    return lambda held: {} if held is None else {name: held if isinstance(held, dict) else {name: held}}


_CONFIG_KINDS = {2: "topic", 4: "broker", 16: "client-metrics", 32: "group"}


def config_kind(key: str) -> int | None:
    """Return the kind of resource (`ConfigResource.Type`) in the key of a difference in configurations."""
    word = key.partition(" ")[0]
    return next((number for number, name in _CONFIG_KINDS.items() if name == word), None)


def _config(held: Any) -> dict[str, Any]:
    kinds = _CONFIG_KINDS
    return {
        f"{kinds.get(config['resourceType'], config['resourceType'])} {config['resourceName'] or '(default)'}": config[
            "configs"
        ]
        for config in held
    }


def _quota(held: Any) -> dict[str, Any]:
    return {
        ", ".join(f"{part['entityType']} {part['entityName'] or '(default)'}" for part in quota["entity"]): quota[
            "quotas"
        ]
        for quota in held
    }


def _by_voter(held: Any) -> Mapping[str, Any]:
    return _by("voterId", "voterDirectoryId")(held or [])


_PARTS: Final[Mapping[str, tuple[str, Keyed]]] = {
    "features": ("FeatureLevelRecord", lambda held: {name: {"featureLevel": level} for name, level in held.items()}),
    "zk_migration_state": ("ZkMigrationStateRecord", _single("zkMigrationState")),
    "kraft_version": ("KRaftVersionRecord", _single("kRaftVersion")),
    "voters": ("VotersRecord", _by_voter),
    "brokers": ("RegisterBrokerRecord", _by("brokerId")),
    "controllers": ("RegisterControllerRecord", _by("controllerId")),
    "configs": ("ConfigRecord", _config),
    "client_quotas": ("ClientQuotaRecord", _quota),
    "producer_ids": ("ProducerIdsRecord", _single("nextProducerId")),
    "acls": ("AccessControlEntryRecord", _by("id")),
    "scram": ("UserScramCredentialRecord", _by("mechanism", "name")),
    "delegation_tokens": ("DelegationTokenRecord", _by("tokenId")),
    "transaction": ("BeginTransactionRecord", _single("beginOffset")),
}
