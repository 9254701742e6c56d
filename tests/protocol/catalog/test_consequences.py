from __future__ import annotations

import pytest

from kafkactl.protocol.catalog.consequences import (
    consequences,
    downgrade_floor,
    first_release_with,
    how_to_undo,
    is_reversible,
    level_name,
    lost,
    metadata_changes,
)
from kafkactl.protocol.catalog.levels import metadata_versions
from kafkactl.protocol.catalog.releases import find_release, known_releases
from kafkactl.protocol.catalog.update_rules import release_of, update_rules
from kafkactl.protocol.schema.spec import Versions

# features-and-quorum C.1: the lowest level that a safe downgrade reaches, as 4.4 has it.
FLOORS = {
    7: 7, 8: 8, 9: 8, 10: 8, 11: 11, 12: 11, 13: 13, 14: 14, 15: 15, 16: 15, 17: 17, 18: 17, 19: 17, 20: 17, 21: 17,
    22: 17, 23: 23, 24: 23, 25: 23, 26: 23, 27: 23, 28: 23, 29: 23, 30: 30, 31: 30, 32: 32, 33: 33,
}  # fmt: skip


@pytest.mark.parametrize(("level", "floor"), FLOORS.items())
def test_each_level_has_its_downgrade_floor(level: int, floor: int) -> None:
    assert downgrade_floor(find_release("4.4"), level) == floor


# kraft-measured 4.2, text seen on real clusters.
@pytest.mark.parametrize(
    ("release", "before", "after", "accepted"),
    [
        ("4.3", 22, 17, True), ("4.3", 25, 23, True), ("4.3", 14, 13, False), ("4.3", 17, 15, False),
        ("4.3", 23, 22, False), ("4.3", 30, 29, False), ("3.9", 21, 17, True), ("3.9", 17, 15, False),
        ("4.4", 33, 30, False), ("4.4", 33, 32, False),
    ],
)  # fmt: skip
def test_downgrades_are_reversible_as_measured(release: str, before: int, after: int, accepted: bool) -> None:
    assert (not metadata_changes(find_release(release), after, before)) is accepted
    assert is_reversible(find_release(release), "metadata.version", after, before) is accepted


def test_unknown_level_promises_no_rollback() -> None:
    newest = metadata_versions()[-1].level
    assert not is_reversible(find_release("4.4"), "metadata.version", newest, newest + 1)
    assert level_name("metadata.version", newest + 1) == f"level {newest + 1}"


def test_kraft_version_knows_one_direction() -> None:
    release = find_release("4.3")
    assert not is_reversible(release, "kraft.version", 0, 1)
    assert how_to_undo(release, "kraft.version", 0, 1).startswith("none")


@pytest.mark.parametrize(
    ("feature", "before", "after", "back"),
    [
        ("group.version", 0, 1, "kafkactl features disable --feature group.version"),
        ("share.version", 1, 2, "kafkactl features downgrade --feature share.version=1"),
        ("share.version", 2, 1, "kafkactl features upgrade --feature share.version=2"),
        ("metadata.version", 25, 25, ""),
        ("metadata.version", 25, 27, "kafkactl features downgrade --feature metadata.version=25"),
    ],
)
def test_rollback_is_a_command(feature: str, before: int, after: int, back: str) -> None:
    assert how_to_undo(find_release("4.4"), feature, before, after) == back


def test_rollback_ends_at_the_first_level_that_cannot_be_undone() -> None:
    text = how_to_undo(find_release("4.4"), "metadata.version", 25, 31)
    assert text == "none below 4.3-IV0 (30): 4.3-IV0 (30) holds which log directories are cordoned"


def test_consequences_of_an_upgrade_are_listed() -> None:
    reported = consequences("metadata.version", 14, 17)
    assert any("controllers register" in text for text in reported)
    assert not any("nothing:" in text for text in reported)
    assert reported[-1] == "nodes older than Kafka 3.7 can no longer join or come back"
    assert consequences("metadata.version", 17, 17) == ()
    assert consequences("metadata.version", 8, 8) == ()


def test_elr_has_consequences_for_min_insync_replicas() -> None:
    on, off = (consequences("eligible.leader.replicas.version", *way) for way in ((0, 1), (1, 0)))
    assert any("min.insync.replicas" in text and "deleted" in text for text in on)
    assert any("do not come back" in text for text in off)


def test_losses_are_named_for_levels_that_changed_metadata() -> None:
    # Every level from 7 on that changed metadata says what older ones cannot hold.
    for mv in metadata_versions():
        if 7 <= mv.level <= 33:
            assert bool(lost(mv.level - 1, mv.level)) == mv.changes_metadata, mv


def test_newer_feature_is_reported_as_unknown() -> None:
    assert "newer than kafkactl" in consequences("queue.version", 0, 1)[0]


@pytest.mark.parametrize(
    ("feature", "level", "release"),
    [("metadata.version", 30, "4.3"), ("metadata.version", 21, "3.9"), ("kraft.version", 1, "3.9"),
     ("streams.version", 1, "4.2"), ("share.version", 2, "4.4"), ("transaction.version", 2, "4.0")],
)  # fmt: skip
def test_first_release_with_a_level_is_found(feature: str, level: int, release: str) -> None:
    found = first_release_with(feature, level)
    assert found is not None
    assert found.name == release


@pytest.mark.parametrize("release", known_releases(), ids=lambda release: release.name)
def test_release_is_known_by_its_range(release: object) -> None:
    from kafkactl.protocol.catalog.releases import Release

    assert isinstance(release, Release)
    found = release_of(Versions(release.lowest_supported_level, release.production_level))
    assert found == release


def test_release_is_found_by_the_range_of_unstable_levels() -> None:
    assert (found := release_of(Versions(7, 26))) is not None
    assert found.name == "4.0"
    assert release_of(Versions(7, 99)) is None
    assert release_of(None) is None


def test_rules_follow_the_release() -> None:
    reported = {name: update_rules(find_release(name)) for name in ("3.3", "3.6", "3.9", "4.0", "4.3", "4.4")}
    assert [rules.kraft_version for rules in reported.values()] == [
        "unknown", "unknown", "pretends", "ignores", "converts", "converts",
    ]  # fmt: skip
    assert [rules.results for rules in reported.values()] == ["each"] * 3 + ["whole"] * 3
    assert [rules.unregisters_controllers for rules in reported.values()] == [False] * 5 + [True]
    assert [rules.checks_migration for rules in reported.values()] == [False, True, True, False, False, False]
