"""Nodes of this host, found without being named, and the clusters that they belong to.

The running processes decide, and the usual places only if no node runs. A file that was found is used only if no
other user could have planted it. Files belong to one cluster if their disks have its id, or if they name a controller
in common; a file that cannot be connected with the others is taken as one of another cluster, and the operator chooses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from enum import StrEnum
from typing import Final

from kafkactl.cluster.quorum.voters import LOCALHOST, parse_host_port
from kafkactl.core.errors import InputError, RefusedError
from kafkactl.core.findings import Finding, warning
from kafkactl.core.frozen import frozen
from kafkactl.core.values import EVERY_ADDRESS, host_port
from kafkactl.core.wording import counted
from kafkactl.storage.config.node_config import NodeConfig

PASSED_OVER = "node-file-passed-over"
NAME_NODES: Final = "Name nodes of the cluster with --bootstrap-server or --bootstrap-controller."
_ON_ZOOKEEPER: Final = "See the state of its cluster with `kafkactl migrate status --inventory FILE`."


class FoundBy(StrEnum):
    """Origin of the cluster and of the files of nodes that a command uses."""

    OPTIONS = "options"
    CONTEXT = "context"
    CONFIG = "config"
    PROCESS = "process"
    PLACE = "place"


@frozen
class NodeFile:
    """Configuration file of a node of this host.

    `release` is the one in the class path of the node's process, None if no process shows one. `config` is None if the
    file cannot be read as a configuration; `problem` says why. `cluster_id` is the one on the node's disks.
    """

    path: str
    process_id: int | None = None
    release: str | None = None
    config: NodeConfig | None = field(default=None, repr=False)
    problem: InputError | None = field(default=None, repr=False)
    cluster_id: str | None = None

    @property
    def title(self) -> str:
        """Return the file with the process that runs with it."""
        return self.path if self.process_id is None else f"{self.path} (process {self.process_id})"

    @property
    def controllers(self) -> tuple[str, ...]:
        """Return the addresses of controllers, this node's own first: those of the file, HOST:PORT."""
        return () if self.config is None else controller_addresses(self.config)


@frozen
class PassedOver:
    """A node of this host that is not used. `path` is None if its process does not show which file it has.

    `step` is the next step if no command can use the file.
    """

    path: str | None
    process_id: int | None
    reason: str
    owner: str | None = None
    """The user who can use the file as its owner."""
    step: str | None = None

    def finding(self, words: str) -> Finding:
        """Return the finding of a command about it; `words` are those of the command, such as `storage verify`."""
        process = None if self.process_id is None else f"process {self.process_id}"
        ways: list[str] = []
        if self.step is None and self.path is not None:
            ways.append(f"kafkactl {words} -c {self.path}")
        if self.owner is not None:
            ways.append(f"as its owner: sudo -u {self.owner} kafkactl {words}")
        return warning(
            PASSED_OVER,
            self.path or process or "host",
            f"{' of '.join(filter(None, (self.path, process)))} was passed over: {self.reason}",
            self.step or (f"To use it all the same: {', or '.join(ways)}" if ways else ""),
            file=self.path,
            process_id=self.process_id,
        )


@frozen
class HostNodes:
    """Nodes of this host that were found, and those that were passed over."""

    by: FoundBy
    files: tuple[NodeFile, ...] = ()
    passed_over: tuple[PassedOver, ...] = ()


def passed_over_zookeepers(file: NodeFile) -> PassedOver:
    """Return the file of a broker in ZooKeeper mode, of which only a migration knows anything."""
    reason = "it is the file of a broker in ZooKeeper mode"
    return PassedOver(path=file.path, process_id=file.process_id, reason=reason, step=_ON_ZOOKEEPER)


