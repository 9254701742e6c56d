"""The blank-disk guard: a disk without meta.properties is not therefore a disk without data.

For Kafka the absence of meta.properties is the only sign of "never formatted", and its tool formats whatever it finds
so. That destroys a quorum if a disk only appears to be empty: not mounted, mounted wrongly, replaced, or without that
one file. Here such a directory is refused until the operator allows it (docs/storage-runbook.md); each case is one
function below. Files of an interrupted format are not data (`is_leftover`).

The guard looks at directories of Kafka's class "empty" only. Of other nodes it knows what was seen of the quorum where
a controller's metadata disk is replaced (lost_disk); what the fleet remembers of earlier formats is the plan's business
(kafkactl.storage.fleet.plan).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import takewhile
from pathlib import PurePosixPath
from typing import Any

from kafkactl.core.findings import Finding, Severity
from kafkactl.core.kafka_names import METADATA_LOG
from kafkactl.core.wording import first_few
from kafkactl.protocol.text.meta_properties import META_PROPERTIES
from kafkactl.storage.format.lost_disk import LostDisk, check_lost_disk
from kafkactl.storage.leftovers import data_entries, is_half_done, is_of_file_system
from kafkactl.storage.model import (
    BOOTSTRAP_CHECKPOINT,
    DirectoryEntry,
    DirectoryState,
    GuardOverrides,
    ObservedDirectory,
    QuorumSeen,
)

_TOPIC_PARTITION = r"(?P<topic>[A-Za-z0-9._-]{1,249})-\d+(?:[.-][0-9a-f]+-(?:delete|future|stray))?"
_WRITTEN = frozenset({METADATA_LOG, META_PROPERTIES, BOOTSTRAP_CHECKPOINT})
_NAMES_SHOWN = 8


def check_blank(
    empty: Sequence[ObservedDirectory],
    *,
    formatted: Sequence[ObservedDirectory],
    metadata_directory: str,
    is_controller: bool,
    is_broker: bool,
    overrides: GuardOverrides,
    node_id: int,
    cluster_id: str,
    quorum: QuorumSeen | None = None,
) -> tuple[Finding, ...]:
    """Return the blockers and warnings against formatting the directories of class `empty`.

    `formatted` are the directories of the same node that hold a meta.properties; both are of one node, whose metadata
    log directory is `metadata_directory`. `quorum` is what was seen of the other controllers, None if they were not
    asked. Blockers and warnings, grouped by directory in the order given.
    """
    lost = LostDisk(
        node_id=node_id, cluster_id=cluster_id, is_controller=is_controller, overrides=overrides, quorum=quorum
    )
    siblings = [*empty, *formatted]
    findings: list[Finding] = []
    for directory in empty:
        findings += _check_in_use(directory)
        findings += _check_content(directory, overrides)
        findings += _check_links(directory)
        findings += _check_mount(directory, siblings, overrides)
        findings += _check_writable(directory)
        if is_broker:
            findings += _warn_of_foreign_directories(directory, overrides)
        if directory.path == metadata_directory:
            findings += _check_lost_disk(directory, formatted, lost)
        findings += _warn_of_temporary_place(directory)
    return tuple(findings)


def is_topic_partition(name: str) -> bool:
    """Return True if Kafka's LogManager parses the name as a partition directory (LocalLog.parseTopicPartitionName)."""
    return re.fullmatch(_TOPIC_PARTITION, name) is not None


def foreign_directories(directory: ObservedDirectory) -> list[str]:
    """Return directories that LogManager would die on: "is not in the form of topic-partition"."""
    return [
        entry.name
        for entry in directory.entries
        if (entry.kind == "directory" or entry.links_to_directory)
        and not is_topic_partition(entry.name)
        and entry.name != METADATA_LOG
    ]


def _check_in_use(directory: ObservedDirectory) -> Iterable[Finding]:
    if directory.locked_by_process:
        pid = directory.lock_holder_pid
        yield _finding(
            "directory-in-use",
            directory,
            f"{directory.path} is in use: {f'process {pid}' if pid else 'a process'} holds its .lock",
            evidence={"pid": pid},
        )


def _check_content(directory: ObservedDirectory, overrides: GuardOverrides) -> Iterable[Finding]:
    found = data_entries(directory)
    if not found:
        return
    names = [entry.name for entry in found]
    shown = first_few(names, _NAMES_SHOWN)
    allowed = directory.path in overrides.allow_not_blank
    step = "Bring the directory's meta.properties back, with its directory.id: what it holds is a node's data."
    if not any(entry.kind == "directory" and is_topic_partition(entry.name) for entry in found):
        step = (
            "If this is a node's data, bring its meta.properties back instead. If it may be formatted as it is, say so"
            f" with --allow-not-blank {directory.path}."
        )
    yield _finding(
        "directory-not-blank",
        directory,
        f"{directory.path} has no meta.properties but is not blank: it holds {shown}",
        severity=Severity.WARNING if allowed else Severity.BLOCKER,
        next_step=step,
        evidence=_evidence(directory, found),
    )


def _check_links(directory: ObservedDirectory) -> Iterable[Finding]:
    """Report symbolic links at names that a format writes: a link may lead to the directory of another node."""
    for entry in directory.entries:
        if entry.name in _WRITTEN and entry.kind == "symlink":
            yield _finding(
                "link-below-log-directory",
                directory,
                f"{directory.path}/{entry.name} is a symbolic link: nothing is written through a link",
                next_step="Remove the link; name the directory that it leads to as metadata.log.dir or in log.dirs if"
                " it is meant.",
                evidence={"path": directory.path, "name": entry.name},
            )


