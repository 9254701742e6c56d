"""The nodes of this host: their processes, and the forecast of a start on their disks."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from kafkactl.core.errors import InputError, KafkactlError
from kafkactl.core.findings import Finding, warning
from kafkactl.protocol.catalog.releases import newest_with_zookeeper
from kafkactl.status.observation import HostNode
from kafkactl.storage.api.reading import NodeVerification, verify_node
from kafkactl.storage.io.host_overrides import overrides_on_host
from kafkactl.storage.io.host_release import releases_on_host
from kafkactl.storage.io.node_files import read_node, release_of


def observe_host(files: Iterable[str]) -> tuple[HostNode, ...]:
    """Return the facts of each configuration file and of the disks that it names. Raises nothing."""
    return tuple(_observed(file) for file in files)


def exact_releases(files: Iterable[str]) -> tuple[str, ...]:
    """Return the releases of the nodes of these files, with their patch level."""
    found = (release.version for file in files for release in releases_on_host(file))
    return tuple(dict.fromkeys(found))


def _observed(file: str) -> HostNode:
    try:
        host = overrides_on_host(file)
        if host is not None and host.why_unused is not None:
            return _unknown(file, host.finding(file))
        if _is_zookeepers(file):
            return _unknown(file, _not_verified(file))
        hidden = _hidden_directories(file, None if host is None else host.values)
        if hidden:
            return _unknown(file, _not_readable(file, hidden))
        verified = verify_node(file)
    except KafkactlError as error:
        return _unknown(file, warning("status-not-known", f"file {file}", error.message, error.advice))
    return HostNode(
        file=file,
        node_id=verified.node_id,
        cluster_id=verified.cluster_id,
        kafka_version=verified.kafka_version,
        runs=_runs(verified),
        will_start=False if verified.has_problems else verified.will_start,
        findings=verified.findings,
    )


def _unknown(file: str, why: Finding) -> HostNode:
    return HostNode(
        file=file, node_id=None, cluster_id=None, kafka_version=None, runs=None, will_start=None, findings=(why,)
    )


def _runs(verified: NodeVerification) -> bool | None:
    """Return True if the node's own process holds its directories, None if another process does."""
    ids = {finding.id for finding in verified.findings}
    if "node-is-running" in ids:
        return True
    return None if "directory-in-use" in ids else False


def _is_zookeepers(file: str) -> bool:
    """Return True for the file of a broker in ZooKeeper mode, in any release."""
    try:
        return read_node(file, newest_with_zookeeper()).is_zookeeper_mode
    except InputError:
        return False


def _not_verified(file: str) -> Finding:
    return warning(
        "zookeeper-mode-not-verified",
        f"file {file}",
        f"{file} is that of a broker in ZooKeeper mode: its process and next start were not verified",
        "See the state of its cluster with `kafkactl migrate status --inventory FILE`.",
    )


def _hidden_directories(file: str, overrides: Mapping[str, str] | None) -> list[str]:
    """Return the node's directories that exist and that this user may not read or write."""
    if os.geteuid() == 0:
        return []
    node = read_node(file, release_of(None), "the configuration", overrides=overrides)
    return [
        path
        for path in node.all_directories
        if os.path.exists(path) and not os.access(path, os.R_OK | os.W_OK | os.X_OK)  # noqa: PTH110
    ]


def _not_readable(file: str, hidden: list[str]) -> Finding:
    owner = _owner(hidden[0])
    return warning(
        "status-not-known",
        f"file {file}",
        f"the directories of this node are not for this user to read: {', '.join(hidden)}",
        f"Run the command as the user of Kafka: sudo -u {owner} kafkactl status -c {file}",
    )


def _owner(path: str) -> str:
    try:
        return Path(path).owner()
    except (OSError, KeyError):
        return "kafka"
