"""Evidence of ZooKeeper, quorum, log and nodes in an observation, before the state is decided.

Nothing here is the word of one node: the migration state is the most advanced that any live controller or its log
names, liveness is that of all controllers, and a broker is what its witnesses say together.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from enum import StrEnum
from typing import Final

from kafkactl.core.frozen import frozen
from kafkactl.core.kafka_names import LAST_LEVEL_BEFORE_4_0, MIGRATION_ENABLE, ZkMigrationState
from kafkactl.migration.observed.log_facts import LogFacts
from kafkactl.migration.observed.observation import Mode, NodeSeen, Observation, QuorumSeen
from kafkactl.migration.observed.release_rules import MigrationRules, migration_rules, numbers_of
from kafkactl.migration.observed.settings import version_of
from kafkactl.migration.observed.silence import leader_unknown, refusing
from kafkactl.migration.state.brokers import BrokerEvidence, answers, brokers_of
from kafkactl.migration.state.identity import Identities, identities_of, without_strangers
from kafkactl.migration.zktree.parse import parse_tree
from kafkactl.migration.zktree.values import KafkaTree

_ADVANCE: Final[dict[int, int]] = {
    ZkMigrationState.NONE: 0,
    ZkMigrationState.PRE_MIGRATION: 1,
    ZkMigrationState.MIGRATION: 2,
    ZkMigrationState.POST_MIGRATION: 3,
}
STATE_WORDS: Final[dict[int, str]] = {state: state.name for state in ZkMigrationState}
_STATE_METRIC: Final = "ZkMigrationState"
_COUNT_METRIC: Final = "MigratingZkBrokerCount"
_LAG_ALLOWED: Final = 20  # ten seconds of no-ops lie between two looks of one observation
_LAG_OF_ANY_AGE: Final = 240
_AGE_ALLOWED_MS: Final = 10_000
_CLOCKS_APART_MS: Final = 2_000  # the servers' own clocks; further apart they tell no age
_WRITES_OF_A_COPY: Final = 8  # versions that /migration has without a dual write: made, claimed, copied, claimed again


class Holder(StrEnum):
    """Holder of `/controller`."""

    UNKNOWN = "unknown"
    NONE = "nobody"
    ZOOKEEPER = "zookeeper"
    KRAFT = "kraft"


class CopyMarker(StrEnum):
    """Content of `/migration`: nothing was copied, it was copied, or it cannot be read (empty: KAFKA-19480)."""

    UNKNOWN = "unknown"
    ABSENT = "absent"
    BROKEN = "broken"
    NOT_COPIED = "not-copied"
    COPIED = "copied"


class Quorum(StrEnum):
    """State of the controllers: a majority may run (`up`), no majority does, none does; or it was not observed."""

    UNKNOWN = "unknown"
    UP = "up"
    MINORITY = "minority"
    DOWN = "down"


@frozen
class DualWrite:
    """Distance of ZooKeeper to the log: the only outside sign of the dual write (the lag metric is 0 while stuck).

    `offset` is that of `/migration`, `last` the newest record that the controllers tell of; `age_ms` how long the
    znode had stood when the observation was made, None if the clocks do not tell.
    """

    offset: int | None
    last: int | None
    age_ms: int | None

    @property
    def lag(self) -> int | None:
        """Return the number of records that ZooKeeper lacks; None if nothing was copied, or if it is unknown."""
        if self.offset is None or self.offset <= 0 or self.last is None:
            return None
        return max(self.last - self.offset, 0)

    @property
    def follows(self) -> bool | None:
        """Return True if ZooKeeper is as far as the log, but for the time between two observations; None if unknown."""
        if self.lag is None:
            return None
        if self.lag <= _LAG_ALLOWED:
            return True
        return self.lag <= _LAG_OF_ANY_AGE and self.age_ms is not None and self.age_ms <= _AGE_ALLOWED_MS


@frozen
class Evidence:
    """Evidence from which the state is derived. `kraft_state` is None if no controller and no log shows it.

    `observation` is without the answers of nodes that are not who the inventory names; `identities` names them.
    """

    observation: Observation
    tree: KafkaTree | None
    log: LogFacts | None
    quorum: QuorumSeen | None
    holder: Holder
    copy_marker: CopyMarker
    controllers: Quorum
    kraft_state: int | None
    brokers: tuple[BrokerEvidence, ...]
    dual_write: DualWrite
    identities: Identities = Identities()

    @property
    def leads(self) -> bool | None:
        """Return if a leader was observed that has committed something; None if a controller could not be asked."""
        if self.quorum is not None:
            return self.quorum.leader_id is not None and self.quorum.high_watermark is not None
        if self.controllers in (Quorum.DOWN, Quorum.MINORITY):
            return False
        asked = any(answers(controller) for controller in self.observation.controllers)
        return False if asked and leader_unknown(self.observation) is None else None

    @property
    def controllers_refuse_client(self) -> bool:
        """Return True if a controller answered and did not let kafkactl in: then a process runs there."""
        names = refusing(self.observation)
        return any(controller.name in names for controller in self.observation.controllers)

    @property
    def controllers_ended(self) -> bool:
        """Return True if controllers were started, which made `/migration`, and ended before a broker had entered.

        Their disks are there: a rollback has wiped them, or is at liberty to go back as from M2.
        """
        is_idle = self.kraft_state is None and self.holder is Holder.ZOOKEEPER and not self.flagged
        is_down = self.controllers is Quorum.DOWN and self.copy_marker is CopyMarker.NOT_COPIED
        return is_idle and is_down and any(node.meta_properties for node in self.observation.controllers)

    @property
    def expected(self) -> tuple[BrokerEvidence, ...]:
        """Return the brokers that must register before the copy: in ZooKeeper or with replicas, else those observed."""
        found = tuple(broker for broker in self.brokers if broker.in_zookeeper or broker.has_replicas)
        return found or tuple(broker for broker in self.brokers if broker.node is not None)

    @property
    def entered(self) -> tuple[BrokerEvidence, ...]:
        """Return the brokers that count as entered."""
        return tuple(broker for broker in self.brokers if broker.entered)

    @property
    def missing(self) -> tuple[BrokerEvidence, ...]:
        """Return the expected brokers that do not count as entered."""
        return tuple(broker for broker in self.expected if not broker.entered)

    @property
    def on_kraft(self) -> tuple[BrokerEvidence, ...]:
        """Return the brokers that have changed to KRaft."""
        return tuple(broker for broker in self.brokers if broker.on_kraft)

    @property
    def flagged(self) -> tuple[BrokerEvidence, ...]:
        """Return the brokers that run, or would run, with the migration's configuration or on KRaft."""
        return tuple(broker for broker in self.brokers if broker.runs_as in (Mode.MIGRATING, Mode.KRAFT))

    @property
    def migrating_count(self) -> int | None:
        """Return `MigratingZkBrokerCount` of the controllers: brokers that registered as migrating and still count."""
        counts = [
            value
            for controller in self.observation.controllers
            if (value := metric(controller, _COUNT_METRIC)) is not None
        ]
        return max(counts, default=None)

    @property
    def copy_in_log(self) -> bool:
        """Return True if the log has the transaction of a copy, ended or not."""
        return self.log is not None and self.log.copy_begin is not None

    @property
    def log_epoch(self) -> int | None:
        """Return the newest epoch of the quorum that is known."""
        known = [self.quorum.leader_epoch] if self.quorum is not None else []
        if self.log is not None and self.log.epoch >= 0:
            known.append(self.log.epoch)
        return max((epoch for epoch in known if epoch is not None), default=None)

    @property
    def has_dual_written(self) -> bool:
        """Return True if the driver has reached DUAL_WRITE once: `/migration` has moved since the end of the copy."""
        marker = None if self.tree is None else self.tree.migration
        if marker is None or marker.metadata_offset <= 0:
            return False
        if self.log is not None and self.log.copy_end is not None:
            return marker.metadata_offset > self.log.copy_end
        return bool(self.dual_write.follows) or marker.version > _WRITES_OF_A_COPY


