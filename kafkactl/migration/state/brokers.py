"""Evidence about each broker: znode, registration, own answers, place among the quorum's observers, file.

A broker in migration mode has all of four witnesses: `/brokers/ids/N`, a RegisterBrokerRecord with the migrating flag,
tag 3 in its own ApiVersions answer, a place among the observers of the quorum. None of them alone is enough: a
registration survives the broker's leaving migration mode (measured on 3.9.2).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kafkactl.core.frozen import frozen
from kafkactl.core.kafka_names import MIGRATION_ENABLE
from kafkactl.core.values import Role
from kafkactl.migration.observed.log_facts import LogFacts, RegistrationSeen
from kafkactl.migration.observed.observation import Mode, NodeSeen, Observation, QuorumSeen
from kafkactl.migration.zktree.values import KafkaTree

ROLES: Final = "process.roles"
_QUORUM_KEYS: Final = ("controller.quorum.voters", "controller.quorum.bootstrap.servers", "controller.listener.names")
_BROKER_IDS: Final = "/brokers/ids/"


@frozen
class BrokerEvidence:
    """Evidence about one broker; None is what was not observed.

    `in_zookeeper`: it has a znode. `registration` is None for none, and if no log was seen (`registered` None).
    `ready` is tag 3, `observer` whether the quorum's leader names it. `mode` is how it runs by its own answers,
    `file_mode` how it would run with the file on its disk. `has_replicas`: some topic names it.
    """

    id: int
    node: NodeSeen | None
    answers: bool | None
    in_zookeeper: bool | None
    registered: bool | None
    registration: RegistrationSeen | None
    ready: bool | None
    observer: bool | None
    mode: Mode | None
    file_mode: Mode | None
    file_is_plain: bool | None
    has_replicas: bool

    @property
    def name(self) -> str:
        """Return the broker's name in findings and steps."""
        return f"broker {self.id}"

    @property
    def entered(self) -> bool | None:
        """Return True if the broker has entered, by its registration; without a log, by its own answers."""
        if self.registered is not None:
            return self.registration is not None and self.registration.migrating
        return None if self.mode is None else self.mode is Mode.MIGRATING

    @property
    def left(self) -> bool:
        """Return True if the broker is registered as migrating and yet observed to run without the flag."""
        return bool(self.registration and self.registration.migrating and self.mode is Mode.ZK)

    @property
    def on_kraft(self) -> bool | None:
        """Return True if the broker has changed to KRaft: by its registration, else by its own answers."""
        if self.registration is not None:
            return not self.registration.migrating and not self.fell_back
        return None if self.mode is None else self.mode is Mode.KRAFT

    @property
    def fell_back(self) -> bool:
        """Return True if it is registered as a KRaft broker and runs in ZooKeeper mode (KAFKA-16101)."""
        return self.registration is not None and not self.registration.migrating and self.mode is Mode.ZK

    @property
    def runs_as(self) -> Mode | None:
        """Return the mode in which the broker runs, or would run if it were started now; None if nothing shows it."""
        return self.mode or self.file_mode


def answers(node: NodeSeen | None) -> bool | None:
    """Return True if a node was observed to be alive, or if there is an answer of it."""
    if node is None:
        return None
    if node.alive is not None:
        return node.alive
    return True if node.api_versions is not None or node.quorum is not None else None


def file_mode(config: Mapping[str, str] | None) -> Mode | None:
    """Return the mode in which a broker with this file would run."""
    if config is None:
        return None
    if config.get(ROLES, "").strip():
        return Mode.KRAFT
    return Mode.MIGRATING if config.get(MIGRATION_ENABLE, "").strip().lower() == "true" else Mode.ZK


def is_plain(config: Mapping[str, str] | None) -> bool | None:
    """Return True if nothing of a migration is in a broker's file."""
    if config is None:
        return None
    return file_mode(config) is Mode.ZK and not any(config.get(key, "").strip() for key in _QUORUM_KEYS)


def brokers_of(
    observation: Observation, tree: KafkaTree | None, log: LogFacts | None, quorum: QuorumSeen | None
) -> tuple[BrokerEvidence, ...]:
    """Return every broker that any source names, by id."""
    replicas = _replica_ids(tree)
    live = None if tree is None else _live_ids(tree)
    ids = {broker.id for broker in observation.brokers} | replicas | (live or set())
    ids |= set() if log is None else set(log.registrations)
    observers = None if quorum is None else {observer.id for observer in quorum.observers}
    sources = _Sources(live=live, replicas=replicas, log=log, observers=observers)
    return tuple(_broker(id, observation.node(id, Role.BROKER), sources) for id in sorted(ids))


@frozen
class _Sources:
    """Sources that name brokers: znodes, replica lists, the log, the quorum's observers."""

    live: set[int] | None
    replicas: set[int]
    log: LogFacts | None
    observers: set[int] | None


def _live_ids(tree: KafkaTree) -> set[int]:
    hidden = (path.removeprefix(_BROKER_IDS) for path in tree.hidden if path.startswith(_BROKER_IDS))
    return set(tree.brokers) | {int(name) for name in hidden if name.isdecimal()}


def _replica_ids(tree: KafkaTree | None) -> set[int]:
    """Return the brokers for which the migration waits: those with replicas of a topic that stays."""
    if tree is None:
        return set()
    gone = set(tree.pending_deletions)
    return {
        id
        for name, topic in tree.topics.items()
        if name not in gone
        for partition in topic.partitions.values()
        for id in partition.replicas
    }


def _broker(id: int, node: NodeSeen | None, sources: _Sources) -> BrokerEvidence:
    api = None if node is None else node.api_versions
    config = None if node is None else node.config
    log = sources.log
    return BrokerEvidence(
        id=id,
        node=node,
        answers=answers(node),
        in_zookeeper=None if sources.live is None else id in sources.live,
        registered=None if log is None else id in log.registrations,
        registration=None if log is None else log.registrations.get(id),
        ready=None if api is None else api.zk_migration_ready,
        observer=None if sources.observers is None else id in sources.observers,
        mode=_mode(node),
        file_mode=file_mode(config),
        file_is_plain=is_plain(config),
        has_replicas=id in sources.replicas,
    )


def _mode(node: NodeSeen | None) -> Mode | None:
    """Return the mode of a broker by its own answers; a broker that does not answer does not run."""
    if node is None or node.alive is False:
        return None
    if node.mode is not None:
        return node.mode
    if node.quorum is not None and not node.quorum.closed:
        return Mode.KRAFT
    return None
