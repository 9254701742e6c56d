"""Answers of a leader: records, snapshots, and the state of its quorum; and fetches that wait for records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkactl.simulator.raft import changes, errors
from kafkactl.simulator.raft.disk import CleanLog, WriteSnapshot
from kafkactl.simulator.raft.effects import State
from kafkactl.simulator.raft.errors import RaftThreadError
from kafkactl.simulator.raft.leader_state import Leader, ParkedFetch, Replica, state_row
from kafkactl.simulator.raft.log import BOOTSTRAP_SNAPSHOT_ID, Batch, Snapshot, SnapshotId
from kafkactl.simulator.raft.messages import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    ReplicaState,
)
from kafkactl.simulator.raft.profiles import US_PER_MS
from kafkactl.simulator.raft.replica_log import DIVERGING, SNAPSHOT, VALID
from kafkactl.simulator.raft.sending import leader_error
from kafkactl.simulator.raft.voters import NO_VOTERS

if TYPE_CHECKING:
    from kafkactl.simulator.raft.node import Node

ABSENT: Final = -1
LARGEST_POSITION: Final = (1 << 31) - 1


def handle_fetch_request(node: Node, now: int, request: FetchRequest) -> None:
    """Answer errors, records and snapshots at once (`handleFetchRequest`); without anything new, wait for it."""
    if request.cluster_id is not None and request.cluster_id != node.cluster_id:
        node.out.append(empty_response(node, request, errors.NONE, errors.INCONSISTENT_CLUSTER_ID))
        return
    if (
        request.max_wait_ms < 0
        or request.fetch_offset < 0
        or request.last_fetched_epoch < 0
        or request.last_fetched_epoch > request.current_leader_epoch
    ):
        node.out.append(empty_response(node, request, errors.INVALID_REQUEST))
        return
    response = _serve_fetch(node, now, request)
    if (
        response.error_code
        or response.records
        or request.max_wait_ms == 0
        or response.diverging_epoch != ABSENT
        or response.snapshot_epoch != ABSENT
        or (node.profile.fetch_high_watermark and request.high_watermark < response.high_watermark)
    ):
        node.out.append(response)
        return
    parked = ParkedFetch(now + request.max_wait_ms * US_PER_MS, request, response)
    if node.parked and node.parked[-1].deadline > parked.deadline:
        node.parked.append(parked)
        node.parked.sort(key=lambda waiting: waiting.deadline)
    else:
        node.parked.append(parked)


def _serve_fetch(node: Node, now: int, request: FetchRequest) -> FetchResponse:
    """Return the records for a log that ends where the request says (`tryCompleteFetchRequest`)."""
    error = leader_error(node, request.current_leader_epoch)
    if error:
        return empty_response(node, request, error)
    leader, log = node.leader, node.log
    assert leader is not None
    offset = request.fetch_offset
    newest = log.latest_snapshot_id
    if offset == 0 and newest is not None and newest != BOOTSTRAP_SNAPSHOT_ID:
        verdict, epoch, end = SNAPSHOT, newest.epoch, newest.end_offset
    else:
        verdict, epoch, end = log.validate(offset, request.last_fetched_epoch)
    records: tuple[Batch, ...] = ()
    if verdict == VALID:
        records = log.read(offset, request.max_bytes)
        if request.replica_id >= 0:
            _note_fetch(node, now, request)
    return FetchResponse(
        node.id,
        request.source,
        request.correlation_id,
        errors.NONE,
        errors.NONE,
        node.leader_id,
        node.epoch,
        node.high_watermark,
        log.start,
        epoch if verdict == DIVERGING else ABSENT,
        end if verdict == DIVERGING else ABSENT,
        epoch if verdict == SNAPSHOT else ABSENT,
        end if verdict == SNAPSHOT else ABSENT,
        records,
        node.reply_endpoints,
    )


def _note_fetch(node: Node, now: int, request: FetchRequest) -> None:
    """Record that the replica has all records below its fetch offset (`updateReplicaState`)."""
    leader = node.leader
    assert leader is not None
    if request.replica_id == node.id:
        raise RaftThreadError(f"Remote replica ID {request.replica_id} matches the local leader ID")
    replica, is_voter = leader.replica(request.replica_id, request.replica_directory_id)
    before = replica.end
    replica.fetched(now, request.fetch_offset, leader.own.end)
    leader.voter_fetched(now, request.replica_id, is_voter, node.us.check_quorum)
    if is_voter and before != request.fetch_offset:
        update_high_watermark(node, now, leader)


def empty_response(node: Node, request: FetchRequest, error: int, top_level: int = errors.NONE) -> FetchResponse:
    """Return a response without records: an error, or a leader that is not known."""
    return FetchResponse(
        node.id,
        request.source,
        request.correlation_id,
        top_level,
        error,
        node.leader_id,
        node.epoch,
        ABSENT,
        node.log.start,
        ABSENT,
        ABSENT,
        ABSENT,
        ABSENT,
        (),
        node.reply_endpoints,
    )


def update_high_watermark(node: Node, now: int, leader: Leader) -> None:
    """Commit what a majority has, if a record of this epoch is among it; never back (`maybeUpdateHighWatermark`)."""
    new = leader.committed()
    if new <= leader.epoch_start or new <= node.high_watermark:
        return
    node.high_watermark = new
    node.log.high_watermark = max(new, node.log.high_watermark)
    changes.high_watermark_moved(node, leader)
    if node.profile.fetch_high_watermark:
        complete_parked(node, now, None)


def complete_parked(node: Node, now: int, end: int | None) -> None:
    """Serve again the parked fetches that ask for an offset below this end; None: all of them."""
    if not node.parked:
        return
    ready = [parked for parked in node.parked if end is None or parked.offset < end]
    if not ready:
        return
    node.parked = [parked for parked in node.parked if end is not None and parked.offset >= end]
    for parked in ready:
        node.out.append(_serve_fetch(node, now, parked.request))


def expire_parked(node: Node, now: int) -> None:
    """Answer fetches that waited long enough, with the answer that was made when they came."""
    parked = node.parked
    while parked and parked[0].deadline <= now:
        node.out.append(parked.pop(0).response)


def fail_parked(node: Node, error: int) -> None:
    """Answer every waiting fetch at once with `error`: this node is not the leader."""
    parked, node.parked = node.parked, []
    for waiting in parked:
        node.out.append(empty_response(node, waiting.request, error))


def handle_fetch_snapshot_request(node: Node, now: int, request: FetchSnapshotRequest) -> None:
    """Return a piece of a snapshot (`handleFetchSnapshotRequest`); the snapshot 0-0 is never sent."""
    if request.cluster_id is not None and request.cluster_id != node.cluster_id:
        node.out.append(_snapshot_response(node, request, errors.NONE, top_level=errors.INCONSISTENT_CLUSTER_ID))
        return
    error = leader_error(node, request.current_leader_epoch)
    snapshot_id = SnapshotId(request.snapshot_end_offset, request.snapshot_epoch)
    snapshot = node.log.snapshot(snapshot_id)
    if not error and (snapshot is None or snapshot_id == BOOTSTRAP_SNAPSHOT_ID):
        error = errors.SNAPSHOT_NOT_FOUND
    if not error and snapshot is not None and not 0 <= request.position < snapshot.size:
        error = errors.POSITION_OUT_OF_RANGE
    if error or snapshot is None:
        node.out.append(_snapshot_response(node, request, error))
        return
    if request.position > LARGEST_POSITION:
        raise RaftThreadError(
            f"Trying to fetch a snapshot with size ({snapshot.size}) and a position ({request.position}) "
            f"larger than {LARGEST_POSITION}"
        )
    leader = node.leader
    assert leader is not None
    if request.replica_id == node.id:
        raise RaftThreadError("Received a FETCH/FETCH_SNAPSHOT request from the leader itself.")
    replica = leader.replicas.get(request.replica_id)
    is_voter = replica is not None and replica.matches(request.replica_directory_id)
    leader.voter_fetched(now, request.replica_id, is_voter, node.us.check_quorum)
    node.out.append(_snapshot_response(node, request, errors.NONE, snapshot))


def _snapshot_response(
    node: Node, request: FetchSnapshotRequest, error: int, snapshot: Snapshot | None = None, top_level: int = 0
) -> FetchSnapshotResponse:
    size = 0 if snapshot is None else snapshot.size
    return FetchSnapshotResponse(
        node.id,
        request.source,
        request.correlation_id,
        top_level,
        error,
        node.leader_id,
        node.epoch,
        ABSENT if snapshot is None else snapshot.id.end_offset,
        ABSENT if snapshot is None else snapshot.id.epoch,
        size,
        request.position if snapshot is not None else 0,
        min(request.max_bytes, size - request.position) if snapshot is not None else 0,
        0 if snapshot is None else snapshot.kraft_version,
        NO_VOTERS if snapshot is None else snapshot.voters,
        node.reply_endpoints,
    )


def write_snapshot(node: Node, snapshot_id: SnapshotId, size: int) -> None:
    """Write a snapshot of the own state, and forget what it makes needless (`createSnapshot`, the cleaner)."""
    level, voters = node.log.history_at(snapshot_id.end_offset - 1)
    snapshot = Snapshot(snapshot_id, size, level, voters or NO_VOTERS)
    node.log.add_snapshot(snapshot)
    node.log.clean(snapshot_id)
    node.out.append(WriteSnapshot(snapshot))
    node.out.append(CleanLog(snapshot_id))


def handle_describe_request(node: Node, now: int, request: DescribeQuorumRequest) -> None:
    """Describe the quorum as a leader (`handleDescribeQuorumRequest`); the voters are the last, committed or not."""
    leader = node.leader
    if leader is None or node.state is not State.LEADER:
        node.out.append(
            DescribeQuorumResponse(node.id, request.source, request.correlation_id, errors.NOT_LEADER_OR_FOLLOWER)
        )
        return
    now_ms = now // US_PER_MS

    def rows(replicas: list[Replica]) -> tuple[ReplicaState, ...]:
        return tuple(
            ReplicaState(*state_row(replica, now_ms if replica is leader.own else None)) for replica in replicas
        )

    node.out.append(
        DescribeQuorumResponse(
            node.id,
            request.source,
            request.correlation_id,
            errors.NONE,
            node.id,
            node.epoch,
            node.high_watermark,
            rows(list(leader.replicas.values())),
            rows(leader.active_observers(now)),
        )
    )


def handle_api_versions_request(node: Node, _now: int, request: ApiVersionsRequest) -> None:
    """Answer with the supported levels of kraft.version; up to 3.8 none is known."""
    known = node.profile.directory_ids
    node.out.append(
        ApiVersionsResponse(
            node.id,
            request.source,
            request.correlation_id,
            errors.NONE,
            node.own_voter.min_kraft_version if known else ABSENT,
            node.own_voter.max_kraft_version if known else ABSENT,
        )
    )
