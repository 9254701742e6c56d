"""C-37, C-43 and X-5.2: topic ids on the brokers' disks against ZooKeeper and the metadata log, and stray partitions.

The id of a topic is in its znode, in the metadata log, and in `partition.metadata` of each partition folder. A broker
that gets another id than that of its folder does not serve the partition, and at the copy, or at its first start on
KRaft, puts the folder aside as a stray: all messages of the topic are lost unless another replica has kept its folder.
Measured on 3.9.2: of a topic whose znode had lost its id, 50 of 50 messages were lost at the copy, of a replicated one
too; with the id of the disks written back, before or after the election, none.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Final

from kafkactl.core.findings import Finding, Severity, blocker
from kafkactl.core.wording import counted, some
from kafkactl.migration.checks.case import ALWAYS, ON_ZOOKEEPER, UNFINISHED, CheckCase, Row, Said, Stage, Unknown
from kafkactl.migration.observed.observation import Mode, NodeSeen
from kafkactl.migration.observed.settings import is_kraft_file
from kafkactl.migration.zktree.topics import TOPICS
from kafkactl.migration.zktree.values import ZkTopic
from kafkactl.storage.partition_folders import LivePartition, live_partition, partition_metadata, stray_partition

_EACH: Final = 20  # topics that have a finding of their own; the rest share one


def ids_on_disks(brokers: Iterable[NodeSeen]) -> dict[str, dict[str, list[str]]]:
    """Return the ids that the disks have of each topic, each with the brokers (`broker 1`) that have it."""
    found: dict[str, dict[str, list[str]]] = {}
    for broker in brokers:
        ids = broker.partition_ids
        if ids is None:
            continue
        for topic, id in ids.topic_ids.items():
            found.setdefault(topic, {}).setdefault(id, []).append(broker.name)
        for folder, id in ids.other_ids.items():
            live = live_partition(folder.rpartition("/")[2])
            if live is not None:
                found.setdefault(live.topic, {}).setdefault(id, []).append(broker.name)
    return found


def _without_id(case: CheckCase) -> Said:
    """Check C-37: a topic without an id gets a new one at the next election, even if the disks have one."""
    if case.tree is None:
        return
    missing = [topic for _, topic in _staying(case) if topic.id is None]
    on_disks = ids_on_disks(case.brokers) if missing else {}
    for topic in missing:
        yield _topic_without_id(case, topic, on_disks.get(topic.name, {}))


def _topic_without_id(case: CheckCase, topic: ZkTopic, ids: Mapping[str, list[str]]) -> Finding:
    path = f"{TOPICS}/{topic.name}"
    text = f"the znode of topic {topic.name} has no topic_id"
    if len(ids) == 1:
        ((id, brokers),) = ids.items()
        text += (
            f", and the disks have the id {id} ({some(dict.fromkeys(brokers))}): the next controller that is elected"
            " gives the topic a new id, and every replica becomes a stray at the copy"
        )
        return blocker("topic-without-id", path, text, _write_id(case, topic, id), topic_id=id)
    if ids:
        text += f", and the disks do not agree: {_by_broker(ids)}"
        step = "Find out which id the topic had (a saved tree, the brokers' logs), and write it before any election."
        return blocker("topic-without-id", path, text, step, ids=dict(ids))
    holders = {id for partition in topic.partitions.values() for id in partition.replicas}
    unread = sorted(holders - _read_brokers(case))
    if unread:
        text += f"; whether the disks of broker {some(map(str, unread))} have one was not observed"
        step = (
            f"Look for topic_id in partition.metadata of its partitions' folders on broker {some(map(str, unread))}"
            " before any election. If it is there, write it into the znode."
        )
        return blocker("topic-without-id", path, text, step, unread=unread)
    step = "Let a new controller be elected: restart the broker that is the controller now. No disk has an id."
    return Finding(
        id="topic-without-id",
        severity=Severity.WARNING,
        subject=path,
        message=f"{text}, and no folder of it on any broker has one: the next controller assigns the first",
        evidence={"unread": []},
        next_step=step,
    )


def _write_id(case: CheckCase, topic: ZkTopic, id: str) -> str:
    """Return the command that writes the id into the znode, with everything else that the znode has."""
    fields = {
        "version": 3,
        "topic_id": id,
        "partitions": {str(number): list(partition.replicas) for number, partition in topic.partitions.items()},
        "adding_replicas": _moves(topic, "adding_replicas"),
        "removing_replicas": _moves(topic, "removing_replicas"),
    }
    text = json.dumps(fields, separators=(",", ":"))
    path = f"{case.observation.chroot}{TOPICS}/{topic.name}"
    return f"Before any election, with zookeeper-shell.sh: set {path} '{text}'"


def _moves(topic: ZkTopic, name: str) -> dict[str, list[int]]:
    found = {str(number): list(getattr(partition, name)) for number, partition in topic.partitions.items()}
    return {number: ids for number, ids in found.items() if ids}


def _by_broker(ids: Mapping[str, list[str]]) -> str:
    return "; ".join(f"{id} on {some(dict.fromkeys(brokers))}" for id, brokers in ids.items())


def _read_brokers(case: CheckCase) -> set[int]:
    return {
        broker.id for broker in case.brokers if broker.partition_ids is not None and broker.partition_ids.is_complete
    }


def _staying(case: CheckCase) -> Iterator[tuple[str, ZkTopic]]:
    """Yield the topics of the tree that do not wait for their deletion."""
    if case.tree is not None:
        gone = set(case.tree.pending_deletions)
        yield from ((name, topic) for name, topic in case.tree.topics.items() if name not in gone)


def _expected(case: CheckCase) -> dict[str, str] | None:
    """Return the id of each topic by the side that decides; None if that side was not observed."""
    if case.stage in (Stage.DUAL, Stage.FINAL):
        return None if case.image is None else {topic.name: str(id) for id, topic in case.image.topics.items()}
    if case.tree is None:
        return None
    return {name: str(topic.id) for name, topic in _staying(case) if topic.id is not None}


def _disks(case: CheckCase) -> Said:
    """Check C-43: every folder has the id of its topic in ZooKeeper, and after the copy in the metadata log."""
    expected = _expected(case)
    if expected is None:
        yield Unknown("the ids of topics were not observed, so those on the disks are compared with nothing")
        return
    yield from _other_ids(case, expected)
    for broker in case.brokers:
        yield from _folders_without_id(case, broker, expected)
    unread = [broker.name for broker in case.brokers if broker.id not in _read_brokers(case)]
    if unread and case.stage is not Stage.FINAL:
        yield Unknown(f"the topic ids in the partition folders of {some(unread)} were not read")


def _other_ids(case: CheckCase, expected: Mapping[str, str]) -> Iterator[Finding]:
    wrong = []
    for topic, ids in sorted(ids_on_disks(case.brokers).items()):
        others = {id: brokers for id, brokers in ids.items() if id != expected.get(topic, id)}
        if others:
            wrong.append((topic, others))
    for topic, others in wrong[:_EACH]:
        text = f"the id of topic {topic} is {expected[topic]}, and the disks have another one: {_by_broker(others)}"
        step = _cure_of_other_id(case, topic, others)
        yield blocker("topic-id-differs-on-disk", f"topic {topic}", text, step, topic_id=expected[topic], disks=others)
    if wrong[_EACH:]:
        names = [topic for topic, _ in wrong[_EACH:]]
        text = f"{counted(len(names), 'more topic')} have another id on disks: {some(names)}"
        yield blocker("topic-id-differs-on-disk", f"{len(names)} more topics", text, topics=names[:1000])


def _cure_of_other_id(case: CheckCase, topic: str, others: Mapping[str, list[str]]) -> str:
    held = next((found for name, found in _staying(case) if name == topic), None)
    if case.stage not in (Stage.BEFORE, Stage.QUORUM) or held is None or len(others) != 1:
        return ""
    (id,) = others
    return (
        f"If the folders hold the messages of the topic: {_write_id(case, held, id).partition(': ')[2]} in"
        f" zookeeper-shell.sh, then delete {case.observation.chroot}/controller once, so that the next controller reads"
        " the id. Not while a KRaft controller holds it."
    )


def _folders_without_id(case: CheckCase, broker: NodeSeen, expected: Mapping[str, str]) -> Iterator[Finding]:
    held = () if broker.partition_ids is None else broker.partition_ids.without_id
    folders = [path for path in held if _topic_of(path) in expected]
    if not folders:
        return
    entered = broker.mode in (Mode.MIGRATING, Mode.KRAFT) or is_kraft_file(broker)
    is_next_kraft = case.stage in (Stage.COPY, Stage.DUAL, Stage.FINAL) or entered
    then = (
        "its next start on KRaft puts them aside as strays and makes empty folders in their place"
        if is_next_kraft
        else "its restart into migration mode writes the file, and a start on KRaft without it makes strays of them"
    )
    first = folders[0]
    content = partition_metadata(expected[_topic_of(first)])
    yield Finding(
        id="partition-without-topic-id",
        severity=Severity.BLOCKER if is_next_kraft else Severity.WARNING,
        subject=broker.name,
        message=f"{broker.name} has {counted(len(folders), 'partition folder')} without a topic id in"
        f" partition.metadata ({some(folders)}): {then}",
        evidence={"folders": folders[:1000], "count": len(folders)},
        next_step=f"Stop the broker, write the file of each folder as the owner of the folder"
        f" (printf '{content}' > {first}/partition.metadata), and start it again.",
    )


def _topic_of(path: str) -> str:
    live = live_partition(path.rpartition("/")[2])
    return "" if live is None else live.topic


class _Cause(StrEnum):
    """Cause of a stray folder, as far as the metadata and the folder show it."""

    NOT_KNOWN = "not-known"
    NO_TOPIC = "no-topic"
    NOT_HERE = "not-here"
    NO_ID = "no-id"
    OTHER_ID = "other-id"
    EARLIER = "earlier"


_WORDS: Final[Mapping[_Cause, str]] = {
    _Cause.NOT_KNOWN: "what the broker loaded was not observed",
    _Cause.NO_TOPIC: "the metadata has no such topic or partition",
    _Cause.NOT_HERE: "the metadata has no replica of it on this broker",
    _Cause.NO_ID: "the metadata has the topic, and partition.metadata in the folder names no id or another one",
    _Cause.OTHER_ID: "partition.metadata in the folder names another topic id than the metadata",
    _Cause.EARLIER: "the metadata has the topic with the id of the folder now, and had not when the broker loaded it",
}
_BEFORE_COPY: Final = "with its file of ZooKeeper or migration mode, not with the KRaft file before the copy"


def _strays(case: CheckCase) -> Said:
    """Check X-5.2: strays, which only the disks show, stop the migration; the metadata shows the cause of each."""
    for node in case.brokers:
        by_cause: dict[_Cause, list[str]] = {}
        for path in node.strays or ():
            by_cause.setdefault(_cause(case, node, path), []).append(path)
        for cause, paths in by_cause.items():
            yield blocker(
                "partitions-became-strays",
                node.name,
                f"{node.name} renamed {some(paths)} to *-stray: {_WORDS[cause]}",
                _cure(case, cause, paths[0]),
                directories=len(paths),
                cause=cause.value,
            )
    if case.stage is not Stage.DUAL or all(node.strays is not None for node in case.brokers):
        return
    if any(node.mode is Mode.KRAFT or is_kraft_file(node) for node in case.brokers) or (
        (case.registered or {}) and not all((case.registered or {}).values())
    ):
        yield Unknown(
            "whether a broker has *-stray directories is seen on its disks only: look for them after each restart"
        )


def stray_finding(case: CheckCase, node: str) -> Finding | None:
    """Return the finding about the strays of one node (`broker 1`); None if it has none."""
    return next((found for found in _strays(case) if isinstance(found, Finding) and found.subject == node), None)


def _cause(case: CheckCase, node: NodeSeen, path: str) -> _Cause:
    held = stray_partition(path.rpartition("/")[2])
    expected = _expected(case)
    if held is None or expected is None:
        return _Cause.NOT_KNOWN
    replicas = _replicas(case, held)
    if held.topic not in expected or replicas is None:
        return _Cause.NO_TOPIC
    if node.id not in replicas:
        return _Cause.NOT_HERE
    ids = node.partition_ids
    if ids is None or path not in ids.stray_ids:
        return _Cause.NO_ID
    return _Cause.EARLIER if ids.stray_ids[path] == expected[held.topic] else _Cause.OTHER_ID


def _replicas(case: CheckCase, held: LivePartition) -> tuple[int, ...] | None:
    """Return the replicas of a partition by the side that decides; None if there is no such partition."""
    if case.stage in (Stage.DUAL, Stage.FINAL):
        topics = () if case.image is None else case.image.topics.values()
        return next(
            (
                topic.partitions[held.partition].replicas
                for topic in topics
                if topic.name == held.topic and held.partition in topic.partitions
            ),
            None,
        )
    topic = dict(_staying(case)).get(held.topic)
    partition = None if topic is None else topic.partitions.get(held.partition)
    return None if partition is None else partition.replicas


def _cure(case: CheckCase, cause: _Cause, path: str) -> str:
    """Return the next step for a cause, with the first folder as the example; empty for the remedy of the finding."""
    held = stray_partition(path.rpartition("/")[2])
    expected = _expected(case) or {}
    if held is None or cause is _Cause.NOT_KNOWN:
        return ""
    back = f"{path.rpartition('/')[0]}/{held.topic}-{held.partition}"
    if cause in (_Cause.NO_ID, _Cause.OTHER_ID):
        content = partition_metadata(expected[held.topic])
        return (
            "If the partition lacks messages now: stop the broker, write the id of the topic into the stray"
            f" (printf '{content}' > {path}/partition.metadata), move {back} out of the log directory, rename the stray"
            f" to {back}, and start the broker. Renamed back without the id it becomes a stray again, empty."
        )
    is_copied = case.stage in (Stage.DUAL, Stage.FINAL)
    rename = f"move {back} out of the log directory if it is there, mv {path} {back}, and start the broker"
    if cause is _Cause.EARLIER:
        file = "" if is_copied else f" {_BEFORE_COPY}"
        return (
            f"If the partition lacks messages now: stop the broker, {rename}{file}. Keep the folder that was moved: it"
            " has the messages that were produced since."
        )
    if cause is _Cause.NOT_HERE:
        return "Compare the partition's messages on its replicas with the stray, then remove the stray."
    if is_copied:
        return (
            "Do not rename it back: the broker would make a stray of it again. If the topic was deleted on purpose,"
            " remove the folder; otherwise keep it, it may hold the only copy of the messages."
        )
    return f"Stop the broker, {rename} {_BEFORE_COPY}."


ROWS: Final = (
    Row("C-37", "topic-ids-unknown", "topics without an id", ON_ZOOKEEPER, _without_id),
    Row("C-43", "disk-topic-ids-unknown", "topic ids on disks", UNFINISHED, _disks),
    Row("X-5.2", "stray-check-unavailable", "no stray directories", ALWAYS, _strays),
)
