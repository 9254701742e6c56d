"""Metadata logs below paths of this machine, as they are planned for tasks."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from glob import glob
from pathlib import Path

from kafkactl.core.errors import KafkactlError
from kafkactl.metadata.io.source import open_source
from kafkactl.protocol.text.meta_properties import META_PROPERTIES
from kafkactl.spark.globs import python_globs
from kafkactl.spark.logs import PlannedLog, find_logs, named, path_list, plain


def logs_on_disk(paths: Sequence[str], cluster_of: str | None) -> list[PlannedLog]:
    """Return the logs that paths or globs lead to, each once. Raises InputError as `logs.path_list` and
    `logs.named`."""
    absolute = [str(Path(plain(path)).absolute()) for path in path_list(paths)]
    unlisted: dict[str, str] = {}
    files = dict(file for path in absolute for file in _files(path, unlisted))
    found = find_logs(absolute, ((f"file:{name}", size) for name, size in files.items()), unlisted)
    return [replace(log, cluster_id=_cluster_id(log)) for log in named(found, cluster_of, {})]


def _files(pattern: str, unlisted: dict[str, str]) -> Iterator[tuple[Path, int]]:
    """Yield the files that a path or glob leads to, with their sizes; folders that cannot be listed are added to
    `unlisted`."""

    def keep(error: OSError) -> None:
        unlisted[str(error.filename)] = error.strerror or str(error)

    found = [pattern] if os.path.lexists(pattern) else (name for each in python_globs(pattern) for name in glob(each))  # noqa: PTH207
    places = [Path(place) for place in sorted(found)]
    single = [path for place in places for path in (place, place.parent / META_PROPERTIES)]
    below = (
        Path(folder, name)
        for place in places
        if place.is_dir()
        for folder, _, names in os.walk(place, onerror=keep)
        for name in names
    )
    for path in dict.fromkeys((*single, *below)):
        try:
            if path.is_file():
                yield path, path.stat().st_size
        except OSError as error:
            keep(error)


def _cluster_id(log: PlannedLog) -> str | None:
    try:
        return open_source(plain(log.singles[0] if log.singles else log.path)).cluster_id
    except KafkactlError:
        return None