def evidence_of(observation: Observation) -> Evidence:
    """Return the evidence of an observation. Never raises for the observation's content."""
    tree = None if observation.tree is None else parse_tree(observation.tree)
    identities = identities_of(observation, tree)
    observation = without_strangers(observation, identities.names)
    marker = _copy_marker(observation, tree)
    log = _log(observation, marker)
    return Evidence(
        observation=observation,
        tree=tree,
        log=log,
        quorum=observation.quorum,
        holder=_holder(observation, tree),
        copy_marker=marker,
        controllers=_controllers(observation),
        kraft_state=_kraft_state(observation, log, marker),
        brokers=brokers_of(observation, tree, log, observation.quorum),
        dual_write=_dual_write(observation, tree, log),
        identities=identities,
    )


def metric(node: NodeSeen, name: str) -> int | None:
    """Return a metric of a node that answers, as a whole number; by its name alone or within a JMX name of any form."""
    if node.metrics is None or node.alive is False:
        return None
    word = re.compile(rf"(?:^|[^A-Za-z0-9]){name}(?![A-Za-z0-9])", re.IGNORECASE)
    values = (value for known, value in node.metrics.items() if known == name or word.search(known))
    value = next(values, None)
    return int(value) if value is not None and math.isfinite(value) else None


def state_metric(node: NodeSeen) -> int | None:
    """Return the migration state that a controller publishes; None without one that it has read (-1)."""
    value = metric(node, _STATE_METRIC)
    return value if value in _ADVANCE else None