def _evidence(directory: ObservedDirectory, found: Sequence[DirectoryEntry]) -> dict[str, Any]:
    """Return the evidence by which an operator can identify a disk."""
    return {
        "path": directory.path,
        "real_path": directory.real_path,
        "device": directory.device,
        "mount_point": directory.mount_point,
        "newest_mtime_ms": max((entry.mtime_ms for entry in found), default=None),
        "count": len(found),
        "entries": [entry.name for entry in found[:_NAMES_SHOWN]],
    }


def _check_mount(
    directory: ObservedDirectory, siblings: Sequence[ObservedDirectory], overrides: GuardOverrides
) -> Iterable[Finding]:
    for expected in sorted(overrides.expected_mounts):
        if _is_at_or_below(directory, expected) and directory.mount_point != _real(directory, expected):
            yield _finding(
                "not-a-mount",
                directory,
                f"{expected} should be a mount, but {directory.path} lies on the file system of"
                f" {directory.mount_point}",
                next_step=f"Mount the disk at {expected}; or name the directory where it is mounted.",
                evidence=_evidence(directory, directory.entries),
            )
    if directory.path in overrides.not_a_mount or _is_named(directory, overrides.expected_mounts):
        return
    mounted = [sibling for sibling in siblings if _has_a_mount_that_lacks(sibling, directory)]
    if mounted:
        yield _finding(
            "sibling-is-a-mount",
            directory,
            f"{mounted[0].path} lies on a disk of its own, mounted at {mounted[0].mount_point}; {directory.path} does"
            f" not, it lies on the file system of {directory.mount_point}",
            next_step=f"Mount its disk; or, if it has none, say so with --not-a-mount {directory.path}.",
            evidence=_evidence(directory, directory.entries),
        )


def _is_at_or_below(directory: ObservedDirectory, expected: str) -> bool:
    wanted = PurePosixPath(expected)
    own, real = PurePosixPath(directory.path), PurePosixPath(directory.real_path)
    return wanted in {own, real, *own.parents, *real.parents}


def _real(directory: ObservedDirectory, expected: str) -> str:
    """Return the expected mount point as a real path: the log directory's own path may run over a link."""
    if PurePosixPath(expected) == PurePosixPath(directory.path):
        return directory.real_path
    return str(PurePosixPath(expected))


def _is_named(directory: ObservedDirectory, expected: Iterable[str]) -> bool:
    return any(_is_at_or_below(directory, mount) for mount in expected)


def _has_a_mount_that_lacks(sibling: ObservedDirectory, directory: ObservedDirectory) -> bool:
    """Return True if the sibling is mounted below the common parent of both paths, and this directory is not."""
    if sibling.mount_point == directory.mount_point:
        return False  # also what most of the pairs of a node are: a plan of many nodes asks for each of them
    shared = _common(PurePosixPath(sibling.real_path), PurePosixPath(directory.real_path))
    return _is_below(sibling.mount_point, shared) and not _is_below(directory.mount_point, shared)


def _is_below(path: str, above: PurePosixPath) -> bool:
    return above in PurePosixPath(path).parents


def _common(path: PurePosixPath, other: PurePosixPath) -> PurePosixPath:
    pairs = zip(path.parts, other.parts, strict=False)
    return PurePosixPath(*(left for left, _ in takewhile(lambda pair: pair[0] == pair[1], pairs)))


def _check_writable(directory: ObservedDirectory) -> Iterable[Finding]:
    if directory.read_only_filesystem:
        yield _finding(
            "read-only-filesystem",
            directory,
            f"{directory.path} lies on a file system that is mounted read-only ({directory.mount_point})",
        )
    elif not directory.writable and directory.state is not DirectoryState.NOT_A_DIRECTORY:
        yield _finding(
            "write-not-permitted",
            directory,
            f"nothing can be written to {directory.path}: {directory.write_error}",
            evidence={"owner_uid": directory.owner_uid, "mode": f"{directory.mode:04o}"},
        )


def _warn_of_foreign_directories(directory: ObservedDirectory, overrides: GuardOverrides) -> Iterable[Finding]:
    """Report folders on which a broker exits with "is not in the form of topic-partition" (LogManager.scala)."""
    for name in foreign_directories(directory):
        if not is_of_file_system(name) and directory.path not in overrides.allow_not_blank:
            continue  # reported as directory-not-blank
        yield _finding(
            "foreign-directory-stops-start",
            directory,
            f"a broker will not start on {directory.path}: the directory {name} in it is not in the form of"
            " topic-partition",
            severity=Severity.WARNING,
            next_step=f"Use a directory below it, such as {PurePosixPath(directory.path) / 'kafka'}, in log.dirs."
            " Nothing is deleted here.",
            evidence={"name": name},
        )


def _check_lost_disk(
    directory: ObservedDirectory, formatted: Sequence[ObservedDirectory], lost: LostDisk
) -> Iterable[Finding]:
    if formatted and not is_half_done(directory):
        yield from check_lost_disk(lost, directory, formatted, _evidence(directory, directory.entries))


def _warn_of_temporary_place(directory: ObservedDirectory) -> Iterable[Finding]:
    for place in ("/tmp", "/var/tmp") if "/tmp" in directory.real_path else ():
        if PurePosixPath(place) in PurePosixPath(directory.real_path).parents:
            yield _finding(
                "directory-under-tmp",
                directory,
                f"{directory.path} lies under {place}, which systems clean out",
                severity=Severity.WARNING,
            )


def _finding(
    id_: str,
    directory: ObservedDirectory,
    message: str,
    *,
    next_step: str = "",
    severity: Severity = Severity.BLOCKER,
    evidence: dict[str, Any] | None = None,
) -> Finding:
    return Finding(
        id=id_,
        severity=severity,
        subject=f"directory {directory.path}",
        message=message,
        evidence=evidence if evidence is not None else {"path": directory.path},
        next_step=next_step,
    )
