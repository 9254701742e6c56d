"""Request of `features upgrade | downgrade | disable`, in the options of Kafka's own tool.

Flags and their meaning are those of `FeatureCommand` (4.4). One thing differs, on purpose: `--release-version` leaves
kraft.version out unless the conversion of the quorum is asked for by name, because it cannot be undone (KAFKA-21426).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum

from kafkactl.core.errors import InputError
from kafkactl.core.frozen import changed, frozen
from kafkactl.core.kafka_names import KRAFT_VERSION, METADATA_VERSION
from kafkactl.protocol.catalog.levels import features_of
from kafkactl.protocol.catalog.mapping import parse_feature_level
from kafkactl.protocol.catalog.release_version import understood
from kafkactl.protocol.catalog.releases import Release, newest_release


class Operation(StrEnum):
    """The three commands that change levels. All features of one command share its direction."""

    UPGRADE = "upgrade"
    DOWNGRADE = "downgrade"
    DISABLE = "disable"


@frozen
class FeatureRequest:
    """The levels that are requested, by feature, in the order in which they were asked for.

    `unsafe`: a downgrade that accepts losses. `release_version` is the text it was made from, if it was.
    `left_out`: kraft.version belongs to that release and was not asked for. `accepted_min_insync`: the value of
    min.insync.replicas that enabling eligible leader replicas may write for the whole cluster.
    """

    operation: Operation
    levels: Mapping[str, int]
    unsafe: bool = False
    release_version: str | None = None
    left_out: bool = False
    accepted_min_insync: int | None = None


def parse_request(
    operation: Operation,
    *,
    metadata: str | None = None,
    features: Iterable[str] = (),
    release_version: str | None = None,
    unsafe: bool = False,
    convert_quorum: bool = False,
    accepted_min_insync: int | None = None,
) -> FeatureRequest:
    """Return the flags of one command as a request.

    `metadata` and `release_version` are a release or the name of a level, read as the tool of the newest
    known release reads them, unstable levels included: the controller decides about those. `features` are NAME=LEVEL,
    for `disable` NAME alone. Raises InputError: `no-feature-named`, `release-version-excludes-features`,
    `unsafe-needs-downgrade`, `min-insync-needs-upgrade`, `feature-named-twice`, `invalid-feature-argument`,
    `level-not-allowed`, `unknown-release-version`.
    """
    features = tuple(features)
    release = newest_release()
    if unsafe and operation is Operation.UPGRADE:
        raise _usage("--unsafe goes with downgrade and disable", "unsafe-needs-downgrade", "Leave --unsafe out.")
    if accepted_min_insync is not None and operation is not Operation.UPGRADE:
        option = "--accept-min-insync-replicas"
        raise _usage(f"{option} goes with upgrade", "min-insync-needs-upgrade", f"Leave {option} out.")
    if release_version is not None:
        if metadata is not None or features:
            raise _usage(
                "--release-version names the levels of all features; --metadata and --feature cannot go with it",
                "release-version-excludes-features",
                "Give either the one or the others.",
            )
        wanted = _of_release(operation, release, release_version, unsafe=unsafe, convert_quorum=convert_quorum)
        return changed(wanted, accepted_min_insync=accepted_min_insync)
    named = [] if metadata is None else [(METADATA_VERSION, _metadata_level(release, metadata))]
    named += [_parse(operation, release, text) for text in features]
    levels = _once(operation, named)
    return FeatureRequest(operation=operation, levels=levels, unsafe=unsafe, accepted_min_insync=accepted_min_insync)


def _of_release(
    operation: Operation, release: Release, text: str, *, unsafe: bool, convert_quorum: bool
) -> FeatureRequest:
    """Return metadata.version and what goes with it by default; an upgrade names no feature that is off by default."""
    if operation is Operation.DISABLE:
        raise _usage("disable takes features by name", "release-version-excludes-features", "Use --feature NAME.")
    metadata = _metadata_level(release, text)
    levels = {METADATA_VERSION: metadata}
    for name, facts in features_of(release).items():
        level = facts.default_level(metadata)
        if facts.latest_production and (level or operation is Operation.DOWNGRADE):
            levels[name] = level
    left_out = KRAFT_VERSION in levels and not convert_quorum
    if left_out:
        del levels[KRAFT_VERSION]
    return FeatureRequest(operation=operation, levels=levels, unsafe=unsafe, release_version=text, left_out=left_out)


def _metadata_level(release: Release, text: str) -> int:
    found = understood(release, text)
    if found is None or found.level == 0:
        raise InputError(
            f"{text!r} is neither a release nor a level of metadata.version that kafkactl knows",
            id="unknown-release-version",
            next_step="Name a release (4.3) or a level (4.3-IV0); `kafkactl features version-mapping` shows them. "
            "A level of a newer Kafka can be given by number: --feature metadata.version=LEVEL.",
        )
    return found.level


def _parse(operation: Operation, release: Release, text: str) -> tuple[str, int]:
    if operation is not Operation.DISABLE:
        return parse_feature_level(release, text)
    if not text.strip() or "=" in text:
        raise _usage(
            f"disable takes the feature's name alone, not {text!r}",
            "invalid-feature-argument",
            f"Name the feature alone: --feature {text.partition('=')[0] or 'NAME'}.",
        )
    return text.strip(), 0


def _once(operation: Operation, named: Iterable[tuple[str, int]]) -> dict[str, int]:
    levels: dict[str, int] = {}
    for name, level in named:
        if name in levels:
            raise _usage(f"{name} is named twice", "feature-named-twice", "Name each feature once.")
        if level < 0 or (level == 0 and operation is Operation.UPGRADE):
            raise _usage(
                f"{name}={level}: an upgrade goes to level 1 at least, a downgrade to 0 at least",
                "level-not-allowed",
                f"To turn a feature off: kafkactl features disable --feature {name}.",
            )
        levels[name] = level
    if not levels:
        raise _usage(
            f"no feature to {operation.value} was named",
            "no-feature-named",
            "Use --release-version VERSION, --metadata VERSION or --feature NAME=LEVEL.",
        )
    return levels


def _usage(message: str, id: str, next_step: str) -> InputError:
    return InputError(message, id=id, next_step=next_step)
