"""Input of every check of a feature change: the cluster, the request, and the rules of the active controller."""

from __future__ import annotations

from kafkactl.cluster.state import ClusterState
from kafkactl.core.frozen import frozen
from kafkactl.core.kafka_names import METADATA_VERSION
from kafkactl.features.plan.change import FeatureChange, feature_changes
from kafkactl.features.plan.request import FeatureRequest
from kafkactl.protocol.catalog.releases import Release
from kafkactl.protocol.catalog.update_rules import UpdateRules, update_rules


@frozen
class Case:
    """A wish before a cluster. `release` is that of the active controller, whose rules these are."""

    state: ClusterState
    request: FeatureRequest
    changes: tuple[FeatureChange, ...]
    release: Release
    rules: UpdateRules

    @property
    def moving(self) -> tuple[FeatureChange, ...]:
        """Return the changes that change something."""
        return tuple(change for change in self.changes if change.moves)

    @property
    def proposed(self) -> dict[str, int]:
        """Return the levels of all features after the request is fulfilled."""
        metadata = self.state.level(METADATA_VERSION)
        return {METADATA_VERSION: metadata, **self.state.finalized, **self.request.levels}

    def change(self, name: str) -> FeatureChange | None:
        """Return the change of one feature, if it moves."""
        return next((change for change in self.moving if change.name == name), None)


def make_case(state: ClusterState, request: FeatureRequest) -> Case:
    """Return the case that a wish makes before a cluster."""
    release = state.rules_release
    return Case(
        state=state,
        request=request,
        changes=feature_changes(state, request),
        release=release,
        rules=update_rules(release),
    )
