"""Input of every check: an observation with its ZooKeeper tree and the state of the migration.

A check is a function from a `CheckCase` to findings and `Unknown`s. It never raises for what was observed, and what was
not observed is unknown: neither right nor wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import Final, TypeAlias

from kafkactl.core.findings import Finding
from kafkactl.core.frozen import frozen
from kafkactl.core.kafka_names import METADATA_VERSION, ZkMigrationState
from kafkactl.metadata.image.model import Image
from kafkactl.migration.checks.planned_files import PlannedFiles, planned_files
from kafkactl.migration.observed.log_facts import LogFacts
from kafkactl.migration.observed.observation import Mode, NodeSeen, Observation, QuorumSeen
from kafkactl.migration.state.evidence import Evidence, evidence_of
from kafkactl.migration.zktree.values import KafkaTree

# ZkMigrationState.java


class Stage(StrEnum):
    """Stage of a migration, as far as it decides which checks apply. `states` are those of the driver (5.1)."""

    BEFORE = "before"  # M0 to M2: no KRaft controller is active
    QUORUM = "quorum"  # M3, M4, M4L: a quorum waits for the brokers
    COPY = "copy"  # M5: KRaft holds /controller and the copy is not committed
    DUAL = "dual"  # M6 to M9: KRaft decides and ZooKeeper is written, too
    FINAL = "final"  # M10, M11: no rollback is possible
    BURNT = "burnt"  # the quorum was started without the flag


ALWAYS: Final = frozenset(Stage)
FORWARD: Final = frozenset({Stage.BEFORE, Stage.QUORUM})  # the copy has not begun
UNFINISHED: Final = frozenset(Stage) - {Stage.FINAL}
RUNNING: Final = frozenset({Stage.QUORUM, Stage.COPY, Stage.DUAL})
CLAIMED: Final = frozenset({Stage.COPY, Stage.DUAL})
ON_ZOOKEEPER: Final = frozenset({Stage.BEFORE, Stage.QUORUM, Stage.COPY})


_ENDED: Final[dict[int | None, Stage]] = {
    ZkMigrationState.POST_MIGRATION: Stage.FINAL,
    ZkMigrationState.NONE: Stage.BURNT,
}


@frozen(kw_only=False)
class Unknown:
    """A check that the observation cannot answer; `why` is a sentence without its end."""

    why: str


Said: TypeAlias = Iterable[Finding | Unknown]


@frozen
class CheckCase:
    """An observation, the evidence in it, the values of its tree, its newest log, and the stage. None: not observed.

    `last_gate`: exactly one broker has not entered, so that its restart starts the copy (M4L). `known_brokers` are the
    ids of all brokers that any source names. Before the copy the controllers of `observation` have the files that they
    will be started with; `planned` says which files those are, and has the brokers' as well.
    """

    observation: Observation
    planned: PlannedFiles
    evidence: Evidence
    tree: KafkaTree | None
    log: LogFacts | None
    quorum: QuorumSeen | None
    state: int | None
    stage: Stage
    last_gate: bool

    @property
    def image(self) -> Image | None:
        """Return the state that results from the newest log."""
        return None if self.log is None else self.log.image

    @property
    def brokers(self) -> tuple[NodeSeen, ...]:
        """Return the observed brokers."""
        return self.observation.brokers

    @property
    def controllers(self) -> tuple[NodeSeen, ...]:
        """Return the observed controllers."""
        return self.observation.controllers

    @property
    def metadata_version(self) -> int | None:
        """Return the finalized level of the quorum: of the log, else of a controller's answer."""
        if self.image is not None and self.image.metadata_version is not None:
            return self.image.metadata_version
        if self.evidence.leads is False:  # without a leader it is a default, not a level of the quorum
            return None
        levels = (
            controller.api_versions.finalized_features.get(METADATA_VERSION)
            for controller in self.controllers
            if controller.api_versions is not None
        )
        return next((level for level in levels if level), None)

    @property
    def registered(self) -> Mapping[int, bool] | None:
        """Return by broker id whether its registration is one of migration mode; None if no log was observed."""
        return (
            None
            if self.log is None
            else {id: registration.migrating for id, registration in self.log.registrations.items()}
        )

    @property
    def on_zookeeper(self) -> frozenset[int]:
        """Return the ids of brokers that run on ZooKeeper, by their znode, their registration or their answers."""
        named = set() if self.tree is None else set(self.tree.brokers)
        if self.stage in (Stage.DUAL, Stage.FINAL):
            named |= {id for id, migrating in (self.registered or {}).items() if migrating}
        return frozenset(named | {broker.id for broker in self.brokers if runs_on_zookeeper(broker)})

    @property
    def controllers_down(self) -> bool:
        """Return True if every observed controller was observed not to answer."""
        return bool(self.controllers) and all(controller.alive is False for controller in self.controllers)

    def lacks(self, path: str) -> bool:
        """Return True if a znode at the root was observed to be absent; False for a saved part of a tree."""
        tree = self.observation.tree
        return tree is not None and path not in tree.znodes and "/controller_epoch" in tree.znodes

    @property
    def is_seen_before_copy(self) -> bool:
        """Return True if the evidence shows that the copy is not done. Missing evidence of the copy is not enough."""
        if self.state is not None:
            return self.state == ZkMigrationState.PRE_MIGRATION
        return self.tree is not None and self.tree.controller is not None and not self.claimed

    @property
    def claimed(self) -> bool:
        """Return True if a KRaft controller holds `/controller`."""
        return _claimed(self.tree)


