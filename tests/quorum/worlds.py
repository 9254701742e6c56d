"""Small quorums for tests: voters by id and the letter of their directory, and a world that does what Kafka does."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from kafkactl.cluster.node import ClusterNode
from kafkactl.cluster.quorum.majority import tolerates
from kafkactl.cluster.quorum.state import Mode, QuorumState, Replica
from kafkactl.core.values import Endpoint, ReplicaKey, Role, Uuid
from kafkactl.protocol.api_versions import NodeVersions
from kafkactl.protocol.schema.spec import Versions
from kafkactl.quorum.step import Action, Step

CLUSTER_ID = "qcW5mzVjTpOjVnxJ0WmYIg"
NOW_MS = 1_700_000_000_000
REQUESTS = {key: Versions(0, 1) for key in (52, 53, 54, 55, 59, 80, 81)}


def directory(letter: str) -> Uuid:
    """Return the directory id for a letter."""
    return Uuid(b"\x10" + bytes(14) + letter.encode())


def key(node_id: int, letter: str = "a") -> ReplicaKey:
    """Return the replica key of a node and one of its directories."""
    return ReplicaKey(node_id=node_id, directory_id=directory(letter))


def endpoint(node_id: int) -> Endpoint:
    """Return where a controller of these worlds answers."""
    return Endpoint(listener="CONTROLLER", host=f"c{node_id}", port=9093)


def versions(**changes) -> NodeVersions:
    """Return what a controller of 4.3 answers to ApiVersions."""
    levels_seen = {
        "version": 4,
        "requests": REQUESTS,
        "supported": {"metadata.version": Versions(7, 30), "kraft.version": Versions(0, 1)},
        "finalized": {"metadata.version": 30, "kraft.version": 1},
        "finalized_epoch": 12,
        "zookeeper_migration_ready": False,
    }
    return NodeVersions(**(levels_seen | changes))


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """State of a quorum. `alive` are the replicas that run; a leader is there while a majority of voters runs.

    `leader` may be forced to one of the live voters.
    """

    voters: frozenset[ReplicaKey]
    alive: frozenset[ReplicaKey]
    leader: ReplicaKey | None = None
    static: bool = False
    broker_only: frozenset[int] = frozenset()
    lag: dict[int, int] = field(default_factory=dict)

    @property
    def elected(self) -> ReplicaKey | None:
        """Return the leader: the one that was forced if it may lead, else the live voter with the lowest id."""
        able = sorted(self.voters & self.alive)
        if not self.voters or tolerates(self.voters, self.alive) < 0:
            return None
        return self.leader if self.leader in able else able[0]

    def observe(self, **changes) -> QuorumState:
        """Return what a client sees of it."""
        leader = self.elected
        level = {"kraft.version": 0 if self.static else 1, "metadata.version": 30}
        levels_seen = {
            "cluster_id": CLUSTER_ID,
            "mode": Mode.STATIC if self.static else Mode.DYNAMIC,
            "kraft_version": level["kraft.version"],
            "leader_id": -1 if leader is None else leader.node_id,
            "leader_epoch": 5,
            "high_watermark": None if leader is None else 1_000,
            "voters": tuple(self._replica(voter) for voter in sorted(self.voters)),
            "observers": tuple(self._replica(voter) for voter in sorted(self.alive - self.voters)) if leader else (),
            "nodes": {voter.node_id: self._facts(voter.node_id, level) for voter in sorted(self.voters | self.alive)},
        }
        return QuorumState(**(levels_seen | changes))

    def taken(self, step: Step) -> World:
        """Return the world after a request that Kafka takes. Raises AssertionError for what would wedge it."""
        assert self.elected is not None, "nobody takes requests"
        if step.action is Action.WAIT:
            return self
        if step.action is Action.UPGRADE:
            return replace(self, static=False)
        assert step.key is not None
        if step.action is Action.ADD:
            assert step.key in self.alive, "lagging behind"
            assert step.key.node_id not in {voter.node_id for voter in self.voters}, "DUPLICATE_VOTER"
            after = self.voters | {step.key}
        else:
            assert step.key in self.voters, "VOTER_NOT_FOUND"
            after = self.voters - {step.key}
        assert after, "VOTER_NOT_FOUND"
        assert tolerates(after, self.alive) >= 0, "the wedge"
        return replace(self, voters=after)

    def losing(self, gone: frozenset[ReplicaKey]) -> World:
        """Return the same without the processes of these replicas."""
        return replace(self, alive=self.alive - gone)

    def _replica(self, key: ReplicaKey) -> Replica:
        runs = key in self.alive
        lag = self.lag.get(key.node_id, 0)
        return Replica(
            id=key.node_id,
            directory_id=key.directory_id,
            endpoints=(endpoint(key.node_id),) if key in self.voters else (),
            log_end_offset=1_001 - lag if runs else None,
            lag=lag if runs else None,
            last_fetch_timestamp_ms=NOW_MS if runs else NOW_MS - 60_000,
            last_caught_up_timestamp_ms=NOW_MS if runs else NOW_MS - 60_000,
            alive=runs,
        )

    def _facts(self, node_id: int, level: dict[str, int]) -> ClusterNode:
        runs = node_id in {member.node_id for member in self.alive}
        role = Role.BROKER if node_id in self.broker_only else Role.CONTROLLER
        levels_seen = versions(finalized={name: number for name, number in level.items() if number})
        return ClusterNode(
            id=node_id,
            answers=runs,
            role=role,
            cluster_id=CLUSTER_ID if runs else None,
            versions=levels_seen if runs else None,
        )


def world(voters: str, *, dead: str = "", observers: str = "", leader: int | None = None, **changes) -> World:
    """Return a world in words: `world("1 2 3", dead="3", observers="4 3b")`; a letter behind an id is its directory."""
    voting, gone, watching = (frozenset(map(parse_key, part.split())) for part in (voters, dead, observers))
    leads = next((member for member in sorted(voting) if member.node_id == leader), None)
    return World(voters=voting, alive=(voting | watching) - gone, leader=leads, **changes)


def parse_key(text: str) -> ReplicaKey:
    """Parse a key: `3` is node 3 with its first directory, `3b` with another."""
    digits = text.rstrip("abcdefghijklmnopqrstuvwxyz")
    return key(int(digits), text[len(digits) :] or "a")
