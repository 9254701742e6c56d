"""The shape of the answer `quorum.describe` (docs/reference/kinds.md), which is saved, read again and shown on a page.

The published schema is generated from commands/models/quorum.py, where the fields are described; a test compares the
two. None means unknown.
"""

from __future__ import annotations

from typing import Any, TypedDict

from kafkactl.values import EndpointDict


class ReplicaDict(TypedDict):
    """As `state.Replica`."""

    id: int
    directory_id: str | None
    endpoints: list[EndpointDict]
    log_end_offset: int | None
    lag: int | None
    last_fetch_timestamp_ms: int | None
    last_caught_up_timestamp_ms: int | None
    alive: bool | None
    evidence: str | None


class StateDict(TypedDict):
    """As `state.QuorumState`."""

    cluster_id: str | None
    mode: str | None
    kraft_version: int | None
    leader_id: int
    leader_epoch: int | None
    high_watermark: int | None
    voters: list[ReplicaDict]
    observers: list[ReplicaDict]
    majority: int | None
    tolerates: int | None
    sources: dict[str, str]
    findings: list[dict[str, Any]]


class NodeDict(TypedDict):
    """What one address answered."""

    id: int | None
    address: str
    role: str | None
    answers: bool | None
    leader_id: int | None
    leader_epoch: int | None
    error: str | None


class DiskDict(TypedDict):
    """What one metadata directory contains."""

    path: str
    cluster_id: str | None
    node_id: int | None
    directory_id: str | None
    leader_id: int | None
    leader_epoch: int | None
    last_epoch: int | None
    log_end_offset: int
    kraft_version: int | None


class QuorumDict(StateDict):
    """`quorum.describe`: the state, and what it was observed from."""

    time_ms: int
    nodes: list[NodeDict]
    disks: list[DiskDict]
