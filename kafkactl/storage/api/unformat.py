"""Removal of the format of a node that never started."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from kafkactl.core.answers import json_of
from kafkactl.core.findings import Outcome
from kafkactl.core.frozen import changed, frozen
from kafkactl.files.filesystem import OsFilesystem
from kafkactl.storage.api.release import choose_release
from kafkactl.storage.format import unformat as planning
from kafkactl.storage.io import apply_unformat as applying
from kafkactl.storage.io.directories import observe_node
from kafkactl.storage.io.node_files import FilePath, read_node

if TYPE_CHECKING:
    from kafkactl.core.findings import Finding
    from kafkactl.storage.format.unformat import UnformatDirectory, UnformatPlan
    from kafkactl.storage.model import Applied, Progress


@frozen
class UnformattedDirectory:
    """Planned or finished change of one log directory, and the paths that are removed from it."""

    planned: UnformatDirectory
    progress: Progress | None
    """Progress of the directory; None if no change was tried."""

    @property
    def files(self) -> tuple[str, ...]:
        """Return the paths that are removed, in this order."""
        return tuple(str(PurePosixPath(self.planned.path) / name) for name in self.planned.names)

    to_dict = json_of("path=planned.path", "role=planned.role", "action=planned.action", "progress", "files")


@frozen
class UnformatResult:
    """Removals by unformatting a node, and the outcome. `applied` is None if no removal was tried.

    `refusal` says why nothing was tried although it could have been: the operator did not confirm it.
    """

    plan: UnformatPlan
    applied: Applied | None = None
    refusal: Finding | None = None

    @property
    def outcome(self) -> Outcome:
        """Return `planned`, `nothing-to-do` or `refused`; once applied also `done`, `failed` or `partial`."""
        if self.refusal is not None:
            return Outcome.REFUSED
        return self.plan.outcome if self.applied is None else self.applied.outcome

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Return the findings of the plan, or of its application, and the refusal."""
        found = self.plan.findings if self.applied is None else self.applied.findings
        return found if self.refusal is None else (*found, self.refusal)

    @property
    def directories(self) -> tuple[UnformattedDirectory, ...]:
        """Return the log directories, in the order of removal."""
        progress = {} if self.applied is None else self.applied.progress
        return tuple(
            UnformattedDirectory(planned=directory, progress=progress.get(directory.path))
            for directory in self.plan.directories
        )

    to_dict = json_of(
        "outcome", "cluster_id=plan.cluster_id", "node_id=plan.node_id", "directories", "findings",
        kind="storage.unformat",
    )  # fmt: skip


def plan_unformat(config: FilePath, *, only: Sequence[str] = (), kafka_version: str | None = None) -> UnformatResult:
    """Plan the removal of what a format wrote on the node that the server.properties `config` describes.

    Nothing is removed. `only` limits it to these of its directories. A node that has started is refused. Raises
    InputError for a configuration that cannot be read, or a release that is not known.
    """
    node = read_node(config, choose_release(kafka_version, config).release)
    return UnformatResult(plan=planning.plan_unformat(node, observe_node(node), only=only))


def apply_unformat(planned: UnformatResult) -> UnformatResult:
    """Remove what was planned; this cannot be undone. A plan that is refused or has nothing to do removes nothing.

    A directory whose meta.properties changed since it was planned is left alone. Failures are part of the result.
    """
    if planned.outcome is Outcome.REFUSED:
        return planned
    return changed(planned, applied=applying.apply_unformat(planned.plan, OsFilesystem()))
