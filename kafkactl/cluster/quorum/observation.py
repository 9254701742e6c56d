"""Answers of several controllers, disks and the metadata log, merged into one `QuorumState`.

Invariant: the leader of the highest epoch decides, and only a node's own answer makes it the leader: others answer
DescribeQuorum with NOT_LEADER_OR_FOLLOWER and have no list of voters. A leader that is cut off answers for up to 3 s
more, so two leaders may answer; the older epoch is reported as a finding. Without a leader, voters come from disks,
newest log first, and liveness from the nodes themselves. One answer is weak evidence of liveness, and is judged by
`quorum/liveness`. Ages are taken within one answer, by the leader's clock.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from kafkactl.cluster.node import ClusterNode
from kafkactl.cluster.quorum.liveness import by_one_answer
from kafkactl.cluster.quorum.state import ALIVE_WITHIN_MS, Mode, Probe, QuorumState, Replica
from kafkactl.cluster.quorum.voter_sets import Voter
from kafkactl.cluster.registrations import Registrations
from kafkactl.core.findings import Finding, Severity
from kafkactl.core.frozen import changed, frozen
from kafkactl.core.kafka_names import KRAFT_VERSION, NO_LEADER
from kafkactl.core.values import ZERO_UUID, Endpoint, Role, Uuid
from kafkactl.protocol.api_versions import NodeVersions
from kafkactl.protocol.schema.rights import server_text

_FIRST_WITH_DIRECTORIES = 2


@frozen
class QuorumAnswer:
    """A DescribeQuorum answer without error, by a node that acts as the leader. `asked` names that node.

    Offsets and times are as in the answer, -1 if unknown; `alive` of its replicas is not known yet.
    """

    asked: str
    version: int
    leader_id: int
    leader_epoch: int
    high_watermark: int
    voters: tuple[Replica, ...]
    observers: tuple[Replica, ...]


@frozen
class DiskSeen:
    """Quorum by a node's metadata directory. `path` names it; None is a missing value.

    `leader_id` and `leader_epoch` are those of quorum-state, remembered and perhaps old. `voters` is the newest
    VotersRecord of log or snapshot, committed or not; `static_voters` the ids of a quorum-state of version 0.
    """

    path: str
    node_id: int | None
    cluster_id: str | None = None
    directory_id: Uuid | None = None
    leader_id: int | None = None
    leader_epoch: int | None = None
    last_epoch: int = -1
    log_end_offset: int = 0
    kraft_version: int | None = None
    voters: tuple[Voter, ...] | None = None
    static_voters: tuple[int, ...] = ()


def answer_error(body: Mapping[str, Any]) -> tuple[int, str]:
    """Return the error of a DescribeQuorum answer, from the top or from the partition: code (0 for none) and text."""
    if body["ErrorCode"]:
        return body["ErrorCode"], server_text(body.get("ErrorMessage"))
    partition = body["Topics"][0]["Partitions"][0]
    return partition["ErrorCode"], server_text(partition.get("ErrorMessage"))


def quorum_answer(body: Mapping[str, Any], *, version: int, asked: str) -> QuorumAnswer:
    """Return the value of a DescribeQuorum answer that holds no error (`answer_error`)."""
    partition = body["Topics"][0]["Partitions"][0]
    endpoints = {node["NodeId"]: _endpoints(node["Listeners"]) for node in body.get("Nodes") or ()}
    return QuorumAnswer(
        asked=asked,
        version=version,
        leader_id=partition["LeaderId"],
        leader_epoch=partition["LeaderEpoch"],
        high_watermark=partition["HighWatermark"],
        voters=tuple(_replica(currentvoter, endpoints) for currentvoter in partition["CurrentVoters"]),
        observers=tuple(_replica(observer, {}) for observer in partition["Observers"]),
    )


def quorum_state(
    *,
    cluster_id: str | None,
    answers: Sequence[QuorumAnswer] = (),
    nodes: Sequence[ClusterNode] = (),
    disks: Sequence[DiskSeen] = (),
    registrations: Registrations | None = None,
    probes: Sequence[Probe] = (),
    heard: Mapping[str, NodeVersions] | None = None,
    configured: Mapping[int, tuple[Endpoint, ...]] | None = None,
    alive_within_ms: int = ALIVE_WITHIN_MS,
) -> QuorumState:
    """Return one state from all answers and files.

    `heard` has the answers of nodes with an unknown id, by their address. `configured` are the voters of
    controller.quorum.voters, which count in a static quorum without a leader. In a static quorum directory ids are left
    out: no vote names them, and from 4.1 on a leader shows some and not others.
    """
    by_id = {node.id: node for node in nodes}
    best = max(answers, key=lambda answer: answer.leader_epoch, default=None)
    kraft_version, kraft_source = next(_levels(best, by_id, heard or {}, disks, registrations))
    is_static = kraft_version == 0 or _only_claimed(best, kraft_version)
    mode = None if kraft_version is None else (Mode.STATIC if is_static else Mode.DYNAMIC)
    voters, voters_source = _voters(best, disks, registrations, by_id)
    if not voters and is_static and configured:
        voters = tuple(_configured(id, endpoints, disks, by_id) for id, endpoints in configured.items())
        voters_source = "controller.quorum.voters"
    observers = () if best is None else _with_lag(best.observers, best)
    if is_static:
        voters, observers = _nameless(voters), _nameless(observers)
    seen = [disk.leader_epoch for disk in disks] + [node.leader_epoch for node in by_id.values()]
    epochs = [epoch for epoch in seen if epoch is not None]
    asked = "no node leads" if best is None else best.asked
    state = QuorumState(
        cluster_id=cluster_id,
        mode=mode,
        kraft_version=kraft_version,
        leader_id=NO_LEADER if best is None else best.leader_id,
        leader_epoch=best.leader_epoch if best is not None else max(epochs, default=None),
        high_watermark=None if best is None else _known(best.high_watermark),
        voters=tuple(sorted(voters, key=lambda voter: voter.key)),
        observers=tuple(sorted(observers, key=lambda observer: observer.key)),
        nodes=dict(sorted(by_id.items())),
        probes=tuple(probes),
        registrations=registrations,
        sources={"leader": asked, "voters": voters_source, "kraft_version": kraft_source},
        findings=tuple(_contradictions(best, answers, kraft_version)),
    )
    return state if best is None else by_one_answer(state, alive_within_ms=alive_within_ms)


def _voters(
    best: QuorumAnswer | None,
    disks: Sequence[DiskSeen],
    registrations: Registrations | None,
    nodes: Mapping[int, ClusterNode],
) -> tuple[tuple[Replica, ...], str]:
    if best is not None:
        return _with_lag(best.voters, best), best.asked
    newest_first = sorted(disks, key=lambda disk: (disk.last_epoch, disk.log_end_offset), reverse=True)
    for disk in newest_first:
        if disk.voters is not None:
            return tuple(_from_log(voter, disks, nodes) for voter in disk.voters), f"the log in {disk.path}"
    if registrations is not None and registrations.voters is not None:
        return tuple(_from_log(voter, disks, nodes) for voter in registrations.voters), "the metadata log"
    for disk in newest_first:
        if disk.static_voters:
            found = tuple(_replica_of(node_id, disks, nodes) for node_id in disk.static_voters)
            return found, f"quorum-state in {disk.path}"
    return (), "no node"


def _with_lag(replicas: Iterable[Replica], answer: QuorumAnswer) -> tuple[Replica, ...]:
    """Return the leader's replicas with their lag; unknown numbers become None."""
    end = _leaders_end(answer)
    return tuple(
        Replica(
            id=replica.id,
            directory_id=replica.directory_id,
            endpoints=replica.endpoints,
            log_end_offset=_known(replica.log_end_offset),
            lag=None
            if end is None or _known(replica.log_end_offset) is None
            else max(0, end - (replica.log_end_offset or 0)),
            last_fetch_timestamp_ms=_known(replica.last_fetch_timestamp_ms),
            last_caught_up_timestamp_ms=_known(replica.last_caught_up_timestamp_ms),
        )
        for replica in replicas
    )


