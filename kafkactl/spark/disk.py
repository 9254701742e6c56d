"""Metadata logs below paths of this machine, as they are planned for tasks."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from glob import glob
from pathlib import Path

from kafkactl.core.errors import KafkactlError
from kafkactl.metadata.io.source import open_source
from kafkactl.protocol.text.meta_properties import META_PROPERTIES
from kafkactl.spark.logs import PlannedLog, find_logs, named, plain


def logs_on_disk(path: str, cluster_of: str | None) -> list[PlannedLog]:
    """Return the logs that a path or glob leads to. Raises InputError as `logs.named`."""
    absolute = str(Path(plain(path)).absolute())
    found = find_logs([absolute], ((f"file:{name}", size) for name, size in _files(absolute)))
    return [replace(log, cluster_id=_cluster_id(log)) for log in named(found, cluster_of, {})]


def _files(pattern: str) -> Iterator[tuple[Path, int]]:
    places = [Path(place) for place in sorted(glob(pattern))]  # noqa: PTH207  # an absolute pattern
    single = [path for place in places for path in (place, place.parent / META_PROPERTIES)]
    below = (Path(folder, name) for place in places for folder, _, names in os.walk(place) for name in names)
    for path in dict.fromkeys((*single, *below)):
        if path.is_file():
            yield path, path.stat().st_size


def _cluster_id(log: PlannedLog) -> str | None:
    try:
        return open_source(plain(log.singles[0] if log.singles else log.path)).cluster_id
    except KafkactlError:
        return None
