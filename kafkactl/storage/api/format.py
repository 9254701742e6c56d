"""Format of one node: plan what is written, then write it."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from kafkactl.core.answers import json_of
from kafkactl.core.callbacks import ExposureCallback, ignore_exposure
from kafkactl.core.frozen import changed, frozen
from kafkactl.files.entropy import SystemSource
from kafkactl.storage.api.observation import NO_LIMIT, observe_for_format
from kafkactl.storage.api.release import (
    ChosenRelease,
    check_zookeeper,
    choose_release,
    without_zookeeper_warnings,
)
from kafkactl.storage.format import plan as planning
from kafkactl.storage.io.node_files import FilePath, read_node
from kafkactl.storage.model import NamedLevel

if TYPE_CHECKING:
    from kafkactl.core.findings import Finding, Outcome
    from kafkactl.storage.config.node_config import NodeConfig
    from kafkactl.storage.model import (
        Applied,
        FormatPlan,
        FormatRequest,
        Owner,
        PlannedDirectory,
        PlannedFile,
        Progress,
    )


@frozen
class WrittenFile:
    """A file that is, or would be, written."""

    directory: str
    planned: PlannedFile

    @property
    def path(self) -> str:
        """Return the path of the file, including its directory."""
        return str(PurePosixPath(self.directory) / self.planned.name)

    @property
    def size_bytes(self) -> int:
        """Return the size in bytes."""
        return len(self.planned.content)

    @property
    def mode(self) -> str | None:
        """Return the permission bits, four octal digits; None if the umask decides."""
        return None if self.planned.mode is None else f"{self.planned.mode:04o}"

    @property
    def sha256(self) -> str:
        """Return the checksum of the content, which takes time to compute."""
        import hashlib

        return hashlib.sha256(self.planned.content).hexdigest()

    to_dict = json_of("path", "size=size_bytes", "mode", "sha256")


@frozen
class FormattedDirectory:
    """Planned or finished change of one log directory."""

    planned: PlannedDirectory
    progress: Progress | None
    """Progress of the directory; None if no change was tried."""
    owner: Owner | None

    @property
    def directory_id(self) -> str | None:
        """Return the directory id in the present or planned meta.properties; None if it contains none."""
        return None if self.planned.directory_id is None else str(self.planned.directory_id)

    @property
    def files(self) -> tuple[WrittenFile, ...]:
        """Return the files that are written into the directory."""
        return tuple(WrittenFile(directory=self.planned.path, planned=file) for file in self.planned.files)

    to_dict = json_of(
        "path=planned.path", "role=planned.role", "directory_id", "action=planned.action",
        "progress", "owner=owner.text", "files",
    )  # fmt: skip


@frozen
class FormatResult:
    """A planned format, and its outcome. `applied` is None if nothing was tried.

    `notes` are findings on the request.
    """

    plan: FormatPlan
    applied: Applied | None = None
    notes: tuple[Finding, ...] = ()

    @property
    def outcome(self) -> Outcome:
        """Return `planned`, `nothing-to-do` or `refused`; once applied also `done`, `failed` or `partial`."""
        return self.plan.outcome if self.applied is None else self.applied.outcome

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Return the findings of the plan, or of its application, and the notes."""
        return (*(self.plan.findings if self.applied is None else self.applied.findings), *self.notes)

    @property
    def directories(self) -> tuple[FormattedDirectory, ...]:
        """Return the log directories, in the order of the configuration."""
        return formatted_directories(self.plan, self.applied)

    @property
    def metadata_version(self) -> NamedLevel:
        """Return its level and its name."""
        return NamedLevel(level=self.plan.metadata_version_level, name=self.plan.metadata_version_name)

    to_dict = json_of(
        "outcome", "cluster_id=plan.cluster_id", "node_id=plan.node_id", "kafka_version=plan.kafka_version",
        "metadata_version", "kraft_version=plan.kraft_version", "features=plan.features",
        "voters=plan.voters", "directories", "findings", kind="storage.format",
    )  # fmt: skip


def formatted_directories(plan: FormatPlan, applied: Applied | None) -> tuple[FormattedDirectory, ...]:
    """Return the log directories of a plan, and how far each came."""
    progress = {} if applied is None else applied.progress
    return tuple(
        FormattedDirectory(planned=directory, progress=progress.get(directory.path), owner=plan.owner)
        for directory in plan.directories
    )


def plan_format(
    config: FilePath,
    request: FormatRequest,
    *,
    kafka_version: str | None = None,
    on_exposure: ExposureCallback = ignore_exposure,
    timeout_ms: float = NO_LIMIT,
) -> FormatResult:
    """Plan the format of the node that the server.properties `config` describes. Nothing is written.

    `kafka_version` is the release that will run (default: the one of this host, else the newest known); the bytes are
    those that its kafka-storage.sh would write. What speaks against the format is in the result (outcome `refused`).
    Controllers are asked only if the metadata directory of one is blank, or a directory of a broker is empty:
    `on_exposure` gets what that connection exposes, `timeout_ms` is the time that the whole format may take.

    Raises InputError for arguments or a configuration that Kafka's tool would not take.
    """
    chosen = choose_release(kafka_version, config, creates_users=bool(request.scram or request.credentials))
    node, notes = _read_node(config, chosen)
    observed = observe_for_format(node, request, on_exposure=on_exposure, timeout_ms=timeout_ms)
    return FormatResult(plan=planning.plan_format(request, node, observed, chosen.release, SystemSource(), notes=notes))


def _read_node(config: FilePath, chosen: ChosenRelease) -> tuple[NodeConfig, tuple[Finding, ...]]:
    """Return the configuration as the chosen release reads it, and the findings about the choice."""
    node = read_node(config, chosen.release)
    refused = check_zookeeper(chosen, node)
    return (without_zookeeper_warnings(node) if refused else node), (*chosen.findings, *refused)


def plan_ensure(
    config: FilePath,
    request: FormatRequest,
    *,
    kafka_version: str | None = None,
    on_exposure: ExposureCallback = ignore_exposure,
    timeout_ms: float = NO_LIMIT,
) -> FormatResult:
    """Plan a format of a node that may be formatted already: existing files are compared, missing ones are planned.

    Any difference between the disks and `request` is a refusal. Raises as `plan_format`.
    """
    from kafkactl.storage.format import ensure

    chosen = choose_release(kafka_version, config, creates_users=bool(request.scram or request.credentials))
    release, asked = chosen.release, changed(request, ignore_formatted=True)
    node, notes = _read_node(config, chosen)
    observed = observe_for_format(node, asked, on_exposure=on_exposure, timeout_ms=timeout_ms)
    log = None
    if ensure.needs_log(node, observed):
        from kafkactl.metadata.io.metadata_log import scan_metadata_log

        log = scan_metadata_log(node.metadata_log_dir)
    return FormatResult(plan=ensure.plan_ensure(asked, node, observed, release, SystemSource(), log=log, notes=notes))


def apply_format(planned: FormatResult) -> FormatResult:
    """Apply a plan. A plan that is refused or has nothing to do changes nothing.

    A directory that changed since it was planned is not written to; a kill at any instant leaves nothing that a node
    would start from. Failures are part of the result.
    """
    from kafkactl.files.filesystem import OsFilesystem
    from kafkactl.storage.io.apply_format import apply_plan

    return changed(planned, applied=apply_plan(planned.plan, OsFilesystem()))
