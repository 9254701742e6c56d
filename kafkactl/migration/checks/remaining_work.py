"""Findings about the work that is left after a migration is finalized: levels, binaries, files, ZooKeeper.

Notes and warnings, never blockers: the cluster is an ordinary KRaft cluster. Sources: `docs/ops.html` (3.9, Finalizing
the migration), `docs/upgrade.html` (4.0); what remains in ZooKeeper was measured.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kafkactl.cluster.node_settings import difference_findings
from kafkactl.core.findings import Finding, note, warning
from kafkactl.core.kafka_names import METADATA_VERSION
from kafkactl.metadata.image.model import BROKER_CONFIG
from kafkactl.migration.checks.controller_settings import decided_differences
from kafkactl.migration.observed.observation import NodeSeen, Observation
from kafkactl.migration.observed.settings import level_name, release_of
from kafkactl.protocol.catalog.levels import default_metadata_version
from kafkactl.protocol.catalog.releases import Release, newest_with_zookeeper

_ZOOKEEPER_ONLY: Final = ("inter.broker.protocol.version", "control.plane.listener.name", "broker.id.generation.enable")
_LEFT_BEHIND: Final = ("/controller", "/controller_epoch", "/migration")


def afterwards(observation: Observation) -> tuple[Finding, ...]:
    """Return the next steps of a finalized cluster, in their order; unknown facts are left out."""
    return (
        *_files(observation),
        *_decided(observation),
        *_levels(observation),
        *_binaries(observation),
        *_zookeeper(observation),
    )


def _decided(observation: Observation) -> Iterator[Finding]:
    """Report settings that brokers' files decided before and that the controllers' files decide now."""
    log = observation.log
    dynamic = {} if log is None or log.image is None else dict(log.image.configs.get((BROKER_CONFIG, ""), {}))
    yield from difference_findings(decided_differences(observation.nodes, dynamic=dynamic))


def _files(observation: Observation) -> Iterator[Finding]:
    """Report settings that a KRaft node ignores, or that 4.x no longer knows."""
    for node in observation.nodes:
        left = sorted(key for key in node.config or {} if key.startswith("zookeeper.") or key in _ZOOKEEPER_ONLY)
        if left:
            yield warning(
                "zookeeper-settings-left",
                f"{node.role.value} {node.id}",
                f"the file of {node.role.value} {node.id} still has {', '.join(left)}",
                settings=left,
            )


def _levels(observation: Observation) -> Iterator[Finding]:
    log = observation.log
    level = log.image.features.get(METADATA_VERSION) if log is not None else None
    runs = _releases(observation)
    if level is None or not runs:
        return
    lowest = min(runs, key=lambda release: release.version)
    best = default_metadata_version(lowest, unstable=False)
    if level < best.level:
        yield note(
            "metadata-version-can-be-raised",
            "cluster",
            f"metadata.version is {level_name(level)}, and all nodes support {level_name(best.level)}",
            f"`kafkactl features plan --release-version {lowest.name}` shows what it brings; raise it before the "
            "binaries go on.",
            level=level,
            supported=best.level,
        )


def _binaries(observation: Observation) -> Iterator[Finding]:
    old = {node.id: node.kafka_version for node in observation.nodes if _is_old(node)}
    if old:
        versions = sorted({version for version in old.values() if version})
        last = newest_with_zookeeper()
        yield note(
            "binaries-can-be-upgraded",
            "cluster",
            f"{len(old)} nodes run Kafka {', '.join(versions)}; {last.name} is the last release with ZooKeeper, and"
            " 4.x supports KRaft only; nodes on KRaft go straight to 4.x, without another release in between",
            "Take controllers and brokers to 4.x one by one, waiting for each to be in sync; at the end "
            "`kafkactl features upgrade --release-version` with that release.",
            nodes=sorted(old),
        )


def _is_old(node: NodeSeen) -> bool:
    release = release_of(node)
    return release is not None and release.version.major < 4


def _releases(observation: Observation) -> list[Release]:
    return [release for node in observation.nodes if (release := release_of(node)) is not None]


def _zookeeper(observation: Observation) -> Iterator[Finding]:
    tree = observation.tree
    if tree is None:
        return
    left = [path for path in _LEFT_BEHIND if tree.get(path) is not None]
    stays = f"; {', '.join(left)} stay in it as they were last written" if left else ""
    yield note(
        "zookeeper-no-longer-used",
        "ZooKeeper",
        f"no node of this cluster uses it any more{stays}",
        "Keep this observation (or a snapshot of ZooKeeper); make sure that nothing else uses the ensemble; close it "
        "to Kafka's addresses for some days; then stop it and take its monitoring away.",
        left_behind=left,
    )
