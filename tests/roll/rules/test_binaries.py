"""Java and feature ranges of releases (kafkactl.roll.rules.binaries)."""

from __future__ import annotations

import pytest

from kafkactl.protocol.catalog.releases import find_release, known_releases
from kafkactl.roll.rules.binaries import java_needed, ranges


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
