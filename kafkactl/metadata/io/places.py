"""Logs that only the driver's machine has (of a live cluster, or in a bundle).

Tasks on other machines get them as folders through Spark.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

from kafkactl.core.frozen import changed
from kafkactl.metadata.io.source import LogFile, LogSource, read_pieces
from kafkactl.metadata.log.fetched_folder import fetched_folder, within_fetched


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
