"""Which record types of the metadata log a release can read."""

from __future__ import annotations

import functools

from kafkactl.features.releases import Release, release_names
from kafkactl.schema.source import read_data


def record_types_of(release: Release) -> frozenset[int]:
    """The api keys of the records that a release knows (`MetadataRecordType`, generated from its definitions)."""
    return _record_types()[release.name]


@functools.cache
def _record_types() -> dict[str, frozenset[int]]:
    import tomli

    rows = {row["name"]: row for row in tomli.loads(read_data("features/record_types.toml").decode())["release"]}
    known: frozenset[int] = frozenset()
    found: dict[str, frozenset[int]] = {}
    for name in release_names():
        row = rows.get(name, {})
        known = known.union(row.get("adds", ())).difference(row.get("drops", ()))
        found[name] = known
    return found