def has_flag(controller: NodeSeen) -> bool | None:
    """Return True if a controller runs with the migration flag, by its answer (tag 3). Kafka 3.4 gives none."""
    if controller.alive is False or controller.api_versions is None:
        return None
    rules = _rules_of(controller)
    if not controller.api_versions.zk_migration_ready and rules is not None and not rules.shows_flag:
        return None
    return controller.api_versions.zk_migration_ready


def _rules_of(node: NodeSeen) -> MigrationRules | None:
    version = version_of(node)
    return None if version is None else migration_rules(numbers_of(version))


def is_finalized_by_flag(e: Evidence) -> bool:
    """Return True if the migration has ended, before a log or a metric shows it.

    KRaft has copied, and the leader runs without the flag. It wrote POST_MIGRATION when it was elected
    (`ActivationRecordsGenerator`).
    """
    copied = e.holder is Holder.KRAFT and e.copy_marker is CopyMarker.COPIED
    return e.kraft_state in (None, ZkMigrationState.MIGRATION) and copied and _flag_of_leader(e.observation) is False


def file_has_flag(controller: NodeSeen) -> bool | None:
    """Return True if the file on a controller's disk has the migration flag."""
    return None if controller.config is None else controller.config.get(MIGRATION_ENABLE, "").strip().lower() == "true"


def _log(observation: Observation, marker: CopyMarker) -> LogFacts | None:
    """Return the newest log of the controllers that answer; of all if none does.

    An empty log shows nothing, nor does an old one (`is_old`).
    """
    live = {controller.id for controller in observation.controllers if answers(controller)}
    with_records = {id: log for id, log in observation.logs.items() if log.end_offset > 0}
    every = {id: log for id, log in with_records.items() if not is_old(log, observation, marker)}
    chosen = [log for id, log in sorted(every.items()) if id in live] or [every[id] for id in sorted(every)]
    return max(chosen, key=lambda facts: (facts.epoch, facts.end_offset), default=None)


def is_old(log: LogFacts, observation: Observation, marker: CopyMarker) -> bool:
    """Return True if a log is an old copy, or another quorum's.

    It ends so long before the high watermark that two minutes of no-ops are not enough, or it waits for the copy while
    a broker runs on KRaft and `/migration` knows of one.
    """
    committed = None if observation.quorum is None else observation.quorum.high_watermark
    if committed is not None and committed - log.end_offset > _LAG_OF_ANY_AGE:
        return True
    waits = log.migration_state == ZkMigrationState.PRE_MIGRATION
    return waits and marker is CopyMarker.COPIED and _runs_on_kraft(observation)


def _kraft_state(observation: Observation, log: LogFacts | None, marker: CopyMarker) -> int | None:
    """Return the state by the newest log and every live controller; POST_MIGRATION counts in any of them.

    Kafka 4 neither migrates nor keeps the record in its snapshots: a cluster that runs it, or has a metadata.version of
    it, has no migration before it any more.
    """
    reported = [state_metric(controller) for controller in observation.controllers]
    reported.append(_state_in_log(observation, log, marker))
    in_logs = {facts.migration_state for facts in observation.logs.values()}
    if ZkMigrationState.POST_MIGRATION in in_logs:  # also in an old one
        return ZkMigrationState.POST_MIGRATION
    found = max(
        (state for state in reported if state is not None), key=lambda state: _ADVANCE.get(state, 0), default=None
    )
    if found is None and _is_of_kafka_4(observation, log):
        return ZkMigrationState.POST_MIGRATION
    return _by_brokers_on_kraft(observation) if found is None else found


def _state_in_log(observation: Observation, log: LogFacts | None, marker: CopyMarker) -> int | None:
    """Return the state in the log.

    Kafka 3.4 writes one state only, at the begin of the copy: PRE_MIGRATION with number 1 (`ZkMigrationRecord.json`).
    So 1 means MIGRATION there only after `/migration` shows that the copy is done.
    """
    if (
        log is None
        or log.migration_state != ZkMigrationState.MIGRATION
        or marker not in (CopyMarker.NOT_COPIED, CopyMarker.BROKEN)
    ):
        return None if log is None else log.migration_state
    known = filter(None, map(_rules_of, observation.nodes))
    writes_one_state = any(rules.writes_one_state for rules in known)
    return ZkMigrationState.PRE_MIGRATION if writes_one_state else ZkMigrationState.MIGRATION


def _by_brokers_on_kraft(observation: Observation) -> int | None:
    """Return the state that follows from brokers on KRaft.

    A quorum accepts one only after the copy (before it the broker exits, measured on 3.9.2); and a leader that runs
    without the flag has ended the migration when it was elected.
    """
    if observation.tree is None or not _runs_on_kraft(observation):
        return None
    flag = _flag_of_leader(observation)
    return None if flag is None else ZkMigrationState.MIGRATION if flag else ZkMigrationState.POST_MIGRATION


