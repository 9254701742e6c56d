"""Checks of a feature change against the rules of levels: direction, loss, dependencies, what may not be mixed.

Order and meaning follow `FeatureControlManager.updateFeatures`; if a release does not check what it should (3.9 and
dependencies, every release and a metadata.version lowered beneath another feature) it is checked here.
"""

from __future__ import annotations

from collections.abc import Iterator

from kafkactl.core.findings import Finding, blocker, note, warning
from kafkactl.core.kafka_names import METADATA_VERSION
from kafkactl.features.plan.case import Case
from kafkactl.features.plan.change import FeatureChange
from kafkactl.features.plan.checks_nodes import unknown_features
from kafkactl.features.plan.request import Operation
from kafkactl.protocol.catalog.consequences import (
    UNKNOWN_WAY,
    downgrade_floor,
    is_known_level,
    level_name,
    lost,
    metadata_changes,
)
from kafkactl.protocol.catalog.levels import features_of
from kafkactl.protocol.catalog.releases import find_release


def check_directions(case: Case) -> Iterator[Finding]:
    """Check that all features of one command move in the direction of the command."""
    upgrade = case.request.operation is Operation.UPGRADE
    for change in case.moving:
        if (change.after > change.before) == upgrade:
            continue
        is_now = f"{change.name} is at {level_name(change.name, change.before)}"
        asked = level_name(change.name, change.after)
        if upgrade:
            yield blocker(
                "downgrade-not-asked-for",
                f"feature {change.name}",
                f"{is_now}, and upgrade cannot take it down to {asked}",
                "Leave it out: the level cannot go down." if _loses(case, change) else _other_way("downgrade", change),
            )
        else:
            yield blocker(
                "upgrade-not-asked-for",
                f"feature {change.name}",
                f"{is_now}, and {case.request.operation.value} cannot take it up to {asked}",
                _other_way("upgrade", change),
            )


def check_metadata_version(case: Case) -> Iterator[Finding]:
    """Report findings that concern metadata.version only."""
    change = case.change(METADATA_VERSION)
    if METADATA_VERSION not in case.state.finalized:
        yield warning(
            "metadata-version-not-recorded",
            "feature metadata.version",
            "the metadata log names no metadata.version, so the cluster runs at 3.0-IV1 (1) (KAFKA-20839)",
        )
    if change is None:
        return
    if change.after == 0:
        yield blocker(
            "metadata-version-never-off",
            "feature metadata.version",
            "metadata.version cannot be turned off: every record of the metadata log is written by it",
        )
    if 0 < change.after < case.rules.lowest_level:
        yield blocker(
            "metadata-version-too-low",
            "feature metadata.version",
            f"Kafka {case.release.name} has no cluster below {level_name(METADATA_VERSION, case.rules.lowest_level)}",
        )
    if change.after < change.before and change.after > 0:
        yield from _crossed(case, change)


def check_migration(case: Case) -> Iterator[Finding]:
    """Refuse changes of levels during a migration from ZooKeeper; 3.4 to 3.9 refuse one of metadata.version."""
    if case.state.migrating and case.moving:
        yield blocker(
            "migration-in-progress",
            "cluster",
            "a migration from ZooKeeper is in progress: no level can be changed until it is finished or rolled back",
        )


def check_dependencies(case: Case) -> Iterator[Finding]:
    """Check dependencies in both directions: those of a new level, and those of other features."""
    proposed = case.proposed
    moving = {change.name for change in case.moving}
    for name, level in sorted(proposed.items()):
        for needed, at_least in sorted(dependencies(case, name, level).items()):
            have = proposed.get(needed, 0)
            if have >= at_least:
                continue
            if name in moving:
                yield _missing(case, (name, level), (needed, at_least), have)
            elif needed in moving:
                yield _needed((name, level), (needed, at_least), have)


def check_promises(case: Case) -> Iterator[Finding]:
    """Report irreversible changes, and changes unknown to kafkactl."""
    upgrade = case.request.operation is Operation.UPGRADE
    for change in case.moving:
        if change.name in unknown_features(case) or (change.after > change.before) != upgrade:
            continue
        is_way_known = not change.how_to_undo.startswith(UNKNOWN_WAY)
        if change.after > change.before and not change.reversible and is_way_known:
            yield warning(
                "one-way-change",
                f"feature {change.name}",
                f"{change.name} cannot go back from {level_name(change.name, change.after)} to "
                f"{level_name(change.name, change.before)}",
                f"To undo: {change.how_to_undo}.",
            )
        if change.after > change.before and not is_known_level(change.name, change.after):
            yield warning(
                "level-newer-than-kafkactl",
                f"feature {change.name}",
                f"{change.name} {change.after} is newer than this kafkactl: its effects and whether it can be "
                "undone are unknown",
                "Use a newer kafkactl.",
            )


