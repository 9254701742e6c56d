"""Output of `info` about a node's directories: Kafka's own lines, and the same as values.

Rule: the text is that of Kafka's tool of the same release (StorageTool.infoCommand, measured on ten releases). A
node that came from ZooKeeper keeps meta.properties of version 0 permanently, and starts from them (KRaftServer accepts
broker.id and cluster.id); Kafka's tool calls that a problem, and a finding reports what it means.

Two rules: 3.3 to 3.6 compare the whole files as texts; 3.7 and later read them as a node does, and compare ids.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import PurePosixPath
from typing import Protocol

from kafkactl.core.answers import json_of
from kafkactl.core.errors import DecodeError
from kafkactl.core.findings import Finding, Severity
from kafkactl.core.frozen import frozen
from kafkactl.protocol.catalog.releases import Release
from kafkactl.protocol.text.java_text import parse_int
from kafkactl.protocol.text.meta_properties import (
    BROKER_ID,
    CLUSTER_ID,
    DIRECTORY_ID,
    META_PROPERTIES,
    NODE_ID,
    VERSION,
    MetaProperties,
    parse_meta_properties,
)
from kafkactl.protocol.text.properties import parse_properties
from kafkactl.storage.model import DirectoryRole, DirectoryState, ObservedDirectory, ObservedNode

_LEGACY_FILES = (
    "The kafka configuration file appears to be for a cluster in KRaft mode, but the directories are formatted for"
    " legacy mode."
)
_LEGACY_CONFIG = (
    "The kafka configuration file appears to be for a legacy cluster, but the directories are formatted for a cluster"
    " in KRaft mode."
)


class InfoState(StrEnum):
    """State of a directory."""

    FORMATTED = "formatted"
    NOT_FORMATTED = "not-formatted"
    UNREADABLE = "unreadable"
    NOT_A_DIRECTORY = "not-a-directory"
    MISSING = "missing"


@frozen
class DirectoryInfo:
    """Content of the meta.properties of one directory; None for missing values."""

    path: str
    role: DirectoryRole
    state: InfoState
    metadata: Mapping[str, str]
    error: str | None

    @property
    def version(self) -> int | None:
        """Return the version of the file."""
        return _integer(self.metadata.get(VERSION))

    @property
    def cluster_id(self) -> str | None:
        """Return the id of the cluster."""
        return self.metadata.get(CLUSTER_ID)

    @property
    def node_id(self) -> int | None:
        """Return the id of the node."""
        return _integer(self.metadata.get(NODE_ID, self.metadata.get(BROKER_ID)))

    @property
    def directory_id(self) -> str | None:
        """Return the id of the directory."""
        return self.metadata.get(DIRECTORY_ID)

    to_dict = json_of("path", "role", "state", "version", "cluster_id", "node_id", "directory_id", "error")


@frozen
class NodeInfo:
    """Directories of a node, in the order in which Kafka's tool visits them.

    `metadata` is what Kafka prints as found: that of the first directory that could be read. `problems` are Kafka's
    sentences; `findings` are remarks that need no action.
    """

    directories: tuple[DirectoryInfo, ...]
    metadata: Mapping[str, str] | None
    problems: tuple[str, ...]
    """Sentences of Kafka's own tool."""
    findings: tuple[Finding, ...]

    @property
    def cluster_id(self) -> str | None:
        """Return the cluster that the first readable directory belongs to."""
        return None if self.metadata is None else self.metadata.get(CLUSTER_ID)

    @property
    def node_id(self) -> int | None:
        """Return the node that it belongs to."""
        found = self.metadata or {}
        return _integer(found.get(NODE_ID, found.get(BROKER_ID)))


class InfoConfig(Protocol):
    """Required part of a node's configuration."""

    @property
    def metadata_log_dir(self) -> str:
        """Return the directory of the metadata log."""
        ...

    @property
    def is_zookeeper_mode(self) -> bool:
        """Return True if the node has no process.roles: a broker of a ZooKeeper cluster."""
        ...


def describe_node(config: InfoConfig, observed: ObservedNode, release: Release) -> NodeInfo:
    """Return the state of the directories as Kafka's tool of this release reports it."""
    seen = sorted({directory.path: directory for directory in observed.directories}.items())
    directories = tuple(_describe(directory, config, release) for _, directory in seen)
    formatted = [directory for directory in directories if directory.state is InfoState.FORMATTED]
    metadata = formatted[0].metadata if formatted else None
    problems = [*_problems(directories, metadata, release)]
    findings: list[Finding] = []
    legacy = metadata is not None and metadata.get(VERSION, "0") == "0"
    if legacy and not config.is_zookeeper_mode:
        problems.append(_LEGACY_FILES)
        if _is_left_by_migration(metadata or {}):
            findings.append(_left_by_migration(formatted[0].path))
    if metadata is not None and metadata.get(VERSION) == "1" and config.is_zookeeper_mode:
        problems.append(_LEGACY_CONFIG)
    return NodeInfo(directories=directories, metadata=metadata, problems=tuple(problems), findings=tuple(findings))


def render_info(info: NodeInfo) -> list[str]:
    """Return the lines of Kafka's tool."""
    if not info.directories:
        return ["No directories specified."]
    found = [directory.path for directory in info.directories if directory.state not in _NO_DIRECTORY]
    lines = _section("Found log directory:", "Found log directories:", found)
    if info.metadata is not None:
        lines += [f"Found metadata: {render_metadata(info.metadata)}", ""]
    return lines + _section("Found problem:", "Found problems:", info.problems)


