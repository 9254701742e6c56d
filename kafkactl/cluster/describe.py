"""Answer of `features describe`: every feature of the cluster with its finalized level and the range of each node."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence

from kafkactl.cluster.state import NOT_SUPPORTED, ClusterState, Member
from kafkactl.core.answers import by_fields
from kafkactl.core.frozen import frozen
from kafkactl.core.kafka_names import METADATA_VERSION
from kafkactl.core.values import Role
from kafkactl.protocol.catalog.consequences import finalized_name
from kafkactl.protocol.schema.spec import Versions

# FeatureCommand.formatDescribeOutput: tabs up to 4.2, columns of 40 and 15 from 4.3 on.
_TABBED = "Feature: {}\tSupportedMinVersion: {}\tSupportedMaxVersion: {}\tFinalizedVersionLevel: {}\tEpoch: {}"
_PADDED = (
    "Feature: {:40}  SupportedMinVersion: {:15}  SupportedMaxVersion: {:15}  FinalizedVersionLevel: {:15}  Epoch: {}"
)


@frozen
class NodeRange:
    """The levels of one feature that one node supports; None if it did not answer, 0 to 0 if it has none."""

    id: int
    role: Role
    min: int | None
    max: int | None

    to_dict = by_fields


@frozen
class FeatureSeen:
    """A feature of the cluster."""

    name: str
    finalized: int | None
    """0: not finalized; None: no node shows its levels."""
    finalized_name: str | None
    """The name of a level of metadata.version, such as 4.3-IV0."""
    supported_min: int | None
    """Range common to all nodes that answered; None: no common range."""
    supported_max: int | None
    nodes: tuple[NodeRange, ...]

    to_dict = by_fields


@frozen
class MemberSeen:
    """A node in one role; a combined node has two entries."""

    id: int
    role: Role
    answers: bool | None
    """False: it was asked and is silent. None: it could not be asked."""
    kafka_version: str | None
    """Release as far as the node's range of metadata.version shows it."""

    to_dict = by_fields


def describe_features(state: ClusterState) -> tuple[FeatureSeen, ...]:
    """Return every feature that is finalized or that a live node supports, by name, with all nodes of all sources."""
    names = {name for member in state.members for name in member.answered or ()} | set(state.finalized)
    return tuple(_seen(state, name, state.members) for name in sorted(names))


def describe_members(state: ClusterState) -> tuple[MemberSeen, ...]:
    """Return every node in each of its roles."""
    return tuple(
        MemberSeen(
            id=member.id,
            role=member.role,
            answers=member.answers,
            kafka_version=None if member.release is None else member.release.name,
        )
        for member in state.members
    )


def kafka_lines(
    features: tuple[FeatureSeen, ...], epoch: int | None, asked: Mapping[str, Versions], *, padded: bool
) -> list[str]:
    """Return the lines of Kafka's own describe, of the node whose supported features are `asked`.

    `padded`: in columns (from 4.3 on) in place of tabs. A parser should look for the names before the colons.
    """
    known = {feature.name: feature for feature in features}
    template = _PADDED if padded else _TABBED
    return [
        template.format(
            name,
            _word(name, asked[name].lowest),
            _word(name, asked[name].highest),
            _level(name, known[name].finalized if name in known else 0),
            "-" if epoch is None else epoch,
        )
        for name in sorted(asked)
    ]


def _seen(state: ClusterState, name: str, members: Sequence[Member]) -> FeatureSeen:
    ranges = [None if member.answered is None else member.answered.get(name, NOT_SUPPORTED) for member in members]
    lowest, highest = _ends(_common(ranges))
    level = state.level(name) if state.levels_known else None
    return FeatureSeen(
        name=name,
        finalized=level,
        finalized_name=None if level is None else finalized_name(name, level),
        supported_min=lowest,
        supported_max=highest,
        nodes=tuple(_range(member, supported) for member, supported in zip(members, ranges, strict=True)),
    )


def _range(member: Member, supported: Versions | None) -> NodeRange:
    lowest, highest = _ends(supported)
    return NodeRange(id=member.id, role=member.role, min=lowest, max=highest)


def _ends(supported: Versions | None) -> tuple[int, int] | tuple[None, None]:
    return (None, None) if supported is None else (supported.lowest, supported.highest)


def _common(ranges: Iterable[Versions | None]) -> Versions | None:
    known = [supported for supported in ranges if supported is not None]
    return (functools.reduce(Versions.intersect, known) or None) if known else None


def _level(name: str, level: int | None) -> str:
    return "?" if level is None else _word(name, level)


def _word(name: str, level: int) -> str:
    """Return a level as Kafka's tool prints it: metadata.version by name, an unknown one as UNKNOWN n."""
    known = finalized_name(name, level)
    if known is not None:
        return known
    return f"UNKNOWN {level}" if name == METADATA_VERSION else str(level)
