"""Sources by URI: `file:` is a path; other URIs are read by Spark's workers with Hadoop's file systems.

A log that only the driver's machine has (of a live cluster, or in a bundle) goes to workers on other machines as a
folder through Spark (`for_tasks`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from kafkactl.core.errors import InputError
from kafkactl.core.frozen import changed
from kafkactl.metadata.io.source import LogFile, LogSource, read_pieces
from kafkactl.metadata.log.fetched_folder import fetched_folder, within_fetched

_URI: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):(?=/)")


def scheme_of(source: str) -> str | None:
    """Return the scheme of a URI in lower case; None for a path.

    >>> scheme_of("s3a://logs/prod"), scheme_of("file:/logs"), scheme_of("/logs/a:b")
    ('s3a', 'file', None)
    """
    found = _URI.match(source)
    return found[1].lower() if found else None


def plain_paths(sources: Sequence[str]) -> dict[str, str]:
    """Return the path of each source, `file:` URIs resolved.

    Raises InputError `path-needs-spark` for what is on no disk of this machine, `invalid-file-uri`.
    """
    found = {}
    for source in sources:
        scheme = scheme_of(source)
        if scheme not in (None, "file"):
            raise path_needs_spark(source)
        found[source] = source if scheme is None else _path_of(source)
    return found


def path_needs_spark(place: str) -> InputError:
    """Return the error about a place that this process cannot open."""
    return InputError(f"{place} is in a file system that only Spark can open", id="path-needs-spark")


def _path_of(uri: str) -> str:
    parts = urlsplit(uri)
    if parts.netloc not in ("", "localhost") or parts.query or parts.fragment:
        raise InputError(f"{uri} names no file of this machine", id="invalid-file-uri")
    return unquote(parts.path)


def for_tasks(log: LogSource) -> LogSource:
    """Return a log that can be pickled, whose files tasks of Spark read at the same places, or among the files that the
    driver added (`fetched_folders`)."""

    def bound(file: LogFile) -> LogFile:
        return changed(file, pieces=partial(_read_in_task, str(Path(file.name).absolute())))

    return changed(log, segments=tuple(map(bound, log.segments)), checkpoints=tuple(map(bound, log.checkpoints)))


def _read_in_task(path: str) -> Iterator[bytes]:
    inside = within_fetched(path)
    if inside is not None and not Path(path).exists():
        from pyspark import SparkFiles

        path = SparkFiles.get(inside)
    return read_pieces(path)


def fetched_folders(logs: Iterable[LogSource]) -> list[str]:
    """Return the folders with logs that only this machine has."""
    places = {fetched_folder(file.name) for log in logs for file in (*log.segments, *log.checkpoints)}
    return sorted(place for place in places if place is not None)


def is_uri(source: str) -> bool:
    """Return True for a URI, `file:` included."""
    return scheme_of(source) is not None


def needs_spark(sources: Sequence[str]) -> bool:
    """Return True if one of the sources is in a file system that only Hadoop's file layer opens."""
    return any(scheme_of(source) not in (None, "file") for source in sources)
