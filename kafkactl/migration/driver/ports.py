"""Ports of the migration driver to cluster, lock and files, its waiting times and its result."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal, Protocol, Self

from kafkactl.change.clock import Clock
from kafkactl.change.hooks.node import Request
from kafkactl.change.hooks.run import HookRun
from kafkactl.change.hooks.words import Verb
from kafkactl.change.progress import Event, ProgressCallback
from kafkactl.core.answers import json_of
from kafkactl.core.findings import Finding, Outcome
from kafkactl.core.frozen import frozen
from kafkactl.migration.observed.observation import Observation
from kafkactl.migration.state.names import State
from kafkactl.migration.steps.step import Step
from kafkactl.migration.zktree.tree import Tree
from kafkactl.migration.zktree.znode import Znode


class DriverLock(Protocol):
    """Lock by which this driver alone drives the cluster's migration; a context manager that releases it."""

    def __enter__(self) -> Self:
        """Return the lock, which is held already."""
        ...

    def __exit__(self, *_: object) -> None:
        """Give it back."""
        ...

    @property
    def words(self) -> str:
        """Return the holder of the lock, for the journal."""
        ...

    def check(self) -> None:
        """Check that the lock is still held. Raises RefusedError `migration-lock-lost`, UnreachableError."""
        ...


class OperatorFiles(Protocol):
    """Files that the operator names: copies of nodes' configurations, and the folder of `migrate render`."""

    def copy(self, path: Path, name: str) -> bytes:
        """Return the copy of a configuration; `name` is its name in messages. Raises InputError."""
        ...

    def rendered(self, path: Path) -> bytes:
        """Return a file of the folder. Raises OSError, InputError."""
        ...


class MigrationPort(Protocol):
    """A cluster in its migration, as the driver meets it: real, or simulated in a test."""

    @property
    def clock(self) -> Clock:
        """Return the clock."""
        ...

    def observe(self) -> Observation:
        """Return everything that can be observed now. Raises UnreachableError if nothing can be."""
        ...

    def ask(self, request: Request) -> HookRun:
        """Run a hook, or ask the operator. Never raises for a hook's failure."""
        ...

    def has_hook(self, verb: Verb, node: int) -> bool:
        """Return True if there is a command for a verb; without one the operator is asked."""
        ...

    def listens(self, node: int) -> bool | None:
        """Return True if the node's port accepts connections: False if it is refused, None if it is unknown."""
        ...

    def controller_of(self, broker: int) -> int | None:
        """Return the controller that this broker's own Metadata answer names.

        None if it does not answer or names none.
        """
        ...

    def answers(self, node: int) -> bool:
        """Return True if the node answers now, at its own address and under its own id."""
        ...

    def lock(self, journal: str) -> DriverLock:
        """Take the lock of the cluster's migration for the driver with this journal.

        Raises RefusedError `concurrent-migration-run`, UnreachableError.
        """
        ...

    def tree(self) -> Tree:
        """Return ZooKeeper's whole tree as it is now. Raise UnreachableError."""
        ...

    def znode(self, path: str) -> Znode | None:
        """Return one znode as it is now. Raises UnreachableError."""
        ...

    def set_znode(self, path: str, data: bytes, version: int) -> None:
        """Change it if it still has this version. Raises RefusedError, UnreachableError, UnknownOutcomeError."""
        ...

    def delete_znode(self, path: str, version: int) -> None:
        """Delete it if it still has this version. Raises as `set_znode` does."""
        ...


@frozen
class MigrationWaitPolicy:
    """Limits of the driver's waits, in milliseconds.

    `apart`: between the two observations that a gate has to pass. `observe_every`: while a gate is closed. `gate`:
    for a gate after a hook that says done. `operator`: for one that waits for the operator. `copy`: for the copy.
    `settle`: for what stops a step and may pass. `gone`: for a process to be gone. `znode`: for
    ZooKeeper to do its part (end the session of a killed process).
    """

    apart_ms: int = 10_000
    observe_every_ms: int = 2_000
    gate_ms: int = 600_000
    operator_ms: int = 24 * 3_600_000
    copy_ms: int = 600_000
    settle_ms: int = 60_000
    gone_ms: int = 120_000
    znode_ms: int = 60_000
    attempts: int = 1

    @property
    def passing_ms(self) -> int:
        """Return the time to wait for findings that pass: as long as ZooKeeper takes."""
        return self.znode_ms


Waits = Callable[[str, str], None]
"""Called at every observation while something is waited for: what it is, and what was seen last."""


__all__ = [
    "DoneStep", "DriverLock", "Event", "MigrationPort", "MigrationWaitPolicy", "OperatorFiles",
    "ProgressCallback", "RunResult", "Waits", "in_silence",
]  # fmt: skip


def in_silence(_what: str, _seen: str) -> None:
    """Report nothing about a wait."""


StepState = Literal["done", "pending", "failed", "unknown", "skipped"]


@frozen
class DoneStep:
    """Step that was done, forward or back."""

    step: Step
    state: StepState
    number: int = 0

    to_dict = json_of("**step", "number", "state")


@frozen
class RunResult:
    """End of a run: `state_before` and `state_after` are the first and the last state that was observed."""

    outcome: Outcome
    state_before: str | None
    """The first state that was observed."""
    state_after: str | None
    """The last one."""
    steps: tuple[DoneStep, ...]
    findings: tuple[Finding, ...]
    next_action: str = ""
    """Next action; empty if nothing is left to do."""
    interrupted: bool = False

    @property
    def state_words(self) -> str | None:
        """Return the name of the last state; None if none was observed."""
        return None if self.state_after is None else State(self.state_after).words

    to_dict = json_of(
        "outcome", "state_before", "state=state_after", "state_words", "steps", "findings", "next_action",
        "interrupted",
    )  # fmt: skip
