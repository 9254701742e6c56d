"""Types of metadata log records that a release can read."""

from __future__ import annotations

import functools
from collections.abc import Mapping

from kafkactl.protocol.catalog.releases import Release
from kafkactl.protocol.schema.release_table import ReleaseTable, read_release_table


def record_types_of(release: Release) -> Mapping[int, int]:
    """Return the highest version of every record type that a release reads, by api key; versions begin at 0.

    A record beyond that is refused by the generated reader, and that ends a controller (`MetadataRecordType`,
    `MetadataRecordSerde`).
    """
    highest: Mapping[str, int] = _table().at(release.numbers)["highest"]
    return {int(api_key): version for api_key, version in highest.items() if version >= 0}


@functools.cache
def _table() -> ReleaseTable:
    return read_release_table("replay/record_versions.toml", {"highest"})
