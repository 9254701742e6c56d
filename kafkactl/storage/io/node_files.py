"""A node's configuration, read as a Kafka release reads it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

from kafkactl.files.config_providers import resolve
from kafkactl.files.input_files import InputKind, read_input
from kafkactl.protocol.catalog.releases import Release, find_release, newest_release
from kafkactl.storage.config.node_config import NodeConfig, read_node_config

FilePath: TypeAlias = str | os.PathLike[str]


def release_of(kafka_version: str | None) -> Release:
    """Return the release with this version, the newest known one without. Raises InputError `unknown-kafka-version`."""
    return find_release(kafka_version) if kafka_version else newest_release()


def read_node(
    config: FilePath,
    release: Release,
    what: str = "the node's configuration",
    *,
    overrides: Mapping[str, str] | None = None,
) -> NodeConfig:
    """Return the configuration in a server.properties, values of configuration providers resolved.

    `overrides` are settings of the node's command line, which count before the file.

    Raises ConfigError (an InputError that holds all findings) if a node would not take it, and InputError for a
    file that cannot be read; `what` names the file in that error.
    """
    data = read_input(Path(config), what, InputKind.NODE_CONFIG)
    return read_node_config(data, file=os.fspath(config), release=release, resolve=resolve, overrides=overrides)
