"""Consequences of a change of a feature's level, as text for the operator, and whether it can be undone.

Facts are in schemas/features/*.toml (`about`, `effects`, `off`, `loses`). A downgrade of metadata.version is safe
if no level that is left changed metadata, and Kafka has no other: the lossy one was never built
(`MetadataVersion.checkIfMetadataChanged`, KIP-1155 is a draft). kraft.version knows one direction. Every other feature
may go down freely.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kafkactl.core.data_files import list_data, read_data
from kafkactl.core.kafka_names import KRAFT_VERSION, METADATA_VERSION
from kafkactl.protocol.catalog.levels import changes_metadata_in, features_of, metadata_versions
from kafkactl.protocol.catalog.releases import Release, known_releases

UNKNOWN_WAY = "unknown"
_IDLE = "nothing:"
# A default is for clusters that are formatted; a change of metadata.version leaves other features alone.
_DEFAULT, _DEFAULT_HERE = " by default", " as the default of new clusters (here it stays as it is)"


def level_name(feature: str, level: int) -> str:
    """Return a level as people say it: `4.3-IV0 (30)` for metadata.version, else the number.

    Newer ones are `level 40`.
    """
    if feature != METADATA_VERSION:
        return str(level)
    name = finalized_name(feature, level)
    return f"level {level}" if name is None else f"{name} ({level})"


def finalized_name(feature: str, level: int) -> str | None:
    """Return the name of a metadata.version level; None for unknown levels, and for other features."""
    known = {mv.level: mv.name for mv in metadata_versions()} if feature == METADATA_VERSION else {}
    return known.get(level)


def is_known_level(feature: str, level: int) -> bool:
    """Return True if kafkactl's tables say what this level means."""
    return level == 0 or level in _levels(feature)


def metadata_changes(release: Release, lower: int, higher: int) -> tuple[int, ...]:
    """Return the levels of metadata.version above `lower`, up to `higher`, that changed metadata as that release has
    it.

    A level that kafkactl does not know is treated as one that did: nothing is known of it.
    """
    known = {mv.level for mv in metadata_versions()}
    between = range(lower + 1, higher + 1)
    return tuple(level for level in between if level not in known or changes_metadata_in(release, level))


def downgrade_floor(release: Release, level: int) -> int:
    """Return the lowest level of metadata.version that a safe downgrade from `level` reaches on that release.

    >>> from kafkactl.protocol.catalog.releases import find_release
    >>> downgrade_floor(find_release("4.3"), 25)
    23
    """
    floor = level
    while floor > release.lowest_format_level and not metadata_changes(release, floor - 1, floor):
        floor -= 1
    return floor


def is_reversible(release: Release, feature: str, before: int, after: int) -> bool:
    """Return True if the cluster can return from `after` to `before` after the change is made, with nothing lost.

    False if kafkactl does not know the level: `how_to_undo` then says that it is unknown.
    """
    lower, higher = sorted((before, after))
    if lower == higher:
        return True
    if feature == KRAFT_VERSION or not is_known_level(feature, higher):
        return False
    return feature != METADATA_VERSION or downgrade_floor(release, higher) <= lower


def how_to_undo(release: Release, feature: str, before: int, after: int) -> str:
    """Return the command that undoes a change, or why there is none; empty if nothing changes."""
    if before == after:
        return ""
    if is_reversible(release, feature, before, after):
        if before == 0:
            return f"kafkactl features disable --feature {feature}"
        return f"kafkactl features {'downgrade' if after > before else 'upgrade'} --feature {feature}={before}"
    return _why_not(release, feature, before, after)


