from __future__ import annotations

import pytest

from kafkactl.core.errors import InputError
from kafkactl.protocol.catalog.mapping import (
    feature_dependencies,
    parse_feature_level,
    render_dependencies,
    version_mapping,
)
from kafkactl.protocol.catalog.releases import find_release


def lines(release: str, text: str | None = None) -> list[str]:
    return [str(level) for level in version_mapping(find_release(release), text)]


def test_newest_level_is_mapped() -> None:
    assert lines("4.0") == [
        "metadata.version=25 (4.0-IV3)", "kraft.version=1", "transaction.version=2", "group.version=1",
        "eligible.leader.replicas.version=0",
    ]  # fmt: skip
    assert lines("4.4") == [
        "metadata.version=33 (4.4-IV2)", "kraft.version=1", "transaction.version=2", "group.version=1",
        "eligible.leader.replicas.version=1", "share.version=2", "streams.version=1",
    ]  # fmt: skip


def test_mapping_repeats_what_was_typed() -> None:
    assert lines("4.3", "3.9.1")[0] == "metadata.version=21 (3.9.1)"
    assert lines("4.1", "4.2-IV1")[0] == "metadata.version=29 (4.2-IV1)"
    assert lines("4.2", "3.5")[1:] == [
        "kraft.version=0", "transaction.version=0", "group.version=0", "eligible.leader.replicas.version=0",
        "share.version=0", "streams.version=0",
    ]  # fmt: skip


def test_releases_without_the_command_are_answered_from_the_table() -> None:
    assert lines("3.9") == ["metadata.version=21 (3.9-IV0)", "kraft.version=1", "transaction.version=0"]
    assert lines("3.6", "3.3") == ["metadata.version=7 (3.3)"]


@pytest.mark.parametrize(
    ("release", "text", "words"),
    [
        ("3.9", "2.8", "Version 2.8 is not a valid version"),
        ("4.0", "4.3", "Unknown release version '4.3'. Supported versions are: 3.3-IV3 to 4.0-IV3"),
        ("4.2", "x", "4.2-IV0, 4.2-IV1, 4.3-IV0"),
    ],
)
def test_mapping_of_an_unknown_release_is_refused(release: str, text: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        version_mapping(find_release(release), text)
    assert caught.value.id == "unknown-release-version"
    assert words in caught.value.message


def needs(release: str, argument: str) -> list[str]:
    name, level = parse_feature_level(find_release(release), argument)
    return render_dependencies(name, level, feature_dependencies(find_release(release), name, level))


def test_dependencies_are_listed() -> None:
    assert needs("4.0", "eligible.leader.replicas.version=1") == [
        "eligible.leader.replicas.version=1 requires:",
        "    metadata.version=23 (4.0-IV1)",
    ]
    assert needs("4.0", "eligible.leader.replicas.version=0") == [
        "eligible.leader.replicas.version=0 has no dependencies."
    ]
    assert needs("4.4", "metadata.version=33") == ["metadata.version=33 (4.4-IV2) has no dependencies."]
    assert needs("4.1", "streams.version=1") == ["streams.version=1 has no dependencies."]


@pytest.mark.parametrize(
    ("release", "argument", "id", "words"),
    [
        ("4.0", "share.version=1", "unknown-feature", "Unknown feature: share.version"),
        ("4.0", "=1", "unknown-feature", "Unknown feature: "),
        (
            "4.4",
            "share.version=3",
            "unknown-feature-level",
            "Feature level 3 is not supported for feature share.version",
        ),
        ("4.4", "share.version=-1", "unknown-feature-level", "Feature level -1 is not supported"),
        ("4.4", "metadata.version=6", "unknown-feature-level", "Unknown metadata.version 6"),
        ("4.3", "metadata.version=33", "unknown-feature-level", "Unknown metadata.version 33"),
    ],
)
def test_dependencies_of_an_unknown_feature_are_refused(release: str, argument: str, id: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        needs(release, argument)
    assert caught.value.id == id
    assert words in caught.value.message
    assert caught.value.advice


@pytest.mark.parametrize(
    ("release", "argument", "words"),
    [
        ("4.4", "x", "Invalid feature format: x. Expected format: 'feature=version'"),
        ("4.4", "", "Invalid feature format"),
        ("4.4", "x=", "Invalid version format:  for feature x"),
        ("4.4", "x=1=2", "Invalid version format: 1=2 for feature x"),
        ("4.4", "x=y", "Invalid version format: y for feature x"),
        ("4.4", "x=32768", "Invalid version format: 32768 for feature x"),
        ("4.4", "x=1.0", "Invalid version format"),
        ("4.4", "x=+", "Invalid version format"),
        ("4.0", "x=1=2", "Invalid feature format"),
        ("4.0", "x=", "Invalid feature format: x="),
        ("4.0", "x= 1", "Invalid version format:  1 for feature x"),
    ],
)
def test_invalid_feature_argument_is_refused(release: str, argument: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_feature_level(find_release(release), argument)
    assert caught.value.id == "invalid-feature-argument"
    assert words in caught.value.message


@pytest.mark.parametrize(
    ("release", "argument", "level"),
    [
        ("4.0", "f=1", 1),
        ("4.0", "f=1==", 1),
        ("4.4", "f=+1", 1),
        ("4.4", " f = 1 ", 1),
        ("4.4", "f=-1", -1),
        ("4.4", "f=007", 7),
        ("4.4", "f=32767", 32767),
        ("4.4", "f=-32768", -32768),
    ],
)
def test_levels_are_shorts_of_java(release: str, argument: str, level: int) -> None:
    assert parse_feature_level(find_release(release), argument) == ("f", level)
