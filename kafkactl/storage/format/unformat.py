"""Unformat: take a format back, if it is proved that no node ever started from it.

What is guarded: a directory that a node has used holds data or votes, however empty it looks. So the proof is not
"no data was found" but "nothing was found other than what a format writes": a node's first start leaves a `.lock`, a
quorum-state, log segments or recovery checkpoints in every directory it uses. One foreign name, and the directory
stays. lost+found stays too, and proves nothing.

The metadata directory comes first and its meta.properties first of all: from that instant no node starts from what
is left, and a run that was interrupted can be finished by another one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kafkactl.core.findings import Finding, Outcome, blocker, blockers
from kafkactl.core.frozen import frozen
from kafkactl.core.kafka_names import METADATA_LOG
from kafkactl.core.wording import first_few
from kafkactl.protocol.text.meta_properties import META_PROPERTIES
from kafkactl.storage.config.node_config import NodeConfig
from kafkactl.storage.format.disks import ClassifiedDirectory, DirectoryClass, classify
from kafkactl.storage.leftovers import is_leftover
from kafkactl.storage.model import (
    KAFKACTL_LOCK,
    LOST_AND_FOUND,
    DirectoryRole,
    DirectoryState,
    ObservedDirectory,
    ObservedNode,
)

_NAMES_SHOWN = 8


@frozen
class UnformatDirectory:
    """A directory: `names` are removed in this order (relative to it; a folder after what is in it).

    `meta_properties` is what that file holds now, None if it is gone already; apply checks that it still does.
    """

    path: str
    role: DirectoryRole
    action: str  # unformat | keep
    names: tuple[str, ...] = ()
    meta_properties: bytes | None = None


@frozen
class UnformatPlan:
    """Removals by unformat, or the reasons against it. `directories` are in the order of removal.

    `cluster_id` is None if no meta.properties is left.
    """

    outcome: Outcome  # planned | nothing-to-do | refused
    cluster_id: str | None
    node_id: int
    directories: tuple[UnformatDirectory, ...]
    findings: tuple[Finding, ...]


def plan_unformat(config: NodeConfig, observed: ObservedNode, *, only: Sequence[str] = ()) -> UnformatPlan:
    """Return the plan for one node; `only` limits it to these of its directories (all if empty)."""
    chosen = [directory for directory in observed.directories if not only or directory.path in only]
    classified = [classify(directory) for directory in chosen]
    findings = [*_check_only(observed, only), *_check_one_cluster(classified)]
    for disk in classified:
        findings += _check(disk, config.node_id)
    ids = [disk.stored.cluster_id for disk in classified if disk.stored and disk.stored.cluster_id]
    outcome = Outcome.REFUSED
    directories: tuple[UnformatDirectory, ...] = ()
    if not blockers(findings):
        directories = _in_order([_directory(disk, config) for disk in classified])
        changes = any(directory.action == "unformat" for directory in directories)
        outcome = Outcome.PLANNED if changes else Outcome.NOTHING_TO_DO
    return UnformatPlan(
        outcome=outcome,
        cluster_id=ids[0] if ids else None,
        node_id=config.node_id,
        directories=directories or _in_order([_kept(directory.path, config) for directory in chosen]),
        findings=tuple(findings),
    )


def signs_of_a_start(directory: ObservedDirectory) -> list[str]:
    """Return the names in a directory that no format leaves there; empty for one that no node has used."""
    own = {META_PROPERTIES, LOST_AND_FOUND}
    found = [entry for entry in directory.entries if entry.name not in own and not is_leftover(directory, entry)]
    inside = [
        f"{METADATA_LOG}/{entry.name}"
        for entry in directory.metadata_log or ()
        if any(entry.name == METADATA_LOG for entry in found) and not _is_first_checkpoint(entry.name)
    ]
    return [entry.name for entry in found if entry.name != METADATA_LOG or not inside] + inside


def _is_first_checkpoint(name: str) -> bool:
    return name.startswith("00000000000000000000-0000000000") and name.endswith((".checkpoint", ".checkpoint.part"))


def _check(disk: ClassifiedDirectory, node_id: int) -> Iterator[Finding]:
    directory, subject = disk.directory, f"directory {disk.path}"
    if disk.kind is DirectoryClass.ERROR:
        yield blocker(
            "log-directory-unreadable",
            subject,
            f"{disk.path} cannot be read, so nothing is proved about it: {disk.why}",
            "Repair it, or leave it out: name the others with --only DIR.",
        )
        return
    signs = signs_of_a_start(directory)
    if directory.locked_by_process:
        signs = [*signs, "a process holds its .lock"]
    if signs:
        shown = first_few(signs, _NAMES_SHOWN)
        yield blocker(
            "directory-was-used",
            subject,
            f"a node may have started from {disk.path}: the directory contains {shown}",
            signs=signs[:_NAMES_SHOWN],
            count=len(signs),
        )
    if disk.stored is not None and disk.stored.version == 0:
        yield blocker(
            "not-formatted-for-kraft",
            subject,
            f"the meta.properties of {disk.path} has version 0: a broker in ZooKeeper mode wrote it, no format did",
            "Leave it alone.",
        )
    stored_id = disk.stored.stored_id if disk.stored else None
    if stored_id is not None and stored_id != node_id:
        yield blocker(
            "node-id-mismatch",
            subject,
            f"{disk.path} belongs to node {stored_id}, the configuration is that of node {node_id}",
            "Use the configuration of the node that the directory was formatted for.",
            expected=node_id,
            found=stored_id,
        )


def _check_only(observed: ObservedNode, only: Sequence[str]) -> Iterator[Finding]:
    known = {directory.path for directory in observed.directories}
    for path in only:
        if path not in known:
            yield blocker(
                "directory-not-in-config",
                f"directory {path}",
                f"{path} is none of this node's directories ({', '.join(sorted(known))})",
            )


def _check_one_cluster(classified: Sequence[ClassifiedDirectory]) -> Iterator[Finding]:
    ids = {disk.stored.cluster_id: disk.path for disk in classified if disk.stored and disk.stored.cluster_id}
    if len(ids) > 1:
        listed = ", ".join(f"{path} has {cluster_id}" for cluster_id, path in ids.items())
        yield blocker(
            "cluster-id-mismatch",
            "log.dirs",
            f"the directories belong to different clusters: {listed}",
            "Name those of one cluster with --only DIR.",
            found=sorted(ids),
        )


def _directory(disk: ClassifiedDirectory, config: NodeConfig) -> UnformatDirectory:
    names = _names(disk.directory)
    if not names:
        return _kept(disk.path, config)
    file = disk.directory.meta_properties
    return UnformatDirectory(
        path=disk.path,
        role=_role(disk.path, config),
        action="unformat",
        names=tuple(names),
        meta_properties=file.content if file else None,
    )


def _names(directory: ObservedDirectory) -> list[str]:
    """Return the names: meta.properties first, the metadata log's folder last, Kafka's temporary files included."""
    if directory.state is not DirectoryState.DIRECTORY:
        return []
    present = {entry.name for entry in directory.entries}
    leftovers = [entry.name for entry in directory.entries if entry.kind == "file" and is_leftover(directory, entry)]
    names = [META_PROPERTIES] * (META_PROPERTIES in present)
    names += [name for name in leftovers if name != KAFKACTL_LOCK]  # that one goes with the lock
    if directory.metadata_log is not None:
        names += [f"{METADATA_LOG}/{entry.name}" for entry in directory.metadata_log]
        names.append(METADATA_LOG)
    return names


def _kept(path: str, config: NodeConfig) -> UnformatDirectory:
    return UnformatDirectory(path=path, role=_role(path, config), action="keep")


def _role(path: str, config: NodeConfig) -> DirectoryRole:
    return "metadata" if path == config.metadata_log_dir else "data"


def _in_order(directories: list[UnformatDirectory]) -> tuple[UnformatDirectory, ...]:
    return tuple(sorted(directories, key=lambda directory: directory.role != "metadata"))
