"""The shapes of the answers of `storage` that a page reads by names, from the operation to the page.

commands/models/storage.py describes the fields; a test compares the two.
"""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict

from kafkactl.values import EndpointDict


class LevelDict(TypedDict):
    """A metadata.version."""

    level: int
    name: str


class VoterDict(TypedDict):
    """A voter of a new quorum."""

    id: int
    directory_id: str
    endpoints: list[EndpointDict]


class FileDict(TypedDict):
    """A file that is written: `size` in bytes, `mode` in octal digits; `sha256` where digests were asked for."""

    path: str
    size: int
    mode: str | None
    sha256: NotRequired[str]


class DirectoryDict(TypedDict):
    """A log directory of a format; `progress` is None where nothing was tried."""

    path: str
    role: str
    directory_id: str | None
    action: str
    progress: str | None
    owner: str | None
    files: list[FileDict]


class FormatDict(TypedDict):
    """`storage.format` and `storage.ensure`."""

    outcome: str
    cluster_id: str
    node_id: int
    kafka_version: str
    metadata_version: LevelDict
    kraft_version: int
    features: dict[str, int]
    voters: list[VoterDict]
    directories: list[DirectoryDict]
    findings: list[dict[str, Any]]


class UserDict(TypedDict):
    """A SCRAM user that a plan creates."""

    name: str
    mechanism: str
    iterations: int


class AppliedNodeDict(TypedDict):
    """A node of `storage.apply`."""

    id: int
    host: str
    config: str
    voter_mode: str
    outcome: str
    directories: list[DirectoryDict]
    scram_users: list[UserDict] | None


class ApplyDict(TypedDict):
    """`storage.apply`."""

    outcome: str
    cluster_id: str
    kafka_version: str
    plan_sha256: str
    nodes: list[AppliedNodeDict]
    findings: list[dict[str, Any]]


class UnformattedDict(TypedDict):
    """A log directory of `storage.unformat`; `files` are the paths that are removed."""

    path: str
    role: str
    action: str
    progress: str | None
    files: list[str]


class UnformatDict(TypedDict):
    """`storage.unformat`."""

    outcome: str
    cluster_id: str | None
    node_id: int
    directories: list[UnformattedDict]
    findings: list[dict[str, Any]]