def _leaders_end(answer: QuorumAnswer) -> int | None:
    replicas = (*answer.voters, *answer.observers)
    own = [replica.log_end_offset for replica in replicas if replica.id == answer.leader_id]
    return max(
        (end for end in own or [replica.log_end_offset for replica in replicas] if end is not None), default=None
    )


def _from_log(voter: Voter, disks: Sequence[DiskSeen], nodes: Mapping[int, ClusterNode]) -> Replica:
    seen = _replica_of(voter.node_id, [disk for disk in disks if disk.directory_id == voter.directory_id], nodes)
    return Replica(
        id=voter.node_id,
        directory_id=voter.directory_id,
        endpoints=voter.endpoints,
        log_end_offset=seen.log_end_offset,
        alive=seen.alive,
    )


def _configured(
    node_id: int, endpoints: tuple[Endpoint, ...], disks: Sequence[DiskSeen], nodes: Mapping[int, ClusterNode]
) -> Replica:
    return changed(_replica_of(node_id, disks, nodes), endpoints=endpoints)


def _replica_of(node_id: int, disks: Sequence[DiskSeen], nodes: Mapping[int, ClusterNode]) -> Replica:
    """Return a voter without a leader.

    The answer of a broker's listener under its id may be that of another process.
    """
    node = nodes.get(node_id)
    disk = next((disk for disk in disks if disk.node_id == node_id), None)
    return Replica(
        id=node_id,
        log_end_offset=None if disk is None else disk.log_end_offset,
        alive=None if node is None or (node.answers and node.role is Role.BROKER) else node.answers,
    )


