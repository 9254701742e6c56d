"""Answers of `kafkactl storage` that only look."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from kafkactl.commands.models.shared import Answer, Finding, Shape, Voter


class StorageRandomUuid(Answer):
    """`storage random-uuid`."""

    kind: Literal["storage.random-uuid"]
    uuid: str


class DirectoryInfo(Shape):
    """What the meta.properties of one directory says; null what it does not say."""

    path: str
    role: Literal["metadata", "data"]
    state: str
    version: int | None
    cluster_id: str | None
    node_id: int | None
    directory_id: str | None
    error: str | None


class StorageInfo(Answer):
    """`storage info`."""

    kind: Literal["storage.info"]
    kafka_version: str
    cluster_id: str | None
    node_id: int | None
    directories: list[DirectoryInfo]
    problems: list[str] = Field(description="In the words of Kafka's own tool.")
    findings: list[Finding]


class ExpectedFailure(Shape):
    """How a start will fail, or wait indefinitely."""

    phase: str
    message: str = Field(description="The message in the node's log, or what it waits for.")


class Loss(Shape):
    """What a start would silently drop or recreate."""

    what: str
    subject: str
    message: str


class VerifiedDirectory(Shape):
    """One log directory as a starting node will sort it."""

    path: str
    role: Literal["metadata", "data"]
    state: Literal["good", "empty", "error"]
    version: int | None
    cluster_id: str | None
    node_id: int | None
    directory_id: str | None


class StorageVerify(Answer):
    """`storage verify`."""

    kind: Literal["storage.verify"]
    kafka_version: str
    node_id: int | None
    cluster_id: str | None
    will_start: bool | None = Field(description="null: unknown; a node that would wait indefinitely does not start.")
    expected_failure: ExpectedFailure | None
    would_lose: list[Loss]
    starts_with: list[str] | None = Field(description="Known releases that start on these disks and lose nothing.")
    directories: list[VerifiedDirectory]
    findings: list[Finding]


class DumpedMetaProperties(Shape):
    """A decoded meta.properties."""

    path: str
    type: Literal["meta.properties"]
    size: int
    sha256: str
    version: int | None
    cluster_id: str | None
    node_id: int | None
    directory_id: str | None
    properties: dict[str, str] | None


class QuorumState(Shape):
    """A decoded quorum-state; what its version does not hold is null."""

    data_version: int
    leader_id: int
    leader_epoch: int
    voted_id: int
    voted_directory_id: str | None
    cluster_id: str | None
    applied_offset: int | None
    current_voters: list[int] | None


class DumpedQuorumState(Shape):
    """A quorum-state file."""

    path: str
    type: Literal["quorum-state"]
    size: int
    sha256: str
    state: QuorumState | None


class SnapshotHeader(Shape):
    """The header of a checkpoint."""

    version: int
    last_contained_log_timestamp_ms: int


class CheckpointVoter(Voter):
    """A voter with the kraft.version range that it supports."""

    min_kraft_version: int
    max_kraft_version: int


class Batch(Shape):
    """One record batch of a checkpoint."""

    position: int = Field(description="Byte offset in the file.")
    size: int
    base_offset: int
    last_offset: int
    leader_epoch: int
    timestamp_ms: int
    control: bool
    records: int
    crc: str


class CheckpointRecord(Shape):
    """One metadata record; `data` has the fields as in Kafka's JSON (`featureLevel`), secrets left out."""

    offset: int
    type: str
    version: int
    data: dict[str, Any]


class DumpedCheckpoint(Shape):
    """A decoded checkpoint, as far as it can be read."""

    path: str
    type: Literal["checkpoint"]
    size: int
    sha256: str
    header: SnapshotHeader | None
    kraft_version: int | None
    voters: list[CheckpointVoter] | None
    footer: bool
    leader_epoch: int | None
    batches: list[Batch]
    records: list[CheckpointRecord]


class StorageDump(Answer):
    """`storage dump`."""

    kind: Literal["storage.dump"]
    files: list[DumpedMetaProperties | DumpedQuorumState | DumpedCheckpoint]
    findings: list[Finding]