def _why_not(release: Release, feature: str, before: int, after: int) -> str:
    if feature == KRAFT_VERSION:
        return "none: a dynamic quorum never becomes static again"
    if feature != METADATA_VERSION:
        return f"{UNKNOWN_WAY}: {feature} {max(before, after)} is newer than kafkactl"
    if after < before:
        return "none: metadata that the lower level cannot hold does not come back"
    known = _levels(METADATA_VERSION)
    doors = metadata_changes(release, before, after)
    words = [f"{level_name(feature, door)} {_door(door)}" for door in doors if door in known]
    strange = [door for door in doors if door not in known]
    if strange:
        words.append(f"level {_span(strange)} is newer than kafkactl")
    return f"none below {level_name(feature, downgrade_floor(release, after))}: " + "; ".join(words)


def consequences(feature: str, before: int, after: int) -> tuple[str, ...]:
    """Return the effects on the cluster of a feature's change from one level to another, one sentence each."""
    if before == after:
        return ()
    found = _gained(feature, before, after) if after > before else _given_up(feature, before, after)
    return tuple(found)


def lost(lower: int, higher: int) -> tuple[str, ...]:
    """Return the kinds of metadata that a metadata.version of `higher` can contain and one of `lower` cannot."""
    rows = _levels(METADATA_VERSION)
    return tuple(rows[level]["loses"] for level in range(lower + 1, higher + 1) if rows.get(level, {}).get("loses"))


def first_release_with(feature: str, level: int) -> Release | None:
    """Return the oldest release whose nodes support a level without unstable features.

    None if kafkactl knows none.
    """
    return next((release for release in known_releases() if _supports(release, feature, level)), None)


def _supports(release: Release, feature: str, level: int) -> bool:
    if feature == METADATA_VERSION:
        return level <= release.production_level
    facts = features_of(release).get(feature)
    return facts is not None and level <= facts.latest_production


def _gained(feature: str, before: int, after: int) -> Iterator[str]:
    rows = _levels(feature)
    for level in range(before + 1, after + 1):
        row = rows.get(level, {})
        if "about" in row and not row["about"].startswith(_IDLE):
            yield f"{level_name(feature, level)} brings {row['about'].replace(_DEFAULT, _DEFAULT_HERE)}"
        yield from row.get("effects", ())
    strange = [level for level in range(before + 1, after + 1) if level not in rows]
    if strange:
        yield f"{feature} {_span(strange)} is newer than kafkactl: what it brings is not known here"
    yield from _locked_out(feature, before, after)


def _span(levels: Sequence[int]) -> str:
    return str(levels[0]) if len(levels) == 1 else f"{levels[0]} to {levels[-1]}"


def _locked_out(feature: str, before: int, after: int) -> Iterator[str]:
    """Yield the nodes that can no longer join: they must support each finalized level (ClusterControlManager)."""
    first = first_release_with(feature, after)
    was = first_release_with(feature, before) if before else None
    if first is not None and (was is None or first.version > was.version):
        yield f"nodes older than Kafka {first.name} can no longer join or come back"


def _given_up(feature: str, before: int, after: int) -> Iterator[str]:
    rows = _levels(feature)
    for level in range(before, after, -1):
        row = rows.get(level, {})
        if row.get("about") and not row["about"].startswith(_IDLE):
            yield f"{level_name(feature, level)} is given up: {row['about']}"
        yield from row.get("off", ())
        if row.get("loses"):
            yield f"would lose {row['loses']}"


def _door(level: int) -> str:
    row = _levels(METADATA_VERSION)[level]
    return f"holds {row['loses']}" if "loses" in row else f"changed metadata ({row['about']})"


def _levels(feature: str) -> Mapping[int, Mapping[str, Any]]:
    """Return the rows of a feature's table by level; empty for a feature that kafkactl does not know."""
    return _tables().get(feature, {})


@functools.cache
def _tables() -> dict[str, dict[int, dict[str, Any]]]:
    import tomli

    found = {}
    for name in list_data("features", ".version.toml"):
        rows = tomli.loads(read_data(name).decode("utf-8"))["level"]
        found[name.removeprefix("features/").removesuffix(".toml")] = {row["level"]: row for row in rows}
    return found
