"""Observation of a cluster, from which the verdicts of all areas follow.

A part that could not be asked is `NotAsked`, with the reason and the step that makes it known.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias, TypeVar

from kafkactl.cluster.migration import MIGRATE_STATUS
from kafkactl.cluster.node import NotAsked
from kafkactl.cluster.quorum.state import QuorumState
from kafkactl.cluster.state import ClusterState
from kafkactl.core.findings import Finding
from kafkactl.core.frozen import frozen
from kafkactl.metadata.image.health import PartitionHealth

Part = TypeVar("Part")
Asked: TypeAlias = Part | NotAsked


@frozen
class ObservedQuorum:
    """The quorum, and its problems. `is_broken`: no node leads, nothing commits or no majority is alive."""

    state: QuorumState
    findings: tuple[Finding, ...]
    is_broken: bool


@frozen
class ObservedNodes:
    """The nodes, from the metadata log if it could be read, and from their own answers.

    `fenced` has the brokers that a broker names, with their fenced state (None: not named by its release), where the
    log was not read; it is None if no broker was asked.
    """

    state: ClusterState
    findings: tuple[Finding, ...] = ()
    fenced: Mapping[int, bool | None] | None = None


@frozen
class ObservedPartitions:
    """Counts of partitions. `source` is `log`, or `brokers`: they show only topics that this user may describe."""

    health: PartitionHealth
    source: str
    findings: tuple[Finding, ...] = ()


@frozen
class ComparedSettings:
    """Settings that controllers decide: the number of differences, and whether every node was read."""

    differences: int
    is_complete: bool
    findings: tuple[Finding, ...] = ()


@frozen
class HostNode:
    """A node of this host. `runs`: a process holds its directories. `will_start`: as `storage verify` predicts."""

    file: str
    node_id: int | None
    cluster_id: str | None
    kafka_version: str | None
    runs: bool | None
    will_start: bool | None
    findings: tuple[Finding, ...] = ()


@frozen
class PredictedFailure:
    """Consequence of the worst loss of one more node. `node` is its name, `loses` the partitions that go offline."""

    node: str
    words: tuple[str, ...]
    loses: tuple[str, ...]
    is_harmless: bool
    loss_count: int = 0
    is_quorum: bool = False


@frozen
class Observation:
    """Observation of a cluster; a part that was not asked for is None."""

    quorum: Asked[ObservedQuorum]
    nodes: Asked[ObservedNodes]
    partitions: Asked[ObservedPartitions]
    settings: Asked[ComparedSettings] | None = None
    host: Asked[tuple[HostNode, ...]] | None = None
    next_failure: Asked[PredictedFailure] | None = None
    releases: tuple[str, ...] = ()
    """Releases with their patch level, as this host shows them."""

    @property
    def not_copied(self) -> NotAsked | None:
        """Return why the log does not have the topics and all brokers: a migration has not copied them yet."""
        if isinstance(self.nodes, NotAsked) or not self.nodes.state.is_before_copy:
            return None
        return NotAsked(
            reason="the migration from ZooKeeper has not copied the metadata yet: topics, and brokers that have not "
            "entered, are known to ZooKeeper only",
            step=MIGRATE_STATUS,
        )

    @property
    def cluster_id(self) -> str | None:
        """Return the cluster id of the first part that names it."""
        for part in (self.nodes, self.quorum):
            if not isinstance(part, NotAsked) and part.state.cluster_id is not None:
                return part.state.cluster_id
        return None
