"""Paths and URIs as sources and targets: `file:` is a path; other URIs are opened by Spark with Hadoop's layer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from kafkactl.core.errors import InputError

_URI: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):(?=/)")
_FILE: Final = re.compile(r"file:(?://(?:localhost)?(?=/)|(?=/[^/]|/\Z))/+(.*)", re.DOTALL | re.IGNORECASE)


def scheme_of(source: str) -> str | None:
    """Return the scheme of a URI in lower case; None for a path.

    >>> scheme_of("s3a://logs/prod"), scheme_of("file:/logs"), scheme_of("/logs/a:b")
    ('s3a', 'file', None)
    """
    found = _URI.match(source)
    return found[1].lower() if found else None


def plain(source: str) -> str:
    """Return a `file:` URI as a path, and anything else unchanged. As in Hadoop, every character after the slashes is
    one of the path, in all schemes: `%20` is not a space. Raises InputError `invalid-file-uri`.

    >>> plain("file:///logs/a%20b"), plain("file:/logs?"), plain("/logs/a:b"), plain("s3a://logs/a")
    ('/logs/a%20b', '/logs?', '/logs/a:b', 's3a://logs/a')
    """
    if scheme_of(source) != "file":
        return source
    found = _FILE.fullmatch(source)
    if found is None:
        raise InputError(f"{source} names no file of this machine", id="invalid-file-uri")
    return f"/{found[1]}"


def is_on_disk(source: str) -> bool:
    """Return True for a path, and for a `file:` URI."""
    return scheme_of(source) in (None, "file")


def disk_path(source: str) -> str:
    """Return the path of a source on a disk of this machine.

    Raises InputError `path-needs-spark`, `invalid-file-uri`.
    """
    if not is_on_disk(source):
        raise path_needs_spark(source)
    return plain(source)


def plain_paths(sources: Sequence[str]) -> dict[str, str]:
    """Return the path of each source. Raises as `disk_path`."""
    return {source: disk_path(source) for source in sources}


def path_needs_spark(place: str) -> InputError:
    """Return the error about a place that this process cannot open."""
    return InputError(f"{place} is in a file system that only Spark can open", id="path-needs-spark")


def is_uri(source: str) -> bool:
    """Return True for a URI, `file:` included."""
    return scheme_of(source) is not None


def needs_spark(sources: Sequence[str]) -> bool:
    """Return True if one of the sources is in a file system that only Hadoop's file layer opens."""
    return not all(map(is_on_disk, sources))
