"""Records of an image: those that Kafka's image writers put into a snapshot at a level of metadata.version.

Their order is Kafka's by parts (`MetadataImage.write`): features with metadata.version first, registrations, topics
each followed by its partitions, configs, quotas, producer ids, ACLs, SCRAM credentials, tokens. Within a part Kafka
follows the order of its hash tables, which means nothing; here it is sorted.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from kafkactl.core.findings import Finding, Severity
from kafkactl.core.kafka_names import ELR_VERSION, KRAFT_VERSION, LAST_LEVEL_BEFORE_4_0, METADATA_VERSION
from kafkactl.core.values import Uuid
from kafkactl.metadata.image.model import (
    DIRECTORIES_AT,
    ELR_AT,
    LAST_KNOWN_ELR_AT,
    LEADER_AT,
    RECOVERY_AT,
    Acl,
    Image,
    PartitionState,
    Topic,
)
from kafkactl.metadata.image.nodes import NODE_PARTS, broker_data, controller_data, holds_part
from kafkactl.protocol.log.frame import MetadataRecord
from kafkactl.protocol.schema.definitions import message
from kafkactl.protocol.schema.record_versions import first_level_with, parts, record_version

ELR_LEVEL: Final = 23  # 4.0-IV1: PartitionRecord has had the fields since


class Level(NamedTuple):
    """Target of written records: the level of metadata.version, and what else changes their content.

    `writes_zk_state`: Kafka up to 3.9 writes the ZooKeeper migration's state and a FeatureLevelRecord of kraft.version
    if there was one; 4.0 and later forget both. `writes_elr`: eligible leader replicas are written only if their
    feature is on (`PartitionRegistration.toRecord`).
    """

    metadata_version: int
    writes_zk_state: bool
    writes_elr: bool

    def has(self, what: str) -> bool:
        """Return True if the level has a part, by its name in schemas/replay/record_versions.toml."""
        return self.metadata_version >= first_level_with(what)


def level_of(image: Image, metadata_version: int | None = None, *, before_4_0: bool | None = None) -> Level | None:
    """Return the level at which an image is written: its own, or `metadata_version`; None if neither is known.

    `before_4_0` says whether Kafka 3.x writes; by default the level decides.
    """
    level = image.metadata_version if metadata_version is None else metadata_version
    if level is None:
        return None
    old = level <= LAST_LEVEL_BEFORE_4_0 if before_4_0 is None else before_4_0
    return Level(
        metadata_version=level,
        writes_zk_state=old and level >= first_level_with("zk-migration-state"),
        writes_elr=image.features.get(ELR_VERSION, 0) > 0 and level >= ELR_LEVEL,
    )


def image_records(image: Image, level: Level) -> Iterator[MetadataRecord]:
    """Yield the records of a snapshot of this image at this level, one by one."""
    yield from _before_topics(image, level)
    for topic in _topics(image):
        yield _topic_record(topic, level)
        yield from _partition_records(topic, level)
    yield from _setting_records(image, level)
    yield from _access_records(image, level)


def image_record_sizes(image: Image, level: Level, size_of: Callable[[MetadataRecord], int]) -> Iterator[int]:
    """Yield the sizes of these records. PartitionRecords with lists of the same lengths have the same size, so one of
    them is made."""
    yield from map(size_of, _before_topics(image, level))
    known: dict[tuple[int, ...], int] = {}
    has_directories = level.has("replica-directories")
    for topic in _topics(image):
        yield size_of(_topic_record(topic, level))
        states = topic.partitions.states
        for number in sorted(states):
            held = states[number]
            shape = (
                *map(len, held[:LEADER_AT]),
                held[RECOVERY_AT],
                *map(len, held[DIRECTORIES_AT:]),
            )
            size = known.get(shape)
            if size is None:
                data = _partition_data(topic.id, number, held, level, has_directories)
                size = known[shape] = size_of(_made("PartitionRecord", level, data))
            yield size
    yield from map(size_of, _setting_records(image, level))
    yield from map(size_of, _access_records(image, level))


def _topics(image: Image) -> list[Topic]:
    return sorted(image.topics.values(), key=lambda topic: (topic.name, topic.id.raw))


def _topic_record(topic: Topic, level: Level) -> MetadataRecord:
    return _made("TopicRecord", level, {"Name": topic.name, "TopicId": topic.id})


def _before_topics(image: Image, level: Level) -> Iterator[MetadataRecord]:
    yield from _feature_records(image, level)
    for _, broker in sorted(image.brokers.items()):
        yield _made("RegisterBrokerRecord", level, broker_data(broker, level.has))
    if level.has("controllers"):
        for _, controller in sorted(image.controllers.items()):
            yield _made("RegisterControllerRecord", level, controller_data(controller))


def losses(image: Image, level: Level) -> tuple[Finding, ...]:
    """Return the parts of the image that the records at this level do not hold."""
    words = [text for what, text in parts().items() if not level.has(what) and _holds(image, what)]
    if not level.writes_zk_state and image.zk_migration_state and level.has("zk-migration-state"):
        words.append("the state of the ZooKeeper migration, which Kafka 4.0 and later forget")
    if not level.writes_zk_state and KRAFT_VERSION in image.features:
        words.append("the FeatureLevelRecord of kraft.version, which Kafka 4.0 and later forget")
    if not level.writes_elr and any(state[ELR_AT] or state[LAST_KNOWN_ELR_AT] for state in _states(image)):
        words.append("eligible leader replicas, whose feature is off or not known at this level")
    if image.transaction is not None:
        words.append(f"the transaction that began at offset {image.transaction.begin_offset} and has not ended")
    return tuple(
        Finding(
            id="lost-in-snapshot",
            severity=Severity.WARNING,
            subject=f"metadata.version {level.metadata_version}",
            message=f"a snapshot at this level does not tell {word}",
        )
        for word in words
    )


def _feature_records(image: Image, level: Level) -> Iterator[MetadataRecord]:
    yield _made("FeatureLevelRecord", level, {"Name": METADATA_VERSION, "FeatureLevel": level.metadata_version})
    for name, held in sorted(image.features.items()):
        if name != METADATA_VERSION and (name != KRAFT_VERSION or level.writes_zk_state):
            yield _made("FeatureLevelRecord", level, {"Name": name, "FeatureLevel": held})
    if level.writes_zk_state:
        yield _made("ZkMigrationStateRecord", level, {"ZkMigrationState": image.zk_migration_state})


def _setting_records(image: Image, level: Level) -> Iterator[MetadataRecord]:
    for (kind, resource), configs in sorted(image.configs.items()):
        for name, value in sorted(configs.items()):
            data = {"ResourceType": kind, "ResourceName": resource, "Name": name, "Value": value}
            yield _made("ConfigRecord", level, data)
    for entity, quotas in sorted(image.client_quotas.items(), key=repr):
        parts = [{"EntityType": kind, "EntityName": held} for kind, held in entity]
        for key, number in sorted(quotas.items()):
            data = {"Entity": parts, "Key": key, "Value": number, "Remove": False}
            yield _made("ClientQuotaRecord", level, data)
    if image.next_producer_id is not None and image.next_producer_id >= 0:
        data = {"BrokerId": -1, "BrokerEpoch": -1, "NextProducerId": image.next_producer_id}
        yield _made("ProducerIdsRecord", level, data)


def acl_data(acl: Acl) -> dict[str, Any]:
    """Return the AccessControlEntryRecord of an ACL."""
    return {
        "Id": acl.id,
        "ResourceType": acl.resource_type,
        "ResourceName": acl.resource_name,
        "PatternType": acl.pattern_type,
        "Principal": acl.principal,
        "Host": acl.host,
        "Operation": acl.operation,
        "PermissionType": acl.permission_type,
    }


def _access_records(image: Image, level: Level) -> Iterator[MetadataRecord]:
    for _, acl in sorted(image.acls.items()):
        yield _made("AccessControlEntryRecord", level, acl_data(acl))
    if level.has("scram"):
        for (mechanism, name), held in sorted(image.scram.items()):
            keys = {"Salt": held.salt, "StoredKey": held.stored_key, "ServerKey": held.server_key}
            data = {"Name": name, "Mechanism": mechanism, **keys, "Iterations": held.iterations}
            yield _made("UserScramCredentialRecord", level, data)
    if level.has("delegation-tokens"):
        yield from _token_records(image, level)


def _token_records(image: Image, level: Level) -> Iterator[MetadataRecord]:
    for token_id, token in sorted(image.delegation_tokens.items()):
        data = {
            "Owner": token.owner,
            "Requester": token.requester,
            "Renewers": list(token.renewers),
            "IssueTimestamp": token.issue_timestamp_ms,
            "MaxTimestamp": token.max_timestamp_ms,
            "ExpirationTimestamp": token.expiration_timestamp_ms,
            "TokenId": token_id,
        }
        yield _made("DelegationTokenRecord", level, data)


def _partition_records(topic: Topic, level: Level) -> Iterator[MetadataRecord]:
    has_directories = level.has("replica-directories")
    states = topic.partitions.states
    for number in sorted(states):
        data = _partition_data(topic.id, number, states[number], level, has_directories)
        yield _made("PartitionRecord", level, data)


def _partition_data(id: Uuid, number: int, held: PartitionState, level: Level, has_directories: bool) -> dict[str, Any]:
    replicas, isr, removing, adding, leader, recovery, leader_epoch, epoch, directories, elr, last_known = held
    return {
        "PartitionId": number,
        "TopicId": id,
        "Replicas": list(replicas),
        "Isr": list(isr),
        "RemovingReplicas": list(removing),
        "AddingReplicas": list(adding),
        "Leader": leader,
        "LeaderRecoveryState": recovery,
        "LeaderEpoch": leader_epoch,
        "PartitionEpoch": epoch,
        "Directories": list(_uuids(directories)) if has_directories else [],
        "EligibleLeaderReplicas": _tagged(elr, level),
        "LastKnownElr": _tagged(last_known, level),
    }


@functools.lru_cache(maxsize=100_000)
def _uuids(joined: bytes) -> tuple[Uuid, ...]:
    """Return ids from memory: a cluster has few different ones."""
    return tuple(Uuid(joined[at : at + 16]) for at in range(0, len(joined), 16))


def _tagged(ids: tuple[int, ...], level: Level) -> list[int] | None:
    """Return a list for a tagged field: an empty one is not written at all."""
    return list(ids) if ids and level.writes_elr else None


def _made(name: str, level: Level, data: dict[str, Any]) -> MetadataRecord:
    return MetadataRecord(
        type=name, api_key=_api_key(name), version=record_version(name, level.metadata_version), data=data
    )


@functools.cache
def _api_key(name: str) -> int:
    key = message(name).api_key
    assert key is not None  # every metadata record has one
    return key


def _states(image: Image) -> Iterable[Any]:
    return (state for topic in image.topics.values() for state in topic.partitions.states.values())


def _holds(image: Image, part: str) -> bool:
    return holds_part(image.brokers.values(), part) if part in NODE_PARTS else _HELD[part](image)


_HELD: Final[Mapping[str, Callable[[Image], bool]]] = {
    "zk-migration-state": lambda image: image.zk_migration_state != 0,
    "scram": lambda image: bool(image.scram),
    "delegation-tokens": lambda image: bool(image.delegation_tokens),
    "controllers": lambda image: bool(image.controllers),
    "replica-directories": lambda image: any(any(state[DIRECTORIES_AT]) for state in _states(image)),
}
