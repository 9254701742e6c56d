"""Lint: what in an image does not fit together, or is unexpected.

A finding is about one kind of flaw; its evidence names the first subjects and counts the rest, because what is wrong
with one partition is often wrong with thousands. Rules that a controller of Kafka keeps when it writes are warnings
when broken; nothing here stops a node from starting (that is for `replay`, which says what cannot be loaded).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from kafkactl.core.findings import Finding, Severity
from kafkactl.core.kafka_names import ELR_VERSION, KRAFT_VERSION, NO_LEADER, ZkMigrationState
from kafkactl.core.values import Uuid
from kafkactl.metadata.image.model import (
    ADDING_AT,
    BROKER_CONFIG,
    DIRECTORIES_AT,
    ELR_AT,
    ISR_AT,
    LAST_KNOWN_ELR_AT,
    LEADER_AT,
    LOST,
    RECOVERING,
    RECOVERY_AT,
    REMOVING_AT,
    REPLICAS_AT,
    TOPIC_CONFIG,
    Broker,
    Image,
    PackedTopics,
    PartitionState,
    candidates,
)

SHOWN = 20
_ZK_STATES: Final[dict[int, str]] = {
    ZkMigrationState.MIGRATION: "MIGRATION (dual write)",
    ZkMigrationState.PRE_MIGRATION: "PRE_MIGRATION",
}


def lint(image: Image) -> tuple[Finding, ...]:
    """Return the findings about this state, most common kinds first within a severity; () for a sound one."""
    found = _Found()
    for rule in (_partitions, _topics, _configs, _throttles, _acls, _features, _transaction):
        for flaw in rule(image):
            found.add(flaw)
    return found.all()


class _Flaw(NamedTuple):
    """Subject with a flaw."""

    id: str
    severity: Severity
    subject: str
    message: str
    times: int = 1


class _Found:
    """Flaws by kind: the first ones whole, the others counted."""

    def __init__(self) -> None:
        self._first: dict[str, _Flaw] = {}
        self._subjects: dict[str, list[str]] = defaultdict(list)
        self._counts: dict[str, int] = defaultdict(int)

    def add(self, flaw: _Flaw) -> None:
        self._first.setdefault(flaw.id, flaw)
        self._counts[flaw.id] += flaw.times
        if len(self._subjects[flaw.id]) < SHOWN:
            self._subjects[flaw.id].append(flaw.subject)

    def all(self) -> tuple[Finding, ...]:
        ordered = sorted(self._first, key=lambda id: (_ORDER.index(self._first[id].severity), -self._counts[id], id))
        return tuple(self._finding(id) for id in ordered)

    def _finding(self, id: str) -> Finding:
        first, count = self._first[id], self._counts[id]
        more = f"; {count - 1} more like it" if count > 1 else ""
        return Finding(
            id=id,
            severity=first.severity,
            subject=first.subject,
            message=first.message + more,
            evidence={"count": count, "subjects": self._subjects[id]},
        )


_ORDER = [Severity.BLOCKER, Severity.WARNING, Severity.INFO]


class _Words(NamedTuple):
    """Flaw of a partition, without the name of the partition."""

    id: str
    severity: Severity
    message: str


def _partitions(image: Image) -> Iterator[_Flaw]:
    """Judge partitions. Equal ones are judged once: a cluster has a million partitions and few different ones."""
    judged: dict[tuple[object, ...], tuple[_Words, ...]] = {}
    listed, unlisted = _suspects(image)
    for topic, number, state in listed:
        key = (*state[:6], *state[8:])  # all but the epochs
        words = judged.get(key)
        if words is None:
            words = judged[key] = tuple(_judged(image, state))
        for word in words:
            yield _Flaw(word.id, word.severity, f"partition {topic}-{number}", word.message)
    if unlisted:  # as many as are shown were listed
        yield _Flaw("leaderless-partition", Severity.WARNING, "", "", unlisted)


def _suspects(image: Image) -> tuple[Iterable[tuple[str, int, PartitionState]], int]:
    """Return the partitions to judge, with the names of their topics and their numbers; and the number of further ones
    that merely have no leader."""
    topics = image.topics
    if isinstance(topics, PackedTopics):
        has_elr = bool(image.features.get(ELR_VERSION))
        found = topics.suspects(image.brokers, has_elr=has_elr, most_leaderless=SHOWN)
        return found, found.unlisted
    every = (
        (topic.name, number, state) for topic in topics.values() for number, state in topic.partitions.states.items()
    )
    return every, 0


def _judged(image: Image, state: PartitionState) -> Iterator[_Words]:
    for rule in (_membership, _leadership, _elr, _brokers, _directories):
        yield from rule(image, state)


def _membership(_image: Image, state: PartitionState) -> Iterator[_Words]:
    replicas, isr, removing, adding = state[:LEADER_AT]
    if not set(isr) <= set(replicas):
        text = f"the ISR {_shown(isr)} has a broker that is not among the replicas {_shown(replicas)}"
        yield _Words("isr-not-in-replicas", Severity.WARNING, text)
    if not {*removing, *adding} <= set(replicas):
        text = f"adding {_shown(adding)} and removing {_shown(removing)}, not all among the replicas {_shown(replicas)}"
        yield _Words("reassignment-not-in-replicas", Severity.WARNING, text)
    if len(set(replicas)) < len(replicas):
        yield _Words("duplicate-replica", Severity.WARNING, f"a broker stands twice in the replicas {_shown(replicas)}")


def _leadership(image: Image, state: PartitionState) -> Iterator[_Words]:
    isr, leader, elr, last_known = state[ISR_AT], state[LEADER_AT], state[ELR_AT], state[LAST_KNOWN_ELR_AT]
    if leader != NO_LEADER and leader not in isr:
        text = f"the leader {leader} is not in the ISR {_shown(isr)}"
        yield _Words("leader-not-in-isr", Severity.WARNING, text)
    if leader == NO_LEADER and not isr and not elr and not last_known:
        text = "no leader, and no replica is eligible: ISR, ELR and last known leaders are empty"
        yield _Words("stranded-partition", Severity.WARNING, text)
    elif leader == NO_LEADER:
        yield _leaderless(image, state)
    if state[RECOVERY_AT] == RECOVERING and leader != NO_LEADER and len(isr) > 1:
        text = f"the leader {leader} recovers from an unclean election, and others are in sync with it already"
        yield _Words("recovering-with-isr", Severity.INFO, text)


def _leaderless(image: Image, state: PartitionState) -> _Words:
    """Judge a partition without a leader by the replicas that Kafka elects as soon as they serve.

    A candidate that serves in a directory of its broker and was not elected has an empty replica there: the broker was
    unfenced before it assigned the replica to the directory that replaced another. Kafka elects that replica at the
    broker's next start (measured on 3.9.2 and 4.3.1).
    """
    offline = set(_offline_replicas(image, state))
    eligible = candidates(state)
    text = f"no leader; ISR {_shown(state[ISR_AT])}, ELR {_shown(state[ELR_AT])}"
    if lost := [candidate for candidate in eligible if candidate in offline]:
        text += f"; the directory of the replica that may lead is lost on broker {_shown(lost)}"
        return _Words("last-copy-in-lost-directory", Severity.WARNING, text)
    if live := [id for id in eligible if id in image.brokers and image.brokers[id].is_active]:
        text += f"; broker {_shown(live)} serves and was not elected: its directory replaced another one"
        return _Words("live-replica-not-elected", Severity.WARNING, text)
    return _Words("leaderless-partition", Severity.WARNING, text)


def _elr(image: Image, state: PartitionState) -> Iterator[_Words]:
    isr, elr, last_known = state[ISR_AT], state[ELR_AT], state[LAST_KNOWN_ELR_AT]
    if set(isr) & set(elr):
        text = f"a broker is both in the ISR {_shown(isr)} and in the ELR {_shown(elr)}"
        yield _Words("elr-overlaps-isr", Severity.WARNING, text)
    if (elr or last_known) and not image.features.get(ELR_VERSION):
        text = f"the partition has eligible leader replicas {_shown(elr)}, and {ELR_VERSION} is off"
        yield _Words("elr-without-feature", Severity.INFO, text)


def _brokers(image: Image, state: PartitionState) -> Iterator[_Words]:
    replicas, adding = state[REPLICAS_AT], state[ADDING_AT]
    missing = [replica for replica in replicas if replica not in image.brokers]
    if missing:
        yield _Words(
            "replica-on-unregistered-broker", Severity.WARNING, f"brokers {_shown(missing)} are not registered"
        )
    stuck = [broker for broker in adding if broker not in image.brokers or image.brokers[broker].fenced]
    if stuck:
        text = f"the reassignment waits for brokers {_shown(stuck)}, which are fenced or not registered"
        yield _Words("reassignment-waits-for-lost-broker", Severity.WARNING, text)


def _directories(image: Image, state: PartitionState) -> Iterator[_Words]:
    """Judge directories of partitions with a leader; `_leaderless` judges the others."""
    if state[LEADER_AT] != NO_LEADER:
        for replica in _offline_replicas(image, state):
            text = f"the directory of its replica on broker {replica} is not among those that the broker has"
            yield _Words("replica-in-lost-directory", Severity.WARNING, text)


def _offline_replicas(image: Image, state: PartitionState) -> Iterator[int]:
    """Yield the replicas whose directory is lost, or is none of their broker's (KIP-858)."""
    raw = state[DIRECTORIES_AT]
    for at, replica in enumerate(state[REPLICAS_AT]):
        broker = image.brokers.get(replica)
        if broker is not None and _is_offline(broker, raw[16 * at : 16 * at + 16]):
            yield replica


