"""Answers of `kafkactl migrate status`, `plan` and `rollback`."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from kafkactl.commands.models.shared import Answer, Finding, Outcome, Shape

Mode = Literal["zk", "migrating", "kraft"]
Action = Literal[
    "put-config", "format-disk", "start-node", "wait-quorum", "wait-broker-registered", "wait-copy", "wait-finalized",
    "restore-config", "restart-node", "stop-node", "stop-controllers", "raise-controller-epoch",
    "delete-controller-znode", "delete-migration-znode", "wait-zookeeper-controller", "wait-broker-follows-controller",
    "wipe-disk",
]  # fmt: skip


class MigrationStep(Shape):
    """One step, forward or back."""

    number: int
    action: Action
    target: str = Field(description="`broker 2`, `controllers 3001, 3002`, or a znode.")
    gate: str = Field(description="What has to be observed before the next step begins.")
    state: Literal["done", "pending", "failed", "unknown", "skipped"]
    why: str
    node_id: int | None
    file: Literal["original", "migration", "kraft", "final"] | None = Field(
        description="Which file the node gets, or is restarted with."
    )
    znode_version: int | None = Field(description="The version that a znode has to have still to be changed.")
    value: int | None = Field(description="The new /controller_epoch.")
    barrier: Literal["last-broker", "finalize"] | None = Field(description="What an operator has to allow first.")
    phase: str | None = Field(
        description="The state of the forward plan that the step belongs to; null for a rollback."
    )


class Holder(Shape):
    """`/controller`."""

    held_by: Literal["unknown", "nobody", "zookeeper", "kraft"]
    id: int | None
    kraft_epoch: int | None
    ephemeral: bool | None


class MigrationZnode(Shape):
    """`/migration`."""

    says: Literal["unknown", "absent", "broken", "not-copied", "copied"]
    metadata_offset: int | None
    metadata_epoch: int | None
    age_ms: int | None = Field(description="How long ago it was written, by the clocks of observer and ZooKeeper.")


class LogSeen(Shape):
    """The newest metadata log that was observed."""

    end_offset: int
    epoch: int
    copy_begin: int | None
    copy_end: int | None
    copies_aborted: int


class DualWriteSeen(Shape):
    """How far ZooKeeper follows the log."""

    offset: int | None
    log_offset: int | None
    lag: int | None = Field(description="Records; not the lag metric, which is 0 while the driver is stuck.")
    follows: bool | None


class SoakSeen(Shape):
    """M8 so far, by the times in the quorum's log."""

    since_ms: int = Field(description="When the last broker came onto KRaft.")
    lasted_ms: int = Field(description="How long ago that was, at least.")
    elections: int = Field(description="Elections of a controller since then.")
    last_election_ago_ms: int | None
    words: str


class BrokerWitnesses(Shape):
    """What each broker is known by: znode, registration, its own answer (tag 3), observers of the quorum."""

    id: int
    alive: bool | None
    mode: Mode | None = Field(description="By its own answers.")
    file: Mode | None = Field(description="How it would start with the file on its disk.")
    znode: bool | None
    registered: bool | None
    migrating: bool | None
    fenced: bool | None
    tag: bool | None
    observer: bool | None


class ControllerSeen(Shape):
    """A KRaft controller."""

    id: int
    alive: bool | None
    leader: bool | None
    ready: bool | None = Field(description="Whether it runs with the migration flag (ZkMigrationReady).")
    zk_migration_state: str | None


class Observed(Shape):
    """What was observed. Null is what was not."""

    state: str
    zk_migration_state: str | None = Field(description="NONE, PRE_MIGRATION, MIGRATION or POST_MIGRATION.")
    controller: Holder
    controller_epoch: int | None
    migration_znode: MigrationZnode
    quorum: Literal["unknown", "up", "minority", "down"]
    log: LogSeen | None
    dual_write: DualWriteSeen
    soak: SoakSeen | None = Field(description="Null outside of M8, and where no log dates it.")
    brokers: list[BrokerWitnesses]
    controllers: list[ControllerSeen]


class Remembered(Shape):
    """What the journal says."""

    file: str
    state: str | None = Field(description="The last state that the driver observed.")
    goal: str | None
    pending: str | None = Field(description="The action that was begun and of which no end is written.")
    outcome: str | None = Field(description="How the last run ended.")


class LockHolder(Shape):
    """The driver that holds the lock, as it wrote it there."""

    user: str
    host: str
    pid: int = Field(description="0 where the lock does not say.")
    since_ms: int
    journal: str
    journal_file: str = Field(description="Device and inode of the journal, by which the same file is recognized.")


class DriverLock(Shape):
    """The lock of `run`, `rollback` and `finalize`, the znode /kafkactl-migration-driver."""

    holder: LockHolder | None = Field(description="Null: no driver is at work.")
    words: str


class MigrateStatus(Answer):
    """`migrate status`."""

    kind: Literal["migrate.status"]
    state: str = Field(description="M0 to M11, M4L, or the name of a broken situation.")
    state_words: str
    why: str
    time_ms: int = Field(description="When the cluster was observed.")
    observed: Observed
    journal: Remembered | None = Field(description="Null where no journal was given, or none is there.")
    agrees: bool | None = Field(description="Whether journal and cluster tell the same state; null without a journal.")
    driver_lock: DriverLock | None = Field(description="Null where ZooKeeper's lock was not read.")
    gates: list[Finding] = Field(
        description="What stands between this state and the next; only info: the gate is open."
    )
    next_action: MigrationStep | None
    findings: list[Finding] = Field(description="What is wrong, not known, or left over.")


class CopySizes(Shape):
    """What the copy would write, by the tree that was observed."""

    outcome: Literal["completes", "loses", "never-starts", "not-known", "dies"]
    records: int
    by_type: dict[str, int]
    batches: int
    bytes: int
    seconds: float = Field(description="A rough figure.")
    exact: bool = Field(description="False where values are not shown.")


class Restarts(Shape):
    """How many restarts are left."""

    brokers: int
    controllers: int


class MigratePlan(Answer):
    """`migrate plan`."""

    kind: Literal["migrate.plan"]
    outcome: Outcome
    state: str
    state_words: str
    time_ms: int
    steps: list[MigrationStep]
    restarts: Restarts
    prediction: CopySizes | None = Field(description="The copy; null where it is done, or no tree was observed.")
    consequences: list[str]
    findings: list[Finding]


class Driven(Answer):
    """What the three that touch a cluster say. After a dry run nothing was touched: null, and no journal."""

    outcome: Outcome
    state_before: str | None = Field(description="The first state that was observed.")
    state: str | None = Field(description="The last one.")
    state_words: str | None
    time_ms: int
    cluster_id: str | None
    steps: list[MigrationStep]
    consequences: list[str]
    findings: list[Finding]
    next_action: str = Field(description="What to do next; empty where nothing is.")
    journal: str | None
    interrupted: bool


class MigrateRollback(Driven):
    """`migrate rollback`."""

    kind: Literal["migrate.rollback"]


class MigrateRun(Driven):
    """`migrate run`."""

    kind: Literal["migrate.run"]


class MigrateFinalize(Driven):
    """`migrate finalize`."""

    kind: Literal["migrate.finalize"]
