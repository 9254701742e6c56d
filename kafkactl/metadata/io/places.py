"""Sources by URI: `file:` is a path; other URIs are fetched by Spark's driver with Hadoop's file systems.

A log on HDFS or in an object store is first copied into a folder on this machine. The files of a metadata log are few,
and the copy is then examined like any other folder (names, meta.properties). Workers on other machines get the folder
through Spark (`for_tasks`).
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlsplit

from kafkactl.core.errors import FailedError, InputError
from kafkactl.core.frozen import changed
from kafkactl.core.kafka_names import METADATA_LOG
from kafkactl.metadata.io.source import LogFile, LogSource, read_pieces
from kafkactl.metadata.log.fetched_folder import FETCHED, fetched_folder, within_fetched
from kafkactl.metadata.verify.folder import PARTITION_METADATA
from kafkactl.protocol.text.meta_properties import META_PROPERTIES

if TYPE_CHECKING:
    from pyspark import SparkContext

_URI: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):(?=/)")
_LOG_FILES: Final = re.compile(r"\d{20}\.log|\d{20}-\d{10}\.checkpoint")


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
            raise InputError(f"{source} can only be read by Hadoop's file layer", id="path-needs-spark")
        found[source] = source if scheme is None else _path_of(source)
    return found


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


def needs_fetch(sources: Sequence[str]) -> bool:
    """Return True if one of the sources is not on this machine."""
    return any(scheme_of(source) not in (None, "file") for source in sources)


@contextmanager
def fetched(master: str | None, sources: Sequence[str], name: str) -> Iterator[dict[str, str]]:
    """Yield the path of each source while the context lasts; those of other file systems are copied to this machine, by
    the application `name`.

    Raises InputError `remote-log-not-found`, FailedError `remote-log-not-read`, and as `plain_paths` and
    `spark_session`.
    """
    from kafkactl.jobs.session import spark_session

    with tempfile.TemporaryDirectory(prefix=FETCHED) as scratch:
        found = plain_paths([source for source in sources if scheme_of(source) in (None, "file")])
        with spark_session(master, name) as session:
            for number, source in enumerate(source for source in sources if source not in found):
                hadoop = _Hadoop(session.sparkContext, source)
                found[source] = str(_copied(hadoop, source, Path(scratch) / str(number)))
        yield found


class _Hadoop:
    """A file system of Hadoop's, by the gateway to the driver's JVM."""

    def __init__(self, spark: SparkContext, uri: str) -> None:
        self._jvm: Any = spark._jvm
        self._conf = spark._jsc.hadoopConfiguration()
        self._uri = uri
        self._system = self._called(lambda: self.path(uri).getFileSystem(self._conf))

    def path(self, *parts: str) -> Any:
        """Return a path of Hadoop's."""
        return self._jvm.org.apache.hadoop.fs.Path(*parts)

    def is_folder(self, path: Any) -> bool:
        """Return True for a folder. Raise InputError `remote-log-not-found`."""
        if not self._called(lambda: self._system.exists(path)):
            raise InputError(f"{path.toString()} is not there", id="remote-log-not-found")
        return bool(self._called(lambda: self._system.getFileStatus(path).isDirectory()))

    def has(self, path: Any) -> bool:
        """Return True if there is such a file or folder."""
        return bool(self._called(lambda: self._system.exists(path)))

    def names(self, folder: Any) -> list[str]:
        """Return the names in a folder."""
        return [status.getPath().getName() for status in self._called(lambda: self._system.listStatus(folder))]

    def copy(self, path: Any, to: Path) -> None:
        """Copy a file to this machine, without the checksum file that Hadoop would write next to it."""
        to.parent.mkdir(parents=True, exist_ok=True)
        local = self.path(to.as_uri())
        self._called(lambda: self._system.copyToLocalFile(False, path, local, True))

    def _called(self, work: Any) -> Any:
        from py4j.protocol import Py4JJavaError

        try:
            return work()
        except Py4JJavaError as error:
            why = str(error.java_exception.toString())[:500]
            raise FailedError(f"{self._uri} cannot be read: {why}", id="remote-log-not-read") from error


def _copied(hadoop: _Hadoop, uri: str, to: Path) -> Path:
    """Copy the log that a URI names, with the meta.properties that identifies its cluster. Returns its local path."""
    place = hadoop.path(uri)
    if not hadoop.is_folder(place):
        hadoop.copy(place, to / METADATA_LOG / place.getName())
        return to / METADATA_LOG / str(place.getName())
    inside = hadoop.path(uri.rstrip("/") + "/" + METADATA_LOG)
    folder = inside if hadoop.has(inside) else place
    log = to / METADATA_LOG
    log.mkdir(parents=True)
    for name in hadoop.names(folder):
        if _LOG_FILES.fullmatch(name) or name in (PARTITION_METADATA, META_PROPERTIES):
            hadoop.copy(hadoop.path(folder.toString() + "/" + name), log / name)
    above = folder.getParent()
    next_to_it = None if above is None else hadoop.path(above.toString().rstrip("/") + "/" + META_PROPERTIES)
    if next_to_it is not None and hadoop.has(next_to_it):
        hadoop.copy(next_to_it, to / META_PROPERTIES)
    return log
