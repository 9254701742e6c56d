"""Sources of a metadata log: paths on this host, or a live cluster."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

from kafkactl.core.findings import Finding
from kafkactl.metadata.dump.findings import EMPTY_LOG
from kafkactl.metadata.io.source import (
    SEGMENT,
    LogFile,
    LogSource,
    announce,
    cluster_files,
    open_source,
    segments_from,
)

if TYPE_CHECKING:
    from kafkactl.kafka.client import Client

FilePath: TypeAlias = str | os.PathLike[str]
LogPlace: TypeAlias = "FilePath | Sequence[FilePath] | LogSource | Client"
"""A folder with a metadata log (or a log directory that has one), a segment, a checkpoint, several of these, a log of a
bundle, or a client of a live cluster, whose active controller gives its log."""


def client_of_place(place: LogPlace) -> Client | None:
    """Return the live cluster if the place is one."""
    return None if isinstance(place, str | os.PathLike | Sequence | LogSource) else place


def opened_sources(place: LogPlace) -> list[LogSource]:
    """Return the logs that paths name, each path once. Raise InputError for the first that is not a metadata log."""
    if isinstance(place, LogSource):
        return [place]
    assert isinstance(place, str | os.PathLike | Sequence)
    paths = [place] if isinstance(place, str | os.PathLike) else place
    return [open_source(path) for path in dict.fromkeys(os.fspath(path) for path in paths)]


def log_files(
    place: LogPlace,
    *,
    checkpoints: bool,
    from_offset: int | None = None,
    to_offset: int | None = None,
    whole: bool = False,
) -> Iterator[LogFile]:
    """Yield the files of a log in order; each is to be read before the next is asked for.

    `whole`: of a live cluster all that its log still has, and not only what is after the newest snapshot.
    """
    client = client_of_place(place)
    if client is not None:
        found = cluster_files(client, from_offset=from_offset, up_to=to_offset, whole=whole)
        return (file for file in found if checkpoints or file.kind == SEGMENT)
    files = [file for source in opened_sources(place) for file in _needed(source, checkpoints, from_offset or 0)]
    announce(files)
    return iter(files)


def _needed(source: LogSource, checkpoints: bool, from_offset: int) -> Iterator[LogFile]:
    """Return the files of a source without the segments that end before an offset."""
    needed = {file.name for file in segments_from(source.segments, from_offset)}
    for file in source.files(checkpoints=checkpoints):
        if file.kind != SEGMENT or file.name in needed:
            yield file


def says_empty(findings: Iterable[Finding]) -> bool:
    """Return True if a finding reports that there was no metadata record: an answer about nothing."""
    return any(finding.id == EMPTY_LOG for finding in findings)
