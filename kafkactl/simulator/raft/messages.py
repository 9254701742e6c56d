"""The messages of the protocol as slotted values, with the field names of Kafka's message definitions.

A message carries one partition, `__cluster_metadata-0`, so the nested topics and partitions of the wire form are flat
here: `top_level_error_code` is the outer `ErrorCode` if a response has two. tests/simulator/raft/wire.py makes wire
values.

The first three fields are the envelope. `source` and `destination` are node ids; `destination` is negative for a
bootstrap server, of which only the address is known. A response repeats the request's `correlation_id`, and its
`destination` is the request's `source`. `address` (requests) is where the request is sent to: if a world has several
processes with one id, or a voter whose endpoint in the log is wrong, it routes by this and not by `destination`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from kafkactl.core.kafka_names import NO_LEADER
from kafkactl.core.values import Endpoint, ReplicaKey, Uuid
from kafkactl.simulator.raft.effects import SEND
from kafkactl.simulator.raft.log import Batch
from kafkactl.simulator.raft.profiles import FETCH_MAX_BYTES
from kafkactl.simulator.raft.voters import VoterSet

CLIENT: Final = -1_000  # the `source` of a request that is an operator's, and no replica's


@dataclass(slots=True)
class VoteRequest:
    """Key 52. `pre_vote` is a field since version 2 (KIP-996)."""

    source: int
    destination: int
    correlation_id: int
    address: Endpoint | None
    cluster_id: str | None
    voter_id: int
    voter_directory_id: Uuid
    replica_epoch: int
    replica_id: int
    replica_directory_id: Uuid
    last_offset_epoch: int
    last_offset: int
    pre_vote: bool
    effect: ClassVar[int] = SEND
    is_request: ClassVar[bool] = True


@dataclass(slots=True)
class VoteResponse:
    """The answer to a VoteRequest."""

    source: int
    destination: int
    correlation_id: int
    top_level_error_code: int
    error_code: int
    leader_id: int
    leader_epoch: int
    vote_granted: bool
    node_endpoints: tuple[Endpoint, ...]
    effect: ClassVar[int] = SEND
    is_request: ClassVar[bool] = False


@dataclass(slots=True)
class BeginQuorumEpochRequest:
    """Key 53. From a new leader to the voters."""

    source: int
    destination: int
    correlation_id: int
    address: Endpoint | None
    cluster_id: str | None
    voter_id: int
    voter_directory_id: Uuid
    leader_id: int
    leader_epoch: int
    leader_endpoints: tuple[Endpoint, ...]
    effect: ClassVar[int] = SEND
    is_request: ClassVar[bool] = True


@dataclass(slots=True)
class BeginQuorumEpochResponse:
    """The answer to a BeginQuorumEpochRequest."""

    source: int
    destination: int
    correlation_id: int
    top_level_error_code: int
    error_code: int
    leader_id: int
    leader_epoch: int
    node_endpoints: tuple[Endpoint, ...]
    effect: ClassVar[int] = SEND
    is_request: ClassVar[bool] = False


@dataclass(slots=True)
class EndQuorumEpochRequest:
    """Key 54. From a leader that resigns; `preferred_candidates` by descending end offset."""

    source: int
    destination: int
    correlation_id: int
    address: Endpoint | None
    cluster_id: str | None
    leader_id: int
    leader_epoch: int
    preferred_candidates: tuple[ReplicaKey, ...]
    leader_endpoints: tuple[Endpoint, ...]
    effect: ClassVar[int] = SEND
    is_request: ClassVar[bool] = True


@dataclass(slots=True)
class EndQuorumEpochResponse:
    """The answer to an EndQuorumEpochRequest."""

    source: int
    destination: int
    correlation_id: int
    top_level_error_code: int
    error_code: int
    leader_id: int
    leader_epoch: int
    node_endpoints: tuple[Endpoint, ...]
    effect: ClassVar[int] = SEND
    is_request: ClassVar[bool] = False


@dataclass(slots=True)
class FetchRequest:
    """Key 1. `max_wait_ms` is in milliseconds, as on the wire; `high_watermark` is sent since version 18."""

    source: int
    destination: int
    correlation_id: int
    address: Endpoint | None
    cluster_id: str | None
    replica_id: int
    replica_directory_id: Uuid
    max_wait_ms: int
    current_leader_epoch: int
    fetch_offset: int
    last_fetched_epoch: int
    high_watermark: int
    max_bytes: int = FETCH_MAX_BYTES
    effect: ClassVar[int] = SEND
    is_request: ClassVar[bool] = True


@dataclass(slots=True)
class FetchResponse:
    """The answer to a FetchRequest: records, or where the logs diverge, or a snapshot to fetch; -1 is absent."""

    source: int
    destination: int
    correlation_id: int
    top_level_error_code: int
    error_code: int
    leader_id: int
    leader_epoch: int
    high_watermark: int
    log_start_offset: int
    diverging_epoch: int
    diverging_end_offset: int
    snapshot_epoch: int
    snapshot_end_offset: int
    records: tuple[Batch, ...]
    node_endpoints: tuple[Endpoint, ...]
    effect: ClassVar[int] = SEND
    is_request: ClassVar[bool] = False


@dataclass(slots=True)
class FetchSnapshotRequest:
    """Key 59. `position` and `max_bytes` in bytes."""

    source: int
    destination: int
    correlation_id: int
    address: Endpoint | None
    cluster_id: str | None
    replica_id: int
    replica_directory_id: Uuid
    max_bytes: int
    current_leader_epoch: int
    snapshot_end_offset: int
    snapshot_epoch: int
    position: int
    effect: ClassVar[int] = SEND
    is_request: ClassVar[bool] = True


@dataclass(slots=True)
class FetchSnapshotResponse:
    """The answer to a FetchSnapshotRequest: `unaligned_bytes` of a snapshot of `size` bytes, from `position`.

    `kraft_version` and `voters` are what the whole snapshot holds: the wire has them in its records.
    """

    source: int
    destination: int
    correlation_id: int
    top_level_error_code: int
    error_code: int
    leader_id: int
    leader_epoch: int
    snapshot_end_offset: int
    snapshot_epoch: int
    size: int
    position: int
    unaligned_bytes: int
    kraft_version: int
    voters: VoterSet
    node_endpoints: tuple[Endpoint, ...]
    effect: ClassVar[int] = SEND
    is_request: ClassVar[bool] = False


@dataclass(slots=True)
class AddRaftVoterRequest:
    """Key 80. `ack_when_committed` is a field since version 1; without it, it is true."""

    source: int
    destination: int
    correlation_id: int
    address: Endpoint | None
    cluster_id: str | None
    voter_id: int
    voter_directory_id: Uuid
    listeners: tuple[Endpoint, ...]
    timeout_ms: int = 2_000
    ack_when_committed: bool = True
    effect: ClassVar[int] = SEND
    is_request: ClassVar[bool] = True


@dataclass(slots=True)
class AddRaftVoterResponse:
    """The answer to an AddRaftVoterRequest, sent when the change is committed, refused or too old."""

    source: int
    destination: int
    correlation_id: int
    error_code: int
    error_message: str | None
    effect: ClassVar[int] = SEND
    is_request: ClassVar[bool] = False


@dataclass(slots=True)
class RemoveRaftVoterRequest:
    """Key 81."""

    source: int
    destination: int
    correlation_id: int
    address: Endpoint | None
    cluster_id: str | None
    voter_id: int
    voter_directory_id: Uuid
    effect: ClassVar[int] = SEND
    is_request: ClassVar[bool] = True


@dataclass(slots=True)
class RemoveRaftVoterResponse:
    """The answer to a RemoveRaftVoterRequest, sent when the change is committed, refused or too old."""

    source: int
    destination: int
    correlation_id: int
    error_code: int
    error_message: str | None
    effect: ClassVar[int] = SEND
    is_request: ClassVar[bool] = False


@dataclass(slots=True)
class UpdateRaftVoterRequest:
    """Key 82. From a voter whose endpoints or versions differ from its entry in the log."""

    source: int
    destination: int
    correlation_id: int
    address: Endpoint | None
    cluster_id: str | None
    current_leader_epoch: int
    voter_id: int
    voter_directory_id: Uuid
    listeners: tuple[Endpoint, ...]
    min_supported_version: int
    max_supported_version: int
    effect: ClassVar[int] = SEND
    is_request: ClassVar[bool] = True


@dataclass(slots=True)
class UpdateRaftVoterResponse:
    """The answer to an UpdateRaftVoterRequest, sent at once; `host` is empty and `port` 0 if no leader is known."""

    source: int
    destination: int
    correlation_id: int
    error_code: int
    leader_id: int = NO_LEADER
    leader_epoch: int = -1
    host: str = ""
    port: int = 0
    effect: ClassVar[int] = SEND
    is_request: ClassVar[bool] = False


@dataclass(slots=True)
class ApiVersionsRequest:
    """Key 18: a leader's probe of a voter that is to be added."""

    source: int
    destination: int
    correlation_id: int
    address: Endpoint | None
    effect: ClassVar[int] = SEND
    is_request: ClassVar[bool] = True


