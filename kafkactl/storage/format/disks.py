"""The disks compared with what was asked for: formatted already, by whom, or not readable at all.

Kafka sorts the directories of a node into three classes by their meta.properties alone: absent (empty), readable
(formatted), anything else (error). Source: MetaPropertiesEnsemble.Loader and verify, Formatter.doFormat; up to 3.6
StorageTool.formatCommand, which looks at nothing but the file's existence.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum

from kafkactl.core.errors import DecodeError
from kafkactl.core.findings import Finding, Severity, blocker, warning
from kafkactl.core.frozen import frozen
from kafkactl.core.values import Uuid
from kafkactl.protocol.catalog.releases import Release
from kafkactl.protocol.text.java_text import hash_map_order, string_hash
from kafkactl.protocol.text.meta_properties import META_PROPERTIES, MetaProperties, parse_meta_properties
from kafkactl.storage.leftovers import has_own_traces, is_only_formatted
from kafkactl.storage.model import DirectoryState, GuardOverrides, ObservedDirectory


class DirectoryClass(StrEnum):
    """Kafka's three classes."""

    EMPTY = "empty"
    FORMATTED = "formatted"
    ERROR = "error"


@frozen
class ClassifiedDirectory:
    """A directory in its class; `stored` is what its meta.properties says, `why` what is wrong with it."""

    directory: ObservedDirectory
    kind: DirectoryClass
    stored: MetaProperties | None = None
    why: str = ""

    @property
    def path(self) -> str:
        """Return the path as written in the configuration."""
        return self.directory.path


def stored_meta(directory: ObservedDirectory | None) -> MetaProperties | None:
    """Return the meta.properties of a directory; None if there is none that can be read."""
    return None if directory is None else classify(directory).stored


def stored_directory_id(directory: ObservedDirectory) -> Uuid | None:
    """Return the id of a formatted directory; None if no meta.properties names one."""
    stored = stored_meta(directory)
    return None if stored is None else stored.directory_id


def classify(directory: ObservedDirectory) -> ClassifiedDirectory:
    """Return Kafka's class of a directory, as 3.7 and later see it."""
    if directory.state in {DirectoryState.NOT_A_DIRECTORY, DirectoryState.UNREADABLE}:
        return ClassifiedDirectory(directory=directory, kind=DirectoryClass.ERROR, why=directory.error or "")
    file = directory.meta_properties
    if file is None:
        return ClassifiedDirectory(directory=directory, kind=DirectoryClass.EMPTY)
    if file.content is None:
        why = f"{file.path}: {file.error}"
        return ClassifiedDirectory(directory=directory, kind=DirectoryClass.ERROR, why=why)
    try:
        stored = parse_meta_properties(file.content, file=file.path)
    except DecodeError as error:
        return ClassifiedDirectory(directory=directory, kind=DirectoryClass.ERROR, why=error.message)
    return ClassifiedDirectory(directory=directory, kind=DirectoryClass.FORMATTED, stored=stored)


def classify_all(directories: Sequence[ObservedDirectory], release: Release) -> tuple[ClassifiedDirectory, ...]:
    """Return all directories of a node in the given order, classified as the release's tool does."""
    classified = [classify(directory) for directory in directories]
    if release.error_directory_rule != "not-noticed":
        return tuple(classified)
    # 3.3 to 3.6: any meta.properties counts, whatever it holds.
    return tuple(
        ClassifiedDirectory(directory=disk.directory, kind=DirectoryClass.FORMATTED, why=disk.why)
        if disk.kind is DirectoryClass.ERROR and disk.directory.meta_properties is not None
        else disk
        for disk in classified
    )


def in_kafkas_order(classified: Sequence[ClassifiedDirectory]) -> list[ClassifiedDirectory]:
    """Return the order in which Kafka from 3.7 on walks the directories: a HashMap by path."""
    return [classified[position] for position in hash_map_order(string_hash(disk.path) for disk in classified)]


def check_stored_ids(
    classified: Sequence[ClassifiedDirectory], *, cluster_id: str, node_id: int, release: Release
) -> Iterator[Finding]:
    """Compare ids on the disks with those asked for, also with --ignore-formatted (MetaPropertiesEnsemble.verify)."""
    severity = Severity.BLOCKER if release.meta_properties_compared else Severity.WARNING
    seen: dict[Uuid, str] = {}
    for disk in in_kafkas_order(classified):
        if disk.stored is None:
            continue
        for finding in _check_stored(disk, disk.stored, cluster_id, node_id, seen):
            yield Finding(
                id=finding.id,
                severity=severity if finding.severity is Severity.BLOCKER else finding.severity,
                subject=finding.subject,
                message=finding.message,
                evidence=finding.evidence,
                next_step=finding.next_step,
            )


