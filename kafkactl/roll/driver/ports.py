"""Port of the roll driver to its cluster, its timeouts, and its goal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Protocol

from kafkactl.change.clock import Clock
from kafkactl.change.hooks.node import Request
from kafkactl.change.hooks.run import HookRun
from kafkactl.change.hooks.words import Verb
from kafkactl.core.findings import Finding, Outcome
from kafkactl.core.frozen import frozen
from kafkactl.roll.case import RollRequest
from kafkactl.roll.observation import RollObservation


@frozen
class LevelChange:
    """Result of raising the levels, as `features upgrade` reports it."""

    outcome: Outcome
    findings: tuple[Finding, ...]


class RollPort(Protocol):
    """A cluster in a roll: real, or simulated in a test."""

    @property
    def clock(self) -> Clock:
        """Return the clock."""
        ...

    def observe(self, refresh: frozenset[int] | None) -> RollObservation:
        """Observe the cluster. Files and hooks are read again of the nodes of `refresh`, None means all nodes."""
        ...

    def ask(self, requests: Sequence[Request]) -> Mapping[int, HookRun]:
        """Run the hooks of several nodes at once, or ask the operator; the results by node id. Raises nothing."""
        ...

    def has_hook(self, verb: Verb, node_id: int) -> bool:
        """Return True if the inventory has a command for the verb; without one the operator is asked."""
        ...

    def is_running(self, node_id: int) -> bool | None:
        """Return the answer of the hook `is_running`; None without one, or if it failed."""
        ...

    def kept_folder(self, seq: int) -> str:
        """Return the folder of the files that a roll replaces, next to the journal; `seq` is of its first entry."""
        ...

    def keep(self, content: bytes, *, folder: str | None, node_id: int) -> str:
        """Keep a file that is about to be replaced, in the folder of the roll as `ID.properties` unless one is there.

        Return the SHA-256 of its content. Raises FailedError `journal-not-written`.
        """
        ...

    def raise_levels(self, release: str) -> LevelChange:
        """Raise the levels to those of a release. Raises KafkactlError if nothing was sent."""
        ...


@frozen
class RollWaitPolicy:
    """Timeouts of a roll, in milliseconds.

    `interval`: between the two observations that confirm a gate. `gate`: for a gate. `soak`: how long a gate before a
    stop stays open. `stop`: for a process to end. `operator`: for a step without a hook.
    """

    interval_ms: int = 10_000
    observe_every_ms: int = 2_000
    gate_ms: int = 600_000
    soak_ms: int = 0
    stop_ms: int = 360_000
    operator_ms: int = 24 * 3_600_000
    attempts: int = 10

    @property
    def passing_ms(self) -> int:
        """Return the timeout of a gate that is not open yet."""
        return self.gate_ms


@frozen
class RollGoal:
    """The requested goal of a roll, and the nodes whose jars are replaced between stop and start, from the
    inventory."""

    request: RollRequest
    installs_between: frozenset[int] = field(default_factory=frozenset)
