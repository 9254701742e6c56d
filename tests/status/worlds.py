"""Observations of a cluster of three voters and three brokers, healthy but for what a test changes."""

from __future__ import annotations

from typing import Any

from kafkactl.cluster.node import ClusterNode, NotAsked, Silence
from kafkactl.cluster.quorum.state import Mode, QuorumState, Replica
from kafkactl.cluster.registrations import BrokerRegistration, Registrations
from kafkactl.cluster.state import ClusterState
from kafkactl.core.frozen import changed
from kafkactl.core.kafka_names import METADATA_VERSION
from kafkactl.core.values import Role, Uuid
from kafkactl.metadata.image.health import PartitionHealth
from kafkactl.protocol.api_versions import NodeVersions
from kafkactl.protocol.schema.spec import Versions
from kafkactl.quorum.health import check_health, is_broken
from kafkactl.status.answer import AreaStatus, ClusterStatus, FoundNodes
from kafkactl.status.areas import cluster_status
from kafkactl.status.next_command import Target
from kafkactl.status.observation import (
    HostNode,
    Observation,
    ObservedNodes,
    ObservedPartitions,
    ObservedQuorum,
    PredictedFailure,
)
from kafkactl.storage.discovery import FoundBy

CLUSTER_ID = "ZmFrZS1xdW9ydW0tMTIzNA"
NOW_MS = 1_700_000_000_000
LEVEL = 30
SUPPORTED = {METADATA_VERSION: Versions(7, LEVEL)}
NO_RIGHT = NotAsked(reason="not authorised: DescribeQuorum", step="Grant DESCRIBE on the cluster.", is_access=True)


def voter(id: int, **facts: Any) -> Replica:
    given = {
        "log_end_offset": 100,
        "lag": 0,
        "last_fetch_timestamp_ms": NOW_MS,
        "last_caught_up_timestamp_ms": NOW_MS,
        "alive": True,
    }
    return Replica(id=id, **{**given, **facts})


def quorum(*voters: Replica, leader_id: int = 1, high_watermark: int | None = 100) -> ObservedQuorum:
    state = QuorumState(
        cluster_id=CLUSTER_ID,
        mode=Mode.DYNAMIC,
        kraft_version=1,
        leader_id=leader_id,
        leader_epoch=3,
        high_watermark=high_watermark,
        voters=voters or (voter(1), voter(2), voter(3)),
    )
    findings = check_health(state)
    return ObservedQuorum(state=state, findings=findings, is_broken=is_broken(state, findings))


def broker(id: int, **facts: Any) -> BrokerRegistration:
    given = {"fenced": False, "in_controlled_shutdown": False, "features": SUPPORTED}
    return BrokerRegistration(
        id=id, epoch=1, incarnation_id=Uuid(bytes(16)), endpoints=(), directory_ids=(), **{**given, **facts}
    )


def node(id: int, role: Role = Role.BROKER, *, answers: bool | None = True, **facts: Any) -> ClusterNode:
    supported, finalized = facts.get("supported", SUPPORTED), facts.get("finalized", {METADATA_VERSION: LEVEL})
    versions = NodeVersions(
        version=4, requests={}, supported=supported, finalized=finalized, finalized_epoch=9,
        zookeeper_migration_ready=False,
    )  # fmt: skip
    silence = facts.get("silence", Silence.HANGS) if answers is False else None
    return ClusterNode(
        id=id, role=role, answers=answers, versions=versions if answers else None, silence=silence,
        not_asked=facts.get("not_asked"),
    )  # fmt: skip


def nodes(
    *brokers: BrokerRegistration, seen: tuple[ClusterNode, ...] | None = None, log_error: NotAsked | None = None
) -> ObservedNodes:
    brokers = brokers or tuple(broker(id) for id in (4, 5, 6))
    if seen is None:
        seen = (*(node(id, Role.CONTROLLER) for id in (1, 2, 3)), *(node(item.id) for item in brokers))
    known = Registrations(brokers={item.id: item for item in brokers}, controllers={}, levels={METADATA_VERSION: LEVEL})
    state = ClusterState(
        cluster_id=CLUSTER_ID,
        finalized={METADATA_VERSION: LEVEL},
        finalized_epoch=9,
        active_controller=1,
        nodes=seen,
        registrations=None if log_error is not None else known,
        log_error=log_error,
    )
    return ObservedNodes(state=state)


def partitions(*, source: str = "log", **counts: int | None) -> ObservedPartitions:
    given: dict[str, Any] = dict.fromkeys(
        ("without_leader", "under_min_isr", "at_min_isr", "out_of_sync", "reassigning", "not_preferred"), 0
    )
    named = {kind: ("orders-0",) for kind, count in counts.items() if count}
    health = PartitionHealth(
        **{"partitions": 21, "replicas_on": frozenset({4, 5, 6}), "named": named, **given, **counts}
    )
    return ObservedPartitions(health=health, source=source)


HEALTHY = Observation(quorum=quorum(), nodes=nodes(), partitions=partitions())
HOST_NODE = HostNode(
    file="/etc/kafka/server.properties", node_id=1, cluster_id=CLUSTER_ID, kafka_version="4.3.1", runs=True,
    will_start=True,
)  # fmt: skip
WORST = PredictedFailure(
    node="broker 4", words=("broker-loss", "--from-cluster", "--brokers", "4"), loses=("orders-2",), is_harmless=False,
    loss_count=1,
)  # fmt: skip


def status(**parts: Any) -> ClusterStatus:
    """Return the status of the healthy cluster with other parts."""
    target = Target(words=("--bootstrap-server", "b1:9092"))
    return cluster_status(
        changed(HEALTHY, **parts), target, found=FoundNodes(by=FoundBy.OPTIONS), context=None, time_ms=NOW_MS
    )


def area(name: str, **parts: Any) -> AreaStatus:
    """Return the status of one area."""
    return next(area for area in status(**parts).areas if area.area == name)
