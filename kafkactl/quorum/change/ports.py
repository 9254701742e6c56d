"""Ports of a quorum change to its quorum, its waiting times, its goal, its result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any, Protocol

from kafkactl.change.progress import Event
from kafkactl.cluster.quorum.liveness import WATCH_MS
from kafkactl.cluster.quorum.state import QuorumState, ids_of
from kafkactl.core.answers import json_of
from kafkactl.core.findings import Finding, Outcome
from kafkactl.core.frozen import frozen
from kafkactl.core.values import Endpoint, ReplicaKey
from kafkactl.quorum.catch_up import CatchUpLimits
from kafkactl.quorum.guard import Circumstances
from kafkactl.quorum.outcome import UNREAD_MS, Answer
from kafkactl.quorum.step import QuorumChange, Step

Plan = Callable[[QuorumState, Circumstances], QuorumChange]
_REQUESTS = {"remove-controller": "RemoveRaftVoter", "convert": "UpdateFeatures"}


class QuorumPort(Protocol):
    """The quorum of one cluster, as a change meets it: real, or simulated in a test."""

    @property
    def cluster_id(self) -> str:
        """Return the cluster id."""
        ...

    @property
    def unread_ms(self) -> int:
        """Return the maximum time in ms after which a node has read a request without an answer, or the request is
        lost."""
        ...

    def observe(self) -> QuorumState:
        """Return the leader's description, nodes, registrations and probes. Raise UnreachableError."""
        ...

    def observe_nodes(self) -> QuorumState:
        """Return only the leader's present description. Raise UnreachableError if no node leads or answers."""
        ...

    def sample(self) -> QuorumState | None:
        """Return the leader's word, and whether the nodes that answered the last `observe` still do; None without a
        leader.

        It asks no other node, so it takes as long as the slowest of them.
        """
        ...

    def endpoints_of(self, node_id: int, state: QuorumState) -> tuple[Endpoint, ...]:
        """Return the endpoints that a controller has as a voter; empty if they are unknown."""
        ...

    def send(self, step: Step, endpoints: Sequence[Endpoint]) -> Answer:
        """Send the one request of a step, once, on a connection of its own.

        Without an answer the code is None. Raises UnreachableError and RefusedError only if nothing was sent.
        """
        ...

    def rehearse(self, step: Step) -> Answer:
        """Ask the leader whether it would take this conversion (validateOnly). Raises UnreachableError."""
        ...


@frozen
class QuorumWaitPolicy:
    """Timeouts of a change, in milliseconds.

    `observe_every`: between two observations. `recheck`: for a leader that was there a moment ago. `watch`: for every
    voter to be seen to advance. `step`: for the outcome of a request. `catch_up`: for a node to catch up, by `gate`.
    `settle`: for the quorum to be well after a step. `stays_away`: how long a removed node is watched that may join
    again without being added. `attempts` a step.
    """

    observe_every_ms: int = 500
    recheck_ms: int = 3_000
    step_ms: int = 60_000
    catch_up_ms: int = 600_000
    settle_ms: int = 20_000
    watch_ms: int = WATCH_MS
    stays_away_ms: int = 8_000
    attempts: int = 3
    gate: CatchUpLimits = field(default_factory=CatchUpLimits)

    @property
    def passing_ms(self) -> int:
        """Return the time to wait for findings that pass: as long as an election takes."""
        return self.settle_ms


@frozen
class Goal:
    """Goal of a change.

    `description` are JSON values that say so, the same for the same goal; the journal keeps them. `plan` makes the next
    steps out of what is seen; `node_ids` are the nodes that have to be seen to advance in addition to the voters;
    `endpoints` of voters to be added, if the operator gave them; `circumstances` what the operator allowed.
    `replan`: continue where another operator or process changed the voters meanwhile. `asks_brokers`: brokers have a
    say, too. `is_journey`: it has several steps, so a later run asks whether it is still on its way.
    """

    description: Mapping[str, Any]
    plan: Plan
    node_ids: frozenset[int] = frozenset()
    endpoints: Mapping[ReplicaKey, tuple[Endpoint, ...]] = field(default_factory=dict)
    circumstances: Circumstances = field(default_factory=Circumstances)
    replan: bool = False
    asks_brokers: bool = False
    is_journey: bool = False

    @property
    def request(self) -> str:
        """Return Kafka's name of the request that this goal begins with."""
        return _REQUESTS.get(self.description["verb"], "AddRaftVoter")


@frozen
class ChangeResult:
    """Result of a change. `before` and `after` are the first and the last observation of the quorum.

    `interrupted`: the operator stopped it; what was on its way then is `unknown` in `steps`.
    """

    outcome: Outcome
    steps: tuple[Step, ...]
    findings: tuple[Finding, ...]
    before: QuorumState | None
    after: QuorumState | None
    may_happen: tuple[str, ...] = ()
    """Changes that can still take effect if the outcome is unknown."""
    interrupted: bool = False
    """The operator stopped it (exit code 130)."""

    @property
    def cluster_id(self) -> str | None:
        """Return the cluster, None if it was not observed."""
        return None if self.before is None else self.before.cluster_id

    @property
    def voters_before(self) -> list[int]:
        """Return the node ids of the voters at first sight, ascending."""
        return [] if self.before is None else ids_of(self.before.voter_keys)

    @property
    def voters_after(self) -> list[int]:
        """Return the node ids of the voters in the last observation, ascending."""
        return [] if self.after is None else ids_of(self.after.voter_keys)

    to_dict = json_of(
        "outcome", "cluster_id", "voters_before", "voters_after", "steps", "findings", "may_happen",
        "interrupted",
    )  # fmt: skip


__all__ = ["UNREAD_MS", "ChangeResult", "Event", "Goal", "Plan", "QuorumPort", "QuorumWaitPolicy"]
