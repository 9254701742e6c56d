"""Samples of the leader through one client, for gates of feature levels and registrations."""

from __future__ import annotations

from collections.abc import Sequence

from kafkactl.cluster.followers import watch_followers
from kafkactl.cluster.io.controllers import describe_quorum
from kafkactl.cluster.node import ClusterNode
from kafkactl.cluster.quorum.liveness import Observation
from kafkactl.cluster.quorum.observation import QuorumAnswer, quorum_state
from kafkactl.cluster.quorum.state import QuorumState
from kafkactl.core.errors import UnreachableError
from kafkactl.kafka.client import Client

_SAMPLE_MS = 1_500.0  # a leader answers within milliseconds; longer is an election


def watch_quorum(
    client: Client,
    nodes: Sequence[ClusterNode],
    *,
    cluster_id: str | None,
    first: QuorumAnswer,
    whole: frozenset[int],
) -> Observation | UnreachableError:
    """Watch the leader that gave the answer `first` (`watch_followers`).

    The error if no controller that answers leads any more, or where none answered in time. Raises nothing.
    """
    with client.sibling(client.role, client.bootstrap, timeout_ms=_SAMPLE_MS) as asked:
        sampling = _Sampling(asked, cluster_id)
        found = watch_followers(sampling, nodes, listed=(*first.voters, *first.observers), whole=whole)
    return found or sampling.error or UnreachableError("the answer names no leader", id="no-active-controller")


class _Sampling:
    """`quorum.liveness.Sampling` over a client."""

    def __init__(self, client: Client, cluster_id: str | None) -> None:
        self._client = client
        self._cluster_id = cluster_id
        self.error: UnreachableError | None = None

    def now_ms(self) -> float:
        return self._client.clock.now_ms()

    def sleep_ms(self, duration_ms: float) -> None:
        self._client.clock.sleep_ms(duration_ms)

    def sample(self) -> QuorumState | None:
        try:
            answer = describe_quorum(self._client)
        except UnreachableError as error:
            self.error = error
            return None
        return quorum_state(cluster_id=self._cluster_id, answers=(answer,))
