"""Facts of the binaries of a release: the Java that they need, the feature ranges that they register, their paths."""

from __future__ import annotations

import functools
from collections.abc import Mapping

from kafkactl.core.errors import InputError
from kafkactl.features.catalog.levels import supported_by
from kafkactl.features.catalog.releases import Release, find_release, release_names
from kafkactl.protocol.schema.source import read_data
from kafkactl.protocol.schema.spec import Versions


def java_needed(release: Release) -> int:
    """Return the oldest Java release that loads the classes of the release: 8 or 17."""
    return _java_releases()[release.name]


def ranges(release: Release) -> dict[str, Versions]:
    """Return the levels that a node of the release registers, by feature."""
    return supported_by(release)


def unsupported_path(from_release: str, to_release: str) -> str | None:
    """Return why nodes cannot be rolled from one release to the other; None if they can.

    Every release with KRaft in production reaches every other one directly; whether the finalized levels, the files
    and the metadata log allow that is a matter of other rules.
    """
    for name in (from_release, to_release):
        try:
            find_release(name)
        except InputError:
            names = release_names()
            return f"Kafka {name} is not one of the releases that can be rolled: {names[0]} to {names[-1]}"
    return None


@functools.cache
def _java_releases() -> Mapping[str, int]:
    import json

    found: Mapping[str, int] = json.loads(read_data("config/java.json"))["releases"]
    return found
