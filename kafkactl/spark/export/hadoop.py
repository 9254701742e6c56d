"""A folder in any file system of Hadoop, by the driver's JVM, and the staging folders of exports in it."""

from __future__ import annotations

import hashlib
import os
import re
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafkactl.core.errors import FailedError
from kafkactl.spark.export.layout import STAGING, SUCCESS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OLD_TABLES: Final = "old-tables"
OLD_DAYS: Final = "old-days"
"""Folders within a staging folder for what was replaced; it is moved back if its place is empty."""
_LEASE_S: Final = 24 * 3600
_IN_USE: Final[set[str]] = set()  # staging folders of this process
_STAGING: Final = re.compile(re.escape(f"{STAGING}spark.") + r"(\d+)\.([0-9a-f]*)\.(\d+)\.[0-9a-f]{8}")
_MOST_LETTERS: Final = 500


class HadoopFile(NamedTuple):
    """A file: its path below a folder, and its size."""

    name: str
    bytes: int


class HadoopFolder:
    """A folder by its URI. All methods raise FailedError `tables-not-written` with the file system's own error."""

    def __init__(self, session: SparkSession, uri: str) -> None:
        self._jvm: Any = session._jvm
        self.uri = uri.rstrip("/") or "/"
        conf = session._jsc.hadoopConfiguration()
        self._system = self._called(lambda: self._path("").getFileSystem(conf))

    def _path(self, inside: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(f"{self.uri}/{inside}" if inside else self.uri)

    def _called(self, work: Any) -> Any:
        from py4j.protocol import Py4JJavaError

        try:
            return work()
        except Py4JJavaError as error:
            why = str(error.java_exception.toString())[:_MOST_LETTERS]
            raise FailedError(f"{self.uri} cannot be written: {why}", id="tables-not-written") from error

    def has(self, inside: str = "") -> bool:
        """Return True if there is a file or folder of this name."""
        return bool(self._called(lambda: self._system.exists(self._path(inside))))

    def names(self, inside: str = "") -> list[str]:
        """Return the names in a folder, sorted; none if there is no folder."""
        if not self.has(inside):
            return []
        found = self._called(lambda: self._system.listStatus(self._path(inside)))
        return sorted(str(status.getPath().getName()) for status in found)

    def files(self, inside: str) -> Iterator[HadoopFile]:
        """Return all files below a folder, with their paths below it."""
        base = str(self._called(lambda: self._system.makeQualified(self._path(inside))).toString()) + "/"
        found = self._called(lambda: self._system.listFiles(self._path(inside), True))
        while self._called(found.hasNext):
            status = self._called(found.next)
            yield HadoopFile(str(status.getPath().toString()).removeprefix(base), int(status.getLen()))

    def make(self, inside: str = "") -> None:
        """Create a folder, and those above it."""
        self._called(lambda: self._system.mkdirs(self._path(inside)))

    def touch(self, inside: str) -> None:
        """Create an empty file."""
        self._called(lambda: self._system.create(self._path(inside), True).close())

    def move(self, old: str, new: str) -> None:
        """Rename a file or folder whose new name is free, and create the folder above it."""
        self.make(new.rpartition("/")[0])
        if self.has(new) or not self._called(lambda: self._system.rename(self._path(old), self._path(new))):
            raise FailedError(f"{self.uri}/{old} cannot be renamed to {new}", id="tables-not-written")

    def delete(self, inside: str = "") -> None:
        """Remove a file, or a folder with its content, if there is one."""
        self._called(lambda: self._system.delete(self._path(inside), True))

    def exchange(self, new: str, place: str, old: str) -> None:
        """Move a folder to its place; a folder that is there is moved to `old` before."""
        if self.has(place):
            self.move(place, f"{old}/{place}")
        self.move(new, place)


@contextmanager
def staging_in(folder: HadoopFolder) -> Iterator[str]:
    """Return the name of a new folder that is removed at the end; leftovers of ended exports are removed first.

    A name has the start of the export, and its process: one of this machine that has ended is a leftover, and
    everything that began more than a day ago. So is one of this process that is not in use: tasks of an interrupted
    export can create its folder again until they end.
    """
    for name in folder.names():
        if _is_leftover(name):
            _clean(folder, name)
    name = f"{STAGING}spark.{int(time.time())}.{_machine()}.{os.getpid()}.{uuid.uuid4().hex[:8]}"
    _IN_USE.add(name)
    end: Callable[[HadoopFolder, str], None] = _clean
    try:
        folder.make(name)
        yield name
        end = HadoopFolder.delete
    finally:
        with suppress(FailedError):  # the earlier failure is the error
            end(folder, name)
        _IN_USE.discard(name)


def _clean(folder: HadoopFolder, staging: str) -> None:
    """Remove a staging folder, after every table and day is whole again.

    A replaced one whose place is empty is moved back. An object store renames by copying all files and deleting them
    then: if the end of the process left a part of the files in a place, the others are moved after them.
    """
    names = [file.name for file in folder.files(staging) if not file.name.endswith(SUCCESS)]
    tables = [name.removeprefix(f"{OLD_TABLES}/").partition("/cluster=")[0] for name in names if OLD_TABLES in name]
    days = [name.removeprefix(f"{OLD_DAYS}/").rpartition("/")[0] for name in names if OLD_TABLES not in name]
    for place in dict.fromkeys((*tables, *days)):
        here = _parts(folder, place)
        for aside in (staging, f"{staging}/{OLD_TABLES}", f"{staging}/{OLD_DAYS}"):
            there = _parts(folder, f"{aside}/{place}")
            if here & there:
                for part in there - here:
                    folder.move(f"{aside}/{place}/{part.name}", f"{place}/{part.name}")
                break
            if there and not here and aside != staging:
                folder.delete(place)  # without files
                folder.move(f"{aside}/{place}", place)
    folder.delete(staging)


def _parts(folder: HadoopFolder, inside: str) -> set[HadoopFile]:
    """Return the files of a table or day, none if there is no such folder."""
    found = folder.files(inside) if folder.has(inside) else ()
    return {file for file in found if not file.name.endswith(SUCCESS)}


def _is_leftover(name: str) -> bool:
    found = _STAGING.fullmatch(name)
    if found is None:
        return False
    began_s, machine, process = int(found[1]), found[2], int(found[3])
    if time.time() - began_s > _LEASE_S:
        return True
    if not machine or machine != _machine():
        return False
    if process == os.getpid():
        return name not in _IN_USE
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        pass
    return False


def _machine() -> str:
    """Return a word for this boot of the machine and the space of its process ids; empty if the system has none."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_bytes()
        space = Path("/proc/self/ns/pid").stat().st_ino
    except OSError:
        return ""
    return hashlib.sha256(boot + str(space).encode()).hexdigest()[:12]
