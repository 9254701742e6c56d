"""Input of a dry run from a live cluster: its metadata log, and the voters that follow the leader."""

from __future__ import annotations

from kafkactl.cluster.io.quorum_view import QuorumObserver
from kafkactl.cluster.quorum.liveness import is_steady
from kafkactl.core.errors import UnreachableError
from kafkactl.dryrun.scenario import Observed
from kafkactl.kafka.client import Client
from kafkactl.metadata.io.live import saved_log

__all__ = ["observed_quorum", "saved_log"]


def observed_quorum(client: Client, added: frozenset[int] = frozenset()) -> Observed:
    """Return the live quorum; `added` are nodes to be watched in addition to the voters.

    Raises UnreachableError `quorum-not-steady` if no controller leads for as long as the quorum is watched.
    """
    with QuorumObserver(client) as observer:
        state = observer.prove(node_ids=added)
    if not is_steady(state):
        raise UnreachableError(
            "who of the voters is alive could not be observed: no leader, or the leader changed meanwhile",
            id="quorum-not-steady",
        )
    watched = (*state.voters, *(node for node in state.observers if node.id in added))
    return Observed(
        leader_id=state.leader_id,
        leader_epoch=state.leader_epoch,
        cluster_id=state.cluster_id,
        not_alive={node.id: node.evidence or "was not seen to advance" for node in watched if node.alive is not True},
    )
