"""Topics, their partitions, and what is being done to them.

Sources: core `ZkData.scala` (TopicZNode, TopicPartitionStateZNode), `migration/ZkTopicMigrationClient.scala`. That a
ZooKeeper controller rewrites a topic it cannot read was measured on 3.9.2.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias

from kafkactl.core.errors import InputError
from kafkactl.core.findings import Severity
from kafkactl.core.values import ZERO_UUID, Uuid
from kafkactl.migration.zktree.json import BrokenError, as_int, as_ints, as_object, as_text, given, needed, parse_json
from kafkactl.migration.zktree.reading import TreeReader
from kafkactl.migration.zktree.values import ZkPartition, ZkPartitionState, ZkTopic
from kafkactl.migration.zktree.znode import Znode
from kafkactl.protocol.text.java_text import parse_int

TOPICS: Final = "/brokers/topics"
_Lists: TypeAlias = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]  # replicas, adding, removing
_RECOVERY_STATES: Final = (0, 1)
_REWRITTEN = (
    "the next ZooKeeper controller takes it for a topic without partitions and writes it so: its assignment is lost"
)


def read_topics(reader: TreeReader) -> dict[str, ZkTopic]:
    """Read all topics by name, also those that wait for their deletion."""
    found = {}
    for name in reader.tree.children(TOPICS):
        topic = read_topic(reader, name)
        if topic is not None:
            found[name] = topic
    _note_ids(reader, found)
    return found


def read_topic(reader: TreeReader, name: str) -> ZkTopic | None:
    """Read one topic with its partitions' states; None if its znode cannot be read."""
    parts = reader.read(
        f"{TOPICS}/{name}",
        _assignment,
        id="broken-topic-znode",
        then="every reader of all topics fails at it, the migration's too",
        ignored_id="unreadable-topic-znode",
        ignored_then=_REWRITTEN,
    )
    if parts is None:
        return None
    topic_id, partitions = parts
    states = {number: _state_of(reader, name, number) for number in partitions}
    return ZkTopic(
        name=name,
        id=topic_id,
        partitions={
            number: ZkPartition(
                replicas=replicas, adding_replicas=adding, removing_replicas=removing, state=states[number]
            )
            for number, (replicas, adding, removing) in sorted(partitions.items())
        },
    )


def _assignment(znode: Znode) -> tuple[Uuid | None, dict[int, _Lists]]:
    fields = as_object(parse_json(znode.data))
    topic_id = given(fields, "topic_id", _uuid)
    adding = given(fields, "adding_replicas", as_object) or {}
    removing = given(fields, "removing_replicas", as_object) or {}
    partitions = {}
    for text, replicas in (given(fields, "partitions", as_object) or {}).items():
        number = parse_int(text)
        if number is None:
            raise BrokenError("a partition has no number for its name")
        partitions[number] = as_ints(replicas, f"partition {number}"), _part(adding, text), _part(removing, text)
    return topic_id, partitions


def _part(lists: Mapping[str, object], partition: str) -> tuple[int, ...]:
    return given(lists, partition, as_ints) or ()


def _uuid(value: object, what: str) -> Uuid:
    try:
        return Uuid.parse(as_text(value, what))
    except InputError:
        raise BrokenError(f"{what} is not a UUID") from None


def _note_ids(reader: TreeReader, topics: Mapping[str, ZkTopic]) -> None:
    owners: dict[Uuid, str] = {}
    for name, topic in topics.items():
        path = f"{TOPICS}/{name}"
        if topic.id is None:
            text = (
                "the topic has no id: the copy waits for one, and the next ZooKeeper controller gives it a new one,"
                " whatever id the brokers' disks have in partition.metadata"
            )
            reader.note("topic-without-id", Severity.WARNING, path, text)
        elif topic.id == ZERO_UUID:
            text = "its topic id is the one that means none; KRaft cannot keep such a topic"
            reader.note("duplicate-topic-id", Severity.BLOCKER, path, text, topic_id=str(topic.id))
        elif topic.id in owners:
            text = f"its topic id is that of {owners[topic.id]} too; in KRaft one of them would replace the other"
            reader.note("duplicate-topic-id", Severity.BLOCKER, path, text, topic_id=str(topic.id))
        else:
            owners[topic.id] = name


def _state_of(reader: TreeReader, topic: str, partition: int) -> ZkPartitionState | None:
    path = f"{TOPICS}/{topic}/partitions/{partition}/state"
    if reader.tree.get(path) is None:
        text = "the partition has no state; it is migrated with all replicas in the ISR, the first as leader, epoch 0"
        reader.note("partition-without-state", Severity.WARNING, path, text)
        return None
    return reader.read(
        path,
        _state,
        id="broken-partition-state-znode",
        then="the copy fails at it, and with it every KRaft controller in turn",
        ignored_id="partition-state-ignored",
        ignored_then="the partition is migrated with all replicas in the ISR, the first as leader and epoch 0,"
        " without a word: replicas that were behind may lead",
    )


def _state(znode: Znode) -> ZkPartitionState:
    fields = as_object(parse_json(znode.data))
    recovery = given(fields, "leader_recovery_state", as_int) or 0
    if recovery not in _RECOVERY_STATES:
        raise BrokenError(f"leader_recovery_state is {recovery}; 0 and 1 are known")
    return ZkPartitionState(
        leader=needed(fields, "leader", as_int),
        leader_epoch=needed(fields, "leader_epoch", as_int),
        isr=needed(fields, "isr", as_ints),
        leader_recovery_state=recovery,
        controller_epoch=needed(fields, "controller_epoch", as_int),
        partition_epoch=znode.version,
    )
