"""Nodes of this host: the processes of Kafka that run, and else the files at the usual places."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from kafkactl.core.errors import DecodeError, InputError
from kafkactl.core.findings import Finding
from kafkactl.core.frozen import frozen
from kafkactl.files import processes
from kafkactl.files.input_files import InputKind, read_whole
from kafkactl.files.trust import distrust_of, user_name
from kafkactl.protocol.catalog.releases import find_release, newest_release, newest_with_zookeeper
from kafkactl.protocol.text.meta_properties import META_PROPERTIES, parse_meta_properties
from kafkactl.storage.config.node_config import NodeConfig
from kafkactl.storage.discovery import NAME_NODES, FoundBy, HostNodes, NodeFile, PassedOver, passed_over_zookeepers
from kafkactl.storage.io.host_overrides import HostOverrides, overrides_on_host
from kafkactl.storage.io.host_release import releases_of
from kafkactl.storage.io.node_files import read_node

FOLDERS: Final = ("/etc/kafka", "/opt/kafka/config")
_NAMES: Final = (("server.properties",), ("broker.properties", "controller.properties"))
_KRAFT: Final = "kraft"


@frozen
class NodeProcess:
    """Process of a node with its file; `path` is None if its working directory is not shown."""

    process_id: int
    path: str | None
    releases: tuple[str, ...]
    owner: int | None


def host_nodes() -> tuple[HostNodes, tuple[Finding, ...]]:
    """Return the nodes of this host, and the findings about the files that are used.

    Where nodes run, the usual places are not asked: they may have the file of another node.
    """
    running = list(processes.kafka_nodes())
    return _by_processes(running) if running else (_at_places(), ())


def named_file(path: str) -> NodeFile:
    """Return the file of a node that the operator named, with the process that runs with it if one does."""
    wanted = os.path.realpath(path)
    for process_id, arguments in processes.kafka_nodes():
        found = _process(process_id, arguments)
        if isinstance(found, NodeProcess) and found.path is not None and os.path.realpath(found.path) == wanted:
            return _node_file(path, found)
    return _node_file(path)


def overrides_of_files(paths: Iterable[str]) -> tuple[Finding, ...]:
    """Return the findings about settings on the command lines of the nodes that run with these files."""
    return tuple(host.finding(path) for path in paths if (host := overrides_on_host(path)) is not None)


def _by_processes(running: list[tuple[int, tuple[str, ...]]]) -> tuple[HostNodes, tuple[Finding, ...]]:
    used: dict[str, NodeFile] = {}
    passed: list[PassedOver] = []
    for process_id, arguments in running:
        found = _process(process_id, arguments)
        if isinstance(found, PassedOver):
            passed.append(found)
            continue
        assert found.path is not None
        if os.path.realpath(found.path) in used:
            continue
        result = _usable(found.path, found)
        if isinstance(result, NodeFile) and (why := _why_not_overridden(found.path)) is not None:
            result = PassedOver(path=found.path, process_id=process_id, reason=why, owner=_name_of(found.owner))
        if isinstance(result, PassedOver):
            passed.append(result)
            continue
        if _is_zookeepers(result):
            passed.append(passed_over_zookeepers(result))
            continue
        used[os.path.realpath(found.path)] = result
    nodes = HostNodes(by=FoundBy.PROCESS, files=tuple(used.values()), passed_over=tuple(passed))
    return nodes, overrides_of_files(file.path for file in nodes.files)


def _why_not_overridden(path: str) -> str | None:
    """Return the reason why the file of a running node does not have what the node runs with; None if it has."""
    host = overrides_on_host(path)
    if host is None or host.why_unused is None:
        return None
    return f"it runs with --override of {', '.join(host.keys)}, and {host.why_unused}"


def _process(process_id: int, arguments: tuple[str, ...]) -> NodeProcess | PassedOver:
    named = processes.config_argument(arguments)
    owner = processes.owner_of(process_id)
    if named is None:
        return PassedOver(path=None, process_id=process_id, reason="its command line names no properties file")
    if processes.runs_in_container(process_id):
        reason = f"it runs in a container, whose {named} is another file: run kafkactl there"
        return PassedOver(path=None, process_id=process_id, reason=reason)
    here = processes.working_directory_of(process_id)
    if here is None and not named.startswith("/"):
        reason = f"it names {named} relative to its working directory, which is not shown to this user"
        return PassedOver(path=None, process_id=process_id, reason=reason, owner=_name_of(owner))
    path = os.path.normpath(Path(here or "/") / named)
    # Any user can start a process with any class path: only root, this user, and the owner of the file are believed.
    is_believed = owner in (0, os.geteuid()) or _is_owner(path, owner)
    releases = {found.version for found in releases_of([(process_id, arguments)])} if is_believed else set()
    return NodeProcess(
        process_id=process_id,
        path=path,
        releases=tuple(sorted(releases)),
        owner=owner,
    )


def _is_owner(path: str, user: int | None) -> bool:
    try:
        return Path(path).stat().st_uid == user
    except OSError:
        return False


def _name_of(user: int | None) -> str | None:
    return None if user is None or user == os.geteuid() else user_name(user)


def usual_folders() -> tuple[str, ...]:
    """Return the folders in which the configuration of a node usually is."""
    home = os.environ.get("KAFKA_HOME")
    return (*FOLDERS, *([f"{home}/config"] if home else []))


def _at_places() -> HostNodes:
    """Return the files of the first folder that has any. One that is passed over ends the search: a file at a later
    place may be a sample, or another node's. The file of a broker in ZooKeeper mode does not."""
    on_zookeeper: list[PassedOver] = []
    for folder in usual_folders():
        for names in _NAMES:
            for place in (folder, f"{folder}/{_KRAFT}"):
                found = [_usable(f"{place}/{name}") for name in names if os.path.lexists(f"{place}/{name}")]
                usable = [result for result in found if isinstance(result, NodeFile)]
                on_zookeeper += [passed_over_zookeepers(file) for file in usable if _is_zookeepers(file)]
                files = tuple(file for file in usable if not _is_zookeepers(file))
                passed = tuple(result for result in found if isinstance(result, PassedOver))
                if files or passed:
                    return HostNodes(by=FoundBy.PLACE, files=files, passed_over=passed)
    return HostNodes(by=FoundBy.PLACE, passed_over=tuple(on_zookeeper))


