"""Which records of the metadata log a release can read."""

from __future__ import annotations

import functools
from collections.abc import Mapping

from kafkactl.features.releases import Release, release_names
from kafkactl.schema.source import read_data


def record_types_of(release: Release) -> Mapping[int, int]:
    """The highest version of every record type that a release reads, by api key; versions begin at 0.

    A record beyond that is refused by the generated reader, and that ends a controller (`MetadataRecordType`,
    `MetadataRecordSerde`).
    """
    return _record_types()[release.name]


@functools.cache
def _record_types() -> dict[str, Mapping[int, int]]:
    import tomli

    rows = {row["name"]: row for row in tomli.loads(read_data("features/record_types.toml").decode())["release"]}
    known: dict[int, int] = {}
    found: dict[str, Mapping[int, int]] = {}
    for name in release_names():
        known = known | dict(rows.get(name, {}).get("highest", ()))
        found[name] = {api_key: highest for api_key, highest in known.items() if highest >= 0}
    return found