def check_semantics(case: Case) -> Iterator[Finding]:
    """Report differences between releases in the handling of several features of one request."""
    if case.rules.results == "each" and len(case.moving) > 1:
        yield note(
            "features-change-one-by-one",
            "cluster",
            f"Kafka {case.release.name} changes every feature on its own: some may be refused when others are done",
            "The result of each is shown.",
        )


def _loses(case: Case, change: FeatureChange) -> bool:
    """Return True if no command takes the feature there, because metadata would be lost."""
    return change.name == METADATA_VERSION and bool(metadata_changes(case.release, change.after, change.before))


def _crossed(case: Case, change: FeatureChange) -> Iterator[Finding]:
    """Report a downgrade across a change of metadata: every release refuses it, safe or unsafe."""
    doors = metadata_changes(case.release, change.after, change.before)
    if not doors:
        return
    floor = downgrade_floor(case.release, change.before)
    losses = "; ".join(lost(change.after, change.before)) or "metadata that older levels cannot hold"
    unsafe = " Kafka has never implemented the unsafe downgrade of metadata.version." if case.request.unsafe else ""
    yield blocker(
        "metadata-downgrade-loses-metadata",
        "feature metadata.version",
        f"from {level_name(METADATA_VERSION, change.before)} down to {level_name(METADATA_VERSION, change.after)} "
        f"metadata could be lost: {losses}.{unsafe}",
        f"The lowest level that can be reached is {level_name(METADATA_VERSION, floor)}."
        if floor < change.before
        else "There is no lower level that can be reached from here; --unsafe does not help.",
        floor=floor,
        first_level_in_the_way=doors[-1],
        levels_in_the_way=list(doors),
    )


def dependencies(case: Case, name: str, level: int) -> dict[str, int]:
    """Return the dependencies of a level by the table of the active controller's release; empty if it has none."""
    facts = features_of(case.release).get(name)
    rows = () if facts is None else facts.levels
    return next((dict(row.dependencies) for row in rows if row.level == level), {})


def _missing(case: Case, wanted: tuple[str, int], need: tuple[str, int], have: int) -> Finding:
    (name, level), (needed, at_least) = wanted, need
    return blocker(
        "feature-dependency-missing",
        f"feature {name}",
        f"{name} {level} needs {needed} {level_name(needed, at_least)} at least; it is at {level_name(needed, have)}",
        f"Raise it first, or with it: --feature {needed}={at_least}.",
        needs={needed: at_least},
        checked_by_kafka=case.rules.checks_dependencies,
    )


def _needed(user: tuple[str, int], need: tuple[str, int], have: int) -> Finding:
    (name, level), (needed, at_least) = user, need
    return blocker(
        "feature-needed-by-another",
        f"feature {needed}",
        f"{name} {level} needs {needed} {level_name(needed, at_least)} at least, so {needed} cannot go to "
        f"{level_name(needed, have)}",
        f"Lower {name} first: kafkactl features disable --feature {name}.",
        needed_by={name: level},
        checked_by_kafka=False,
    )


def check_patches(case: Case) -> Iterator[Finding]:
    """Report a dependency that only the first patches of the release require (ranges do not show the patch)."""
    first = features_of(find_release(f"{case.release.name}.0"))
    for change in case.moving:
        rows = first[change.name].levels if change.name in first else ()
        wanted = next((row.dependencies for row in rows if row.level == change.after), {})
        now = dependencies(case, change.name, change.after)
        for needed, at_least in wanted.items():
            if needed not in now and case.proposed.get(needed, 0) < at_least:
                yield warning(
                    "feature-dependency-missing",
                    f"feature {change.name}",
                    f"the first patches of Kafka {case.release.name} refuse {change.name} {change.after} below "
                    f"{needed} {level_name(needed, at_least)}",
                    f"Raise {needed} first.",
                    needs={needed: at_least},
                )


def _other_way(operation: str, change: FeatureChange) -> str:
    if change.after == 0:
        return f"kafkactl features disable --feature {change.name}"
    return f"kafkactl features {operation} --feature {change.name}={change.after}"
