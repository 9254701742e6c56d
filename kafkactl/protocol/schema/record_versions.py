"""Versions of metadata log records by metadata.version: schemas/replay/record_versions.toml as values."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from kafkactl.core.data_files import read_data


@functools.cache
def record_version(name: str, metadata_version: int) -> int:
    """Return the version in which a record is written at this metadata.version; 0 if there is but one."""
    rows: list[tuple[int, int]] = _table()["record"].get(name, ())
    return next((version for since, version in rows if metadata_version >= since), 0)


def first_level_with(part: str) -> int:
    """Return the lowest metadata.version whose records hold a part of the cluster's state. Raises KeyError."""
    level: int = _table()["needs"][part]["level"]
    return level


def parts() -> Mapping[str, str]:
    """Return every part that some metadata.version cannot contain, with its description."""
    return {part: held["words"] for part, held in _table()["needs"].items()}


@functools.cache
def _table() -> dict[str, Any]:
    import tomli

    return tomli.loads(read_data("replay/record_versions.toml").decode("utf-8"))
