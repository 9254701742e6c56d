"""The table of areas, and the status of a cluster from one observation of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from kafkactl.cluster.node import NotAsked
from kafkactl.status.answer import AreaStatus, ClusterStatus, FoundNodes, whole_headline, whole_verdict
from kafkactl.status.brokers_area import brokers_area
from kafkactl.status.host_area import host_area
from kafkactl.status.levels_area import levels_area
from kafkactl.status.next_command import Target
from kafkactl.status.next_failure_area import next_failure_area
from kafkactl.status.observation import Observation
from kafkactl.status.partitions_area import partitions_area
from kafkactl.status.quorum_area import quorum_area
from kafkactl.status.settings_area import settings_area

Judge = Callable[[Observation, Target], AreaStatus | None]
AREAS: Final[tuple[Judge, ...]] = (
    quorum_area,
    brokers_area,
    partitions_area,
    levels_area,
    settings_area,
    host_area,
    next_failure_area,
)
"""Areas in the order of the answer. None as a status: the area was not asked for."""


def cluster_status(
    observation: Observation, target: Target, *, found: FoundNodes, context: str | None, time_ms: int
) -> ClusterStatus:
    """Return the status of the observed cluster."""
    areas = tuple(area for judge in AREAS if (area := judge(observation, target)) is not None)
    return ClusterStatus(
        cluster_id=observation.cluster_id,
        cluster=context,
        kafka_versions=_releases(observation),
        time_ms=time_ms,
        found=found,
        verdict=whole_verdict(areas),
        headline=whole_headline(areas),
        areas=areas,
    )


def _releases(observation: Observation) -> tuple[str, ...]:
    """Return the releases that nodes run, each with its patch level if this host shows it."""
    if isinstance(observation.nodes, NotAsked):
        return observation.releases
    members = observation.nodes.state.members
    shown = {member.release.name for member in members if member.answered is not None and member.release is not None}
    exact = {version.rpartition(".")[0]: version for version in observation.releases}
    return tuple(exact.get(name, name) for name in sorted(shown)) or observation.releases
