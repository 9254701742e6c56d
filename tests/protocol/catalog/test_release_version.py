from __future__ import annotations

import pytest

from kafkactl.core.errors import InputError
from kafkactl.protocol.catalog.release_version import parse_release_version, supported_names
from kafkactl.protocol.catalog.releases import find_release, known_releases


@pytest.mark.parametrize(
    ("release", "text", "name"),
    [
        ("3.3", "3.3", "3.3-IV3"),
        ("3.3", "3.3-IV0", "3.3-IV0"),
        ("3.6", "3.5", "3.5-IV2"),
        ("3.9", "3.9.1", "3.9-IV0"),
        ("3.9", "3.9.1.", "3.9-IV0"),
        ("3.9", "3.7.1-IV3", "3.7-IV4"),
        ("4.4", "4.4", "4.4-IV2"),
        ("4.4", "4.4-IV0", "4.4-IV0"),
        ("4.0", "3.3", "3.3-IV3"),
        ("4.2", "4.1.1.7", "4.1-IV1"),
        ("4.2", "4.1.0..", "4.1-IV1"),
    ],
)
def test_release_and_level_are_accepted_by_name(release: str, text: str, name: str) -> None:
    assert parse_release_version(find_release(release), text, unstable=False).name == name


@pytest.mark.parametrize(
    ("release", "text", "id", "words"),
    [
        ("3.3", "3.4", "unknown-release-version", "Version 3.4 is not a valid version"),
        ("3.9", "x", "unknown-release-version", "Version x is not a valid version"),
        ("3.9", "", "unknown-release-version", "Version  is not a valid version"),
        ("3.9", ".", "unknown-release-version", "is not a valid version"),
        ("3.9", "3.9.", "unknown-release-version", "Version 3.9. is not a valid version"),
        ("4.2", "4.1..", "unknown-release-version", "Unknown metadata.version '4.1..'"),
        ("3.9", "2.8", "release-version-too-old", "metadata.version 2.8-IV1 is too old to be supported."),
        ("3.9", " 3.9", "unknown-release-version", "is not a valid version"),
        ("3.9", "3.9-iv0", "unknown-release-version", "is not a valid version"),
        (
            "4.1",
            "4.2",
            "unknown-release-version",
            "Version 4.2 is not a valid version. The minimum version is 3.3-IV3 and the maximum version is 4.2-IV1",
        ),
        (
            "4.2",
            "{x}",
            "unknown-release-version",
            "Unknown metadata.version '{x}'. Supported metadata.version are: 3.3-IV3, 3.4",
        ),
        ("3.6", "3.2", "release-version-too-old", "Bootstrap metadata versions before 3.3-IV0"),
        ("3.9", "3.2", "release-version-too-old", "Bootstrap metadata.version before 3.3-IV0"),
        ("3.7", "2.8", "release-version-too-old", "Must specify a valid KRaft metadata version of at least 3.0."),
        (
            "3.8",
            "0.10.0",
            "release-version-too-old",
            "Must specify a valid KRaft metadata.version of at least 3.0-IV0.",
        ),
        ("3.9", "3.0-IV0", "release-version-too-old", "metadata.version 3.0-IV0 is too old to be supported."),
        ("4.0", "3.3-IV2", "release-version-too-old", "The minimum version is 3.3-IV3"),
        ("4.4", "3.3-IV2", "release-version-too-old", "Unknown metadata.version '3.3-IV2'"),
        ("4.4", "2.8", "release-version-too-old", "Unknown metadata.version '2.8'"),
        ("3.7", "3.8-IV0", "unstable-release-version", "Metadata version 3.8-IV0 is not ready for production use yet."),
        (
            "3.8",
            "3.9-IV0",
            "unstable-release-version",
            "The metadata.version 3.9-IV0 is not ready for production use yet.",
        ),
        ("3.9", "4.0-IV1", "unstable-release-version", "metadata.version 4.0-IV1 is not yet stable."),
        ("4.1", "4.2-IV0", "unstable-release-version", "metadata.version 4.2-IV0 is not yet stable."),
        (
            "4.4",
            "4.5-IV0",
            "unstable-release-version",
            "Unknown metadata.version '4.5-IV0'. Supported metadata.version are:",
        ),
    ],
)
def test_release_version_is_refused_with_the_text_of_the_release(release: str, text: str, id: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_release_version(find_release(release), text, unstable=False)
    assert caught.value.id == id
    assert words in caught.value.message
    assert caught.value.advice
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("release", "text", "level"),
    [
        ("3.7", "3.8-IV0", 20),
        ("3.8", "3.9-IV0", 21),
        ("3.9", "4.0-IV1", 23),
        ("4.0", "4.1-IV0", 26),
        ("4.4", "4.5-IV0", 34),
    ],
)
def test_switch_allows_unstable_levels_by_name_but_not_by_release(release: str, text: str, level: int) -> None:
    found = find_release(release)
    assert parse_release_version(found, text, unstable=True).level == level
    with pytest.raises(InputError) as caught:
        parse_release_version(found, text.partition("-")[0], unstable=True)
    assert caught.value.id == "unknown-release-version"


def test_switch_is_named_where_it_would_help() -> None:
    for release in known_releases():
        if release.testing_level > release.production_level:
            assert release.unstable_switch
            with pytest.raises(InputError) as caught:
                parse_release_version(release, supported_names(release, unstable=True).split(", ")[-1], unstable=False)
            assert release.unstable_switch in caught.value.advice


def test_every_level_is_accepted_by_its_name_and_listed() -> None:
    for release in known_releases():
        for name in supported_names(release, unstable=True).split(", "):
            level_is_old = name in {"3.0-IV1", "3.1-IV0", "3.2-IV0"}
            if not level_is_old:
                assert parse_release_version(release, name, unstable=True).name == name
