"""Voter sets: who votes, what is a majority, which change Kafka accepts, and which change is safe.

Kafka accepts a new set if at most one key was added and at most one removed (`VoterSet.hasOverlappingMajority`). That
is not the mathematical rule: replacing one of three voters passes, though {1,2} and {1',3} share no voter. The exact
rule is `kafkactl.cluster.quorum.majority.majorities_always_meet`.
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter

from kafkactl.cluster.quorum.voter_sets import Voter
from kafkactl.core.values import ZERO_UUID, Endpoint, ReplicaKey, Uuid


class VoterSet:
    """Voters by id, in ascending order; never changed once made.

    A voter of a static quorum has the directory id zero, which means that it is not known.
    """

    __slots__ = ("_hash", "_keys", "by_id", "majority", "voters")

    def __init__(self, voters: Iterable[Voter]) -> None:
        self.voters = tuple(sorted(voters, key=attrgetter("node_id")))
        self.by_id = {voter.node_id: voter for voter in self.voters}
        # Made when they are asked for: most of what a set costs.
        self._keys: tuple[ReplicaKey, ...] | None = None
        self._hash: int | None = None
        self.majority = len(self.voters) // 2 + 1
        if len(self.by_id) != len(self.voters):
            raise ValueError(f"a voter set names an id twice: {self}")

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, VoterSet) and self.voters == other.voters)

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(self.voters)
        return self._hash

    def __bool__(self) -> bool:
        return bool(self.voters)

    def __str__(self) -> str:
        """Return the ids as Kafka prints a set of keys, without directories: `{1,2,3}`."""
        return "{" + ",".join(str(voter.node_id) for voter in self.voters) + "}"

    def __repr__(self) -> str:
        return str(self)

    @property
    def keys(self) -> tuple[ReplicaKey, ...]:
        """Return the identities of the voters, by ascending id."""
        if self._keys is None:
            self._keys = tuple(key_of(voter) for voter in self.voters)
        return self._keys

    def is_voter(self, node_id: int, directory_id: Uuid) -> bool:
        """Return True if this node is in the set.

        An unknown directory in the set matches every one (`VoterNode.isVoter`).
        """
        voter = self.by_id.get(node_id)
        return voter is not None and voter.directory_id in (ZERO_UUID, directory_id)

    def endpoints(self, node_id: int) -> tuple[Endpoint, ...]:
        """Return the endpoints of the voter; empty for a node that is not a voter (`VoterSet.listeners`)."""
        voter = self.by_id.get(node_id)
        return () if voter is None else voter.endpoints

    def is_only(self, node_id: int, directory_id: Uuid) -> bool:
        """Return True if this node is the single voter."""
        return len(self.voters) == 1 and self.is_voter(node_id, directory_id)

    def adding(self, voter: Voter) -> VoterSet | None:
        """Return the set with this voter, or None if its id is in the set, whatever the directory (`addVoter`)."""
        return None if voter.node_id in self.by_id else VoterSet((*self.voters, voter))

    def removing(self, key: ReplicaKey) -> VoterSet | None:
        """Return the set without this voter.

        None if id and directory do not match, or it is the last (`removeVoter`).
        """
        voter = self.by_id.get(key.node_id)
        if voter is None or voter.directory_id != key.directory_id or len(self.voters) == 1:
            return None
        return VoterSet(other for other in self.voters if other is not voter)

    def updating(self, voter: Voter) -> VoterSet | None:
        """Return the set with this voter's endpoints and versions, or None if the voter is not in it
        (`updateVoter`)."""
        if not self.is_voter(voter.node_id, voter.directory_id):
            return None
        return VoterSet(voter if other.node_id == voter.node_id else other for other in self.voters)

    def needs_update(self, voter: Voter) -> bool:
        """Return True if the voter is in the set with other endpoints or versions (`voterNodeNeedsUpdate`)."""
        return self.is_voter(voter.node_id, voter.directory_id) and self.by_id[voter.node_id] != voter


NO_VOTERS = VoterSet(())


def key_of(voter: Voter) -> ReplicaKey:
    """Return the identity of a voter."""
    return ReplicaKey(node_id=voter.node_id, directory_id=voter.directory_id)
