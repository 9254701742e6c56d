"""Facts of the binaries of a release: the Java that they need, the feature ranges that they register."""

from __future__ import annotations

import functools
from collections.abc import Mapping

from kafkactl.core.data_files import read_data
from kafkactl.protocol.catalog.levels import supported_by
from kafkactl.protocol.catalog.releases import Release
from kafkactl.protocol.schema.spec import Versions


def java_needed(release: Release) -> int:
    """Return the oldest Java release that loads the classes of the release: 8 or 17."""
    return _java_releases()[release.name]


def ranges(release: Release) -> dict[str, Versions]:
    """Return the levels that a node of the release registers, by feature."""
    return supported_by(release)


@functools.cache
def _java_releases() -> Mapping[str, int]:
    import json

    found: Mapping[str, int] = json.loads(read_data("config/java.json"))["releases"]
    return found
