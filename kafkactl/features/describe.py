"""`features describe`: every feature of the cluster, what is finalized and what each node supports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kafkactl.features.consequences import finalized_name
from kafkactl.features.state import NOT_SUPPORTED, FeatureState, Member
from kafkactl.frozen import frozen
from kafkactl.schema.spec import Versions


@frozen
class NodeRange:
    """What one node supports of one feature. 0 to 0 where it does not list it."""

    id: int
    role: str
    supported: Versions

    def to_dict(self) -> dict[str, Any]:
        """As in `features.describe` (cli.md 3)."""
        return {"id": self.id, "role": self.role, "min": self.supported.lowest, "max": self.supported.highest}


@frozen
class FeatureSeen:
    """One feature. `supported` is what all nodes that could be asked have in common, None where that is nothing."""

    name: str
    finalized: int
    finalized_name: str | None
    supported: Versions | None
    nodes: tuple[NodeRange, ...]

    def to_dict(self) -> dict[str, Any]:
        """As in `features.describe` (cli.md 3)."""
        return {
            "name": self.name,
            "finalized": self.finalized,
            "finalized_name": self.finalized_name,
            "supported_min": None if self.supported is None else self.supported.lowest,
            "supported_max": None if self.supported is None else self.supported.highest,
            "nodes": [node.to_dict() for node in self.nodes],
        }


def describe_features(state: FeatureState) -> tuple[FeatureSeen, ...]:
    """Every feature that a live node supports or that is finalized, by name."""
    members = [member for member in state.members if member.answered is not None]
    names = {name for member in members for name in member.answered or ()} | set(state.finalized)
    return tuple(_seen(state, name, members) for name in sorted(names))


def description(state: FeatureState) -> dict[str, Any]:
    """The fields of `features.describe` (cli.md 3)."""
    return {
        "cluster_id": state.cluster_id,
        "finalized_epoch": state.finalized_epoch,
        "features": [feature.to_dict() for feature in describe_features(state)],
    }


def kafka_lines(features: tuple[FeatureSeen, ...], epoch: int | None, asked: Mapping[str, Versions]) -> list[str]:
    """The lines of Kafka's own describe, of the node whose supported features are `asked`."""
    known = {feature.name: feature for feature in features}
    return [
        f"Feature: {name}\tSupportedMinVersion: {_word(name, asked[name].lowest)}\t"
        f"SupportedMaxVersion: {_word(name, asked[name].highest)}\t"
        f"FinalizedVersionLevel: {_word(name, known[name].finalized if name in known else 0)}\t"
        f"Epoch: {'-' if epoch is None else epoch}"
        for name in sorted(asked)
    ]


def _seen(state: FeatureState, name: str, members: list[Member]) -> FeatureSeen:
    ranges = tuple(
        NodeRange(id=member.id, role=member.role.value, supported=(member.answered or {}).get(name, NOT_SUPPORTED))
        for member in members
    )
    level = state.level(name)
    return FeatureSeen(
        name=name,
        finalized=level,
        finalized_name=finalized_name(name, level),
        supported=_common(ranges),
        nodes=ranges,
    )


def _common(ranges: tuple[NodeRange, ...]) -> Versions | None:
    if not ranges:
        return None
    common = ranges[0].supported
    for node in ranges[1:]:
        common = common.intersect(node.supported)
    return common or None


def _word(name: str, level: int) -> str:
    """As Kafka's tool prints a level: metadata.version by name, an unknown one as UNKNOWN n."""
    known = finalized_name(name, level)
    if known is not None:
        return known
    return f"UNKNOWN {level}" if name == "metadata.version" else str(level)
