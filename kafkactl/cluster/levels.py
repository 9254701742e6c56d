"""Differences between the finalized levels of a cluster and the levels that its nodes report."""

from __future__ import annotations

from collections.abc import Iterator

from kafkactl.cluster.state import ClusterState
from kafkactl.core.findings import Finding, warning
from kafkactl.core.values import Role


def level_differences(state: ClusterState) -> Iterator[Finding]:
    """Yield a warning for each node with other levels than the active controller.

    A change is in progress, or was just made. A broker in ZooKeeper mode, in a migration, has no levels of its own.
    """
    levels = dict(state.finalized)
    for node in state.nodes:
        seen = None if node.role is Role.BROKER and node.id in state.on_zookeeper else node.levels
        if seen is not None and dict(seen) != levels:
            names = sorted(name for name in {*seen, *levels} if seen.get(name, 0) != levels.get(name, 0))
            yield warning(
                "node-levels-differ",
                node.name,
                f"{node.name} has other levels than the active controller: "
                + ", ".join(f"{name} {seen.get(name, 0)} (not {levels.get(name, 0)})" for name in names),
                "Wait until it has caught up, or look at why it does not follow the metadata log.",
                levels={name: seen.get(name, 0) for name in names},
            )
