"""Steps of forward plans and rollbacks: action, target, order and progress (docs/reference/kinds.md)."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from kafkactl.core.answers import json_of
from kafkactl.core.findings import Finding, Outcome, Severity
from kafkactl.core.frozen import changed, frozen
from kafkactl.migration.observed.observation import NodeRole
from kafkactl.migration.state.names import State


class Move(StrEnum):
    """What a step does; the first seven are of the forward plan only."""

    PUT_CONFIG = "put-config"
    FORMAT_DISK = "format-disk"
    START_NODE = "start-node"
    WAIT_QUORUM = "wait-quorum"
    WAIT_BROKER_REGISTERED = "wait-broker-registered"
    WAIT_COPY = "wait-copy"
    WAIT_FINALIZED = "wait-finalized"

    RESTORE_CONFIG = "restore-config"
    RESTART_NODE = "restart-node"
    STOP_NODE = "stop-node"
    STOP_CONTROLLERS = "stop-controllers"
    RAISE_CONTROLLER_EPOCH = "raise-controller-epoch"
    DELETE_CONTROLLER_ZNODE = "delete-controller-znode"
    DELETE_MIGRATION_ZNODE = "delete-migration-znode"
    WAIT_ZOOKEEPER_CONTROLLER = "wait-zookeeper-controller"
    WAIT_BROKER_FOLLOWS_CONTROLLER = "wait-broker-follows-controller"
    WIPE_DISK = "wipe-disk"


class Progress(StrEnum):
    """How far a step is."""

    DONE = "done"
    PENDING = "pending"


class File(StrEnum):
    """Which file a node gets: its own, that of migration mode, a broker's for KRaft, a controller's last one."""

    ORIGINAL = "original"
    MIGRATION = "migration"
    KRAFT = "kraft"
    FINAL = "final"


class Barrier(StrEnum):
    """What an operator has to allow before a step: what begins automatically from there, and what cannot be undone."""

    LAST_BROKER = "last-broker"
    FINALIZE = "finalize"


@frozen
class Step:
    """One step, back or forward. `gate` is what has to be observed before the next one begins.

    `node` and `role` are those of a step about one node, `file` which file it gets or is restarted with, `path` and
    `version` the znode that is changed if it still has that version, `value` the new `/controller_epoch`.
    `phase` is the state of the forward plan that the step belongs to.
    """

    action: Move
    target: str
    gate: str
    why: str
    state: Progress = Progress.PENDING
    number: int = 0
    node: int | None = None
    role: NodeRole | None = None
    file: File | None = None
    path: str | None = None
    version: int | None = None
    value: int | None = None
    barrier: Barrier | None = None
    phase: State | None = None

    @property
    def words(self) -> str:
        """For people: `put-config broker 2 (migration)`."""
        return f"{self.action} {self.target}{'' if self.file is None else f' ({self.file})'}"

    def is_before(self, last: int | None) -> bool:
        """Return True if the step belongs to no state, or to one up to the place `last` (None: any)."""
        return last is None or self.phase is None or (self.phase.place or 0) <= last

    to_dict = json_of(
        "number", "action", "target", "gate", "state", "why", "node_id=node", "file", "znode_version=version",
        "value", "barrier", "phase",
    )  # fmt: skip


@frozen
class Way:
    """A forward plan or a rollback from where a migration is; refused if something has to be repaired (`findings`).

    `consequences` are sentences about what happens on the way.
    """

    outcome: Outcome
    state: State
    steps: tuple[Step, ...]
    findings: tuple[Finding, ...]
    consequences: tuple[str, ...] = ()

    @property
    def pending(self) -> tuple[Step, ...]:
        """What is left to do."""
        return tuple(step for step in self.steps if step.state is Progress.PENDING)

    def weighed(self, findings: Iterable[Finding]) -> tuple[Finding, ...]:
        """What else there is to say: of a way that is not refused nothing stops it, so what blocks elsewhere warns."""
        if self.outcome is Outcome.REFUSED:
            return tuple(findings)
        return tuple(
            changed(finding, severity=Severity.WARNING) if finding.severity is Severity.BLOCKER else finding
            for finding in findings
        )
