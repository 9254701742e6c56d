"""Change of one feature: its levels, its kind, its consequences, and whether it can be undone."""

from __future__ import annotations

from enum import IntEnum, StrEnum

from kafkactl.cluster.state import ClusterState
from kafkactl.core.answers import json_of
from kafkactl.core.frozen import frozen
from kafkactl.features.plan.request import FeatureRequest, Operation
from kafkactl.protocol.catalog.consequences import consequences, how_to_undo, is_reversible
from kafkactl.protocol.catalog.releases import Release


class ChangeKind(StrEnum):
    """Kind of a feature's change. A request in the wrong direction is named by that direction."""

    UPGRADE = "upgrade"
    SAFE_DOWNGRADE = "safe-downgrade"
    UNSAFE_DOWNGRADE = "unsafe-downgrade"
    NO_OP = "no-op"


class UpgradeType(IntEnum):
    """The type in an UpdateFeatures request (FeatureUpdate.UpgradeType)."""

    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    UNSAFE_DOWNGRADE = 3


@frozen
class FeatureChange:
    """A feature of a change."""

    name: str
    before: int
    """0: off."""
    after: int
    kind: ChangeKind
    reversible: bool
    consequences: tuple[str, ...]
    how_to_undo: str

    @property
    def moves(self) -> bool:
        """Return True if the level differs from the one that is finalized."""
        return self.kind is not ChangeKind.NO_OP

    @property
    def undo(self) -> str | None:
        """Return the command that undoes it, or why there is none."""
        return self.how_to_undo or None

    to_dict = json_of("name", "from=before", "to=after", "kind", "reversible", "consequences", "way_back=undo")


def upgrade_type(request: FeatureRequest) -> UpgradeType:
    """Return the one type that all features of a request share."""
    if request.operation is Operation.UPGRADE:
        return UpgradeType.UPGRADE
    return UpgradeType.UNSAFE_DOWNGRADE if request.unsafe else UpgradeType.SAFE_DOWNGRADE


def feature_changes(state: ClusterState, request: FeatureRequest) -> tuple[FeatureChange, ...]:
    """Return a change for every feature that was asked for, in the order of asking."""
    release = state.rules_release
    return tuple(_change(release, state, request, name, level) for name, level in request.levels.items())


def _change(release: Release, state: ClusterState, request: FeatureRequest, name: str, after: int) -> FeatureChange:
    before = state.level(name)
    return FeatureChange(
        name=name,
        before=before,
        after=after,
        kind=_kind(request, before, after),
        reversible=is_reversible(release, name, before, after),
        consequences=consequences(name, before, after),
        how_to_undo=how_to_undo(release, name, before, after),
    )


def _kind(request: FeatureRequest, before: int, after: int) -> ChangeKind:
    if before == after:
        return ChangeKind.NO_OP
    if after > before:
        return ChangeKind.UPGRADE
    return ChangeKind.UNSAFE_DOWNGRADE if request.unsafe else ChangeKind.SAFE_DOWNGRADE
