"""Answers of `kafkactl quorum recover`."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from kafkactl.commands.models.shared import Answer, Endpoint, Finding, MetadataVersion, Outcome, Shape


class RecoverSnapshot(Shape):
    """The newest snapshot on a disk."""

    offset: int
    epoch: int


class RecoverDisk(Shape):
    """One log directory that was read. Null is what it does not have."""

    path: str
    node_id: int | None
    directory_id: str | None
    role: Literal["controller", "broker"] = Field(description="A node with both roles is a controller here.")
    voter: bool = Field(description="It is the disk of a voter of the last set, directory id included.")
    log_end_offset: int | None = Field(description="One behind the last record that counts: before damage and gaps.")
    last_epoch: int | None
    quorum_state_epoch: int | None
    snapshot: RecoverSnapshot | None
    damaged: bool
    damage: str | None
    behind: int | None = Field(description="Offsets behind the disk that reaches furthest by rank.")
    rank: int | None = Field(description="By last epoch, then end offset; 1 is the best.")
    partition_folders: int


class RecoverVoter(Shape):
    """A voter of the last set."""

    id: int
    directory_id: str | None = Field(description="Null in a static quorum.")
    endpoints: list[Endpoint]
    state: Literal["shown", "lost", "unknown"] = Field(description="`lost`: declared by --lost.")


class RecoverSource(Shape):
    """The disk that the image is from."""

    path: str
    end_offset: int
    epoch: int
    committed_at_least: int = Field(description="Below this offset everything was committed for certain.")


class RecoverFile(Shape):
    """A file by its content."""

    path: str
    size: int
    sha256: str


class RecoverResult(Shape):
    """What is written."""

    node_id: int
    directory_id: str
    endpoints: list[Endpoint]
    directory: str
    offset: int
    epoch: int
    files: list[RecoverFile]
    image_sha256: str = Field(description="Of the image as `log image` prints it for the new directory.")
    planned_at_ms: int


class RecoverStray(Shape):
    """A partition folder that a broker would rename to `-stray`."""

    broker: int | None
    directory: str
    folder: str
    topic: str
    topic_id: str | None
    partition: int
    log_end_offset: int | None
    bytes: int


class RecoverSetting(Shape):
    """A configuration that goes back. Null: not set."""

    entity: str
    key: str
    recovered: str | None
    newer: str | None


class RecoverEntity(Shape):
    """Something that a better disk has, has not, or has otherwise."""

    entity: str
    change: Literal["missing", "returns", "older"]


class RecoverOther(RecoverEntity):
    """The same of other parts of the image."""

    part: str


class RecoverLosses(Shape):
    """What is lost or changes, after the repairs."""

    records_after_source: int = Field(description="Offsets that a better disk has.")
    unknown: bool = Field(description="Records may be lost that no disk shown has.")
    count: int = Field(description="What --confirm-loss asks for: partitions, or where none is lost, records.")
    topics_missing: list[str]
    partitions_missing: list[str]
    partitions_stray: list[RecoverStray]
    topics_returning_empty: list[str]
    topics_returning: list[str] = Field(description="Deleted by what a better disk has; a folder is still there.")
    configs_changed: list[RecoverSetting]
    acls: list[RecoverEntity]
    users: list[RecoverEntity]
    quotas: list[RecoverEntity]
    others: list[RecoverOther]


class RecoverRename(Shape):
    """A folder that gets its name back while its broker is stopped."""

    broker: int | None
    from_: str = Field(alias="from")
    to: str


class RecoverAdopted(Shape):
    """A partition that is taken into the image from brokers' folders."""

    topic: str
    topic_id: str
    partition: int
    replicas: list[int]
    isr: list[int]
    leader: int | None
    log_end_offset: int | None
    folders_to_rename: list[RecoverRename]


class RecoverAdoptedSettings(Shape):
    """What an adopted topic is set to in the image that is written."""

    topic: str
    settings: dict[str, str]
    known: bool = Field(description="As a better disk's metadata log has them; else such that nothing is deleted.")


class RecoverEpochs(Shape):
    """Leader epochs of partitions."""

    raised_by: int
    partitions: int


class RecoverIds(Shape):
    """The next producer id."""

    from_: int = Field(alias="from")
    to: int


class RecoverRepairs(Shape):
    """How the image that is written differs from the source's."""

    adopted: list[RecoverAdopted]
    adopted_settings: list[RecoverAdoptedSettings]
    topics_tiered: list[str] = Field(description="Of the image, with remote.storage.enable set again.")
    topics_dropped: list[str]
    leader_epochs: RecoverEpochs
    producer_ids: RecoverIds
    controllers_unregistered: list[int]


class RecoverStep(Shape):
    """One step of the whole recovery; all but `write-directory` are done by people."""

    number: int
    action: Literal[
        "stop-controllers", "stop-brokers", "copy-aside", "write-directory", "fence-old-voter", "rename-stray",
        "change-config", "start-controller", "verify", "start-broker", "add-controllers",
    ]  # fmt: skip
    target: str
    state: Literal["pending", "done"]
    text: str
    command: str | None


class QuorumRecover(Answer):
    """`quorum recover`; next to the new directory it is kept as `DIR.recovery.json`."""

    kind: Literal["quorum.recover"]
    outcome: Outcome
    cluster_id: str | None
    mode: Literal["static", "dynamic"]
    kraft_version: int
    metadata_version: MetadataVersion | None
    disks: list[RecoverDisk]
    voters_before: list[RecoverVoter]
    majority: int
    shown: int
    source: RecoverSource
    result: RecoverResult | None = Field(description="Null where it is refused.")
    losses: RecoverLosses
    repairs: RecoverRepairs
    steps: list[RecoverStep]
    findings: list[Finding]
    inputs: list[RecoverFile] = Field(description="The files of metadata logs as they were read.")
    plan_sha256: str


class RecoverBroker(Shape):
    """A broker as it is registered now."""

    id: int
    fenced: bool


class QuorumRecoverVerify(Answer):
    """`quorum recover verify`. Null and empty where the cluster was not asked."""

    kind: Literal["quorum.recover-verify"]
    plan: str
    cluster_id: str
    checked: list[Literal["directory", "cluster", "folders"]]
    leader_id: int | None
    leader_epoch: int | None
    voters: list[int]
    brokers: list[RecoverBroker]
    partitions_without_leader: list[str] = Field(description="The first 1,000.")
    findings: list[Finding]


class QuorumRecoverCollect(Answer):
    """`quorum recover collect`."""

    kind: Literal["quorum.recover-collect"]
    directory: str
    to: str
    files: int
    bytes: int
    partitions: int
    left_out: list[str]
    findings: list[Finding]
