"""Rules of the records of topics and partitions (`TopicsDelta.java`, `PartitionRegistration.java`)."""

from __future__ import annotations

from collections.abc import Sequence

from kafkactl.core.findings import Severity
from kafkactl.core.values import Uuid
from kafkactl.metadata.image.model import (
    ELR_AT,
    LAST_KNOWN_ELR_AT,
    MIGRATING,
    TOPIC_CONFIG,
    PartitionState,
    cleared,
)
from kafkactl.metadata.replay.state import ContradictionError, State, TopicState
from kafkactl.protocol.codec import Message

PARTITION, CHANGE = 3, 5  # api keys of PartitionRecord and PartitionChangeRecord
NEWEST = 2  # version of both, and the newest one that the fast ways read; a later one is left to the codec
LEADER_STAYS = -2  # PartitionChangeRecord.json: no change of leader, hence no new leader epoch
RECOVERY_STATE_STAYS = -1
_RECOVERY_STATES = frozenset({0, 1})


def add_topic(state: State, data: Message) -> None:
    """Apply a TopicRecord. A second one of the same id empties the topic in Kafka's image; Kafka's controller stops
    there."""
    name, raw = data["Name"], data["TopicId"].raw
    if raw in state.topics or name in state.topic_ids:
        text = "the topic already exists; brokers recreate it, a controller cannot load this log"
        state.note("duplicate-topic", Severity.BLOCKER, f"topic {name}", text)
    state.topics[raw] = TopicState(name, {})
    state.topic_ids[name] = raw


def remove_topic(state: State, data: Message) -> None:
    """Apply a RemoveTopicRecord to the topic, its partitions, and its configs, which have no record of their own."""
    raw = data["TopicId"].raw
    topic = state.topics.pop(raw, None)
    if topic is None:
        raise _unknown_topic(data["TopicId"], "RemoveTopicRecord")
    if state.topic_ids.get(topic.name) == raw:
        del state.topic_ids[topic.name]
    state.configs.pop((TOPIC_CONFIG, topic.name), None)


def add_partition(state: State, data: Message) -> None:
    """Apply a PartitionRecord: replace the whole registration."""
    topic = state.topics.get(data["TopicId"].raw)
    if topic is None:
        raise _unknown_topic(data["TopicId"], "PartitionRecord")
    topic.own()[data["PartitionId"]] = registered(state, data, topic.name)


def registered(state: State, data: Message, topic: str) -> PartitionState:
    """Return the partition of a PartitionRecord."""
    replicas = state.ids(data["Replicas"])
    _check_recovery_state(data["LeaderRecoveryState"], topic, data["PartitionId"])
    return (
        replicas,
        state.ids(data["Isr"]),
        state.ids(data["RemovingReplicas"]),
        state.ids(data["AddingReplicas"]),
        data["Leader"],
        data["LeaderRecoveryState"],
        data["LeaderEpoch"],
        data["PartitionEpoch"],
        directories_for(state, data["Directories"], len(replicas), topic, data["PartitionId"]),
        state.ids(data["EligibleLeaderReplicas"] or ()),
        state.ids(data["LastKnownElr"] or ()),
    )


def change_partition(state: State, data: Message) -> None:
    """Apply a PartitionChangeRecord: absent fields stay. The partition epoch always grows, the leader epoch if a leader
    is named, even the same one (`PartitionRegistration.merge`)."""
    topic = state.topics.get(data["TopicId"].raw)
    if topic is None:
        raise _unknown_topic(data["TopicId"], "PartitionChangeRecord")
    number = data["PartitionId"]
    old = topic.partitions.get(number)
    if old is None:
        text = "PartitionChangeRecord for a partition that the topic does not have"
        raise ContradictionError("unknown-partition-in-record", f"partition {topic.name}-{number}", text)
    topic.own()[number] = merged(state, old, data, topic.name)


def merged(state: State, old: PartitionState, data: Message, topic: str) -> PartitionState:
    """Return the partition after a PartitionChangeRecord."""
    before, isr, removing, adding, led_by, recovering, leader_epoch, epoch, directories, elr, last_known = old
    number = data["PartitionId"]
    replicas = before if data["Replicas"] is None else state.ids(data["Replicas"])
    leader, recovery = data["Leader"], data["LeaderRecoveryState"]
    if recovery != RECOVERY_STATE_STAYS:
        _check_recovery_state(recovery, topic, number)
    changed = data["Directories"]
    if changed is not None or replicas is not before:
        uuids = _uuids(directories) if changed is None else changed
        directories = directories_for(state, uuids, len(replicas), topic, number)
    return (
        replicas,
        isr if data["Isr"] is None else state.ids(data["Isr"]),
        removing if data["RemovingReplicas"] is None else state.ids(data["RemovingReplicas"]),
        adding if data["AddingReplicas"] is None else state.ids(data["AddingReplicas"]),
        led_by if leader == LEADER_STAYS else leader,
        recovering if recovery == RECOVERY_STATE_STAYS else recovery,
        leader_epoch if leader == LEADER_STAYS else leader_epoch + 1,
        epoch + 1,
        directories,
        elr if data["EligibleLeaderReplicas"] is None else state.ids(data["EligibleLeaderReplicas"]),
        last_known if data["LastKnownElr"] is None else state.ids(data["LastKnownElr"]),
    )


def directories_for(state: State, uuids: Sequence[Uuid], replicas: int, topic: str, number: int) -> bytes:
    """Return the directory ids of a partition, one for each replica; none, or only unknown ones, fit any number of
    replicas."""
    if all(uuid == MIGRATING for uuid in uuids):
        return state.directories((MIGRATING,) * replicas)
    if len(uuids) != replicas:
        text = f"{len(uuids)} directory ids for {replicas} replicas"
        raise ContradictionError("directories-do-not-match-replicas", f"partition {topic}-{number}", text)
    return state.directories(uuids)


def clear_elr(state: State, data: Message) -> None:
    """Apply a ClearElrRecord to one topic, or to all if the name is empty (`TopicsDelta.replay`, KIP-966)."""
    name = data["TopicName"]
    if not name:
        for topic in state.topics.values():
            _clear_topic(topic)
    elif name in state.topic_ids:
        _clear_topic(state.topics[state.topic_ids[name]])
    else:
        text = "ClearElrRecord for a topic that is not there"
        raise ContradictionError("unknown-topic-in-record", f"topic {name}", text)


def _clear_topic(topic: TopicState) -> None:
    """Clear the partitions of a topic. Only a partition with something to clear changes, and its partition epoch with
    it."""
    changed = {
        number: cleared(old) for number, old in topic.partitions.items() if old[ELR_AT] or old[LAST_KNOWN_ELR_AT]
    }
    if changed:
        topic.own().update(changed)


def _uuids(raw: bytes) -> list[Uuid]:
    return [Uuid(raw[at : at + 16]) for at in range(0, len(raw), 16)]


def _check_recovery_state(value: int, topic: str, number: int) -> None:
    if value not in _RECOVERY_STATES:
        text = f"the leader recovery state {value}; 0 and 1 are known"
        raise ContradictionError("unknown-value-in-record", f"partition {topic}-{number}", text)


def _unknown_topic(id: Uuid, record: str) -> ContradictionError:
    return ContradictionError("unknown-topic-in-record", f"topic id {id}", f"{record} for a topic that is not there")
