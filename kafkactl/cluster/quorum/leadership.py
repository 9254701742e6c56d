"""Leader of a quorum as findings: none, or one that has committed nothing; and the voters that are not alive."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kafkactl.cluster.quorum.majority import arithmetic
from kafkactl.cluster.quorum.state import VOTERS_ELSEWHERE, QuorumState, Replica, ids_of
from kafkactl.core.findings import NO_ACCESS, Finding, Severity, blocker


def check_leader(state: QuorumState) -> Iterator[Finding]:
    """Check that there is a leader that has committed in its epoch."""
    if not state.has_leader:
        claims = {node.id: node.leader_id for node in state.nodes.values() if node.leader_id is not None}
        numbers = f": {majority_sum(state)}" if state.voters else ""
        yield blocker(
            "no-quorum-leader",
            "quorum",
            f"no controller{_unreached_leader(state)} leads the quorum{numbers}",
            _leaderless_step(state),
            voters=ids_of(state.voter_keys),
            alive=ids_of(state.voter_keys & state.alive_keys),
            believed_leaders={str(node_id): leader for node_id, leader in sorted(claims.items())},
            **({NO_ACCESS: True} if state.leader_out_of_reach else {}),
        )
    elif state.high_watermark is None:
        yield blocker(
            "high-watermark-unknown",
            f"controller {state.leader_id}",
            f"controller {state.leader_id} has committed nothing yet in epoch {state.leader_epoch}",
            "Look again in a second; if it stays so, a majority does not follow this leader.",
            leader_epoch=state.leader_epoch,
        )


def _unreached_leader(state: QuorumState) -> str:
    """Return " that answered" if a controller that may lead did not answer; else an empty text."""
    followed = {node.leader_id for node in state.nodes.values() if node.leader_id is not None and node.leader_id >= 0}
    reached = {node.id for node in state.nodes.values() if node.answers}
    return " that answered" if state.leader_out_of_reach or followed - reached else ""


def _leaderless_step(state: QuorumState) -> str:
    """Return the next step without a leader. An election is ruled out only if too few known voters are alive."""
    if any(finding.id == VOTERS_ELSEWHERE and finding.severity is Severity.BLOCKER for finding in state.findings):
        return f"Not one voter is missing: see {VOTERS_ELSEWHERE}. No request can change the voters before that."
    if _unreached_leader(state):
        return (
            "Run the command where every controller can be reached and lets this user in: name all of them, or use "
            "--bootstrap-server."
        )
    bring_back = "bring back voters until a majority is alive; no request can change the voters before that."
    if state.majority is not None and len(state.voter_keys & state.alive_keys) < state.majority:
        return bring_back.capitalize()
    return f"An election may be under way: run the command again. If no controller leads after 10 s, {bring_back}"


def life_words(replicas: Iterable[Replica]) -> str:
    """Return the evidence for replicas that are not alive: `controller 3 did not advance in 2000 ms`."""
    words = (
        f"controller {replica.id} {replica.evidence or 'was not seen to advance'}"
        for replica in replicas
        if replica.alive is not True
    )
    return "; ".join(words)


def majority_sum(state: QuorumState) -> str:
    """Return the number of live voters against the majority as text."""
    return arithmetic(ids_of(state.voter_keys), ids_of(state.voter_keys & state.alive_keys))