def check_addresses(files: Sequence[NodeFile]) -> None:
    """Raise InputError if no file names a controller: `zookeeper-mode`, else `bootstrap-missing`."""
    if any(file.controllers for file in files):
        return
    names = ", ".join(file.path for file in files)
    if any(file.config is not None and file.config.is_zookeeper_mode for file in files):
        raise InputError(
            f"{names}: a broker in ZooKeeper mode, whose file names no controller of KRaft", id="zookeeper-mode"
        )
    raise InputError(f"{names}: no controller is named there", id="bootstrap-missing", next_step=NAME_NODES)


def controller_addresses(config: NodeConfig) -> tuple[str, ...]:
    """Return the controllers that a configuration names, HOST:PORT, this node's own address first."""
    own = [
        host_port(point.host, point.port) for point in config.controller_endpoints if point.host not in EVERY_ADDRESS
    ]
    voters = [host_port(voter.host, voter.port) for voter in config.static_voters]
    servers = [host_port(*found) for text in config.bootstrap_servers if (found := parse_host_port(text)) is not None]
    named = dict.fromkeys((*own, *voters, *servers))
    if not named:  # a sole controller that advertises no host
        named = dict.fromkeys(host_port(LOCALHOST, point.port) for point in config.controller_endpoints)
    return tuple(address for address in named if not address.endswith(":0"))


def group_by_cluster(files: Sequence[NodeFile]) -> tuple[tuple[NodeFile, ...], ...]:
    """Return the files of each cluster, in the order in which they were found."""
    groups: list[list[NodeFile]] = []
    for file in files:
        same = [group for group in groups if any(_is_same_cluster(file, other) for other in group)]
        joined = [member for group in same for member in group]
        groups = [group for group in groups if group not in same] + [[*joined, file]]
    return tuple(sorted((tuple(group) for group in groups), key=lambda group: files.index(group[0])))


def _is_same_cluster(file: NodeFile, other: NodeFile) -> bool:
    if file.cluster_id is not None and other.cluster_id is not None:
        return file.cluster_id == other.cluster_id
    return not set(file.controllers).isdisjoint(other.controllers)


def check_one_cluster(files: Sequence[NodeFile]) -> None:
    """Raise InputError `several-clusters-found` with each cluster and the option that chooses it."""
    groups = group_by_cluster(files)
    if len(groups) < 2:
        return
    raise InputError(
        f"nodes of {len(groups)} clusters are on this host: {'; '.join(map(_cluster_title, groups))}",
        id="several-clusters-found",
        next_step=f"Choose one: {', or '.join(f'-c {group[0].path}' for group in groups)}",
    )


def check_one_node(files: Sequence[NodeFile]) -> None:
    """Raise InputError `several-nodes-found` with each node and the option that chooses it."""
    if len(files) < 2:
        return
    raise InputError(
        f"{counted(len(files), 'node')} are on this host: {'; '.join(_node_title(file) for file in files)}",
        id="several-nodes-found",
        next_step=f"Choose one: {', or '.join(f'-c {file.path}' for file in files)}",
    )


def check_writable(found: HostNodes) -> None:
    """Refuse to write to the disks of a node that was found, if it runs or may not be the one that is meant.

    Raises RefusedError `found-node-runs`, `found-node-not-certain`.
    """
    (file,) = found.files
    if file.process_id is not None:
        raise RefusedError(f"the node of {file.title} runs: its disks are in use", id="found-node-runs")
    if found.passed_over:
        others = ", ".join(passed.path or f"process {passed.process_id}" for passed in found.passed_over)
        raise RefusedError(
            f"{file.path} was found, and {others} was passed over: which node is meant is not certain",
            id="found-node-not-certain",
        )


def _cluster_title(group: Sequence[NodeFile]) -> str:
    cluster_id = next((file.cluster_id for file in group if file.cluster_id is not None), None)
    name = "a cluster whose id is not known" if cluster_id is None else f"cluster {cluster_id}"
    return f"{name} ({', '.join(_node_title(file) for file in group)})"


def _node_title(file: NodeFile) -> str:
    return file.title if file.config is None else f"node {file.config.node_id}, {file.title}"