def _check_stored(
    disk: ClassifiedDirectory, stored: MetaProperties, cluster_id: str, node_id: int, seen: dict[Uuid, str]
) -> Iterator[Finding]:
    subject, file = f"directory {disk.path}", f"{disk.path}/{META_PROPERTIES}"
    if stored.cluster_id is not None and stored.cluster_id != cluster_id:
        yield blocker(
            "cluster-id-mismatch",
            subject,
            f"Invalid cluster.id in: {file}. Expected {cluster_id}, but read {stored.cluster_id}",
            "If this disk belongs to that other cluster, it must not be used here. If the cluster is the same, give"
            " its id with -t; an id is never taken over from a disk.",
            path=disk.path,
            expected=cluster_id,
            found=stored.cluster_id,
            written_ms=disk.directory.meta_properties.mtime_ms if disk.directory.meta_properties else None,
        )
    if stored.stored_id is not None and stored.stored_id != node_id:
        yield blocker(
            "node-id-mismatch",
            subject,
            f"Stored node id {stored.stored_id} doesn't match previous node id {node_id} in {file}",
            "If the disk was moved here, give this node its node.id; if it is another node's, take it out of log.dirs.",
            path=disk.path,
            expected=node_id,
            found=stored.stored_id,
        )
    if stored.stored_id is None:
        yield warning(
            "meta-properties-without-node-id",
            subject,
            f"{file} contains no node id, so the directory appears formatted: a node does not start on it",
            path=disk.path,
        )
    if stored.directory_id is not None:
        yield from _check_directory_id(disk, stored.directory_id, seen)


def _check_directory_id(disk: ClassifiedDirectory, found: Uuid, seen: dict[Uuid, str]) -> Iterator[Finding]:
    if found.is_reserved:
        yield blocker(
            "reserved-directory-id",
            f"directory {disk.path}",
            f"Invalid reserved directory ID {found} found in {disk.path}",
            "Kafka keeps this id for itself: correct directory.id, by the voter set if this node is a voter.",
            path=disk.path,
        )
    if found in seen:
        yield blocker(
            "duplicate-directory-id",
            f"directory {disk.path}",
            f"Duplicate directory ID {found} found. It was the ID of {seen[found]}, but also of {disk.path}",
            paths=[seen[found], disk.path],
        )
    seen.setdefault(found, disk.path)


def check_already_formatted(classified: Sequence[ClassifiedDirectory], *, ignore_formatted: bool) -> Iterator[Finding]:
    """Report formatted directories without -g. An interrupted run of kafkactl is resumed."""
    if ignore_formatted:
        return
    resumes = is_interrupted(classified)
    for disk in in_kafkas_order(classified):
        if disk.kind is DirectoryClass.FORMATTED and resumes:
            yield Finding(
                id="format-resumed",
                severity=Severity.INFO,
                subject=f"directory {disk.path}",
                message=f"{disk.path} was formatted by a run of kafkactl that was interrupted: it stays as it is, and"
                " the rest is formatted",
                evidence={"path": disk.path},
            )
        elif disk.kind is DirectoryClass.FORMATTED:
            yield blocker(
                "already-formatted",
                f"directory {disk.path}",
                f"already formatted: directory {disk.path}; --ignore-formatted keeps what is formatted, and formats the"
                " rest if there is any",
                path=disk.path,
                cluster_id=disk.stored.cluster_id if disk.stored else None,
                node_id=disk.stored.stored_id if disk.stored else None,
            )


def is_interrupted(classified: Sequence[ClassifiedDirectory]) -> bool:
    """Return True if a format by kafkactl was killed half-way: its traces are there, and no node has run since."""
    formatted = [disk.directory for disk in classified if disk.kind is DirectoryClass.FORMATTED]
    return any(has_own_traces(disk.directory) for disk in classified) and all(map(is_only_formatted, formatted))


def check_error_directories(
    classified: Sequence[ClassifiedDirectory],
    *,
    metadata_directory: str,
    overrides: GuardOverrides,
    release: Release,
) -> Iterator[Finding]:
    """Report directories that cannot be read.

    Kafka from 3.8 on leaves these out with a warning and exit 0, whichever it is. Here the operator has to allow each
    by name, and the metadata directory can never be left out.
    """
    failed = [disk for disk in in_kafkas_order(classified) if disk.kind is DirectoryClass.ERROR]
    for disk in failed:
        allowed = disk.path in overrides.allow_failed_dirs
        possible = release.error_directory_rule == "ignored" and disk.path != metadata_directory
        yield Finding(
            id="metadata-directory-unreadable" if disk.path == metadata_directory else "log-directory-unreadable",
            severity=Severity.WARNING if allowed and possible else Severity.BLOCKER,
            subject=f"directory {disk.path}",
            message=f"I/O error trying to read log directory {disk.path}: {disk.why}",
            evidence={"path": disk.path, "why": disk.why},
            next_step=_after_error(disk, metadata_directory, release),
        )
    if failed and len(failed) == len(classified):
        yield blocker("no-directory-left", "log.dirs", "No available log directories to format")


def _after_error(disk: ClassifiedDirectory, metadata_directory: str, release: Release) -> str:
    if disk.path == metadata_directory:
        return "A node does not start without its metadata directory: repair it, or correct metadata.log.dir."
    if release.error_directory_rule != "ignored":
        return f"Repair it, or take it out of log.dirs: Kafka {release.version_text} formats all or nothing."
    return f"Repair it; or format the others without it: --allow-failed-dir {disk.path}."


def check_same_place(directories: Sequence[ObservedDirectory]) -> Iterator[Finding]:
    """Report two paths of one real directory: Kafka compares plain strings and formats the directory twice."""
    first: dict[str, str] = {}
    for directory in directories:
        other = first.setdefault(directory.real_path, directory.path)
        if other != directory.path:
            yield warning(
                "same-directory-twice",
                f"directory {directory.path}",
                f"{directory.path} and {other} are one directory ({directory.real_path}): a node does not start"
                " because both have the same directory.id",
                paths=[other, directory.path],
                real_path=directory.real_path,
            )
