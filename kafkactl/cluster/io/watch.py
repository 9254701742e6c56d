"""Who follows the leader, watched through one client: what gates of feature levels and registrations rest on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kafkactl.cluster.io.controllers import describe_quorum
from kafkactl.cluster.node import ClusterNode
from kafkactl.cluster.quorum.liveness import WATCH_MS, watch, with_lives
from kafkactl.cluster.quorum.observation import QuorumAnswer, quorum_state
from kafkactl.cluster.quorum.state import QuorumState
from kafkactl.core.errors import UnreachableError
from kafkactl.core.frozen import frozen
from kafkactl.core.values import ZERO_UUID, ReplicaKey, Role
from kafkactl.kafka.client import Client

_SAMPLE_MS = 1_500.0  # a leader answers within milliseconds; longer is an election


@frozen
class Watched:
    """Result of a watch. `answer` is the last one of the leader, `watched_ms` the time for which that leader was
    watched.

    `enough`: a node that follows that leader would have been seen to fetch.
    """

    answer: QuorumAnswer
    state: QuorumState
    watched_ms: int
    enough: bool


def watch_quorum(
    client: Client, *, nodes: Iterable[ClusterNode], cluster_id: str | None, first: QuorumAnswer, whole: frozenset[int]
) -> Watched | UnreachableError:
    """Watch the leader until every voter was seen to advance, and every node of `nodes` that did not answer, or the
    time of a watch is over; to its end where the ids of `whole` are concerned, listed by the leader or not.

    The error where no controller that answers leads any more, or where none answered in time. Raises nothing.
    """
    nodes = tuple(nodes)
    silent = {node.id for node in nodes if not node.answers} | whole
    listed = {replica.id: replica.key for replica in (*first.voters, *first.observers)}
    needed = [listed.get(node_id) or ReplicaKey(node_id=node_id, directory_id=ZERO_UUID) for node_id in sorted(whole)]
    needed += [key for node_id, key in listed.items() if node_id in silent - whole]
    with client.sibling(client.role, client.bootstrap, timeout_ms=_SAMPLE_MS) as asked:
        sampling = _Sampling(asked, cluster_id)
        found = watch(sampling, _controllers(nodes), needed=needed, watch_ms=WATCH_MS)
    if found is None or sampling.answer is None:
        return sampling.error or UnreachableError("the answer names no leader", id="no-active-controller")
    watched_ms = round(found.last.at_ms - found.first.at_ms)
    return Watched(
        answer=sampling.answer,
        state=with_lives(found.last.state, found),
        watched_ms=watched_ms,
        enough=watched_ms >= WATCH_MS - _SAMPLE_TOLERANCE_MS,
    )


# The last observation may begin this much before the end of the watch.
_SAMPLE_TOLERANCE_MS = 200


class _Sampling:
    """`quorum.liveness.Sampling` over a client."""

    def __init__(self, client: Client, cluster_id: str | None) -> None:
        self._client = client
        self._cluster_id = cluster_id
        self.answer: QuorumAnswer | None = None
        self.error: UnreachableError | None = None

    def now_ms(self) -> float:
        return self._client.clock.now_ms()

    def sleep_ms(self, duration_ms: float) -> None:
        self._client.clock.sleep_ms(duration_ms)

    def sample(self) -> QuorumState | None:
        try:
            self.answer = describe_quorum(self._client)
        except UnreachableError as error:
            self.answer, self.error = None, error
            return None
        return quorum_state(cluster_id=self._cluster_id, answers=(self.answer,))


def _controllers(nodes: Iterable[ClusterNode]) -> Mapping[int, ClusterNode]:
    """Return the answers of controllers before the watch, so that the evidence shows which did not answer."""
    return {node.id: node for node in nodes if node.role is Role.CONTROLLER}
