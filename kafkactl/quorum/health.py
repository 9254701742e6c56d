"""Findings about a quorum's present health, for commands that only observe."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from kafkactl.cluster.quorum.identity import check_directories
from kafkactl.cluster.quorum.leadership import check_leader
from kafkactl.cluster.quorum.majority import arithmetic
from kafkactl.cluster.quorum.state import QuorumState, Replica, ids_of, key_text
from kafkactl.core.findings import Finding, Severity, each_once, warning
from kafkactl.quorum.guard import check_cluster, check_commits, check_majority
from kafkactl.quorum.guard_candidate import check_endpoints


def check_health(state: QuorumState, earlier: QuorumState | None = None) -> tuple[Finding, ...]:
    """Return the findings about the quorum; a blocker keeps the quorum from working.

    `earlier` is an observation more than half a second ago: a comparison shows if commits advance.
    """
    return each_once((*state.findings, *check_commits(earlier, state), *_health(state)))


def is_broken(state: QuorumState, findings: tuple[Finding, ...]) -> bool:
    """Return True if the quorum does not do its work: no node leads, nothing commits, or no majority is alive."""
    return not state.has_leader or any(finding.severity is Severity.BLOCKER for finding in findings)


def _health(state: QuorumState) -> Iterator[Finding]:
    yield from check_leader(state)
    if state.tolerates is not None:
        yield from check_majority(state)
    elif any(_is_silent(state, voter) for voter in state.voters):
        # Old releases and disks give no evidence of life, which is not a fault. Next to a silent voter it matters.
        yield from (replace(finding, severity=Severity.WARNING) for finding in check_majority(state))
    yield from check_cluster(state)
    yield from _dead_voters(state)
    yield from check_endpoints(state)
    yield from check_directories(state)


def _is_silent(state: QuorumState, voter: Replica) -> bool:
    """Return True if a voter is dead, or was asked and did not answer."""
    node = state.nodes.get(voter.id)
    return voter.alive is False or (node is not None and node.answers is False)


def _dead_voters(state: QuorumState) -> Iterator[Finding]:
    """Report voters that count in every majority and are known to be away, while there is a leader."""
    for voter in state.voters:
        if state.has_leader and voter.alive is False:
            rest = arithmetic(ids_of(state.voter_keys), ids_of(state.voter_keys & state.alive_keys))
            yield warning(
                "voter-is-dead",
                f"controller {voter.id}",
                f"voter {key_text(voter.key)} does not follow the leader: it "
                f"{voter.evidence or 'was not seen to advance'}; {rest}",
                "Bring it back; or, if it is lost, remove it before anything else: it counts in every majority.",
                tolerates=state.tolerates,
            )
