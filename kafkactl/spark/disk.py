"""Metadata logs below paths of this machine, as they are planned for tasks."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from glob import glob
from pathlib import Path

from kafkactl.core.errors import DecodeError
from kafkactl.files.input_files import InputKind, read_whole
from kafkactl.protocol.text.meta_properties import META_PROPERTIES, parse_meta_properties
from kafkactl.spark.globs import python_globs
from kafkactl.spark.logs import PlannedLog, find_logs, named, owner_files, path_list, plain


def logs_on_disk(paths: Sequence[str], cluster_of: str | None) -> list[PlannedLog]:
    """Return the logs that paths or globs lead to, each once. Raises InputError as `logs.path_list` and
    `logs.named`."""
    absolute = [str(Path(plain(path)).absolute()) for path in path_list(paths)]
    unlisted: dict[str, str] = {}
    files = dict(file for path in absolute for file in _files(path, unlisted))
    found = find_logs(absolute, ((f"file:{name}", size) for name, size in files.items()), unlisted)
    return named(found, cluster_of, _cluster_ids(found))


def _files(pattern: str, unlisted: dict[str, str]) -> Iterator[tuple[Path, int]]:
    """Yield the files that a path or glob leads to, with their sizes; folders that cannot be listed are added to
    `unlisted`."""

    def keep(error: OSError) -> None:
        unlisted[str(error.filename)] = error.strerror or str(error)

    found = [pattern] if os.path.lexists(pattern) else (name for each in python_globs(pattern) for name in glob(each))  # noqa: PTH207
    places = [Path(place) for place in sorted(found)]
    owners = ((place.parent / META_PROPERTIES, place.parent.parent / META_PROPERTIES) for place in places)
    single = [path for place, above in zip(places, owners, strict=True) for path in (place, *above)]
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


def _cluster_ids(logs: Sequence[PlannedLog]) -> dict[str, str]:
    """Return the cluster id by the path of the meta.properties that has it."""
    found: dict[str, str] = {}
    for path in owner_files(logs):
        with suppress(OSError, DecodeError):
            data = read_whole(plain(path), InputKind.META_PROPERTIES)
            cluster_id = parse_meta_properties(data, file=path).cluster_id
            if cluster_id is not None:
                found[path] = cluster_id
    return found
