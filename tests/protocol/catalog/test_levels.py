from __future__ import annotations

from pathlib import Path

import pytest
import tomli

from kafkactl.protocol.catalog.levels import (
    changes_metadata_in,
    default_levels,
    default_metadata_version,
    features_of,
    metadata_version,
    metadata_versions,
    metadata_versions_of,
)
from kafkactl.protocol.catalog.releases import find_release, known_releases, release_names
from tests.repository.tree import ROOT


def test_levels_run_without_a_gap_and_names_follow_them() -> None:
    levels = metadata_versions()
    assert [mv.level for mv in levels] == list(range(1, len(levels) + 1))
    assert len({mv.name for mv in levels}) == len(levels)
    keys = [(*map(int, mv.release.split(".")), int(mv.name.partition("-IV")[2])) for mv in levels]
    assert keys == sorted(keys)
    assert all(mv.about for mv in levels)


@pytest.mark.parametrize(
    ("level", "name"), [(1, "3.0-IV1"), (7, "3.3-IV3"), (21, "3.9-IV0"), (33, "4.4-IV2"), (34, "4.5-IV0")]
)
def test_level_has_its_name(level: int, name: str) -> None:
    assert metadata_version(level).name == name


@pytest.mark.parametrize(
    "path", sorted((ROOT / "schemas" / "features").glob("*.version.toml")), ids=lambda path: path.stem
)
def test_every_level_has_its_keys(path: Path) -> None:
    # Without this test a missing key is a KeyError in every test that reads the table.
    keys = {"level", "about", *(("name",) if path.stem == "metadata.version" else ("default_from",))}
    rows = tomli.loads(path.read_text(encoding="utf-8"))["level"]
    missing = {row.get("level"): sorted(keys - row.keys()) for row in rows if keys - row.keys()}
    assert missing == {}, "the head of kraft.version.toml and of metadata.version.toml explains the keys"


@pytest.mark.parametrize("level", [0, -1, len(metadata_versions()) + 1])
def test_unknown_level_is_an_error(level: int) -> None:
    with pytest.raises(KeyError):
        metadata_version(level)


@pytest.mark.parametrize(
    ("release", "unstable", "name"),
    [
        ("3.3", False, "3.3-IV3"), ("3.6", True, "3.6-IV2"), ("3.7", False, "3.7-IV4"), ("3.7", True, "3.7-IV4"),
        ("3.8", True, "3.8-IV0"), ("3.9", False, "3.9-IV0"), ("3.9", True, "4.0-IV1"), ("4.0", True, "4.1-IV0"),
        ("4.1", False, "4.1-IV1"), ("4.2", True, "4.3-IV0"), ("4.3", False, "4.3-IV0"), ("4.4", True, "4.5-IV0"),
    ],
)  # fmt: skip
def test_each_release_has_its_default_metadata_version(release: str, unstable: bool, name: str) -> None:
    assert default_metadata_version(find_release(release), unstable=unstable).name == name


def test_levels_a_release_can_format_with() -> None:
    assert [mv.level for mv in metadata_versions_of(find_release("3.7"), unstable=False)] == list(range(4, 20))
    assert [mv.level for mv in metadata_versions_of(find_release("4.0"), unstable=True)] == list(range(7, 27))


def test_level_that_was_not_stable_meant_something_else() -> None:
    assert changes_metadata_in(find_release("3.9"), 22)
    assert not changes_metadata_in(find_release("4.0"), 22)
    assert not changes_metadata_in(find_release("3.9"), 23)
    assert changes_metadata_in(find_release("4.0"), 23)


def test_each_release_has_its_features() -> None:
    known = {release.name: list(features_of(release)) for release in known_releases()}
    assert known["3.8"] == []
    assert known["3.9"] == ["kraft.version", "transaction.version"]
    assert known["4.0"] == [*known["3.9"], "group.version", "eligible.leader.replicas.version"]
    assert known["4.1"] == known["4.4"] == [*known["4.0"], "share.version", "streams.version"]
    assert features_of(find_release("4.1"))["streams.version"].latest_production == 0
    assert features_of(find_release("4.3"))["share.version"].latest_testing == 1
    assert features_of(find_release("4.4"))["share.version"].latest_production == 2


@pytest.mark.parametrize(
    ("release", "level", "expected"),
    [
        ("3.8", 20, {}),
        ("3.9", 21, {}),
        ("3.9", 22, {"transaction.version": 2}),
        ("4.0", 22, {"group.version": 1}),
        ("4.0", 25, {"transaction.version": 2, "group.version": 1}),
        ("4.1", 26, {"transaction.version": 2, "group.version": 1, "eligible.leader.replicas.version": 1}),
        ("4.3", 31, {"transaction.version": 2, "group.version": 1, "eligible.leader.replicas.version": 1,
                     "share.version": 1, "streams.version": 1}),
        ("4.4", 31, {"transaction.version": 2, "group.version": 1, "eligible.leader.replicas.version": 1,
                     "share.version": 2, "streams.version": 1}),
        ("4.4", 21, {}),
    ],
)  # fmt: skip
def test_default_levels_follow_the_metadata_version(release: str, level: int, expected: dict[str, int]) -> None:
    assert default_levels(find_release(release), level) == expected


def test_default_never_goes_beyond_what_is_known_and_never_falls() -> None:
    for release in known_releases():
        for facts in features_of(release).values():
            defaults = [facts.default_level(mv.level) for mv in metadata_versions_of(release, unstable=True)]
            assert defaults == sorted(defaults)
            assert max(defaults) <= facts.latest_testing
            assert [level.level for level in facts.levels] == list(range(facts.latest_testing + 1))


def test_tables_name_known_releases_only() -> None:
    from kafkactl.protocol.catalog import levels

    for name in levels._FEATURES:
        table = levels._table(name)
        named = set(table["known"]) | {key for row in table["level"] for key in row.get("default_from_in", {})}
        assert named <= set(release_names())


@pytest.mark.parametrize(
    ("version", "needs"),
    [
        ("3.9.0", 21),
        ("3.9.1", 21),
        ("3.9.2", None),
        ("4.0.1", 21),
        ("4.0.2", None),
        ("4.1.0", 21),
        ("4.1.1", None),
        ("4.2.0", None),
    ],
)
def test_kraft_version_depends_on_a_metadata_version_in_some_patches(version: str, needs: int | None) -> None:
    level = features_of(find_release(version))["kraft.version"].levels[1]
    assert level.dependencies.get("metadata.version") == needs
