"""What the driver of a migration needs and gives: the port to its cluster, its waiting times, its result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from pathlib import Path
from typing import Literal, Protocol, Self

from kafkactl.change.clock import Clock
from kafkactl.change.hooks.run import HookRun
from kafkactl.change.hooks.words import Value, Verb
from kafkactl.change.progress import Event, ProgressCallback
from kafkactl.core.answers import json_of
from kafkactl.core.findings import Finding, Outcome
from kafkactl.core.frozen import frozen
from kafkactl.migration.observed.observation import Observation
from kafkactl.migration.state.names import State
from kafkactl.migration.steps.step import Step
from kafkactl.zookeeper.tree import Tree
from kafkactl.zookeeper.znode import Znode


@frozen
class Request:
    """One thing asked of a node by its hook. `text` goes by stdin; `instruction` is for an operator, without a hook."""

    verb: Verb
    node: int
    phase: str
    seq: int
    instruction: str
    text: bytes = field(default=b"", repr=False)
    extra: Mapping[str, Value] = field(default_factory=dict)


class DriverLock(Protocol):
    """That this driver alone drives the cluster's migration; a context manager that gives it back."""

    def __enter__(self) -> Self:
        """Held already."""
        ...

    def __exit__(self, *_: object) -> None:
        """Give it back."""
        ...

    @property
    def words(self) -> str:
        """Who holds it, for the journal."""
        ...

    def check(self) -> None:
        """See that it is still held. Raises RefusedError `migration-lock-lost`, UnreachableError."""
        ...


class OperatorFiles(Protocol):
    """Files that the operator names: copies of nodes' configurations, and the folder of `migrate render`."""

    def copy(self, path: Path, name: str) -> bytes:
        """The copy of a configuration; `name` is what it is called in messages. Raises InputError."""
        ...

    def rendered(self, path: Path) -> bytes:
        """A file of the folder. Raises OSError, InputError."""
        ...


class MigrationPort(Protocol):
    """A cluster in its migration, as the driver meets it: real, or simulated in a test."""

    @property
    def clock(self) -> Clock:
        """Its time."""
        ...

    def observe(self) -> Observation:
        """Everything that can be seen now. Raises UnreachableError where nothing can."""
        ...

    def ask(self, request: Request) -> HookRun:
        """Have a hook run, or tell the operator. Never raises for what the hook does."""
        ...

    def has_hook(self, verb: Verb, node: int) -> bool:
        """Whether there is a command for it; without one the operator is asked."""
        ...

    def listens(self, node: int) -> bool | None:
        """Whether the node's port takes connections: no where it is refused, None where it is unknown."""
        ...

    def controller_of(self, broker: int) -> int | None:
        """Which controller this broker's own Metadata answer names; None where it does not answer or names none."""
        ...

    def answers(self, node: int) -> bool:
        """Whether the node answers now, at its own address and under its own id."""
        ...

    def lock(self, journal: str) -> DriverLock:
        """Take the lock of the cluster's migration for the driver with this journal.

        Raises RefusedError `concurrent-migration-run`, UnreachableError.
        """
        ...

    def tree(self) -> Tree:
        """ZooKeeper's whole tree as it is now. Raises UnreachableError."""
        ...

    def znode(self, path: str) -> Znode | None:
        """One znode as it is now. Raises UnreachableError."""
        ...

    def set_znode(self, path: str, data: bytes, version: int) -> None:
        """Change it if it still has this version. Raises RefusedError, UnreachableError, UnknownOutcomeError."""
        ...

    def delete_znode(self, path: str, version: int) -> None:
        """Delete it if it still has this version. Raises as `set_znode` does."""
        ...


@frozen
class MigrationWaitPolicy:
    """How long the driver waits, in milliseconds.

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
        """Findings that pass are waited for as long as ZooKeeper takes to do its part."""
        return self.znode_ms


Waits = Callable[[str, str], None]
"""Called at every observation while something is waited for: what it is, and what was seen last."""


__all__ = [
    "DoneStep", "DriverLock", "Event", "MigrationPort", "MigrationWaitPolicy", "OperatorFiles",
    "ProgressCallback", "Request", "RunResult", "Waits", "in_silence",
]  # fmt: skip


def in_silence(_what: str, _seen: str) -> None:
    """Waits of which no line is wanted."""


StepState = Literal["done", "pending", "failed", "unknown", "skipped"]


@frozen
class DoneStep:
    """One step, forward or back."""

    step: Step
    state: StepState
    number: int = 0

    to_dict = json_of("**step", "number", "state")


@frozen
class RunResult:
    """How a run ended: `state_before` and `state_after` are the first and the last state that was observed."""

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
        """What the last state is called; None where none was observed."""
        return None if self.state_after is None else State(self.state_after).words

    to_dict = json_of(
        "outcome", "state_before", "state=state_after", "state_words", "steps", "findings", "next_action",
        "interrupted",
    )  # fmt: skip