def _levels(
    best: QuorumAnswer | None,
    nodes: Mapping[int, ClusterNode],
    heard: Mapping[str, NodeVersions],
    disks: Sequence[DiskSeen],
    registrations: Registrations | None,
) -> Iterator[tuple[int | None, str]]:
    """Yield the finalized level and its source: the leader, then the highest of the others, then the log, then disks.

    A leader that answers in a version without directory ids is older than 3.9 and knows no level but 0.
    """
    loaded = {id: node.versions for id, node in nodes.items() if node.versions and node.versions.finalized_epoch >= 0}
    if best is not None and best.leader_id in loaded:
        yield loaded[best.leader_id].finalized.get(KRAFT_VERSION, 0), f"node {best.leader_id}"
    if loaded:
        level, node_id = max((versions.finalized.get(KRAFT_VERSION, 0), -id) for id, versions in loaded.items())
        yield level, f"node {-node_id}"
    if best is not None and best.version < _FIRST_WITH_DIRECTORIES:
        yield 0, "the leader's release"
    for address, versions in heard.items():
        if versions.finalized_epoch >= 0:
            yield versions.finalized.get(KRAFT_VERSION, 0), address
    if registrations is not None and registrations.kraft_version is not None:
        yield registrations.kraft_version, "the metadata log"
    of_disks = [(disk.kraft_version, disk.path) for disk in disks if disk.kraft_version is not None]
    if of_disks:
        level, path = max(of_disks)
        yield level, f"the log in {path}"
    yield None, "no node"


def _only_claimed(best: QuorumAnswer | None, kraft_version: int | None) -> bool:
    """Return True if level 1 is finalized in name only: 3.9 writes it and the quorum stays static (KAFKA-18979)."""
    if not kraft_version or best is None or best.version < _FIRST_WITH_DIRECTORIES or not best.voters:
        return False
    return all(voter.directory_id is None for voter in best.voters)


def _contradictions(best: QuorumAnswer | None, answers: Sequence[QuorumAnswer], level: int | None) -> Iterable[Finding]:
    for other in answers:
        if best is not None and (other.leader_id, other.leader_epoch) != (best.leader_id, best.leader_epoch):
            yield Finding(
                id="superseded-leader",
                severity=Severity.WARNING,
                subject=f"controller {other.leader_id}",
                message=f"controller {other.leader_id} still answers as leader of epoch {other.leader_epoch}, "
                f"controller {best.leader_id} leads epoch {best.leader_epoch}",
                evidence={"leader_epoch": other.leader_epoch, "newer_epoch": best.leader_epoch},
                next_step="Look again after 3 s; if it stays so, check the network between the two.",
            )
    if _only_claimed(best, level):
        yield Finding(
            id="kraft-version-only-claimed",
            severity=Severity.WARNING,
            subject="quorum",
            message=f"kraft.version {level} is finalized, but no voter has a directory id: the quorum is static",
            evidence={"kraft_version": level},
        )


def _replica(data: Mapping[str, Any], endpoints: Mapping[int, tuple[Endpoint, ...]]) -> Replica:
    directory_id = data.get("ReplicaDirectoryId")
    return Replica(
        id=data["ReplicaId"],
        directory_id=None if directory_id in (None, ZERO_UUID) else directory_id,
        endpoints=endpoints.get(data["ReplicaId"], ()),
        log_end_offset=data["LogEndOffset"],
        last_fetch_timestamp_ms=data.get("LastFetchTimestamp", -1),
        last_caught_up_timestamp_ms=data.get("LastCaughtUpTimestamp", -1),
    )


def _endpoints(listeners: Iterable[Mapping[str, Any]]) -> tuple[Endpoint, ...]:
    return tuple(
        Endpoint(listener=listener["Name"], host=listener["Host"], port=listener["Port"]) for listener in listeners
    )


def _nameless(replicas: Iterable[Replica]) -> tuple[Replica, ...]:
    return tuple(changed(replica, directory_id=None) for replica in replicas)


def _known(number: int | None) -> int | None:
    """Return the number, None for Kafka's -1."""
    return None if number is None or number < 0 else number
