"""Samples of the leader, one after the other, for gates of feature levels and registrations."""

from __future__ import annotations

from collections.abc import Sequence

from kafkactl.change.clock import Clock
from kafkactl.cluster.followers import watch_followers
from kafkactl.cluster.io.leader_source import LeaderSource
from kafkactl.cluster.node import ClusterNode
from kafkactl.cluster.quorum.liveness import Observation
from kafkactl.cluster.quorum.observation import QuorumAnswer, quorum_state
from kafkactl.cluster.quorum.state import QuorumState
from kafkactl.core.errors import UnreachableError

_SAMPLE_MS = 1_500.0  # a leader answers within milliseconds; longer is an election


def watch_quorum(
    leader: LeaderSource,
    clock: Clock,
    nodes: Sequence[ClusterNode],
    *,
    cluster_id: str | None,
    first: QuorumAnswer,
    whole: frozenset[int],
) -> Observation | UnreachableError:
    """Watch the leader that gave the answer `first` (`watch_followers`).

    Return the error if no controller that answers leads any more, or if none answered in time. Raises nothing.
    """
    sampling = _Sampling(leader, clock, cluster_id)
    found = watch_followers(sampling, nodes, listed=(*first.voters, *first.observers), whole=whole)
    return found or sampling.error or UnreachableError("the answer names no leader", id="no-active-controller")


class _Sampling:
    """Source of samples (`quorum.liveness.Sampling`) from the answers of the leader."""

    def __init__(self, leader: LeaderSource, clock: Clock, cluster_id: str | None) -> None:
        self._leader = leader
        self._clock = clock
        self._cluster_id = cluster_id
        self.error: UnreachableError | None = None

    def now_ms(self) -> float:
        return self._clock.now_ms()

    def sleep_ms(self, duration_ms: float) -> None:
        self._clock.sleep_ms(duration_ms)

    def sample(self) -> QuorumState | None:
        try:
            answer = self._leader.answer(most_ms=_SAMPLE_MS)
        except UnreachableError as error:
            self.error = error
            return None
        return quorum_state(cluster_id=self._cluster_id, answers=(answer,))
