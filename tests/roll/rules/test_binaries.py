"""Java, feature ranges and paths of releases (kafkactl.roll.rules.binaries)."""

from __future__ import annotations

import pytest

from kafkactl.features.catalog.releases import find_release, known_releases
from kafkactl.roll.rules.binaries import java_needed, ranges, unsupported_path


def test_java_17_is_needed_from_4_0_on() -> None:
    assert {release.name: java_needed(release) for release in known_releases()} == {
        release.name: 17 if release.name.startswith("4.") else 8 for release in known_releases()
    }


@pytest.mark.parametrize(
    ("release", "lowest", "highest"), [("3.7", 1, 19), ("3.9", 1, 21), ("4.0", 7, 25), ("4.3", 7, 30), ("4.4", 7, 33)]
)
def test_range_of_metadata_version_is_that_of_the_release(release: str, lowest: int, highest: int) -> None:
    found = ranges(find_release(release))["metadata.version"]
    assert (found.lowest, found.highest) == (lowest, highest)


def test_path_below_3_3_is_unsupported() -> None:
    assert unsupported_path("3.2", "4.3") is not None
    assert unsupported_path("4.3", "2.8.1") is not None
    assert unsupported_path("3.3.1", "4.4.0") is None
    assert unsupported_path("4.4.0", "3.9") is None