def _is_offline(broker: Broker, directory: bytes) -> bool:
    if directory == LOST.raw:
        return True
    known = Uuid(directory)
    return bool(broker.directories) and not known.is_reserved and known not in broker.directories


def _shown(ids: Iterable[int]) -> str:
    return "[" + ", ".join(map(str, ids)) + "]"


def _topics(image: Image) -> Iterator[_Flaw]:
    for name, count, least, greatest in _numbering(image):
        if not count:
            text = "the topic has no partitions"
            yield _Flaw("topic-without-partitions", Severity.WARNING, f"topic {name}", text)
        elif greatest != count - 1 or least:
            text = f"its partitions are not numbered from 0 to {count - 1} without a gap"
            yield _Flaw("partition-numbers-with-gaps", Severity.WARNING, f"topic {name}", text)


def _numbering(image: Image) -> Iterator[tuple[str, int, int, int]]:
    """Name, number of partitions, and the least and greatest of their numbers, by topic."""
    if isinstance(image.topics, PackedTopics):
        yield from image.topics.numbering()
        return
    for topic in image.topics.values():
        numbers = topic.partitions.states.keys()
        yield topic.name, len(numbers), min(numbers, default=-1), max(numbers, default=-1)


def _configs(image: Image) -> Iterator[_Flaw]:
    for kind, name in image.configs:
        if kind == TOPIC_CONFIG and name not in image.topic_ids:
            text = "the topic has configs and does not exist; one of that name would be born with them"
            yield _Flaw("config-of-missing-topic", Severity.WARNING, f"topic {name}", text)


