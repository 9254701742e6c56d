"""The records that Kafka's migration makes of a ZooKeeper tree, in the batches in which the controller gets them.

Everything but the ids of ACLs and the order within a hash map follows from the tree; topics, configs and so on stand
in the order of their names here. What Kafka cannot read is left out: the findings of the tree tell of it.
Sources: core `ZkMigrationClient.readAllMetadata`, `migration/ZkTopicMigrationClient.iterateTopics`, metadata
`BufferingBatchConsumer`, `QuorumController` (ZkRecordConsumer).
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from kafkactl.core.errors import SchemaError
from kafkactl.core.kafka_names import TRANSACTION_NAME, ZkMigrationState
from kafkactl.core.values import Uuid
from kafkactl.metadata.image.model import BROKER_CONFIG, TOPIC_CONFIG, DelegationToken, QuotaEntity, ScramCredential
from kafkactl.migration.copy.rules import CopyRules
from kafkactl.migration.zktree.settings import is_password_config
from kafkactl.migration.zktree.values import KafkaTree, ZkAcl, ZkPartition, ZkTopic
from kafkactl.protocol.form import default_value
from kafkactl.protocol.log.frame import MetadataRecord
from kafkactl.protocol.schema.definitions import message

Batch: TypeAlias = tuple[MetadataRecord, ...]
_MAX_ACLS: Final = 100  # of one resource in one batch
_VERSION: Final = 0  # of every record of the copy, whatever the metadata.version
_KINDS: Final = (("user",), ("client-id",), ("client-id", "user"), ("ip",))
_UNKNOWN: Final = ScramCredential(salt=b"", stored_key=b"", server_key=b"", iterations=0)  # one that is not shown
_SAFE: Final = re.compile(rb"[A-Za-z0-9._-]")


def copy_batches(
    tree: KafkaTree,
    rules: CopyRules,
    *,
    acl_id: Callable[[int], Uuid],
    decode_password: Callable[[str], str] = str,
    transactions: bool = True,
) -> Iterator[Batch]:
    """Yield all batches from BeginTransactionRecord to EndTransactionRecord, in their order.

    `acl_id` gives the id of the n-th ACL, which Kafka draws. `decode_password` is the controllers' password encoder;
    without a secret it changes nothing, as Kafka's does. `transactions` is false below metadata.version 3.6-IV1.
    """
    if transactions:
        yield (_record("BeginTransactionRecord", Name=TRANSACTION_NAME),)
    yield from joined(copy_parts(tree, rules, acl_id=acl_id, decode_password=decode_password), rules.min_batch_size)
    state = _record("ZkMigrationStateRecord", ZkMigrationState=ZkMigrationState.MIGRATION)
    yield (state, _record("EndTransactionRecord")) if transactions else (state,)


def joined(parts: Iterable[Batch], min_size: int) -> Iterator[Batch]:
    """Join parts until there are at least `min_size` records; no part is divided."""
    kept: list[MetadataRecord] = []
    for part in parts:
        kept.extend(part)
        if kept and len(kept) >= min_size:
            yield tuple(kept)
            kept = []
    if kept:
        yield tuple(kept)


def copy_parts(
    tree: KafkaTree, rules: CopyRules, *, acl_id: Callable[[int], Uuid], decode_password: Callable[[str], str] = str
) -> Iterator[Batch]:
    """Yield the parts that are combined to batches.

    A topic, the configs of a broker, a credential, the quotas of a client …
    """
    decode = decode_password
    gone = set(tree.pending_deletions) if rules.skips_pending_deletions else ()
    for name, topic in sorted(tree.topics.items()):
        if name not in gone and topic.id is not None:
            yield _topic(topic, topic.id, tree.topic_configs.get(name, {}), decode)
    for broker, config in sorted(tree.broker_configs.items()):
        if config and (broker or rules.default_broker_config):
            yield _configs(BROKER_CONFIG, broker, config, decode)
    yield from _clients(tree, rules)
    if tree.producer_ids is not None:
        ids = tree.producer_ids
        next_id = ids.end + 1 if rules.next_producer_id else ids.start
        yield (_record("ProducerIdsRecord", BrokerId=ids.broker_id, BrokerEpoch=-1, NextProducerId=next_id),)
    yield from _acls(tree.acls, acl_id)
    if rules.tokens and tree.delegation_tokens:
        yield tuple(_token(token) for token in tree.delegation_tokens.values())


def _topic(topic: ZkTopic, topic_id: Uuid, config: Mapping[str, str], decode: Callable[[str], str]) -> Batch:
    return (
        _record("TopicRecord", Name=topic.name, TopicId=topic_id),
        *_configs(TOPIC_CONFIG, topic.name, config, decode),
        *(_partition(topic_id, number, partition) for number, partition in topic.partitions.items()),
    )


def _partition(topic_id: Uuid, number: int, partition: ZkPartition) -> MetadataRecord:
    state = partition.state
    first = partition.replicas[0] if partition.replicas else -1
    return _record(
        "PartitionRecord",
        PartitionId=number,
        TopicId=topic_id,
        Replicas=list(partition.replicas),
        Isr=list(partition.replicas if state is None else state.isr),
        RemovingReplicas=list(partition.removing_replicas),
        AddingReplicas=list(partition.adding_replicas),
        Leader=first if state is None else state.leader,
        LeaderRecoveryState=0 if state is None else state.leader_recovery_state,
        LeaderEpoch=0 if state is None else state.leader_epoch,
        PartitionEpoch=0 if state is None else state.partition_epoch,
    )


def _configs(type_: int, name: str, config: Mapping[str, str], decode: Callable[[str], str]) -> Batch:
    return tuple(
        _record(
            "ConfigRecord",
            ResourceType=type_,
            ResourceName=name,
            Name=key,
            Value=decode(value) if is_password_config(key) else value,
        )
        for key, value in sorted(config.items())
    )


def _clients(tree: KafkaTree, rules: CopyRules) -> Iterator[Batch]:
    """Yield users (credentials, then quotas of each), clients, clients of users, addresses."""
    kept = {
        kinds: [quota for quota in tree.client_quotas if tuple(kind for kind, _ in quota) == kinds] for kinds in _KINDS
    }
    named: dict[str | None, QuotaEntity] = {entity[0][1]: entity for entity in kept["user",]}
    mechanisms: dict[str | None, list[int]] = {user: [] for user in named}
    for mechanism, user in sorted({*tree.scram, *tree.hidden_scram}):
        mechanisms.setdefault(user, []).append(mechanism)
    for name in sorted(mechanisms, key=lambda name: name or ""):
        yield from ((_credential(mechanism, name or "", tree, rules),) for mechanism in mechanisms[name])
        if name in named:
            yield _quotas(named[name], tree, rules)
    for kinds in _KINDS[1:]:
        for entity in kept[kinds]:
            yield _quotas(entity, tree, rules)


def _credential(mechanism: int, user: str, tree: KafkaTree, rules: CopyRules) -> MetadataRecord:
    """Return the record of a credential; without its keys if the observation does not show them."""
    credential = tree.scram.get((mechanism, user), _UNKNOWN)
    return _record(
        "UserScramCredentialRecord",
        Name=user if rules.plain_names else sanitize(user),
        Mechanism=mechanism,
        Salt=credential.salt,
        StoredKey=credential.stored_key,
        ServerKey=credential.server_key,
        Iterations=credential.iterations,
    )


def _quotas(entity: QuotaEntity, tree: KafkaTree, rules: CopyRules) -> Batch:
    data = _entity(entity, rules)
    return tuple(
        _record("ClientQuotaRecord", Entity=data, Key=key, Value=value, Remove=False)
        for key, value in sorted(tree.client_quotas[entity].items())
    )


def _entity(entity: QuotaEntity, rules: CopyRules) -> list[dict[str, str | None]]:
    """Return the entity as the record has it: the user first."""
    return [
        {"EntityType": kind, "EntityName": name if rules.plain_names else "" if name is None else sanitize(name)}
        for kind, name in sorted(entity, key=lambda part: part[0] != "user")
    ]


def sanitize(name: str) -> str:
    """Return the name of an entity's znode (`Sanitizer.sanitize`).

    All but letters, digits, `.`, `-`, `_` becomes %XX.
    """
    raw = name.encode("utf-8", "replace")
    return "".join(chr(byte) if _SAFE.match(bytes([byte])) else f"%{byte:02X}" for byte in raw)


def _acls(acls: Iterable[ZkAcl], acl_id: Callable[[int], Uuid]) -> Iterator[Batch]:
    numbers = itertools.count()
    for _, group in itertools.groupby(acls, key=lambda acl: (acl.pattern_type, acl.resource_type, acl.resource_name)):
        records = [_acl(acl, acl_id(next(numbers))) for acl in group]
        for at in range(0, len(records), _MAX_ACLS):
            yield tuple(records[at : at + _MAX_ACLS])


def _acl(acl: ZkAcl, id: Uuid) -> MetadataRecord:
    return _record(
        "AccessControlEntryRecord",
        Id=id,
        ResourceType=acl.resource_type,
        ResourceName=acl.resource_name,
        PatternType=acl.pattern_type,
        Principal=acl.principal,
        Host=acl.host,
        Operation=acl.operation,
        PermissionType=acl.permission_type,
    )


def _token(token: DelegationToken) -> MetadataRecord:
    return _record(
        "DelegationTokenRecord",
        Owner=token.owner,
        Requester=token.requester,
        Renewers=list(token.renewers),
        IssueTimestamp=token.issue_timestamp_ms,
        MaxTimestamp=token.max_timestamp_ms,
        ExpirationTimestamp=token.expiration_timestamp_ms,
        TokenId=token.token_id,
    )


def _record(type_: str, **data: Any) -> MetadataRecord:
    return MetadataRecord(type=type_, api_key=_api_key(type_), version=_VERSION, data={**_defaults(type_), **data})


@functools.cache
def _defaults(type_: str) -> Mapping[str, Any]:
    """Return the fields of later versions with the values that a record has after it was read."""
    return {field.name: default_value(field) for field in message(type_).fields}


@functools.cache
def _api_key(type_: str) -> int:
    api_key = message(type_).api_key
    if api_key is None:
        raise SchemaError(f"{type_} has no api key", id="invalid-definition")
    return api_key
