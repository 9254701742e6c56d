"""Subjects of a record: the topic, broker, user … that it creates, changes or removes.

Records name topics and ACLs by id after they exist; to follow a key one has to remember which ids are its own.
`KeyFilter` does, so it has to see the records in the order of the log.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from kafkactl.core.frozen import frozen
from kafkactl.core.values import Uuid
from kafkactl.protocol.log.frame import MetadataRecord

_CLEAR_ELR = 28
_INT32 = re.compile(r"-?[0-9]{1,10}")
_TOPIC, _BROKER = 2, 4
# Types of config resources (clients/.../config/ConfigResource.java), in the words of `--config`.
RESOURCE_WORDS: dict[int, str] = {_TOPIC: "topic", _BROKER: "broker", 16: "client-metrics", 32: "group"}

_NAMED = frozenset({"topic", "config", "user", "feature"})  # sorts whose names people choose
_MOST_NAMES = 10_000

Identity = tuple[str, str]  # what sort of key, and which

# Record types by the sort of key that each of their fields is.
_FIELDS: dict[str, dict[str, str]] = {
    "TopicRecord": {"Name": "topic", "TopicId": "topic-id"},
    "PartitionRecord": {"TopicId": "topic-id"},
    "PartitionChangeRecord": {"TopicId": "topic-id"},
    "RemoveTopicRecord": {"TopicId": "topic-id"},
    "ClearElrRecord": {"TopicName": "topic"},
    "RegisterBrokerRecord": {"BrokerId": "broker"},
    "UnregisterBrokerRecord": {"BrokerId": "broker"},
    "BrokerRegistrationChangeRecord": {"BrokerId": "broker"},
    "FenceBrokerRecord": {"Id": "broker"},
    "UnfenceBrokerRecord": {"Id": "broker"},
    "RegisterControllerRecord": {"ControllerId": "controller"},
    "UnregisterControllerRecord": {"ControllerId": "controller"},
    "UserScramCredentialRecord": {"Name": "user"},
    "RemoveUserScramCredentialRecord": {"Name": "user"},
    "DelegationTokenRecord": {"Owner": "principal", "TokenId": "token"},
    "RemoveDelegationTokenRecord": {"TokenId": "token"},
    "FeatureLevelRecord": {"Name": "feature"},
    "AccessControlEntryRecord": {"Id": "acl", "Principal": "principal", "ResourceName": "resource"},
    "RemoveAccessControlEntryRecord": {"Id": "acl"},
    "AccessControlRecord": {"Principal": "principal", "ResourceName": "resource"},
}


def identities(record: MetadataRecord) -> Iterator[Identity]:
    """Return the keys that a record itself names. A principal `User:eve` is the user eve, too."""
    for field, sort in _FIELDS.get(record.type, {}).items():
        if record.data[field] is None:
            continue
        value = str(record.data[field])
        yield sort, value
        if sort == "principal" and value.startswith("User:"):
            yield "user", value.removeprefix("User:")
    special = _SPECIAL.get(record.type)
    if special is not None:
        yield from special(record.data)


def _of_config(data: Mapping[str, Any]) -> Iterator[Identity]:
    resource, name = data["ResourceType"], data["ResourceName"]
    word = RESOURCE_WORDS.get(resource, str(resource))
    yield "config", f"{word}:{name}"
    yield "config", f"{word}:{name}:{data['Name']}"
    if resource in (_TOPIC, _BROKER) and name:
        yield word, name


def _of_quota(data: Mapping[str, Any]) -> Iterator[Identity]:
    for entity in data["Entity"]:
        if entity["EntityName"] is not None:
            yield entity["EntityType"], entity["EntityName"]


_SPECIAL: dict[str, Callable[[Mapping[str, Any]], Iterator[Identity]]] = {
    "ConfigRecord": _of_config,
    "ClientQuotaRecord": _of_quota,
}


@frozen
class Key:
    """A key that records are about: any of these sorts (None: whatever bears the name), and its name.

    `partition` leaves only the records of that partition, in addition to those of its topic.
    """

    sorts: frozenset[str] | None
    name: str
    partition: int | None = None


class KeyFilter:
    """Filter of the records that are about a key. Feed it every record of the log, in order.

    `names` are those of other keys of the same sorts, for a question about a misspelt one: names of people's choice.
    """

    def __init__(self, key: Key) -> None:
        self.key = key
        self.names: set[str] = set()
        self._ids: set[str] = set()  # ids of topics and ACLs that are the key's own
        self._needles = set(_needles(key.name))
        is_topics = key.sorts == frozenset({"config"}) and key.name.startswith("topic:")
        self._topic_of_config = key.name.split(":")[1] if is_topics else None
        if self._topic_of_config is not None:
            self._needles.add(self._topic_of_config.encode("utf-8", "surrogateescape"))

    def may_match(self, value: bytes) -> bool:
        """Return False only if the framed bytes of a record cannot be about the key. The check is cheap."""
        return any(needle in value for needle in self._needles) or value[1:2] == bytes([_CLEAR_ELR])

    def matches(self, record: MetadataRecord) -> bool:
        """Return True if the record is about the key."""
        sorts, name = self.key.sorts, self.key.name
        about = list(identities(record))
        direct = any(value == name and (sorts is None or sort in sorts) for sort, value in about)
        if sorts is not None and not direct and len(self.names) < _MOST_NAMES:
            self.names.update(value for sort, value in about if sort in sorts & _NAMED)
        ids = [value for sort, value in about if sort in ("topic-id", "acl")]
        if direct and record.type in ("TopicRecord", "AccessControlEntryRecord"):
            self._learn(ids)
        if self._topic_of_config is not None:
            return direct or self._ends_config(record, ids)
        direct = direct or any(id in self._ids for id in ids) or self._clears_all(record)
        return direct and self._is_of_partition(record)

    def _ends_config(self, record: MetadataRecord, ids: list[str]) -> bool:
        """Return True if the record removes a topic whose configuration is asked for: no record of its own says so."""
        if record.type == "TopicRecord" and record.data["Name"] == self._topic_of_config:
            self._learn(ids)
        return record.type == "RemoveTopicRecord" and any(id in self._ids for id in ids)

    def _learn(self, ids: list[str]) -> None:
        self._ids.update(ids)
        self._needles.update(Uuid.parse(id).raw for id in ids)

    def _clears_all(self, record: MetadataRecord) -> bool:
        """Return True for a ClearElrRecord without a name, which is about every topic."""
        sorts = self.key.sorts
        return (
            record.type == "ClearElrRecord" and not record.data["TopicName"] and sorts is not None and "topic" in sorts
        )

    def _is_of_partition(self, record: MetadataRecord) -> bool:
        wanted = self.key.partition
        return wanted is None or record.data.get("PartitionId", wanted) == wanted


def _needles(name: str) -> Iterator[bytes]:
    """Return the forms that a name can have in a record's bytes."""
    last = name.rpartition(":")[2] if ":" in name else name
    yield last.encode("utf-8", "surrogateescape")
    if len(name) == 22 and (parsed := _uuid(name)) is not None:
        yield parsed.raw
    if _INT32.fullmatch(name) and -(2**31) <= int(name) < 2**31:
        yield int(name).to_bytes(4, "big", signed=True)


def _uuid(text: str) -> Uuid | None:
    from kafkactl.core.errors import InputError

    try:
        return Uuid.parse(text)
    except InputError:
        return None