def _runs_on_kraft(observation: Observation) -> bool:
    return any(broker.mode is Mode.KRAFT and answers(broker) for broker in observation.brokers)


def _flag_of_leader(observation: Observation) -> bool | None:
    """Return True if the leader has the flag.

    If no leader is known, return the value that all answering controllers share.
    """
    leader = None if observation.quorum is None else observation.quorum.leader_id
    flags = {has_flag(controller) for controller in observation.controllers if leader in (None, controller.id)}
    return flags.pop() if len(flags) == 1 else None


def _is_of_kafka_4(observation: Observation, log: LogFacts | None) -> bool:
    level = None if log is None else log.image.metadata_version
    majors = [(node.kafka_version or "").partition(".")[0] for node in observation.nodes if answers(node)]
    return (level or 0) > LAST_LEVEL_BEFORE_4_0 or "4" in majors  # 7.8.0-ccs is a vendor's


def _holder(observation: Observation, tree: KafkaTree | None) -> Holder:
    if tree is None or observation.tree is None:
        return Holder.UNKNOWN
    if observation.tree.get("/controller") is None:
        # Of a saved part of a tree, which has not even the znode that is never removed, nothing is known.
        return Holder.NONE if observation.tree.get("/controller_epoch") is not None else Holder.UNKNOWN
    if tree.controller is None:
        return Holder.UNKNOWN
    return Holder.KRAFT if tree.controller.is_kraft else Holder.ZOOKEEPER


def _copy_marker(observation: Observation, tree: KafkaTree | None) -> CopyMarker:
    if tree is None or observation.tree is None:
        return CopyMarker.UNKNOWN
    znode = observation.tree.get("/migration")
    if znode is None:
        return CopyMarker.ABSENT
    if znode.hidden is not None:
        return CopyMarker.UNKNOWN
    if tree.migration is None:
        return CopyMarker.BROKEN
    return CopyMarker.COPIED if tree.migration.metadata_offset > 0 else CopyMarker.NOT_COPIED


def _controllers(observation: Observation) -> Quorum:
    """Return the state of the controllers by the known voters, else by the controllers that were observed."""
    seen = {controller.id: answers(controller) for controller in observation.controllers}
    if not seen:
        return Quorum.UNKNOWN
    voters = _voters(observation) or set(seen)
    dead = {id for id in voters if seen.get(id) is False}
    alive = {id for id in voters if seen.get(id)}
    if len(dead) == len(voters) or all(answer is False for answer in seen.values()):
        return Quorum.DOWN
    if len(voters) - len(dead) <= len(voters) // 2:
        return Quorum.MINORITY
    return Quorum.UP if alive else Quorum.UNKNOWN


def _voters(observation: Observation) -> set[int]:
    quorum = observation.quorum
    return set() if quorum is None else {voter.id for voter in quorum.voters}


def _dual_write(observation: Observation, tree: KafkaTree | None, log: LogFacts | None) -> DualWrite:
    marker = None if tree is None else tree.migration
    if marker is None:
        return DualWrite(offset=None, last=_last(observation, log), age_ms=None)
    age_ms = _age_ms(marker.mtime_ms, cluster_time_ms(observation, log))
    return DualWrite(offset=marker.metadata_offset, last=_last(observation, log), age_ms=age_ms)


def cluster_time_ms(observation: Observation, log: LogFacts | None) -> int:
    """Return the time of an observation by the cluster's own clock, else by the observer's.

    Znodes are dated by ZooKeeper's servers. The observer may have a clock that is hours off; the leader of
    the quorum dates its own place in DescribeQuorum with its time of answering, and writes a no-op twice a second. Its
    answer comes immediately after the tree; the log may be read much later, if a node or a hook is slow.
    """
    quorum = observation.quorum
    times_ms = (
        []
        if quorum is None
        else [voter.last_caught_up_timestamp_ms for voter in quorum.voters if voter.id == quorum.leader_id]
    )
    times_ms.append(None if log is None else log.last_ms)
    return next((time_ms for time_ms in times_ms if time_ms is not None and time_ms > 0), observation.time_ms)


def _age_ms(since_ms: int, now_ms: int) -> int | None:
    """Return an age in ms; None if a time is missing, or the younger one is the earlier."""
    if since_ms <= 0 or now_ms <= 0 or now_ms - since_ms < -_CLOCKS_APART_MS:
        return None
    return max(now_ms - since_ms, 0)


def _last(observation: Observation, log: LogFacts | None) -> int | None:
    """Return the last committed offset by the witness that observed first: ZooKeeper has to have at least that."""
    ends: Iterable[int | None] = (
        None if log is None else log.end_offset,
        None if observation.quorum is None else observation.quorum.high_watermark,
    )
    return min((end - 1 for end in ends if end is not None), default=None)
