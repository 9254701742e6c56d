"""Warnings where Kafka's tool silently does something other than the operator intended. They never refuse a format.

Source: StorageTool.scala and Formatter.java, compared with the released tools (docs/proof/differential.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kafkactl.cluster.quorum.voter_sets import Voter
from kafkactl.core.file_read import FileRead
from kafkactl.core.findings import Finding, Severity, blocker, warning
from kafkactl.core.kafka_names import FIRST_CHECKPOINT, METADATA_VERSION
from kafkactl.metadata.log.checkpoint import Checkpoint, decode_checkpoint
from kafkactl.protocol.catalog.releases import Release
from kafkactl.storage.config.node_config import NodeConfig
from kafkactl.storage.format.disks import ClassifiedDirectory
from kafkactl.storage.model import DirectoryState, FormatRequest, ObservedDirectory, ObservedNode


def warn_of_unknown_places(request: FormatRequest, config: NodeConfig) -> Iterator[Finding]:
    """Warn of overrides of other directories than the configuration names in the same spelling: without effect."""
    overrides = request.overrides
    for flag, places in (
        ("--allow-failed-dir", overrides.allow_failed_dirs),
        ("--allow-not-blank", overrides.allow_not_blank),
        ("--not-a-mount", overrides.not_a_mount),
    ):
        for place in sorted(places - set(config.all_directories)):
            yield warning(
                "directory-not-in-config",
                flag,
                f"{flag} {place} has no effect: this node's directories are {', '.join(config.all_directories)}",
            )


def warn_of_idle_flags(request: FormatRequest, config: NodeConfig) -> Iterator[Finding]:
    """Warn of flags without effect: only the first active controller reads bootstrap records, a broker never does."""
    if "controller" in config.roles:
        return
    for given, flag, severity in (
        (request.scram, "--add-scram", Severity.WARNING),
        (request.features, "--feature", Severity.INFO),
    ):
        if given:
            yield Finding(
                id="bootstrap-flag-on-broker",
                severity=severity,
                subject=flag,
                message=f"{flag} does nothing on a broker: only what the controllers were formatted with counts",
                next_step="Give it, in the same words, to every controller.",
            )


def warn_of_stale_bootstrap(
    empty: Sequence[ObservedDirectory], config: NodeConfig, release: Release
) -> Iterator[Finding]:
    """Warn of a bootstrap.checkpoint: 4.4 no longer writes one, and reads one before the 0-0 checkpoint."""
    if release.writes_bootstrap_checkpoint or "controller" not in config.roles:
        return
    for directory in empty:
        if directory.path == config.metadata_log_dir and directory.bootstrap_checkpoint is not None:
            yield warning(
                "stale-bootstrap-checkpoint",
                f"directory {directory.path}",
                f"{directory.path} holds a bootstrap.checkpoint, which Kafka {release.version_text} no longer writes:"
                " the node reads it first, and does not start if it is damaged",
                path=directory.bootstrap_checkpoint.path,
            )


def warn_of_kept(
    kept: Sequence[ClassifiedDirectory], features: Mapping[str, int], level: int, voters: Sequence[Voter] | None
) -> Iterator[Finding]:
    """Warn where -g leaves a formatted directory as it is, and other flags say something else."""
    wanted = {METADATA_VERSION: level, **features}
    for disk in kept:
        read = _checkpoints(disk.directory)
        levels = _levels(read)
        if levels and levels != wanted:
            yield _differs(disk, "feature levels", levels, wanted)
        stored = next((checkpoint.voters for checkpoint in read if checkpoint.voters is not None), None)
        if voters is not None and stored is not None and {v.node_id for v in voters} != {v.node_id for v in stored}:
            yield _differs(disk, "voters", sorted(v.node_id for v in stored), sorted(v.node_id for v in voters))


def _checkpoints(directory: ObservedDirectory) -> list[Checkpoint]:
    files: list[FileRead | None] = [directory.bootstrap_checkpoint, directory.metadata_files.get(FIRST_CHECKPOINT)]
    return [decode_checkpoint(file.content, file=file.path) for file in files if file and file.content]


def _levels(checkpoints: Sequence[Checkpoint]) -> dict[str, int]:
    return {
        record.data["Name"]: record.data["FeatureLevel"]
        for checkpoint in checkpoints
        for _, record in checkpoint.records
        if record.type == "FeatureLevelRecord"
    }


def _differs(disk: ClassifiedDirectory, what: str, stored: object, asked: object) -> Finding:
    return warning(
        "formatted-directory-differs",
        f"directory {disk.path}",
        f"{disk.path} is formatted and stays as it is, with other {what} than asked for now",
        stored=stored,
        asked=asked,
    )


def check_owner(request: FormatRequest, empty: Sequence[ObservedDirectory], node: ObservedNode) -> Iterator[Finding]:
    """Warn of files that will belong to the user who runs this: most often root, who does not run Kafka."""
    owner = request.owner
    if owner is not None and node.process_uid not in {0, owner.uid}:
        yield blocker(
            "owner-needs-root",
            "--owner",
            f"only root can give files to {owner.text}; this process runs as user {node.process_uid}",
        )
    if owner is not None:
        return
    for directory in empty:
        if directory.state is DirectoryState.DIRECTORY and directory.owner_uid != node.process_uid:
            yield warning(
                "owner-differs",
                f"directory {directory.path}",
                f"{directory.path} belongs to user {directory.owner_uid}, and what is written will belong to user"
                f" {node.process_uid}: a node that runs as {directory.owner_uid} cannot rewrite it",
                directory_uid=directory.owner_uid,
                process_uid=node.process_uid,
            )


def check_space(empty: Sequence[ObservedDirectory], bytes_needed: Mapping[str, int]) -> Iterator[Finding]:
    """Check the room for the files, counted together for directories of one device."""
    by_device: dict[int, list[ObservedDirectory]] = {}
    for directory in empty:
        by_device.setdefault(directory.device, []).append(directory)
    for together in by_device.values():
        needed = sum(bytes_needed.get(directory.path, 0) for directory in together)
        free = together[0].free_bytes
        if free is not None and free < needed:
            yield blocker(
                "no-space-left",
                f"directory {together[0].path}",
                f"{needed} bytes are needed on the disk of {together[0].path}, {free} are free",
                needed_bytes=needed,
                free_bytes=free,
            )