def _is_zookeepers(file: NodeFile) -> bool:
    """Return True for the file of a broker in ZooKeeper mode: releases with ZooKeeper ship one with those of KRaft."""
    return file.config is not None and file.config.is_zookeeper_mode


def _usable(path: str, process: NodeProcess | None = None) -> NodeFile | PassedOver:
    process_id = None if process is None else process.process_id
    distrust = distrust_of(path)
    if distrust is not None:
        step = None if distrust.usable else NAME_NODES
        return PassedOver(path=path, process_id=process_id, reason=distrust.reason, owner=distrust.owner, step=step)
    return _node_file(path, process)


def _node_file(path: str, process: NodeProcess | None = None) -> NodeFile:
    release = process.releases[0] if process is not None and len(process.releases) == 1 else None
    config = problem = None
    try:
        config = _config(path, release, None if process is None else overrides_on_host(path))
    except InputError as error:
        problem = error
    return NodeFile(
        path=path,
        process_id=None if process is None else process.process_id,
        release=release,
        config=config,
        problem=problem,
        cluster_id=None if config is None else _cluster_id(config),
    )


def _config(path: str, release: str | None, host: HostOverrides | None) -> NodeConfig:
    """Return the configuration as its release reads it; if that is not known, as any release does.

    Raises InputError as the newest release would.
    """
    overrides = None if host is None else host.values
    if release is not None:
        return read_node(path, find_release(release), overrides=overrides)
    try:
        return read_node(path, newest_release(), overrides=overrides)
    except InputError as error:
        try:
            return read_node(path, newest_with_zookeeper(), overrides=overrides)
        except InputError:
            raise error from None


def _cluster_id(config: NodeConfig) -> str | None:
    """Return the cluster's id on the disks of a node; None if they show none, or several."""
    found = set(filter(None, map(_stored_id, config.all_directories)))
    return found.pop() if len(found) == 1 else None


def _stored_id(directory: str) -> str | None:
    path = f"{directory}/{META_PROPERTIES}"
    try:
        return parse_meta_properties(read_whole(path, InputKind.META_PROPERTIES, follow=False), file=path).cluster_id
    except (OSError, DecodeError):
        return None
