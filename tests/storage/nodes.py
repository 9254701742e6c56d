"""Nodes for tests: a configuration as Kafka reads it, directories as seen, a source that repeats itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from kafkactl.core.file_read import FileRead
from kafkactl.core.values import Uuid
from kafkactl.protocol.catalog.releases import Release, find_release
from kafkactl.storage.config.node_config import NodeConfig, read_node_config
from kafkactl.storage.model import DirectoryState, ObservedDirectory, ObservedNode

CLUSTER_ID = "XgM8cvG1S-mQ3k4wGhkVpQ"
NOW_MS = 1_763_634_457_000


def properties(
    *,
    roles: str = "broker,controller",
    log_dirs: Sequence[str] = ("/data/d1",),
    metadata_log_dir: str | None = None,
    static: bool = False,
    node_id: int = 1,
    **more: str,
) -> str:
    """Return the text of a server.properties."""
    listeners = ["PLAINTEXT://:9092"] * ("broker" in roles) + ["CONTROLLER://:9093"] * ("controller" in roles)
    voters = "1@localhost:9093" if "controller" in roles else "9@localhost:9093"
    lines = {
        "process.roles": roles,
        "node.id": str(node_id),
        "listeners": ",".join(listeners),
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
        "log.dirs": ",".join(log_dirs),
    }
    lines |= (
        {"controller.quorum.voters": voters} if static else {"controller.quorum.bootstrap.servers": "localhost:9093"}
    )
    if metadata_log_dir is not None:
        lines["metadata.log.dir"] = metadata_log_dir
    lines |= {key.replace("_", "."): value for key, value in more.items()}
    return "".join(f"{key}={value}\n" for key, value in lines.items())


def a_config(release: Release | str = "4.4", **settings: Any) -> NodeConfig:
    """Return a node's configuration, read as a release reads it."""
    found = find_release(release) if isinstance(release, str) else release
    return read_node_config(properties(**settings).encode(), file="server.properties", release=found)


def blank(path: str, **changes: Any) -> ObservedDirectory:
    """Return an empty directory."""
    return replace(ObservedDirectory(path=path, real_path=path, state=DirectoryState.DIRECTORY), **changes)


def with_meta(path: str, text: str | None = None, error: str | None = None, **changes: Any) -> ObservedDirectory:
    """Return a directory with a meta.properties."""
    content = None if text is None else text.encode()
    file = FileRead(path=f"{path}/meta.properties", content=content, error=error)
    return blank(path, meta_properties=file, **changes)


def formatted(
    path: str, *, cluster_id: str = CLUSTER_ID, node_id: int = 1, directory_id: str = "1AAAAAAAAAAAAAAAAAAAAA"
) -> ObservedDirectory:
    """Return a directory as Kafka 3.7 and later format it."""
    text = f"version=1\nnode.id={node_id}\ncluster.id={cluster_id}\ndirectory.id={directory_id}\n"
    return with_meta(path, text)


def seen(*directories: ObservedDirectory) -> ObservedNode:
    """Return a node with these directories."""
    return ObservedNode(directories=directories)


def blank_node(config: NodeConfig) -> ObservedNode:
    """Return a node whose directories are all empty."""
    return seen(*(blank(path) for path in config.all_directories))


class FixedSource:
    """Ids that count up, one time, one salt."""

    def __init__(self) -> None:
        self.given: dict[str, Uuid] = {}

    def now_ms(self) -> int:
        return NOW_MS

    def directory_id(self, path: str) -> Uuid:
        self.given[path] = Uuid(bytes([0x40, 0x41 + len(self.given), *range(14)]))
        return self.given[path]

    def scram_salt(self, position: int) -> bytes:
        return bytes([position]) * 8