def render_metadata(metadata: Mapping[str, str]) -> str:
    """Return Java's text of a sorted map: `{cluster.id=…, node.id=1, version=1}`."""
    return "{" + ", ".join(f"{key}={value}" for key, value in sorted(metadata.items())) + "}"


_NO_DIRECTORY = (InfoState.MISSING, InfoState.NOT_A_DIRECTORY)


def _section(singular: str, many: str, items: Sequence[str]) -> list[str]:
    if not items:
        return []
    return [singular if len(items) == 1 else many, *(f"  {item}" for item in items), ""]


def _describe(directory: ObservedDirectory, config: InfoConfig, release: Release) -> DirectoryInfo:
    role: DirectoryRole = "metadata" if directory.path == config.metadata_log_dir else "data"
    path = str(PurePosixPath(directory.path))
    state, metadata, error = _read(directory, release)
    return DirectoryInfo(path=path, role=role, state=state, metadata=metadata, error=error)


# What is at the path -> what that makes of the log directory.
_STATES = {
    DirectoryState.MISSING: InfoState.MISSING,
    DirectoryState.NOT_A_DIRECTORY: InfoState.NOT_A_DIRECTORY,
    DirectoryState.UNREADABLE: InfoState.UNREADABLE,
}


def _read(directory: ObservedDirectory, release: Release) -> tuple[InfoState, Mapping[str, str], str | None]:
    if directory.state in _STATES:
        return _STATES[directory.state], {}, directory.error
    file = directory.meta_properties
    if file is None:
        return InfoState.NOT_FORMATTED, {}, None
    if file.content is None:
        return InfoState.UNREADABLE, {}, file.error
    try:
        return InfoState.FORMATTED, _metadata(file.content, file.path, release), None
    except DecodeError as error:
        return InfoState.UNREADABLE, {}, error.reason


def _metadata(content: bytes, path: str, release: Release) -> Mapping[str, str]:
    if not release.meta_properties_compared:
        return _as_written(content, path)
    return _as_understood(parse_meta_properties(content, file=path))


def _as_written(content: bytes, path: str) -> Mapping[str, str]:
    """Return every key of the file, as 3.3 to 3.6 do, which look at the version only."""
    written = dict(parse_properties(content, file=path).mapping)
    if written.get(VERSION, "0") not in ("0", "1"):
        # Kafka: "Unsupported version for PATH: 2", and it continues with the next directory.
        raise DecodeError(
            f"Unsupported version for {path}: {written[VERSION]}",
            id="unknown-meta-properties-version",
            offset=0,
            path=VERSION,
            file=path,
        )
    return written


def _as_understood(found: MetaProperties) -> Mapping[str, str]:
    """Return the values that a node reads from the file, from 3.7 on."""
    values = {
        CLUSTER_ID: found.cluster_id,
        DIRECTORY_ID: None if found.directory_id is None else str(found.directory_id),
        NODE_ID: found.node_id,
        BROKER_ID: found.broker_id,
        VERSION: found.version,
    }
    return {key: str(value) for key, value in values.items() if value is not None}


def _problems(directories: Sequence[DirectoryInfo], first: Mapping[str, str] | None, release: Release) -> Iterator[str]:
    for directory in directories:
        sentence = _sentence(directory, release)
        if sentence is not None:
            yield sentence
        elif first is not None:
            yield from _difference(directory, first, release)


def _sentence(directory: DirectoryInfo, release: Release) -> str | None:
    """Return the problem of this directory alone; None if it has none."""
    meta = f"{directory.path}/{META_PROPERTIES}"
    if directory.state is InfoState.UNREADABLE and not release.meta_properties_compared:
        return directory.error
    return {
        InfoState.MISSING: f"{directory.path} does not exist",
        InfoState.NOT_A_DIRECTORY: f"{directory.path} is not a directory",
        InfoState.NOT_FORMATTED: f"{directory.path} is not formatted.",
        InfoState.UNREADABLE: f"Error loading {meta}: {directory.error}",
    }.get(directory.state)


def _difference(directory: DirectoryInfo, first: Mapping[str, str], release: Release) -> Iterator[str]:
    """Yield the differences between this directory and the first one that could be read."""
    mine = directory.metadata
    if not release.meta_properties_compared:
        if mine != first:
            yield (
                f"Metadata for {directory.path}/{META_PROPERTIES} was {render_metadata(mine)}, but other directories"
                f" featured {render_metadata(first)}"
            )
    elif mine.get(CLUSTER_ID) != first.get(CLUSTER_ID):
        yield "Mismatched cluster IDs between storage directories."
    elif not _same_node(mine, first):
        yield "Mismatched node IDs between storage directories."


def _same_node(mine: Mapping[str, str], first: Mapping[str, str]) -> bool:
    """Return True if both files have the same node id, which is broker.id in version 0 (MetaProperties.nodeId)."""
    return mine.get(NODE_ID, mine.get(BROKER_ID)) == first.get(NODE_ID, first.get(BROKER_ID))


def _is_left_by_migration(metadata: Mapping[str, str]) -> bool:
    return metadata.get(CLUSTER_ID) is not None and _integer(metadata.get(BROKER_ID)) is not None


def _left_by_migration(path: str) -> Finding:
    return Finding(
        id="meta-properties-from-zookeeper",
        severity=Severity.INFO,
        subject=f"directory {path}",
        message="meta.properties has version 0, as on a node that came from ZooKeeper. Kafka's tool lists that as a"
        " problem; a node of a migrated cluster starts from it all the same",
        next_step="If this node was migrated, nothing needs to be done. If not, check that the configuration is the one"
        " that belongs to this directory.",
    )


def _integer(text: str | None) -> int | None:
    return None if text is None else parse_int(text)
