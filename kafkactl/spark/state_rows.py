"""The state of a cluster as rows: the columns of `columns.STATE_TABLES` after those of the source."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from kafkactl.core.values import Uuid
from kafkactl.metadata.image.model import (
    ADDING_AT,
    DIRECTORIES_AT,
    ELR_AT,
    ISR_AT,
    LAST_KNOWN_ELR_AT,
    LEADER_AT,
    LEADER_EPOCH_AT,
    PARTITION_EPOCH_AT,
    RECOVERY_AT,
    REMOVING_AT,
    REPLICAS_AT,
    FeatureRange,
    Image,
    Listener,
    Topic,
)
from kafkactl.protocol.redact import redacted_configs
from kafkactl.protocol.scram import MECHANISM_NAMES
from kafkactl.spark import words
from kafkactl.spark.words import word

Row = tuple[Any, ...]


def state_rows(image: Image, table: str) -> Iterator[Row]:
    """Return the rows of a table of the state, sorted by their keys, without secrets."""
    return _TABLES[table](image)


def _topics_in_order(image: Image) -> list[Topic]:
    return sorted(image.topics.values(), key=lambda topic: (topic.name, topic.id.raw))


def _topics(image: Image) -> Iterator[Row]:
    for topic in _topics_in_order(image):
        yield topic.name, str(topic.id), len(topic.partitions)


def _partitions(image: Image) -> Iterator[Row]:
    ids: dict[bytes, list[str]] = {}
    for topic in _topics_in_order(image):
        states, topic_id = topic.partitions.states, str(topic.id)
        for number in sorted(states):
            state = states[number]
            raw = state[DIRECTORIES_AT]
            if raw not in ids:
                ids[raw] = [str(Uuid(raw[at : at + 16])) for at in range(0, len(raw), 16)]
            yield (
                topic.name, topic_id, number, state[LEADER_AT], state[LEADER_EPOCH_AT], state[PARTITION_EPOCH_AT],
                word(words.RECOVERY_STATES, state[RECOVERY_AT]), state[REPLICAS_AT], state[ISR_AT], state[ELR_AT],
                state[LAST_KNOWN_ELR_AT], state[ADDING_AT], state[REMOVING_AT], ids[raw],
            )  # fmt: skip


def _endpoints(listeners: tuple[Listener, ...]) -> list[dict[str, Any]]:
    return [
        {
            "name": listener.name,
            "host": listener.host,
            "port": listener.port,
            "security_protocol": word(words.SECURITY_PROTOCOLS, listener.security_protocol),
        }
        for listener in listeners
    ]


def _ranges(features: Mapping[str, FeatureRange]) -> list[dict[str, Any]]:
    return [{"name": name, "min": levels.min, "max": levels.max} for name, levels in sorted(features.items())]


def _texts(ids: tuple[Uuid, ...] | None) -> list[str] | None:
    return None if ids is None else list(map(str, ids))


def _brokers(image: Image) -> Iterator[Row]:
    for _, broker in sorted(image.brokers.items()):
        yield (
            broker.id, broker.epoch, str(broker.incarnation_id), broker.fenced, broker.in_controlled_shutdown,
            broker.is_migrating_zk_broker, broker.rack, _texts(broker.directories), _texts(broker.cordoned),
            _endpoints(broker.listeners), _ranges(broker.features),
        )  # fmt: skip


def _controllers(image: Image) -> Iterator[Row]:
    for _, controller in sorted(image.controllers.items()):
        yield (
            controller.id, str(controller.incarnation_id), controller.zk_migration_ready,
            _endpoints(controller.listeners), _ranges(controller.features),
        )  # fmt: skip


def _voters(image: Image) -> Iterator[Row]:
    for voter in sorted(image.voters or (), key=lambda voter: (voter.node_id, voter.directory_id)):
        endpoints = [
            {"name": endpoint.listener, "host": endpoint.host, "port": endpoint.port}
            for endpoint in sorted(voter.endpoints, key=lambda endpoint: endpoint.listener)
        ]
        levels = {"min": voter.min_kraft_version, "max": voter.max_kraft_version}
        yield voter.node_id, str(voter.directory_id), endpoints, levels


def _features(image: Image) -> Iterator[Row]:
    yield from sorted(image.features.items())


def _configs(image: Image) -> Iterator[Row]:
    for (kind, resource), held in sorted(image.configs.items()):
        for name, value in sorted(redacted_configs(kind, held).items()):
            yield word(words.CONFIG_TYPES, kind), resource, name, value


def _acls(image: Image) -> Iterator[Row]:
    for _, acl in sorted(image.acls.items()):
        yield (
            str(acl.id), word(words.RESOURCE_TYPES, acl.resource_type), acl.resource_name,
            word(words.PATTERN_TYPES, acl.pattern_type), acl.principal, acl.host,
            word(words.OPERATIONS, acl.operation), word(words.PERMISSION_TYPES, acl.permission_type),
        )  # fmt: skip


def _quotas(image: Image) -> Iterator[Row]:
    entities = sorted(
        image.client_quotas, key=lambda entity: [(kind, name is not None, name or "") for kind, name in entity]
    )
    for entity in entities:
        parts = [{"type": kind, "name": name} for kind, name in entity]
        for key, value in sorted(image.client_quotas[entity].items()):
            yield parts, key, value


def _scram_users(image: Image) -> Iterator[Row]:
    for (mechanism, name), credential in sorted(image.scram.items()):
        yield name, word(MECHANISM_NAMES, mechanism), credential.iterations


def _delegation_tokens(image: Image) -> Iterator[Row]:
    for _, token in sorted(image.delegation_tokens.items()):
        yield (
            token.owner, token.requester, list(token.renewers), token.issue_timestamp_ms, token.max_timestamp_ms,
            token.expiration_timestamp_ms,
        )  # fmt: skip


_TABLES: Final[Mapping[str, Callable[[Image], Iterator[Row]]]] = {
    "partitions": _partitions,
    "topics": _topics,
    "brokers": _brokers,
    "controllers": _controllers,
    "voters": _voters,
    "features": _features,
    "configs": _configs,
    "acls": _acls,
    "quotas": _quotas,
    "scram_users": _scram_users,
    "delegation_tokens": _delegation_tokens,
}
