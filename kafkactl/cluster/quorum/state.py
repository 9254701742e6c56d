"""A quorum: leader, voters, observers and their liveness.

Invariant: a fact that was not observed is None, never a guess, and every fact has its source (`sources`). A replica is
alive if that was proven: by the leader, through recent fetches; without a leader, by the node itself. DescribeQuorum
shows the latest voter set, committed or not (`KafkaRaftClient.handleDescribeQuorumRequest`), so a set that is observed
may still be reverted; `progress` shows it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from enum import StrEnum
from typing import Final

from kafkactl.cluster.node import ClusterNode
from kafkactl.cluster.quorum.majority import majority, tolerates
from kafkactl.cluster.registrations import Registrations
from kafkactl.core.answers import by_fields, json_of
from kafkactl.core.findings import Finding
from kafkactl.core.frozen import frozen
from kafkactl.core.kafka_names import NO_LEADER
from kafkactl.core.values import ZERO_UUID, Endpoint, ReplicaKey, Role, Uuid

# KRaft's timeouts at their defaults (`QuorumConfig`): a follower gives up after 2 s without its leader, a leader after
# one and a half of that without a majority, and its list of recent fetches is trusted for twice that time.
FETCH_TIMEOUT_MS = 2_000
ALIVE_WITHIN_MS = 2 * FETCH_TIMEOUT_MS
CHECK_QUORUM_MS = FETCH_TIMEOUT_MS * 3 // 2

# Id of the finding about voters that are registered at addresses of no node.
VOTERS_ELSEWHERE: Final = "voters-at-other-addresses"


class Mode(StrEnum):
    """Storage of the voter set: in every node's configuration, or in the log (KIP-853)."""

    STATIC = "static"
    DYNAMIC = "dynamic"


@frozen
class Replica:
    """A voter or an observer. None means unknown."""

    id: int
    directory_id: Uuid | None = None
    """None in a static quorum: no vote names directories there."""
    endpoints: tuple[Endpoint, ...] = ()
    """Endpoints in the voter set; empty if not reported (before 3.9)."""
    log_end_offset: int | None = None
    lag: int | None = None
    """Records behind the leader's end."""
    last_fetch_timestamp_ms: int | None = None
    """Time by the leader's clock."""
    last_caught_up_timestamp_ms: int | None = None
    """Time by the leader's clock."""
    alive: bool | None = None
    """True: it leads, its fetches were observed, or it answers as itself and fetched lately (without a leader: it
    answers). False: it was watched and did not fetch. None: the evidence proves neither.
    """
    evidence: str | None = None
    """Reason why the replica is considered alive or not, as a clause about the node."""

    @property
    def key(self) -> ReplicaKey:
        """Return the identity of the replica; as in Kafka, an unknown directory is the zero one."""
        return ReplicaKey(node_id=self.id, directory_id=self.directory_id or ZERO_UUID)

    to_dict = by_fields


@frozen
class Probe:
    """Result of a connection from here to an endpoint.

    `node_id` is the id of the node that answered, None if that is unknown. `role` is the kind of listener that
    answered, None without an answer.
    """

    endpoint: Endpoint
    answers: bool
    role: Role | None = None
    cluster_id: str | None = None
    node_id: int | None = None


