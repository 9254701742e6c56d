"""Answers of `kafkactl quorum recover`, as they are published."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, TypedDict

from kafkactl.core.findings import Finding, Outcome
from kafkactl.core.values import Endpoint

if TYPE_CHECKING:
    from kafkactl.quorum.recover.losses import EntityDict, OtherDict, SettingDict
    from kafkactl.quorum.recover.rank import OldVoter
    from kafkactl.quorum.recover.settings import AdoptedSettings
    from kafkactl.quorum.recover.steps import Step


CheckedPart = Literal["directory", "cluster", "folders"]


class RecoverLevel(TypedDict):
    """A level of metadata.version and its name, such as 30 and `4.3-IV0`."""

    level: int
    name: str | None


class RecoverSnapshot(TypedDict):
    """The newest snapshot on a disk."""

    offset: int
    epoch: int


class RecoverDisk(TypedDict):
    """A log directory that was read. Null is what it does not have."""

    path: str
    node_id: int | None
    directory_id: str | None
    role: Literal["controller", "broker"]
    """A node with both roles is a controller here."""
    voter: bool
    """It is the disk of a voter of the last set, directory id included."""
    log_end_offset: int | None
    """One behind the last record that counts: before damage and gaps."""
    last_epoch: int | None
    quorum_state_epoch: int | None
    snapshot: RecoverSnapshot | None
    damaged: bool
    damage: str | None
    behind: int | None
    """Offsets behind the disk that reaches furthest by rank."""
    rank: int | None
    """By last epoch, then end offset; 1 is the best."""
    partition_folders: int


class RecoverSource(TypedDict):
    """The disk that the image is from."""

    path: str
    end_offset: int
    epoch: int
    committed_at_least: int
    """Below this offset everything was committed for certain."""


class RecoverFile(TypedDict):
    """A file by its content."""

    path: str
    size: int
    sha256: str


class RecoverResult(TypedDict):
    """Content to write."""

    node_id: int
    directory_id: str
    endpoints: Sequence[Endpoint]
    directory: str
    offset: int
    epoch: int
    files: list[RecoverFile]
    image_sha256: str
    """Of the image as `log image` prints it for the new directory."""
    planned_at_ms: int


class RecoverStray(TypedDict):
    """A partition folder that a broker would rename to `-stray`."""

    broker: int | None
    directory: str
    folder: str
    topic: str
    topic_id: str | None
    partition: int
    log_end_offset: int | None
    bytes: int


class RecoverLosses(TypedDict):
    """Losses and changes, after the repairs."""

    records_after_source: int
    """Offsets that a better disk has."""
    unknown: bool
    """Records may be lost that no disk shown has."""
    count: int
    """Count that --confirm-loss asks for: of lost partitions, or of lost records if no partition is lost."""
    topics_missing: Sequence[str]
    partitions_missing: Sequence[str]
    partitions_stray: list[RecoverStray]
    topics_returning_empty: Sequence[str]
    topics_returning: Sequence[str]
    """Deleted by what a better disk has; a folder is still there."""
    configs_changed: Sequence[SettingDict]
    acls: Sequence[EntityDict]
    users: Sequence[EntityDict]
    quotas: Sequence[EntityDict]
    others: Sequence[OtherDict]


RecoverRename = TypedDict("RecoverRename", {"broker": int | None, "from": str, "to": str})
RecoverRename.__doc__ = "A folder that gets its name back while its broker is stopped."


class RecoverAdopted(TypedDict):
    """A partition that is taken into the image from brokers' folders."""

    topic: str
    topic_id: str
    partition: int
    replicas: Sequence[int]
    isr: Sequence[int]
    leader: int | None
    log_end_offset: int | None
    folders_to_rename: list[RecoverRename]


class RecoverEpochs(TypedDict):
    """Leader epochs of partitions."""

    raised_by: int
    partitions: int


RecoverIds = TypedDict("RecoverIds", {"from": int, "to": int})
RecoverIds.__doc__ = "The next producer id."


class RecoverRepairs(TypedDict):
    """Differences of the image that is written from the source image."""

    adopted: list[RecoverAdopted]
    adopted_settings: tuple[AdoptedSettings, ...]
    topics_tiered: Sequence[str]
    """Of the image, with remote.storage.enable set again."""
    topics_dropped: Sequence[str]
    leader_epochs: RecoverEpochs
    producer_ids: RecoverIds
    controllers_unregistered: Sequence[int]


class QuorumRecover(TypedDict):
    """`quorum recover`; next to the new directory it is kept as `DIR.recovery.json`."""

    outcome: Outcome
    cluster_id: str | None
    mode: Literal["static", "dynamic"]
    kraft_version: int
    metadata_version: RecoverLevel | None
    disks: list[RecoverDisk]
    voters_before: tuple[OldVoter, ...]
    majority: int
    shown: int
    source: RecoverSource
    result: RecoverResult | None
    """None if it is refused."""
    losses: RecoverLosses
    repairs: RecoverRepairs
    steps: tuple[Step, ...]
    findings: tuple[Finding, ...]
    inputs: list[RecoverFile]
    """The files of metadata logs as they were read."""
    plan_sha256: str


class RecoverBroker(TypedDict):
    """A broker as it is registered now."""

    id: int
    fenced: bool


class QuorumRecoverVerify(TypedDict):
    """`quorum recover verify`. Null and empty if the cluster was not asked."""

    plan: str
    cluster_id: str
    checked: Sequence[CheckedPart]
    leader_id: int | None
    leader_epoch: int | None
    voters: Sequence[int]
    brokers: list[RecoverBroker]
    partitions_without_leader: Sequence[str]
    """The first 1,000."""
    findings: tuple[Finding, ...]