@frozen(kw_only=False)
class Row:
    """A question of a check (`C-36`; `X-2.1` is section 2.1 of the measurements), and the stages in which it is asked.

    `question` is the id by which the question is accepted if the observation does not answer it.
    """

    check: str
    question: str
    title: str
    stages: frozenset[Stage]
    find: Callable[[CheckCase], Said]


def runs_on_zookeeper(broker: NodeSeen) -> bool:
    """Return True if a broker's own answers show that it runs on ZooKeeper, migrating or not."""
    return broker.mode in (Mode.ZK, Mode.MIGRATING) or (
        broker.api_versions is not None and broker.api_versions.zk_migration_ready
    )


def case_of(observation: Observation, evidence: Evidence | None = None) -> CheckCase:
    """Return the case of an observation.

    `evidence` is what was derived from it already, because reading a tree takes long.
    """
    evidence = evidence_of(observation) if evidence is None else evidence
    observation = evidence.observation  # without what strangers answered
    tree = evidence.tree
    log, state = evidence.log, evidence.kraft_state
    stage = _stage(observation, tree, state)
    planned = planned_files(observation) if stage in FORWARD else PlannedFiles(observation=observation)
    return CheckCase(
        observation=planned.observation,
        planned=planned,
        evidence=evidence,
        tree=tree,
        log=log,
        quorum=observation.quorum,
        state=state,
        stage=stage,
        last_gate=stage is Stage.QUORUM and _one_is_missing(tree, log),
    )


def _claimed(tree: KafkaTree | None) -> bool:
    return tree is not None and tree.controller is not None and tree.controller.is_kraft


def _stage(observation: Observation, tree: KafkaTree | None, state: int | None) -> Stage:
    if state in _ENDED:
        return _ENDED[state]
    if _claimed(tree):
        copied = tree is not None and tree.migration is not None and tree.migration.metadata_offset > 0
        return Stage.DUAL if state == ZkMigrationState.MIGRATION or (state is None and copied) else Stage.COPY
    controllers = observation.controllers
    down = bool(controllers) and all(controller.alive is False for controller in controllers)
    if state == ZkMigrationState.MIGRATION:
        return Stage.BEFORE if down and tree is not None else Stage.DUAL
    if state == ZkMigrationState.PRE_MIGRATION:
        return Stage.BEFORE if down and _left_behind(observation, tree) else Stage.QUORUM
    copied = tree is not None and tree.migration is not None and tree.migration.metadata_offset > 0
    if copied and tree is not None and tree.controller is None and not _shows_controller(observation):
        return Stage.DUAL  # a copy was made, and nothing shows a rollback
    answering = any(
        controller.api_versions is not None and controller.api_versions.zk_migration_ready for controller in controllers
    )
    return Stage.QUORUM if answering or observation.quorum is not None else Stage.BEFORE


def _shows_controller(observation: Observation) -> bool:
    """Return True if the observation shows whether `/controller` is held."""
    tree = observation.tree
    return tree is not None and ("/controller" in tree.znodes or "/controller_epoch" in tree.znodes)


def _left_behind(observation: Observation, tree: KafkaTree | None) -> bool:
    """Return True if a quorum that is down belongs to an attempt that was rolled back.

    Nothing waits for the quorum any more.
    """
    if observation.tree is None or tree is None or "/migration" in observation.tree.znodes:
        return False
    return not any(
        broker.api_versions is not None and broker.api_versions.zk_migration_ready for broker in observation.brokers
    )


def _one_is_missing(tree: KafkaTree | None, log: LogFacts | None) -> bool:
    if tree is None or log is None:
        return False
    entered = {id for id, registration in log.registrations.items() if registration.migrating}
    return len(set(tree.brokers) - entered) == 1