@frozen
class QuorumState:
    """A quorum at one moment.

    `cluster_id` is None if no node names it (controllers do from 3.7 on, to users that may ALTER the cluster).
    `leader_id` is -1 if no node leads; `high_watermark` None while the leader has committed nothing in its epoch.
    `nodes` by id and `probes` are own observations, `registrations` are those of the metadata log. `sources` has the
    source of each fact. `findings` are contradictions between answers.
    """

    cluster_id: str | None
    mode: Mode | None
    kraft_version: int | None
    leader_id: int
    """-1 without a leader; the exit code is then 7."""
    leader_epoch: int | None
    """Without a leader the highest epoch that a node or disk has."""
    high_watermark: int | None
    """None while the leader has committed nothing in its epoch."""
    voters: tuple[Replica, ...]
    observers: tuple[Replica, ...] = ()
    nodes: Mapping[int, ClusterNode] = field(default_factory=dict)
    probes: tuple[Probe, ...] = ()
    registrations: Registrations | None = None
    sources: Mapping[str, str] = field(default_factory=dict)
    """The sources of the leader, the voters and the kraft.version."""
    findings: tuple[Finding, ...] = ()
    leader_out_of_reach: bool = False
    """No leader answered, and a controller that others follow may lead if it cannot be asked from here."""

    @property
    def has_leader(self) -> bool:
        """Return True if a leader answered."""
        return self.leader_id != NO_LEADER

    @property
    def replicas(self) -> tuple[Replica, ...]:
        """Return the voters, then the observers."""
        return self.voters + self.observers

    @property
    def voter_keys(self) -> frozenset[ReplicaKey]:
        """Return the voter set by identity."""
        return frozenset(voter.key for voter in self.voters)

    @property
    def alive_keys(self) -> frozenset[ReplicaKey]:
        """Return the replicas that are proven alive, observers included."""
        return frozenset(replica.key for replica in self.replicas if replica.alive)

    @property
    def leader_key(self) -> ReplicaKey | None:
        """Return the leader as a voter; None if it is none or no node leads."""
        return next((voter.key for voter in self.voters if voter.id == self.leader_id), None)

    @property
    def leader(self) -> Replica | None:
        """Return the leader, also one that is being removed and is listed as an observer."""
        return next((replica for replica in self.replicas if replica.id == self.leader_id), None)

    @property
    def majority(self) -> int | None:
        """Return the number of voters in a majority; None if the voters are unknown."""
        return majority(len(self.voters)) if self.voters else None

    @property
    def tolerates(self) -> int | None:
        """Return the number of failures that the quorum survives now, below 0 without a majority.

        None if it depends on voters of which it is not known whether they are alive.
        """
        if not self.voters or all(voter.alive is None for voter in self.voters):
            return None
        proven = tolerates(self.voter_keys, self.alive_keys)
        not_dead = {voter.key for voter in self.voters if voter.alive is not False}
        return None if proven < 0 <= tolerates(self.voter_keys, not_dead) else proven

    @property
    def is_healthy(self) -> bool:
        """Return True if there is a leader that has committed in its epoch, and a majority is alive."""
        alive = self.tolerates
        return self.has_leader and self.high_watermark is not None and alive is not None and alive >= 0

    def voter(self, node_id: int) -> Replica | None:
        """Return the voter with that id."""
        return next((voter for voter in self.voters if voter.id == node_id), None)

    def directories_of(self, node_id: int) -> tuple[Replica, ...]:
        """Return every voter and observer of that node id: a replaced disk is listed next to the old one."""
        return tuple(replica for replica in self.replicas if replica.id == node_id)

    to_dict = json_of(
        "cluster_id", "mode", "kraft_version", "leader_id", "leader_epoch", "high_watermark", "voters", "observers",
        "majority", "tolerates", "sources", "findings",
    )  # fmt: skip


def key_text(key: ReplicaKey) -> str:
    """Return a voter as text: `3`, with the directory if it is known: `3 (directory ...)`."""
    return str(key.node_id) if key.directory_id == ZERO_UUID else f"{key.node_id} (directory {key.directory_id})"


def ids_of(keys: Iterable[ReplicaKey]) -> list[int]:
    """Return the node ids, ascending."""
    return sorted(key.node_id for key in keys)


class Progress(StrEnum):
    """Progress of commits between two observations of a quorum.

    moving: the high watermark grew, or there was nothing to commit. stuck: the log grew and the high watermark did
    not: the signature of a voter change that its own majority does not acknowledge (the high watermark stays at the
    offset of the VotersRecord). new-epoch: another leader, the count starts again. no-leader: no node to ask.
    unknown: the leader has not committed in its epoch, or the log's end is not known.
    """

    MOVING = "moving"
    STUCK = "stuck"
    NEW_EPOCH = "new-epoch"
    NO_LEADER = "no-leader"
    UNKNOWN = "unknown"


def progress(earlier: QuorumState, later: QuorumState) -> Progress:
    """Return the progress of commits between two observations, preferably half a second apart (idle clusters write
    no-ops)."""
    if not later.has_leader:
        return Progress.NO_LEADER
    if (earlier.leader_id, earlier.leader_epoch) != (later.leader_id, later.leader_epoch):
        return Progress.NEW_EPOCH
    ends = [None if state.leader is None else state.leader.log_end_offset for state in (earlier, later)]
    if None in ends or earlier.high_watermark is None or later.high_watermark is None:
        return Progress.UNKNOWN
    grew = ends[1] > ends[0]  # type: ignore[operator]  # neither is None
    return Progress.STUCK if grew and later.high_watermark == earlier.high_watermark else Progress.MOVING


def is_committed(first_seen: QuorumState, later: QuorumState) -> bool:
    """Return True if a voter set that was first observed in `first_seen` is committed by the time of `later`.

    True if the high watermark reached, in the same epoch, the log's end of the first observation: the record of the set
    is below it. A new epoch alone proves nothing: observe again from its first answer.
    """
    leader = first_seen.leader
    if not later.has_leader or later.high_watermark is None or leader is None or leader.log_end_offset is None:
        return False
    same_epoch = later.leader_epoch == first_seen.leader_epoch
    return same_epoch and later.voter_keys == first_seen.voter_keys and later.high_watermark >= leader.log_end_offset
