"""Candidate for a voter from a controller's own files: its identity and its address.

As kafka-metadata-quorum.sh reads them (KIP-853, `MetadataQuorumCommand`): node.id and the controllers' listeners out
of its server.properties, the directory id out of meta.properties in its metadata log directory. Which release the
node runs is not in the file, so it is read as any release would that has such voters.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from kafkactl.core.errors import InputError
from kafkactl.core.frozen import frozen
from kafkactl.core.values import ZERO_UUID, Endpoint, ReplicaKey
from kafkactl.files.config_providers import resolve
from kafkactl.files.input_files import InputKind, read_input
from kafkactl.protocol.catalog.releases import known_releases
from kafkactl.protocol.text.meta_properties import META_PROPERTIES, parse_meta_properties
from kafkactl.storage.config.node_config import ConfigError, NodeConfig, read_node_config

_LOCALHOST = "localhost"


@frozen
class Candidate:
    """Future voter, and its endpoints in the voter set. `cluster_id` is that of its disk."""

    key: ReplicaKey
    endpoints: tuple[Endpoint, ...]
    cluster_id: str | None


def read_candidate(file: str) -> Candidate:
    """Return the controller whose server.properties this is.

    Raises InputError `not-a-controller`, `controller-not-formatted`, `input-file-unreadable`, those of
    `read_node_config`, and DecodeError for a meta.properties that no node would read.
    """
    data = read_input(Path(file), "the controller's configuration", InputKind.NODE_CONFIG)
    config = read_controller_config(data, file)
    if "controller" not in config.roles or not config.controller_endpoints:
        raise InputError(
            f"{file} is not the configuration of a controller: process.roles is {','.join(config.roles) or 'not set'}",
            id="not-a-controller",
        )
    path = Path(config.metadata_log_dir) / META_PROPERTIES
    meta = parse_meta_properties(
        read_input(path, "the controller's meta.properties", InputKind.META_PROPERTIES), file=str(path)
    )
    if meta.directory_id in (None, ZERO_UUID) or meta.stored_id != config.node_id:
        found = f"node {meta.stored_id}, directory id {meta.directory_id or 'none'}"
        raise InputError(
            f"{path} is not that of controller {config.node_id}: it says {found}", id="controller-not-formatted"
        )
    assert meta.directory_id is not None, "checked above"
    return Candidate(
        key=ReplicaKey(node_id=config.node_id, directory_id=meta.directory_id),
        endpoints=tuple(
            replace(endpoint, host=endpoint.host or _LOCALHOST) for endpoint in config.controller_endpoints
        ),
        cluster_id=meta.cluster_id,
    )


def read_controller_config(data: bytes, file: str) -> NodeConfig:
    """Return the file as the newest release reads it, or the next older one that does.

    Raises ConfigError, the newest release's.
    """
    first: ConfigError | None = None
    for release in reversed(known_releases()):
        if not release.knows_bootstrap_servers:
            continue
        try:
            return read_node_config(data, file=file, release=release, resolve=resolve)
        except ConfigError as error:
            first = first or error
    assert first is not None, "some release has dynamic voters"
    raise first
