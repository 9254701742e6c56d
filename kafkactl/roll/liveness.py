"""Liveness of brokers and voters, by evidence only: unknown is never alive.

A broker is alive if it answered at its own address. A voter counts for a majority if the leader observed its fetches
to advance (`cluster/quorum/liveness.py`), it is near the end of the log, and it did not fail to answer.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from kafkactl.cluster.quorum.majority import majority
from kafkactl.core.frozen import frozen
from kafkactl.roll.case import RollCase
from kafkactl.roll.observation import NODE_NOT_OBSERVED, NOTHING_LISTENS
from kafkactl.roll.quorum_view import ObservedReplica

MOST_LAG: Final = 1_000
"""Records behind the leader with which a voter is still caught up; a healthy one is a batch behind."""


def is_alive(case: RollCase, node_id: int) -> bool | None:
    """Return True if a node answered; None if it was not asked."""
    node = case.observation.node(node_id)
    if node is not None and node.alive is not None:
        return node.alive
    listed = case.observation.listed.get(node_id)
    return None if listed is None else listed.answers


def is_gone(case: RollCase, node_id: int) -> bool:
    """Return False if an address of the node took no connection in time, or did not answer: a process may be there."""
    node = case.observation.node(node_id)
    reasons = [
        finding.evidence.get("reason")
        for finding in case.observation.findings
        if node is not None and finding.id == NODE_NOT_OBSERVED and finding.subject == node.name
    ]
    return all(reason == NOTHING_LISTENS for reason in reasons)


def is_majority_down(case: RollCase) -> bool:
    """Return True if too few voters for a majority answer.

    If the voters are unknown, the controllers of the inventory count as such.
    """
    voters = case.voter_ids or [node.id for node in case.observation.controllers]
    up = [voter for voter in voters if is_alive(case, voter) is not False]
    return bool(voters) and len(up) < majority(len(voters))


def lacks_leader(case: RollCase) -> bool:
    """Return True if no leader was observed: the quorum has none, or too few voters answer to elect one.

    A quorum that could not be asked, while a majority of its voters may be alive, is not one without a leader.
    """
    quorum = case.observation.quorum_view
    return is_majority_down(case) if quorum is None else not quorum.has_leader


@frozen
class VoterCount:
    """The voters of the quorum, by liveness. `needed` is the number of voters in a majority."""

    voters: tuple[int, ...]
    alive: frozenset[int]
    unknown: frozenset[int]
    needed: int

    def remain(self, stopped: Collection[int]) -> bool | None:
        """Return True if a majority is proved alive without these nodes, False if none is possible, None between."""
        if len(self.alive.difference(stopped)) >= self.needed:
            return True
        possible = (self.alive | self.unknown).difference(stopped)
        return None if len(possible) >= self.needed else False


def count_voters(case: RollCase) -> VoterCount | None:
    """Return the voters of the quorum; None if they are unknown."""
    return _count(case, needs_answer=True)


def count_fetching(case: RollCase) -> VoterCount | None:
    """Return the voters of the quorum by the fetches that the leader observed alone; None if they are unknown.

    The address of such a voter does not have to be reachable from here.
    """
    return _count(case, needs_answer=False)


def _count(case: RollCase, *, needs_answer: bool) -> VoterCount | None:
    ids = case.voter_ids
    if not ids:
        return None
    quorum = case.observation.quorum_view
    alive: set[int] = set()
    unknown: set[int] = set()
    for node_id in ids:
        voter = None if quorum is None else quorum.voter(node_id)
        state = None if voter is None or quorum is None or not quorum.has_leader else _counts(voter, case)
        if is_alive(case, node_id) is False and (needs_answer or not state):
            state = False
        if state:
            alive.add(node_id)
        elif state is None:
            unknown.add(node_id)
    return VoterCount(voters=ids, alive=frozenset(alive), unknown=frozenset(unknown), needed=majority(len(ids)))


def _counts(voter: ObservedReplica, case: RollCase) -> bool | None:
    quorum = case.observation.quorum_view
    if quorum is not None and voter.id == quorum.leader_id:
        return voter.alive is not False
    if voter.alive and voter.lag is not None and voter.lag > MOST_LAG:
        return False
    return voter.alive
