"""Undo the format of a node that never started."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath

from kafkactl.adapters.disks import apply_unformat as applying
from kafkactl.adapters.disks.directories import observe_node
from kafkactl.adapters.files.filesystem import OsFilesystem
from kafkactl.findings import Outcome
from kafkactl.frozen import changed, frozen
from kafkactl.operations.storage.answers import UnformatDict
from kafkactl.operations.storage.node_files import FilePath, read_node, release_of
from kafkactl.operations.storage.result import PlannedOrApplied
from kafkactl.storage.format import unformat as planning
from kafkactl.storage.format.unformat import UnformatPlan
from kafkactl.storage.model import Applied


@frozen
class UnformatResult(PlannedOrApplied):
    """What unformatting a node would remove, and the outcome. `applied` is None where nothing was tried."""

    plan: UnformatPlan
    applied: Applied | None = None

    def to_dict(self) -> UnformatDict:
        """The answer `storage.unformat`."""
        return {
            "outcome": self.outcome.value,
            "cluster_id": self.plan.cluster_id,
            "node_id": self.plan.node_id,
            "directories": [
                {
                    "path": directory.path,
                    "role": directory.role,
                    "action": directory.action,
                    "progress": None if self.applied is None else self.applied.progress[directory.path].value,
                    "files": [str(PurePosixPath(directory.path) / name) for name in directory.names],
                }
                for directory in self.plan.directories
            ],
            "findings": [finding.to_dict() for finding in self.findings],
        }


def plan_unformat(config: FilePath, *, only: Sequence[str] = (), kafka_version: str | None = None) -> UnformatResult:
    """Plan the removal of what a format wrote on the node that the server.properties `config` describes.

    Nothing is removed. `only` limits it to these of its directories. A node that has started is refused. Raises
    InputError for a configuration that cannot be read, or a release that is not known.
    """
    node = read_node(config, release_of(kafka_version))
    return UnformatResult(plan=planning.plan_unformat(node, observe_node(node), only=only))


def apply_unformat(planned: UnformatResult) -> UnformatResult:
    """Remove what was planned; this cannot be undone. A plan that is refused or has nothing to do removes nothing.

    A directory whose meta.properties changed since it was planned is left alone. Failures are part of the result.
    """
    if planned.plan.outcome is Outcome.REFUSED:
        return planned
    return changed(planned, applied=applying.apply_unformat(planned.plan, OsFilesystem()))
