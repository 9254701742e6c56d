"""Rules of the records of features, configs, quotas, producer ids and the ZooKeeper migration."""

from __future__ import annotations

from kafkactl.cluster.quorum.voter_sets import voters_of
from kafkactl.core.findings import Severity
from kafkactl.core.kafka_names import METADATA_VERSION
from kafkactl.metadata.image.model import QuotaEntity
from kafkactl.metadata.replay.state import ContradictionError, State
from kafkactl.protocol.codec import Message
from kafkactl.protocol.control_records import ControlRecord, ControlType


def set_feature(state: State, data: Message) -> None:
    """Apply a FeatureLevelRecord: level 0 removes a feature (`FeaturesDelta.java`), but not metadata.version."""
    name, level = data["Name"], data["FeatureLevel"]
    if level < 0 or (level == 0 and name == METADATA_VERSION):
        raise ContradictionError("unknown-value-in-record", f"feature {name}", f"the level {level}")
    if level:
        state.features[name] = level
    else:
        state.features.pop(name, None)


def set_config(state: State, data: Message) -> None:
    """Apply a ConfigRecord: null removes a value; a resource without values is removed."""
    key = data["ResourceType"], data["ResourceName"]
    if data["Value"] is not None:
        state.configs.setdefault(key, {})[data["Name"]] = data["Value"]
    elif key in state.configs:
        state.configs[key].pop(data["Name"], None)
        if not state.configs[key]:
            del state.configs[key]


def set_quota(state: State, data: Message) -> None:
    """Apply a ClientQuotaRecord: an entity is a set of (type, name); an entity without quotas is removed."""
    entity = _entity(data)
    if not data["Remove"]:
        state.client_quotas.setdefault(entity, {})[data["Key"]] = data["Value"]
    elif entity in state.client_quotas:
        state.client_quotas[entity].pop(data["Key"], None)
        if not state.client_quotas[entity]:
            del state.client_quotas[entity]


def _entity(data: Message) -> QuotaEntity:
    parts = {part["EntityType"]: part["EntityName"] for part in data["Entity"]}
    return tuple(sorted(parts.items(), key=lambda part: part[0]))


def set_producer_ids(state: State, data: Message) -> None:
    """Apply a ProducerIdsRecord. The next id must grow (`ProducerIdControlManager`); the image accepts any."""
    held, next_id = state.next_producer_id, data["NextProducerId"]
    if held is not None and next_id <= held:
        text = f"the next producer id goes from {held} to {next_id}; a controller cannot load this"
        state.note("producer-id-regression", Severity.BLOCKER, "producer ids", text)
    state.next_producer_id = next_id


def set_zk_migration(state: State, data: Message) -> None:
    """Apply a ZkMigrationStateRecord; from 4.0 on Kafka reads it without effect."""
    state.zk_migration_state = data["ZkMigrationState"]


def nothing(_state: State, _data: Message) -> None:
    """Ignore a NoOpRecord."""


def apply_control(state: State, control: ControlRecord) -> None:
    """Apply a control record about the members of the quorum (KIP-853); others are not part of the state."""
    if control.type is ControlType.KRAFT_VERSION:
        state.kraft_version = control.data["KRaftVersion"]
    elif control.type is ControlType.KRAFT_VOTERS:
        state.voters = voters_of(control.data)
