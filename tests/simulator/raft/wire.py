"""Messages of the state machine as values of Kafka's message definitions, and as bytes.

Each message is one topic, `__cluster_metadata`, with one partition, 0. Records are given as bytes by the caller,
because a batch of the state machine holds none. Where leaders answer is left out of versions that have no place for
it, as Kafka's `RaftUtil` does; anything else that a version cannot say is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from kafkactl.core.kafka_names import KRAFT_VERSION, METADATA_TOPIC
from kafkactl.core.values import METADATA_TOPIC_ID, ZERO_UUID, Endpoint
from kafkactl.protocol.codec import Message, encode_message
from kafkactl.protocol.schema.definitions import message as definition
from kafkactl.simulator.raft import messages
from kafkactl.simulator.raft.following import NO_HIGH_WATERMARK_FIELD
from kafkactl.simulator.raft.messages import RaftMessage

PARTITION: Final = 0
Value = Callable[[Any, int, bytes], Message]


def wire_value(message: RaftMessage, version: int, records: bytes = b"") -> Message:
    """Return the value of the message's definition, which has the name of its class, at this version.

    `records` are those of a fetch, or of a snapshot's piece. Raises TypeError for Disconnected, which no peer sends.
    """
    make = _VALUES.get(type(message))
    if make is None:
        raise TypeError(f"{type(message).__name__} is not a message of the protocol")
    return make(message, version, records)


def wire_bytes(message: RaftMessage, version: int, records: bytes = b"") -> bytes:
    """Return the message's body as Kafka writes it. Raises EncodeError for a version that cannot say what the message
    says."""
    value = wire_value(message, version, records)
    return encode_message(definition(type(message).__name__), version, value)


def _topics(partition: Message, top: Message) -> Message:
    return {
        **top,
        "Topics": [{"TopicName": METADATA_TOPIC, "Partitions": [{"PartitionIndex": PARTITION, **partition}]}],
    }


def _named(endpoints: tuple[Endpoint, ...]) -> list[Message]:
    return [{"Name": at.listener, "Host": at.host, "Port": at.port} for at in endpoints]


def _leader_endpoints(endpoints: tuple[Endpoint, ...], version: int) -> Message:
    return {"LeaderEndpoints": _named(endpoints)} if version >= 1 else {}


def _node_endpoints(message: Any, version: int, since: int = 1) -> Message:
    if version < since:
        return {}
    at = [
        {"NodeId": message.leader_id, "Host": endpoint.host, "Port": endpoint.port}
        for endpoint in message.node_endpoints
    ]
    return {"NodeEndpoints": at}


def _vote_request(message: messages.VoteRequest, _version: int, _records: bytes) -> Message:
    partition = {
        "ReplicaEpoch": message.replica_epoch,
        "ReplicaId": message.replica_id,
        "ReplicaDirectoryId": message.replica_directory_id,
        "VoterDirectoryId": message.voter_directory_id,
        "LastOffsetEpoch": message.last_offset_epoch,
        "LastOffset": message.last_offset,
        "PreVote": message.pre_vote,
    }
    return _topics(partition, {"ClusterId": message.cluster_id, "VoterId": message.voter_id})


def _vote_response(message: messages.VoteResponse, version: int, _records: bytes) -> Message:
    top = {"ErrorCode": message.top_level_error_code, **_node_endpoints(message, version)}
    return _topics({**_leader(message), "VoteGranted": message.vote_granted}, top)


def _leader(message: Any) -> Message:
    return {"ErrorCode": message.error_code, "LeaderId": message.leader_id, "LeaderEpoch": message.leader_epoch}


def _begin_request(message: messages.BeginQuorumEpochRequest, version: int, _records: bytes) -> Message:
    partition = {
        "VoterDirectoryId": message.voter_directory_id,
        "LeaderId": message.leader_id,
        "LeaderEpoch": message.leader_epoch,
    }
    top = {"ClusterId": message.cluster_id, "VoterId": message.voter_id}
    return _topics(partition, {**top, **_leader_endpoints(message.leader_endpoints, version)})


def _epoch_response(message: Any, version: int, _records: bytes) -> Message:
    """Return the response of BeginQuorumEpoch and of EndQuorumEpoch, which are alike."""
    return _topics(_leader(message), {"ErrorCode": message.top_level_error_code, **_node_endpoints(message, version)})


def _end_request(message: messages.EndQuorumEpochRequest, version: int, _records: bytes) -> Message:
    keys = message.preferred_candidates
    partition = {
        "LeaderId": message.leader_id,
        "LeaderEpoch": message.leader_epoch,
        "PreferredSuccessors": [key.node_id for key in keys],
        "PreferredCandidates": [{"CandidateId": key.node_id, "CandidateDirectoryId": key.directory_id} for key in keys],
    }
    top = {"ClusterId": message.cluster_id, **_leader_endpoints(message.leader_endpoints, version)}
    return _topics(partition, top)


def _fetch_request(message: messages.FetchRequest, version: int, _records: bytes) -> Message:
    partition = {
        "Partition": PARTITION,
        "CurrentLeaderEpoch": message.current_leader_epoch,
        "FetchOffset": message.fetch_offset,
        "LastFetchedEpoch": message.last_fetched_epoch,
        "PartitionMaxBytes": 0,
        "ReplicaDirectoryId": message.replica_directory_id,
        "HighWatermark": message.high_watermark if version >= 18 else NO_HIGH_WATERMARK_FIELD,
    }
    replica = (
        {"ReplicaState": {"ReplicaId": message.replica_id, "ReplicaEpoch": -1}}
        if version >= 15
        else {"ReplicaId": message.replica_id}
    )
    topic = {"Topic": METADATA_TOPIC} if version < 13 else {"TopicId": METADATA_TOPIC_ID}
    return {
        "ClusterId": message.cluster_id,
        **replica,
        "MaxWaitMs": message.max_wait_ms,
        "MinBytes": 0,
        "MaxBytes": message.max_bytes,
        "Topics": [{**topic, "Partitions": [partition]}],
    }


def _fetch_response(message: messages.FetchResponse, version: int, records: bytes) -> Message:
    partition = {
        "PartitionIndex": PARTITION,
        "ErrorCode": message.error_code,
        "HighWatermark": message.high_watermark,
        "LogStartOffset": message.log_start_offset,
        "DivergingEpoch": {"Epoch": message.diverging_epoch, "EndOffset": message.diverging_end_offset},
        "CurrentLeader": {"LeaderId": message.leader_id, "LeaderEpoch": message.leader_epoch},
        "SnapshotId": {"EndOffset": message.snapshot_end_offset, "Epoch": message.snapshot_epoch},
        "Records": records,
    }
    topic = {"Topic": METADATA_TOPIC} if version < 13 else {"TopicId": METADATA_TOPIC_ID}
    return {
        "ErrorCode": message.top_level_error_code,
        "Responses": [{**topic, "Partitions": [partition]}],
        **_node_endpoints(message, version, 16),
    }


def _snapshot_id(message: Any) -> Message:
    return {"EndOffset": message.snapshot_end_offset, "Epoch": message.snapshot_epoch}


def _fetch_snapshot_request(message: messages.FetchSnapshotRequest, _version: int, _records: bytes) -> Message:
    partition = {
        "Partition": PARTITION,
        "CurrentLeaderEpoch": message.current_leader_epoch,
        "SnapshotId": _snapshot_id(message),
        "Position": message.position,
        "ReplicaDirectoryId": message.replica_directory_id,
    }
    return {
        "ClusterId": message.cluster_id,
        "ReplicaId": message.replica_id,
        "MaxBytes": message.max_bytes,
        "Topics": [{"Name": METADATA_TOPIC, "Partitions": [partition]}],
    }


def _fetch_snapshot_response(message: messages.FetchSnapshotResponse, version: int, records: bytes) -> Message:
    partition = {
        "Index": PARTITION,
        "ErrorCode": message.error_code,
        "SnapshotId": _snapshot_id(message),
        "CurrentLeader": {"LeaderId": message.leader_id, "LeaderEpoch": message.leader_epoch},
        "Size": message.size,
        "Position": message.position,
        "UnalignedRecords": records,
    }
    return {
        "ErrorCode": message.top_level_error_code,
        "Topics": [{"Name": METADATA_TOPIC, "Partitions": [partition]}],
        **_node_endpoints(message, version),
    }


def _voter(message: Any) -> Message:
    key = {"VoterId": message.voter_id, "VoterDirectoryId": message.voter_directory_id}
    return {"ClusterId": message.cluster_id, **key}


def _add_request(message: messages.AddRaftVoterRequest, _version: int, _records: bytes) -> Message:
    return {
        **_voter(message),
        "TimeoutMs": message.timeout_ms,
        "Listeners": _named(message.listeners),
        "AckWhenCommitted": message.ack_when_committed,
    }


def _change_response(message: Any, _version: int, _records: bytes) -> Message:
    return {"ErrorCode": message.error_code, "ErrorMessage": message.error_message}


def _update_request(message: messages.UpdateRaftVoterRequest, _version: int, _records: bytes) -> Message:
    levels = {
        "MinSupportedVersion": message.min_supported_version,
        "MaxSupportedVersion": message.max_supported_version,
    }
    return {
        **_voter(message),
        "CurrentLeaderEpoch": message.current_leader_epoch,
        "Listeners": _named(message.listeners),
        "KRaftVersionFeature": levels,
    }


def _update_response(message: messages.UpdateRaftVoterResponse, _version: int, _records: bytes) -> Message:
    leader = {"LeaderId": message.leader_id, "LeaderEpoch": message.leader_epoch}
    return {
        "ErrorCode": message.error_code,
        "CurrentLeader": {**leader, "Host": message.host, "Port": message.port},
    }


def _api_versions_response(message: messages.ApiVersionsResponse, _version: int, _records: bytes) -> Message:
    low, high = message.min_kraft_version, message.max_kraft_version
    feature = {"Name": KRAFT_VERSION, "MinVersion": low, "MaxVersion": high}
    return {"ErrorCode": message.error_code, "SupportedFeatures": [feature] if high >= 0 else []}


def _describe_response(message: messages.DescribeQuorumResponse, version: int, _records: bytes) -> Message:
    partition = {
        **_leader(message),
        "HighWatermark": message.high_watermark,
        "CurrentVoters": [_replica(row, version) for row in message.current_voters],
        "Observers": [_replica(row, version) for row in message.observers],
    }
    return _topics(partition, {})


def _replica(row: messages.ReplicaState, version: int) -> Message:
    return {
        "ReplicaId": row.replica_id,
        "ReplicaDirectoryId": row.replica_directory_id if version >= 2 else ZERO_UUID,
        "LogEndOffset": row.log_end_offset,
        "LastFetchTimestamp": row.last_fetch_timestamp,
        "LastCaughtUpTimestamp": row.last_caught_up_timestamp,
    }


_VALUES: Final[Mapping[type[Any], Value]] = {
    messages.VoteRequest: _vote_request,
    messages.VoteResponse: _vote_response,
    messages.BeginQuorumEpochRequest: _begin_request,
    messages.BeginQuorumEpochResponse: _epoch_response,
    messages.EndQuorumEpochRequest: _end_request,
    messages.EndQuorumEpochResponse: _epoch_response,
    messages.FetchRequest: _fetch_request,
    messages.FetchResponse: _fetch_response,
    messages.FetchSnapshotRequest: _fetch_snapshot_request,
    messages.FetchSnapshotResponse: _fetch_snapshot_response,
    messages.AddRaftVoterRequest: _add_request,
    messages.AddRaftVoterResponse: _change_response,
    messages.RemoveRaftVoterRequest: lambda message, _version, _records: _voter(message),
    messages.RemoveRaftVoterResponse: _change_response,
    messages.UpdateRaftVoterRequest: _update_request,
    messages.UpdateRaftVoterResponse: _update_response,
    messages.ApiVersionsRequest: lambda _message, _version, _records: {
        "ClientSoftwareName": "kafkactl",
        "ClientSoftwareVersion": "0",
    },
    messages.ApiVersionsResponse: _api_versions_response,
    messages.DescribeQuorumRequest: lambda _message, _version, _records: _topics({}, {}),
    messages.DescribeQuorumResponse: _describe_response,
}
