"""Changes of the voter set: adding, removing, updating (`AddVoterHandler`, `RemoveVoterHandler`, `UpdateVoterHandler`).

One at a time, and none while the last is not committed. Nothing here asks whether a majority of the new set is alive:
that is Kafka's rule, and why removing a healthy voter while another one is down leaves a quorum without a leader.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkactl.cluster.quorum.voter_sets import Voter
from kafkactl.core.kafka_names import KRAFT_VERSION
from kafkactl.core.values import ZERO_UUID, Endpoint, ReplicaKey
from kafkactl.protocol.schema.error_codes import error_code
from kafkactl.simulator.raft import errors
from kafkactl.simulator.raft.leader_state import UNKNOWN, Leader, PendingChange
from kafkactl.simulator.raft.log import KRaftVersion, Voters
from kafkactl.simulator.raft.messages import (
    AddRaftVoterRequest,
    AddRaftVoterResponse,
    ApiVersionsRequest,
    ApiVersionsResponse,
    RemoveRaftVoterRequest,
    RemoveRaftVoterResponse,
    UpdateRaftVoterRequest,
    UpdateRaftVoterResponse,
)
from kafkactl.simulator.raft.sending import leader_error, send
from kafkactl.simulator.raft.voters import VoterSet

if TYPE_CHECKING:
    from kafkactl.simulator.raft.node import Node

Refusal = tuple[int, str | None]


def handle_add_request(node: Node, now: int, request: AddRaftVoterRequest) -> None:
    """Probe the new voter (`handleAddVoterRequest`); its record is written when the probe is answered."""
    refusal = _refused_add(node, now, request)
    if refusal is None:
        refusal = _probe(node, now, request)
    if refusal is not None:
        node.out.append(AddRaftVoterResponse(node.id, request.source, request.correlation_id, *refusal))


def _refused_add(node: Node, now: int, request: AddRaftVoterRequest) -> Refusal | None:
    refusal = _refused_request(node, request, "Add")
    if refusal is not None:
        return refusal
    if node.default_endpoint(request.listeners) is None:
        shown = ", ".join(f"{listener.listener}://{listener.host}:{listener.port}" for listener in request.listeners)
        return errors.INVALID_REQUEST, (
            f"Add voter request didn't include the endpoint (Endpoints(endpoints={{{shown}}})) for the default "
            f"listener ListenerName({node.default_listener})"
        )
    refusal = _refused_change(node, now, "adding")
    if refusal is not None:
        return refusal
    if request.voter_id in node.voters.by_id:
        return errors.DUPLICATE_VOTER, (
            f"The voter id for {_key(request)} is already part of the set of voters {_keys(node.voters)}."
        )
    return None


def _refused_request(node: Node, request: AddRaftVoterRequest | RemoveRaftVoterRequest, verb: str) -> Refusal | None:
    if request.cluster_id is not None and request.cluster_id != node.cluster_id:
        return errors.INCONSISTENT_CLUSTER_ID, (
            f'The given id "{request.cluster_id}" doesn\'t match the cluster id "{node.cluster_id}"'
        )
    error = errors.UNSUPPORTED_VERSION if not node.profile.directory_ids else leader_error(node, node.epoch)
    if error:
        return error, None
    if request.voter_id < 0 or request.voter_directory_id == ZERO_UUID:
        return errors.INVALID_REQUEST, f"{verb} voter request didn't include a valid voter"
    return None


def _unsettled(node: Node, now: int) -> Refusal | None:
    """Return the refusal of any change, also in a static quorum, while one is pending or no record is committed in the
    epoch."""
    leader = node.leader
    assert leader is not None
    leader.expire_pending(node, now)
    if leader.pending is not None:
        return errors.REQUEST_TIMED_OUT, (
            "Request timed out waiting for leader to handle previous voter change request"
        )
    if node.high_watermark < 0:
        return errors.REQUEST_TIMED_OUT, (
            "Request timed out waiting for leader to establish HWM and fence previous voter changes"
        )
    return None


def _refused_change(node: Node, now: int, verb: str) -> Refusal | None:
    """Return the refusal of a change of a dynamic quorum: `_unsettled`, kraft.version, an uncommitted change."""
    refusal = _unsettled(node, now)
    if refusal is not None:
        return refusal
    if not node.log.kraft_version:
        return errors.UNSUPPORTED_VERSION, (
            f"Cluster doesn't support {verb} voter because the {KRAFT_VERSION} feature is {node.log.kraft_version}"
        )
    offset = node.log.voters_offset
    if offset is None or offset >= node.high_watermark:
        return errors.REQUEST_TIMED_OUT, (
            f"Request timed out waiting for voters to commit the latest voter change at Optional[{offset}] with HWM "
            f"{node.high_watermark}"
        )
    return None


def _probe(node: Node, now: int, request: AddRaftVoterRequest) -> Refusal | None:
    """Ask the new voter for its versions, over the connection that is open for its id, whatever its address."""
    endpoint = node.default_endpoint(request.listeners)
    assert endpoint is not None and node.leader is not None
    if not node.connections.is_ready(request.voter_id, now):
        return errors.REQUEST_TIMED_OUT, f"New voter {_key(request)} is not ready to receive requests"
    pending = PendingChange(request, now + node.us.request_timeout)

    def make(correlation_id: int, address: Endpoint) -> ApiVersionsRequest:
        pending.correlation_id = correlation_id
        return ApiVersionsRequest(node.id, request.voter_id, correlation_id, address)

    send(node, now, request.voter_id, endpoint, make)
    node.leader.adding = pending
    return None


def handle_api_versions_response(node: Node, now: int, peer: int, response: ApiVersionsResponse) -> bool:
    """Check the last conditions, then write the record (`AddVoterHandler.handleApiVersionsResponse`)."""
    leader = node.leader
    if leader is None or leader.adding is None or leader.adding.offset != UNKNOWN:
        return True
    pending = leader.adding
    request = pending.request
    assert isinstance(request, AddRaftVoterRequest)
    if request.voter_id != peer:
        return True
    if response.error_code:
        return _abort(node, leader, response.error_code)
    level = node.log.kraft_version
    low, high = response.min_kraft_version, response.max_kraft_version
    if high < 0 or not low <= level <= high:
        shown = "(min: 0, max: 0)" if high < 0 else f"(min: {low}, max: {high}"
        leader.adding = None
        pending.answer(
            node,
            errors.INVALID_REQUEST,
            f"Aborted add voter operation for {_key(request)} since the {KRAFT_VERSION} range {shown} doesn't "
            f"support the finalized version {level}",
        )
        return True
    key = ReplicaKey(node_id=request.voter_id, directory_id=request.voter_directory_id)
    if not leader.is_caught_up(key, now):
        leader.adding = None
        message = f"Aborted add voter operation for {_key(request)} since it is lagging behind"
        pending.answer(node, errors.REQUEST_TIMED_OUT, message)
        return True
    added = node.voters.adding(_voter(request, low, high))
    assert added is not None
    pending.offset = leader.append_control((Voters(added),))
    if not request.ack_when_committed:
        pending.answer(node, errors.NONE)
    return True


def probe_failed(node: Node, correlation_id: int) -> None:
    """Abort an addition if the connection to the new voter failed or broke."""
    leader = node.leader
    if leader is not None and leader.adding is not None and leader.adding.correlation_id == correlation_id:
        _abort(node, leader, errors.BROKER_NOT_AVAILABLE)


def _abort(node: Node, leader: Leader, error: int) -> bool:
    pending, leader.adding = leader.adding, None
    assert pending is not None
    name = error_code(error).name
    message = f"Aborted add voter operation for since API_VERSIONS returned an error {name}"
    pending.answer(node, errors.REQUEST_TIMED_OUT, message)
    return False


def handle_remove_request(node: Node, now: int, request: RemoveRaftVoterRequest) -> None:
    """Write a set without the voter (`handleRemoveVoterRequest`): it holds at once; the answer waits for the commit.

    A leader may remove itself: it leads on without counting itself, and resigns when that is committed.
    """
    refusal = _refused_request(node, request, "Remove") or _refused_change(node, now, "removing")
    removed = None
    if refusal is None:
        key = ReplicaKey(node_id=request.voter_id, directory_id=request.voter_directory_id)
        removed = node.voters.removing(key)
        if removed is None:
            refusal = (
                errors.VOTER_NOT_FOUND,
                (f"Cannot remove voter {_key(request)} from the set of voters {_keys(node.voters)}"),
            )
    if removed is None or node.leader is None:
        assert refusal is not None
        node.out.append(RemoveRaftVoterResponse(node.id, request.source, request.correlation_id, *refusal))
        return
    pending = PendingChange(request, now + node.us.request_timeout)
    pending.offset = node.leader.append_control((Voters(removed),))
    node.leader.removing = pending


def high_watermark_moved(node: Node, leader: Leader) -> None:
    """Answer the change that is committed now; a leader that is not in the set any more resigns."""
    for pending in (leader.adding, leader.removing):
        if pending is None or not UNKNOWN < pending.offset < node.high_watermark:
            continue
        if pending is leader.adding:
            leader.adding = None
        else:
            leader.removing = None
            leader.resign_requested = leader.resign_requested or not node.is_voter
        if not (isinstance(pending.request, AddRaftVoterRequest) and not pending.request.ack_when_committed):
            pending.answer(node, errors.NONE)


def handle_update_request(node: Node, now: int, request: UpdateRaftVoterRequest) -> None:
    """Update a voter (`handleUpdateVoterRequest`): answered when the record is written, not when it is committed."""
    error = _update_error(node, now, request)
    endpoint = node.reply_endpoints[0] if node.reply_endpoints else None
    node.out.append(
        UpdateRaftVoterResponse(
            node.id,
            request.source,
            request.correlation_id,
            error,
            node.leader_id,
            node.epoch,
            "" if endpoint is None else endpoint.host,
            0 if endpoint is None else endpoint.port,
        )
    )


def _update_error(node: Node, now: int, request: UpdateRaftVoterRequest) -> int:
    if request.cluster_id is not None and request.cluster_id != node.cluster_id:
        return errors.INCONSISTENT_CLUSTER_ID
    return leader_error(node, request.current_leader_epoch) or _updated(node, now, request)


def _updated(node: Node, now: int, request: UpdateRaftVoterRequest) -> int:
    low, high = request.min_supported_version, request.max_supported_version
    if (
        request.voter_id < 0
        or request.voter_directory_id == ZERO_UUID
        or node.default_endpoint(request.listeners) is None
        or not 0 <= low <= high
    ):
        return errors.INVALID_REQUEST
    is_static = not node.log.kraft_version
    may_be_static = is_static and node.profile.static_voters_update
    refusal = _unsettled(node, now) if may_be_static else _refused_change(node, now, "updating")
    if refusal is not None:
        return refusal[0]
    if not low <= node.log.kraft_version <= high:
        return errors.INVALID_REQUEST
    assert node.leader is not None
    if is_static:  # kept in memory only, until kraft.version is raised
        error = _show_entry(node, _voter(request, low, high))
        if error:
            return error
    else:
        updated = node.voters.updating(_voter(request, low, high))
        if updated is None:
            return errors.VOTER_NOT_FOUND
        node.leader.append_control((Voters(updated),))
    if node.profile.update_proves_life:
        replica = node.leader.replicas.get(request.voter_id)
        is_voter = replica is not None and replica.matches(request.voter_directory_id)
        node.leader.voter_fetched(now, request.voter_id, is_voter, node.us.check_quorum)
    return errors.NONE


def _show_entry(node: Node, voter: Voter) -> int:
    assert node.leader is not None
    if voter.node_id not in node.voters.by_id:
        return errors.VOTER_NOT_FOUND
    node.leader.shown_entries[voter.node_id] = voter
    return errors.NONE


def upgrade_refusal(node: Node) -> str:
    """Return why kraft.version cannot be raised from 0 to 1; empty if it can
    (`maybeAppendUpgradedKRaftVersion`, 4.1)."""
    if node.leader is None:
        return f"Upgrade kraft version failed because node {node.id} is not the leader"
    entries = node.leader.shown_entries
    if not node.profile.static_voters_update or node.log.kraft_version:
        return f"Invalid upgrade of {KRAFT_VERSION} from version {node.log.kraft_version} to 1"
    if any(voter not in entries or entries[voter].max_kraft_version < 1 for voter in node.voters.by_id):
        return f"Invalid upgrade of {KRAFT_VERSION} to 1 because not all of the voters support it"
    return ""


def upgrade(node: Node) -> None:
    """Append one batch with the level, and with the voters and the directories that they reported to this leader."""
    assert node.leader is not None
    entries = node.leader.shown_entries
    voters = VoterSet(entries[voter] for voter in node.voters.by_id)
    node.leader.append_control((KRaftVersion(1), Voters(voters)))


def _voter(request: AddRaftVoterRequest | UpdateRaftVoterRequest, low: int, high: int) -> Voter:
    return Voter(
        node_id=request.voter_id,
        directory_id=request.voter_directory_id,
        endpoints=request.listeners,
        min_kraft_version=low,
        max_kraft_version=high,
    )


def _key(request: AddRaftVoterRequest | RemoveRaftVoterRequest) -> str:
    return f"ReplicaKey(id={request.voter_id}, directoryId={request.voter_directory_id})"


def _keys(voters: VoterSet) -> str:
    return "[" + ", ".join(f"ReplicaKey(id={k.node_id}, directoryId={k.directory_id})" for k in voters.keys) + "]"
