"""Answers of `kafkactl storage` that change or plan something."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from kafkactl.commands.models.shared import Answer, Finding, MetadataVersion, Outcome, Shape, Voter

Role = Literal["metadata", "data"]
Progress = Literal["done", "unchanged", "untouched", "started"]


class WrittenFile(Shape):
    """One file that is, or would be, written."""

    path: str
    size: int = Field(description="In bytes.")
    mode: str | None = Field(description="Permission bits, four octal digits; null where the umask decides.")
    sha256: str


class FormattedDirectory(Shape):
    """What happens to one log directory."""

    path: str
    role: Role
    directory_id: str | None
    action: Literal["format", "keep", "skip"]
    progress: str | None = Field(description="How far it came; null where nothing was tried.")
    owner: str | None = Field(description="Whom it is given to (--owner); null where it stays with this user.")
    files: list[WrittenFile]


class FormattedNode(Answer):
    """A node and what a format means for it."""

    outcome: Outcome
    cluster_id: str
    node_id: int
    kafka_version: str = Field(description="The release that will start on these disks.")
    metadata_version: MetadataVersion
    kraft_version: int
    features: dict[str, int]
    voters: list[Voter]
    directories: list[FormattedDirectory]
    findings: list[Finding]


class StorageFormat(FormattedNode):
    """`storage format`."""

    kind: Literal["storage.format"]


class StorageEnsure(FormattedNode):
    """`storage ensure`."""

    kind: Literal["storage.ensure"]


class PlannedUser(Shape):
    """A SCRAM user whose keys the plan writes: the cluster lets this user in from its first start."""

    name: str
    mechanism: str
    iterations: int


class AppliedNode(Shape):
    """One node of the plan that is on this machine."""

    id: int
    host: str
    config: str = Field(description="The node's configuration file that was read.")
    voter_mode: str
    outcome: Outcome
    directories: list[FormattedDirectory]
    scram_users: list[PlannedUser] | None = Field(
        description="Users in the planned files; null where these cannot be read as planned ones."
    )


class StorageApply(Answer):
    """`storage apply`."""

    kind: Literal["storage.apply"]
    outcome: Outcome
    cluster_id: str
    kafka_version: str = Field(description="The release that will start on these disks.")
    plan_sha256: str
    nodes: list[AppliedNode]
    findings: list[Finding]


class UnformattedDirectory(Shape):
    """What happens to one log directory, and the paths that are removed from it."""

    path: str
    role: Role
    action: str
    progress: str | None = Field(description="How far it came; null where nothing was tried.")
    files: list[str]


class StorageUnformat(Answer):
    """`storage unformat`."""

    kind: Literal["storage.unformat"]
    outcome: Outcome
    cluster_id: str | None
    node_id: int
    directories: list[UnformattedDirectory]
    findings: list[Finding]


class PlannedDirectory(Shape):
    """One log directory of a planned node."""

    path: str
    role: Role
    directory_id: str | None


class PlannedFile(Shape):
    """One file of a planned node; `mode` null leaves it to the umask."""

    path: str
    directory: str
    name: str = Field(description="Relative to the directory.")
    size: int
    sha256: str
    mode: int | None


class PlannedNode(Shape):
    """One node of a planned fleet."""

    id: int
    host: str
    roles: list[Literal["broker", "controller"]]
    kafka_version: str
    config: str
    config_values: dict[str, str] = Field(description="What the configuration said when the plan was made.")
    voter_mode: str
    mounts: list[str]
    directories: list[PlannedDirectory]
    files: list[PlannedFile]


class StoragePlan(Answer):
    """`storage plan`: the fleet's plan as it is shown; the plan file also holds the contents of the files."""

    kind: Literal["storage.plan"]
    outcome: Outcome
    cluster_id: str
    kafka_version: str
    release_version: str | None
    requested_features: list[str]
    metadata_version: MetadataVersion
    kraft_version: int
    features: dict[str, int]
    mode: Literal["static", "dynamic"]
    voters: list[Voter]
    static_voters: list[int]
    created_ms: int
    nodes: list[PlannedNode]
    findings: list[Finding]
    plan_sha256: str = Field(description="Over everything else in the plan; `apply` refuses a plan that was edited.")
    out: str | None = Field(description="Where the plan was written; null where it was only shown.")
