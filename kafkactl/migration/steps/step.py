"""Steps of forward plans and rollbacks: move, target, order and progress (docs/reference/kinds.md)."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Final

from kafkactl.core.answers import json_of
from kafkactl.core.findings import Finding, Outcome, Severity
from kafkactl.core.frozen import changed, frozen
from kafkactl.core.values import Role
from kafkactl.migration.state.brokers import BrokerEvidence
from kafkactl.migration.state.names import State


class Move(StrEnum):
    """The action of a step; the first seven are of the forward plan only. The driver has a function for each."""

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


# Moves that start a process.
STARTS: Final = frozenset({Move.RESTART_NODE, Move.START_NODE})


class Progress(StrEnum):
    """The progress of a step."""

    DONE = "done"
    PENDING = "pending"


class File(StrEnum):
    """The file that a node gets: its own, that of migration mode, a broker's for KRaft, a controller's last one."""

    ORIGINAL = "original"
    MIGRATION = "migration"
    KRAFT = "kraft"
    FINAL = "final"


class Barrier(StrEnum):
    """The permission of an operator that a step needs: the copy begins automatically, or nothing can be undone."""

    LAST_BROKER = "last-broker"
    FINALIZE = "finalize"


@frozen
class Step:
    """Step of a migration, forward or back.

    `node` and `role` are those of a step about one node, `file` is the file that the node gets or is restarted
    with, `path` and `version` the znode that is changed if it still has that version, `value` the new
    `/controller_epoch`. `phase` is the state of the forward plan that the step belongs to.
    """

    action: Move
    target: str
    """`broker 2`, `controllers 3001, 3002`, or a znode."""
    gate: str
    """What has to be observed before the next step begins."""
    why: str
    state: Progress = Progress.PENDING
    number: int = 0
    node: int | None = None
    role: Role | None = None
    file: File | None = None
    """Which file the node gets, or is restarted with."""
    path: str | None = None
    version: int | None = None
    """The version that a znode has to have still to be changed."""
    value: int | None = None
    """The new /controller_epoch."""
    barrier: Barrier | None = None
    """What an operator has to allow first."""
    phase: State | None = None
    """The state of the forward plan that the step belongs to; None for a rollback."""

    @property
    def words(self) -> str:
        """Return the text for people: `put-config broker 2 (migration)`."""
        return f"{self.action} {self.target}{'' if self.file is None else f' ({self.file})'}"

    def is_before(self, last: int | None) -> bool:
        """Return True if the step belongs to no state, or to one up to the place `last` (None: any)."""
        return last is None or self.phase is None or (self.phase.place or 0) <= last

    to_dict = json_of(
        "number", "action", "target", "gate", "state", "why", "node_id=node", "file", "znode_version=version",
        "value", "barrier", "phase=phase.value",
    )  # fmt: skip


@frozen
class Way:
    """A forward plan or a rollback from the observed state; refused if something has to be repaired (`findings`).

    `consequences` are sentences for the operator about what happens on the way.
    """

    outcome: Outcome
    state: State
    steps: tuple[Step, ...]
    findings: tuple[Finding, ...]
    consequences: tuple[str, ...] = ()

    @property
    def pending(self) -> tuple[Step, ...]:
        """Return the steps that are left to do."""
        return tuple(step for step in self.steps if step.state is Progress.PENDING)

    def weighed(self, findings: Iterable[Finding]) -> tuple[Finding, ...]:
        """Return other findings with their severity for this way: a blocker is a warning if the way is not refused."""
        if self.outcome is Outcome.REFUSED:
            return tuple(findings)
        return tuple(
            changed(finding, severity=Severity.WARNING) if finding.severity is Severity.BLOCKER else finding
            for finding in findings
        )


def broker_step(
    broker: BrokerEvidence,
    action: Move,
    file: File | None,
    *,
    gate: str,
    why: str,
    is_done: bool = False,
    phase: State | None = None,
    barrier: Barrier | None = None,
) -> Step:
    """Return a step about one broker."""
    return Step(
        action=action,
        target=broker.name,
        gate=gate,
        why=why,
        state=Progress.DONE if is_done else Progress.PENDING,
        node=broker.id,
        role=Role.BROKER,
        file=file,
        barrier=barrier,
        phase=phase,
    )


def controller_step(
    id: int,
    action: Move,
    file: File | None = None,
    *,
    gate: str,
    why: str,
    is_done: bool = False,
    phase: State | None = None,
    barrier: Barrier | None = None,
) -> Step:
    """Return a step about one controller."""
    return Step(
        action=action,
        target=f"controller {id}",
        gate=gate,
        why=why,
        state=Progress.DONE if is_done else Progress.PENDING,
        node=id,
        role=Role.CONTROLLER,
        file=file,
        barrier=barrier,
        phase=phase,
    )


def numbered(steps: Iterable[Step]) -> tuple[Step, ...]:
    """Return the steps with numbers from 1."""
    return tuple(changed(step, number=number) for number, step in enumerate(steps, start=1))
