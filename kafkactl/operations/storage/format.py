"""Format one node: plan what is written, then write it."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from kafkactl.adapters.files.entropy import SystemSource
from kafkactl.frozen import changed, frozen
from kafkactl.operations.callbacks import ExposureCallback, ignore_exposure
from kafkactl.operations.storage.answers import DirectoryDict, FileDict, FormatDict
from kafkactl.operations.storage.node_files import FilePath, read_node, release_of
from kafkactl.operations.storage.observation import NO_LIMIT, observe_for_format
from kafkactl.operations.storage.result import PlannedOrApplied
from kafkactl.storage.format import plan as planning

if TYPE_CHECKING:
    from kafkactl.findings import Finding, Outcome
    from kafkactl.storage.model import Applied, FormatPlan, FormatRequest, Owner, PlannedDirectory, PlannedFile


@frozen
class FormatResult(PlannedOrApplied):
    """A planned format, and its outcome. `applied` is None where nothing was tried."""

    plan: FormatPlan
    applied: Applied | None = None

    def to_dict(self, *, digests: bool = True) -> FormatDict:
        """The answer `storage.format`. Without `digests` files have no `sha256`, which takes time to compute."""
        return format_answer(self.plan, self.applied, self.outcome, self.findings, digests=digests)


def plan_format(
    config: FilePath,
    request: FormatRequest,
    *,
    kafka_version: str | None = None,
    on_exposure: ExposureCallback = ignore_exposure,
    timeout_ms: float = NO_LIMIT,
) -> FormatResult:
    """Plan the format of the node that the server.properties `config` describes. Nothing is written.

    `kafka_version` is the release that will run (default: the newest known); the bytes are those that its
    kafka-storage.sh would write. What speaks against the format is in the result (outcome `refused`). Other
    controllers are asked only for `verified_quorum`: `on_exposure` gets what that connection exposes, `timeout_ms` is
    the time that the whole format may take.

    Raises InputError for arguments or a configuration that Kafka's tool would not take.
    """
    release = release_of(kafka_version)
    node = read_node(config, release)
    observed = observe_for_format(node, request.overrides, on_exposure=on_exposure, timeout_ms=timeout_ms)
    return FormatResult(plan=planning.plan_format(request, node, observed, release, SystemSource()))


def plan_ensure(
    config: FilePath,
    request: FormatRequest,
    *,
    kafka_version: str | None = None,
    on_exposure: ExposureCallback = ignore_exposure,
    timeout_ms: float = NO_LIMIT,
) -> FormatResult:
    """The same for a node that may be formatted already: what is there is compared, what is missing is planned.

    Any difference between the disks and `request` is a refusal. Raises as `plan_format`.
    """
    from kafkactl.storage.format import ensure

    release = release_of(kafka_version)
    asked = changed(request, ignore_formatted=True)
    node = read_node(config, release)
    observed = observe_for_format(node, asked.overrides, on_exposure=on_exposure, timeout_ms=timeout_ms)
    return FormatResult(plan=ensure.plan_ensure(asked, node, observed, release, SystemSource()))


def apply_format(planned: FormatResult) -> FormatResult:
    """Write what was planned. A plan that is refused or has nothing to do changes nothing.

    A directory that changed since it was planned is not written to; a kill at any instant leaves nothing that a node
    would start from. Failures are part of the result.
    """
    from kafkactl.adapters.disks.apply_format import apply_plan
    from kafkactl.adapters.files.filesystem import OsFilesystem

    return changed(planned, applied=apply_plan(planned.plan, OsFilesystem()))


def format_answer(
    plan: FormatPlan,
    applied: Applied | None,
    outcome: Outcome,
    findings: tuple[Finding, ...],
    *,
    digests: bool = True,
) -> FormatDict:
    """One node's part of every answer about a format."""
    return {
        "outcome": outcome.value,
        "cluster_id": plan.cluster_id,
        "node_id": plan.node_id,
        "kafka_version": plan.kafka_version,
        "metadata_version": {"level": plan.metadata_version_level, "name": plan.metadata_version_name},
        "kraft_version": plan.kraft_version,
        "features": dict(plan.features),
        "voters": [
            {
                "id": voter.node_id,
                "directory_id": str(voter.directory_id),
                "endpoints": [endpoint.to_dict() for endpoint in voter.endpoints],
            }
            for voter in plan.voters
        ],
        "directories": [_directory(directory, plan.owner, applied, digests) for directory in plan.directories],
        "findings": [finding.to_dict() for finding in findings],
    }


def _directory(
    directory: PlannedDirectory, owner: Owner | None, applied: Applied | None, digests: bool
) -> DirectoryDict:
    return {
        "path": directory.path,
        "role": directory.role,
        "directory_id": None if directory.directory_id is None else str(directory.directory_id),
        "action": directory.action.value,
        "progress": None if applied is None else applied.progress[directory.path].value,
        "owner": None if owner is None else owner.text,
        "files": [_file(directory.path, file, digests) for file in directory.files],
    }


def _file(folder: str, file: PlannedFile, digests: bool) -> FileDict:
    shown: FileDict = {
        "path": str(PurePosixPath(folder) / file.name),
        "size": len(file.content),
        "mode": None if file.mode is None else f"{file.mode:04o}",
    }
    if digests:
        shown["sha256"] = _sha256(file.content)
    return shown


def _sha256(content: bytes) -> str:
    import hashlib

    return hashlib.sha256(content).hexdigest()
