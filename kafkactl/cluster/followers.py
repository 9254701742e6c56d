"""Watch of the nodes that follow the leader: the basis of gates of feature levels and registrations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kafkactl.cluster.node import ClusterNode
from kafkactl.cluster.quorum.liveness import WATCH_MS, Observation, Sampling, watch
from kafkactl.cluster.quorum.state import Replica
from kafkactl.core.values import ZERO_UUID, ReplicaKey, Role

_LAST_SAMPLE_MS = 200  # the last sample may begin this much before the end of the watch


def watch_followers(
    sampling: Sampling, nodes: Sequence[ClusterNode], *, listed: Iterable[Replica], whole: frozenset[int] = frozenset()
) -> Observation | None:
    """Watch the leader until every voter and every node that did not answer was observed to advance, or the time
    expired.

    `nodes` are the answers of the nodes just before, `listed` the replicas that the leader names. If an id of `whole`,
    which the leader may not list, is concerned, the watch lasts to its end. None if no node answers as the leader.
    """
    keys = {replica.id: replica.key for replica in listed}
    silent = {node.id for node in nodes if not node.answers}
    needed = [keys.get(node_id) or ReplicaKey(node_id=node_id, directory_id=ZERO_UUID) for node_id in sorted(whole)]
    needed += [key for node_id, key in keys.items() if node_id in silent - whole]
    controllers = {node.id: node for node in nodes if node.role is Role.CONTROLLER}
    return watch(sampling, controllers, needed=needed, watch_ms=WATCH_MS)


def is_long_enough(watched: Observation) -> bool:
    """Return True if a fetch of a node that follows the leader would have been observed during the watch."""
    return watched.watched_ms >= WATCH_MS - _LAST_SAMPLE_MS
