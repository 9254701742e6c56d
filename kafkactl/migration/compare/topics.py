"""Topics, partitions and topic configs of ZooKeeper against those of the image.

The epoch of a partition is not compared: it is the version of its znode, which runs away at each time that a
controller writes the tree again (measured on 3.9.2). The order of an ISR is not kept, that of replicas is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from kafkactl.core.frozen import changed
from kafkactl.metadata.image.model import TOPIC_CONFIG, Partition, Topic
from kafkactl.migration.compare.case import Answer, Case, Difference, Unknown
from kafkactl.migration.compare.configs import Configs, config_differences
from kafkactl.migration.zktree.values import ZkPartition, ZkTopic

TOPIC, PARTITION, TOPIC_CONFIGS = "topic", "partition", "topic-config"
TOPICS_PATH: Final = "/brokers/topics"
CONFIGS_PATH: Final = "/config/topics"
_LISTS: Final = ("replicas", "adding_replicas", "removing_replicas")
_PENDING_PATH: Final = "/admin/delete_topics"
PENDING, ORPHAN, NO_STATE = "pending-deletion", "orphan-topic-config", "never-had-a-state"
_PENDING_TEXT = (
    "the topic waits in /admin/delete_topics: the copy leaves such topics out, which completes their deletion"
)
_ORPHAN_TEXT = "there is no such topic; the first sync after the copy deletes the config in ZooKeeper"
_NO_STATE_TEXT = (
    "the partition had no state when it was copied; KRaft has what Kafka takes a missing state for"
    " (all replicas in sync, the first one leads, epoch 0)"
)


def topics(case: Case) -> Iterator[Answer]:
    """Compare topics and their partitions."""
    if not case.is_kept(TOPICS_PATH):
        yield Unknown(entity=TOPIC, key="*", reason=f"{TOPICS_PATH} is not in the observation")
        return
    broken = set(case.raw.children(TOPICS_PATH)) - set(case.tree.topics)
    for name in sorted({*case.tree.topics, *case.image.topic_ids, *broken}):
        path = f"{TOPICS_PATH}/{name}"
        if case.is_hidden(path):
            yield Unknown(entity=TOPIC, key=name, reason="its znode is not shown")
        elif name in broken:
            yield _topic_difference(
                case, name, {"unreadable": case.unreadable.get(path, "")}, _summary(case.image.topic(name))
            )
        else:
            yield from _topic(case, name, case.tree.topics.get(name), case.image.topic(name))


def _topic(case: Case, name: str, left: ZkTopic | None, right: Topic | None) -> Iterator[Answer]:
    if right is None and case.is_hidden(f"{_PENDING_PATH}/{name}"):
        yield Unknown(entity=TOPIC, key=name, reason="whether it waits for its deletion is not shown")
    elif left is None or right is None or left.id != right.id:
        yield _topic_difference(case, name, _zk_summary(left), _summary(right))
    else:
        for number in sorted({*left.partitions, *right.partitions}):
            yield from _partition(case, name, number, left.partitions.get(number), right)


def _topic_difference(case: Case, name: str, zookeeper: Any, kraft: Any) -> Difference:
    pending = kraft is None and name in case.tree.pending_deletions
    return Difference(
        entity=TOPIC,
        key=name,
        zookeeper=zookeeper,
        kraft=kraft,
        znode=f"{TOPICS_PATH}/{name}",
        rule=PENDING if pending else None,
        explained=_PENDING_TEXT if pending else None,
    )


def _zk_summary(topic: ZkTopic | None) -> dict[str, Any] | None:
    if topic is None:
        return None
    return {"topic_id": None if topic.id is None else str(topic.id), "partitions": len(topic.partitions)}


def _summary(topic: Topic | None) -> dict[str, Any] | None:
    return None if topic is None else {"topic_id": str(topic.id), "partitions": len(topic.partitions)}


def _partition(case: Case, name: str, number: int, left: ZkPartition | None, topic: Topic) -> Iterator[Answer]:
    right = topic.partitions.get(number)
    path = f"{TOPICS_PATH}/{name}/partitions/{number}/state"
    key = f"{name}-{number}"
    known, kraft = None if left is None else _zk_fields(left), None if right is None else _fields(right)
    if left is not None and left.state is None and case.is_hidden(path):
        yield Unknown(entity=PARTITION, key=key, reason="its state is not shown")
        # The topic's znode has where its replicas are.
        known, kraft = _lists_of(known), _lists_of(kraft)
    if known == kraft:
        return
    rule = text = None
    had_none = left is not None and left.state is None and path not in case.unreadable and not case.is_hidden(path)
    if left is not None and right is not None and had_none:
        copied = case.copied is not None and (topic.id, number) in case.copied
        if copied and _fields(right) == _as_copied(left):
            rule, text = NO_STATE, _NO_STATE_TEXT
    yield Difference(
        entity=PARTITION,
        key=key,
        zookeeper=_only(known, kraft),
        kraft=_only(kraft, known),
        znode=path,
        rule=rule,
        explained=text,
    )


def _zk_fields(partition: ZkPartition) -> dict[str, Any]:
    state = partition.state
    return _lists(partition.replicas, partition.adding_replicas, partition.removing_replicas) | {
        "isr": None if state is None else sorted(state.isr),
        "leader": None if state is None else state.leader,
        "leader_epoch": None if state is None else state.leader_epoch,
        "leader_recovery_state": None if state is None else state.leader_recovery_state,
    }


def _fields(partition: Partition) -> dict[str, Any]:
    return _lists(partition.replicas, partition.adding_replicas, partition.removing_replicas) | {
        "isr": sorted(partition.isr),
        "leader": partition.leader,
        "leader_epoch": partition.leader_epoch,
        "leader_recovery_state": partition.leader_recovery_state,
    }


def _as_copied(partition: ZkPartition) -> dict[str, Any]:
    """Return the fields that the copy gives a partition without a state."""
    replicas = partition.replicas
    return _zk_fields(partition) | {
        "isr": sorted(replicas),
        "leader": replicas[0] if replicas else -1,
        "leader_epoch": 0,
        "leader_recovery_state": 0,
    }


def _lists(replicas: tuple[int, ...], adding: tuple[int, ...], removing: tuple[int, ...]) -> dict[str, Any]:
    return {
        "replicas": list(replicas),
        "adding_replicas": sorted(adding),
        "removing_replicas": sorted(removing),
    }


def _lists_of(fields: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return None if fields is None else {name: fields[name] for name in _LISTS}


def _only(fields: Mapping[str, Any] | None, others: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return the fields that differ from the other side's."""
    if fields is None or others is None:
        return None if fields is None else dict(fields)
    return {name: value for name, value in fields.items() if others[name] != value}


def topic_configs(case: Case) -> Iterator[Answer]:
    """Compare configs of topics that exist; what is left of topics that are gone is explained."""
    if not case.is_kept(CONFIGS_PATH):
        yield Unknown(entity=TOPIC_CONFIGS, key="*", reason=f"{CONFIGS_PATH} is not in the observation")
        return
    kraft = {name: held for (kind, name), held in case.image.configs.items() if kind == TOPIC_CONFIG}
    present = {*case.image.topic_ids, *case.raw.children(TOPICS_PATH)}
    for name in sorted({*case.tree.topic_configs, *kraft}):
        path = f"{CONFIGS_PATH}/{name}"
        rule = text = None
        if name not in present and name not in kraft:
            rule, text = ORPHAN, _ORPHAN_TEXT
        elif name in case.tree.pending_deletions and name not in case.image.topic_ids:
            rule, text = PENDING, _PENDING_TEXT
        zookeeper = case.tree.topic_configs.get(name, {})
        configs = Configs(TOPIC_CONFIGS, name, path, zookeeper, kraft.get(name, {}))
        for answer in config_differences(case, configs):
            explain = isinstance(answer, Difference) and rule is not None
            yield changed(answer, rule=rule, explained=text) if explain else answer
