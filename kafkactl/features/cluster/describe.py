"""`features describe`: every feature of the cluster, what is finalized and what each node supports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypedDict

from kafkactl.features.catalog.consequences import finalized_name
from kafkactl.features.cluster.state import NOT_SUPPORTED, FeatureState, Member
from kafkactl.findings import Finding
from kafkactl.frozen import frozen
from kafkactl.kafka_names import METADATA_VERSION
from kafkactl.schema.spec import Versions

# FeatureCommand.formatDescribeOutput: tabs up to 4.2, columns of 40 and 15 from 4.3 on.
_TABBED = "Feature: {}\tSupportedMinVersion: {}\tSupportedMaxVersion: {}\tFinalizedVersionLevel: {}\tEpoch: {}"
_PADDED = (
    "Feature: {:40}  SupportedMinVersion: {:15}  SupportedMaxVersion: {:15}  FinalizedVersionLevel: {:15}  Epoch: {}"
)


class RangeDict(TypedDict):
    """What a node supports of a feature."""

    id: int
    role: str
    min: int | None
    max: int | None


class FeatureDict(TypedDict):
    """A feature in `features.describe`."""

    name: str
    finalized: int
    finalized_name: str | None
    supported_min: int | None
    supported_max: int | None
    nodes: list[RangeDict]


class MemberDict(TypedDict):
    """A node in `features.describe`; `answers` is None where it was not asked."""

    id: int
    role: str
    answers: bool | None
    kafka_version: str | None


class DescriptionDict(TypedDict):
    """`features.describe`."""

    cluster_id: str | None
    finalized_epoch: int | None
    active_controller: int | None
    nodes: list[MemberDict]
    features: list[FeatureDict]
    findings: list[dict[str, Any]]


@frozen
class NodeRange:
    """What one node supports of one feature: 0 to 0 where it does not list it, None where it did not answer."""

    id: int
    role: str
    supported: Versions | None

    def to_dict(self) -> RangeDict:
        """As in `features.describe` (docs/reference/kinds.md)."""
        return {
            "id": self.id,
            "role": self.role,
            "min": None if self.supported is None else self.supported.lowest,
            "max": None if self.supported is None else self.supported.highest,
        }


@frozen
class FeatureSeen:
    """One feature. `supported` is what all nodes that could be asked have in common, None where that is nothing."""

    name: str
    finalized: int
    finalized_name: str | None
    supported: Versions | None
    nodes: tuple[NodeRange, ...]

    def to_dict(self) -> FeatureDict:
        """As in `features.describe` (docs/reference/kinds.md)."""
        return {
            "name": self.name,
            "finalized": self.finalized,
            "finalized_name": self.finalized_name,
            "supported_min": None if self.supported is None else self.supported.lowest,
            "supported_max": None if self.supported is None else self.supported.highest,
            "nodes": [node.to_dict() for node in self.nodes],
        }


def describe_features(state: FeatureState) -> tuple[FeatureSeen, ...]:
    """Every feature that a live node supports or that is finalized, by name; with all nodes that any source names."""
    names = {name for member in state.members for name in member.answered or ()} | set(state.finalized)
    return tuple(_seen(state, name, state.members) for name in sorted(names))


def description(state: FeatureState, findings: Iterable[Finding] = ()) -> DescriptionDict:
    """The fields of `features.describe` (docs/reference/kinds.md)."""
    return {
        "cluster_id": state.cluster_id,
        "finalized_epoch": state.finalized_epoch,
        "active_controller": state.active_controller,
        "nodes": [_node(member) for member in state.members],
        "features": [feature.to_dict() for feature in describe_features(state)],
        "findings": [finding.to_dict() for finding in findings],
    }


def kafka_lines(
    features: tuple[FeatureSeen, ...], epoch: int | None, asked: Mapping[str, Versions], *, padded: bool
) -> list[str]:
    """The lines of Kafka's own describe, of the node whose supported features are `asked`.

    `padded`: in columns (from 4.3 on) in place of tabs. Readers do well to look for the names before the colons.
    """
    known = {feature.name: feature for feature in features}
    template = _PADDED if padded else _TABBED
    return [
        template.format(
            name,
            _word(name, asked[name].lowest),
            _word(name, asked[name].highest),
            _word(name, known[name].finalized if name in known else 0),
            "-" if epoch is None else epoch,
        )
        for name in sorted(asked)
    ]


def _node(member: Member) -> MemberDict:
    return {
        "id": member.id,
        "role": member.role.value,
        "answers": member.answers,
        "kafka_version": None if member.release is None else member.release.name,
    }


def _seen(state: FeatureState, name: str, members: Iterable[Member]) -> FeatureSeen:
    ranges = tuple(
        NodeRange(id=member.id, role=member.role.value, supported=_supported(member, name)) for member in members
    )
    level = state.level(name)
    return FeatureSeen(
        name=name,
        finalized=level,
        finalized_name=finalized_name(name, level),
        supported=_common(ranges),
        nodes=ranges,
    )


def _supported(member: Member, name: str) -> Versions | None:
    return None if member.answered is None else member.answered.get(name, NOT_SUPPORTED)


def _common(ranges: Iterable[NodeRange]) -> Versions | None:
    known = [node.supported for node in ranges if node.supported is not None]
    if not known:
        return None
    common = known[0]
    for supported in known[1:]:
        common = common.intersect(supported)
    return common or None


def _word(name: str, level: int) -> str:
    """As Kafka's tool prints a level: metadata.version by name, an unknown one as UNKNOWN n."""
    known = finalized_name(name, level)
    if known is not None:
        return known
    return f"UNKNOWN {level}" if name == METADATA_VERSION else str(level)
