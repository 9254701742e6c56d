"""A saved observation as another program may write it: responses on the wire, znodes, a log on disk."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

from kafkactl.migration.observed.log_facts import LogFacts
from kafkactl.migration.observed.observation import ApiVersionsSeen, NodeSeen, Observation, QuorumSeen
from kafkactl.migration.zktree.znode import encode_znodes
from kafkactl.protocol.codec import encode_message
from kafkactl.protocol.schema.definitions import message
from tests.migration.migration_logs import LogWriter, broker, controller, record, unfence

API_VERSION, QUORUM_VERSION = 3, 1


def save(place: Path, observation: Observation) -> Path:
    """Return all of an observation that a log of a few records can say."""
    place.mkdir(parents=True)
    lock = observation.lock
    document = {
        "kind": "migrate.observation",
        "schema_version": 1,
        "time_ms": observation.time_ms,
        "zookeeper": {
            "connect": observation.connect,
            "chroot": observation.chroot,
            "driver_lock": None if lock is None else {"holder": lock.holder and lock.holder.to_dict()},
        },
        "nodes": [_node(node) for node in observation.nodes],
    }
    (place / "observation.json").write_text(json.dumps(document))
    if observation.tree is not None:
        (place / "zk.jsonl.gz").write_bytes(encode_znodes(observation.tree.znodes.values()))
    for id, facts in observation.logs.items():
        _log(facts).write(place / "metadata" / str(id))
    return place


def _node(node: NodeSeen) -> dict[str, Any]:
    return {
        "id": node.id,
        "role": node.role.value,
        "alive": node.alive,
        "kafka_version": node.kafka_version,
        "mode": None,  # the answer says it
        "config": node.config_text,
        "meta_properties": node.meta_properties and dict(node.meta_properties),
        "api_versions": None if node.api_versions is None else _api(node.api_versions),
        "describe_quorum": None if node.quorum is None else _quorum(node.quorum),
        "metrics": node.metrics and dict(node.metrics),
    }


def _api(seen: ApiVersionsSeen) -> dict[str, Any]:
    levels = {name: (level, level) for name, level in seen.finalized_features.items()}
    body = {
        "ErrorCode": 0,
        "ApiKeys": [_range("ApiKey", key, span) for key, span in seen.supported.items()],
        "ThrottleTimeMs": 0,
        "SupportedFeatures": [_range("Name", name, span) for name, span in seen.supported_features.items()],
        "FinalizedFeaturesEpoch": seen.finalized_epoch,
        "FinalizedFeatures": [
            {"Name": name, "MinVersionLevel": low, "MaxVersionLevel": high} for name, (low, high) in levels.items()
        ],
        "ZkMigrationReady": seen.zk_migration_ready,
    }
    return _answer("ApiVersionsResponse", API_VERSION, body)


def _range(key: str, name: object, span: tuple[int, int]) -> dict[str, Any]:
    return {key: name, "MinVersion": span[0], "MaxVersion": span[1]}


def _quorum(seen: QuorumSeen) -> dict[str, Any]:
    if seen.closed:
        return {"error": "closed"}
    partition = {
        "PartitionIndex": 0,
        "ErrorCode": 0,
        "LeaderId": seen.leader_id,
        "LeaderEpoch": seen.leader_epoch,
        "HighWatermark": seen.high_watermark,
        "CurrentVoters": [_replica(voter.id, voter.log_end_offset) for voter in seen.voters],
        "Observers": [_replica(observer.id, observer.log_end_offset) for observer in seen.observers],
    }
    topic = {"TopicName": "__cluster_metadata", "Partitions": [partition]}
    return _answer("DescribeQuorumResponse", QUORUM_VERSION, {"ErrorCode": 0, "Topics": [topic]})


def _replica(id: int, end: int | None) -> dict[str, Any]:
    return {"ReplicaId": id, "LogEndOffset": end, "LastFetchTimestamp": -1, "LastCaughtUpTimestamp": -1}


def _answer(type_: str, version: int, body: dict[str, Any]) -> dict[str, Any]:
    return {"version": version, "body": base64.b64encode(encode_message(message(type_), version, body)).decode()}


def _log(facts: LogFacts) -> LogWriter:
    """Return a log with these registrations, states and marks of a copy, filled up with no-ops."""
    log = LogWriter()
    log.leader(3001)
    log.batch(
        record("BeginTransactionRecord", Name="Bootstrap records"),
        record("FeatureLevelRecord", Name="metadata.version", FeatureLevel=20),
        record("ZkMigrationStateRecord", ZkMigrationState=min(facts.migration_states)[1]),
        record("EndTransactionRecord"),
    )
    for id in facts.controllers:
        log.batch(controller(id))
    for registration in facts.registrations.values():
        unfence(log, registration.id, broker(log, registration.id, migrating=registration.migrating))
    if facts.copy_begin is not None:
        _fill(log, facts.copy_begin)
        log.batch(record("BeginTransactionRecord", Name="ZK Migration"))
    if facts.copy_end is not None:
        _fill(log, facts.copy_end - 1)
        log.batch(record("ZkMigrationStateRecord", ZkMigrationState=1), record("EndTransactionRecord"))
    if facts.migration_state == 3:
        log.batch(record("ZkMigrationStateRecord", ZkMigrationState=3))
    _fill(log, facts.end_offset)
    return log


def _fill(log: LogWriter, until: int) -> None:
    if until > log.offset:
        log.batch(*(record("NoOpRecord") for _ in range(until - log.offset)))
