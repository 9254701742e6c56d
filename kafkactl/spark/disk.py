"""Metadata logs below paths of this machine, as they are planned for tasks."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, MutableMapping, Sequence
from contextlib import suppress
from glob import glob
from pathlib import Path

from kafkactl.core.errors import DecodeError
from kafkactl.core.kafka_names import METADATA_LOG
from kafkactl.core.uris import plain
from kafkactl.files.input_files import InputKind, read_whole
from kafkactl.protocol.text.meta_properties import META_PROPERTIES, parse_meta_properties
from kafkactl.spark.globs import python_globs
from kafkactl.spark.logs import PlannedLog, find_logs, named, owner_files, path_list, place_on_disk


def logs_on_disk(paths: Sequence[str], cluster_of: str | None) -> list[PlannedLog]:
    """Return the logs that paths or globs lead to, each once. Raises InputError as `logs.path_list` and
    `logs.named`."""
    absolute = list(map(absolute_path, path_list(paths)))
    unlisted: dict[str, str] = {}
    found = find_logs(absolute, files_on_disk(absolute, unlisted), unlisted, place_on_disk)
    return named(found, cluster_of, cluster_ids_on_disk(found))


def absolute_path(path: str) -> str:
    """Return a path or a `file:` path as an absolute path without `.` and `..`."""
    found = Path(plain(path)).absolute()
    return os.path.realpath(found) if ".." in found.parts else str(found)


def files_on_disk(paths: Iterable[str], unlisted: MutableMapping[str, str]) -> list[tuple[str, int]]:
    """Return the `file:` path and size of each file at or below absolute paths or globs.

    A `__cluster_metadata-0` without files is returned as a path that ends with a slash. Links are followed. Folders
    that cannot be listed are added to `unlisted`, with the reason.
    """
    found = dict(file for path in paths for file in _files(path, unlisted))
    return [(f"file:{path}", size) for path, size in found.items()]


def _files(pattern: str, unlisted: MutableMapping[str, str]) -> Iterator[tuple[str, int]]:
    try:
        os.lstat(pattern)
        found = [pattern]
    except (FileNotFoundError, NotADirectoryError):
        found = [name for each in python_globs(pattern) for name in glob(each, include_hidden=True)]  # noqa: PTH207
    except OSError as error:
        unlisted[pattern] = error.strerror or str(error)
        return
    for place in map(Path, sorted(found)):
        for path in (place, place.parent / META_PROPERTIES, place.parent.parent / META_PROPERTIES):
            if os.path.isfile(path):  # noqa: PTH113  # False without the permission to see it
                yield str(path), path.stat().st_size
        if place.is_dir():
            yield from _below(str(place), unlisted, ())


def _below(folder: str, unlisted: MutableMapping[str, str], above: tuple[str, ...]) -> Iterator[tuple[str, int]]:
    """Yield the files below a folder. `above` are the folders over it: no link to one of them, or to a folder that
    contains one, is followed."""
    place = os.path.realpath(folder)
    if any(f"{other}/".startswith(f"{place.rstrip('/')}/") for other in above):
        return
    is_empty = folder.endswith(f"/{METADATA_LOG}")
    try:
        for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
            if entry.is_dir():
                yield from _below(entry.path, unlisted, (*above, place))
            elif entry.is_file():
                is_empty = False
                with suppress(FileNotFoundError):  # it was removed meanwhile
                    yield entry.path, entry.stat().st_size
    except OSError as error:
        unlisted[folder] = error.strerror or str(error)
        return
    if is_empty:
        yield f"{folder}/", 0


def cluster_ids_on_disk(logs: Iterable[PlannedLog]) -> dict[str, str]:
    """Return the cluster id by the path of the meta.properties that has it."""
    found: dict[str, str] = {}
    for path in owner_files(logs):
        with suppress(OSError, DecodeError):
            data = read_whole(plain(path), InputKind.META_PROPERTIES)
            cluster_id = parse_meta_properties(data, file=path).cluster_id
            if cluster_id is not None:
                found[path] = cluster_id
    return found