def throttles_left(image: Image) -> tuple[Finding, ...]:
    """Return replication throttles that stayed after a reassignment; they slow down the next one."""
    found = _Found()
    for flaw in _throttles(image):
        found.add(flaw)
    return found.all()


def _throttles(image: Image) -> Iterator[_Flaw]:
    """Return throttles while no partition of the cluster is being reassigned: `--verify` of the tool was not run."""
    lists, rates = (
        [(name, key) for (of, name), values in image.configs.items() if of == kind for key in names if values.get(key)]
        for kind, names in ((TOPIC_CONFIG, _THROTTLED), (BROKER_CONFIG, _RATES))
    )
    if not (lists or rates) or _is_reassigning(image):
        return
    limited = "" if rates else "; no broker has a rate now, so nothing is limited until one is set"
    for name, key in lists:
        text = f"{key} is set and no reassignment is under way: a throttle was left behind{limited}"
        yield _Flaw("replication-throttle-left", Severity.WARNING if rates else Severity.INFO, f"topic {name}", text)
    for name, key in rates:
        text = f"{key} is set and no reassignment is under way: replicas that catch up may be held to that rate"
        yield _Flaw("replication-throttle-left", Severity.WARNING, f"broker {name}" if name else "cluster", text)


_THROTTLED: Final = ("leader.replication.throttled.replicas", "follower.replication.throttled.replicas")
_RATES: Final = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")


def _is_reassigning(image: Image) -> bool:
    return any(
        state[ADDING_AT] or state[REMOVING_AT]
        for topic in image.topics.values()
        for state in topic.partitions.states.values()
    )


def _acls(image: Image) -> Iterator[_Flaw]:
    seen: dict[tuple[object, ...], Uuid] = {}
    for id, acl in image.acls.items():
        value = (
            acl.resource_type,
            acl.resource_name,
            acl.pattern_type,
            acl.principal,
            acl.host,
            acl.operation,
            acl.permission_type,
        )
        first = seen.setdefault(value, id)
        if first != id:
            text = f"the ACL is identical to {first}; its effect ends only when both are removed"
            yield _Flaw("duplicate-acl", Severity.WARNING, f"ACL {id}", text)


def _features(image: Image) -> Iterator[_Flaw]:
    if KRAFT_VERSION in image.features:
        text = "a FeatureLevelRecord sets kraft.version; it has no effect, only control records do"
        yield _Flaw("kraft-version-as-feature", Severity.INFO, "feature kraft.version", text)
    if image.zk_migration_state in _ZK_STATES:
        text = f"its state is {_ZK_STATES[image.zk_migration_state]}"
        yield _Flaw("zk-migration-not-finished", Severity.INFO, "ZooKeeper migration", text)


def _transaction(image: Image) -> Iterator[_Flaw]:
    held = image.transaction
    if held is not None:
        text = (
            f"a transaction began at offset {held.begin_offset} and has not ended; its {len(held.records)} "
            "records have no effect"
        )
        yield _Flaw("open-transaction", Severity.WARNING, "metadata transaction", text)