@dataclass(slots=True)
class ApiVersionsResponse:
    """The levels of kraft.version that a process supports; a maximum of -1 if it does not know the feature."""

    source: int
    destination: int
    correlation_id: int
    error_code: int
    min_kraft_version: int
    max_kraft_version: int
    effect: ClassVar[int] = SEND
    is_request: ClassVar[bool] = False


@dataclass(slots=True)
class DescribeQuorumRequest:
    """Key 55."""

    source: int
    destination: int
    correlation_id: int
    address: Endpoint | None
    effect: ClassVar[int] = SEND
    is_request: ClassVar[bool] = True


@dataclass(slots=True)
class ReplicaState:
    """A row of a DescribeQuorumResponse: times in milliseconds of the leader's clock, -1 unknown."""

    replica_id: int
    replica_directory_id: Uuid
    log_end_offset: int
    last_fetch_timestamp: int
    last_caught_up_timestamp: int


@dataclass(slots=True)
class DescribeQuorumResponse:
    """The answer of a leader; of any other node, NOT_LEADER_OR_FOLLOWER and nothing else."""

    source: int
    destination: int
    correlation_id: int
    error_code: int
    leader_id: int = NO_LEADER
    leader_epoch: int = -1
    high_watermark: int = -1
    current_voters: tuple[ReplicaState, ...] = ()
    observers: tuple[ReplicaState, ...] = ()
    effect: ClassVar[int] = SEND
    is_request: ClassVar[bool] = False


@dataclass(slots=True)
class Disconnected:
    """Report that no response will come: the connection was refused, or broke while the request was on its way.

    The surroundings make it, and hand it to the requester as they hand over a response. A request that is lost in
    silence has no such thing; it times out.
    """

    source: int
    destination: int
    correlation_id: int
    effect: ClassVar[int] = SEND
    is_request: ClassVar[bool] = False


Request = (
    VoteRequest
    | BeginQuorumEpochRequest
    | EndQuorumEpochRequest
    | FetchRequest
    | FetchSnapshotRequest
    | AddRaftVoterRequest
    | RemoveRaftVoterRequest
    | UpdateRaftVoterRequest
    | ApiVersionsRequest
    | DescribeQuorumRequest
)
Response = (
    VoteResponse
    | BeginQuorumEpochResponse
    | EndQuorumEpochResponse
    | FetchResponse
    | FetchSnapshotResponse
    | AddRaftVoterResponse
    | RemoveRaftVoterResponse
    | UpdateRaftVoterResponse
    | ApiVersionsResponse
    | DescribeQuorumResponse
    | Disconnected
)
RaftMessage = Request | Response
