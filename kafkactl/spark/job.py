"""The work of a task: it brings the files of a log to its disk if they are not there, and folds the log as the commands
do in process."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from kafkactl.core.errors import FailedError, InputError, KafkactlError
from kafkactl.core.safe_text import json_text
from kafkactl.core.uris import is_on_disk, plain
from kafkactl.metadata.io.source import LogSource, open_source
from kafkactl.spark.arrow import batches
from kafkactl.spark.columns import TABLES
from kafkactl.spark.logs import BUNDLE_SUFFIX, MOST_SEGMENT_BYTES, PlannedLog

if TYPE_CHECKING:
    import pyarrow as pa

Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class ReadLog:
    """A log on this machine. `paths` lead to it here, `shown` is its path for people; `source` is what was opened."""

    paths: tuple[str, ...]
    shown: str
    title: str
    name: str | None
    source: LogSource

    @property
    def cluster(self) -> str:
        """Return the name of the cluster."""
        return self.name or self.source.cluster_id or self.title


@dataclass(frozen=True, slots=True)
class LogError:
    """A log that cannot be read, with the reason."""

    shown: str
    cluster: str
    cluster_id: str | None
    error: KafkactlError
    node_id: int | None = None


Build = Callable[[list["ReadLog | LogError"]], Iterator[Row]]
Result = TypeVar("Result")
Work = Callable[[list["ReadLog | LogError"], "Places"], Iterator[Result]]


@dataclass(frozen=True, slots=True)
class Units:
    """Logs of a job: each unit is a single log, or the logs of a cluster.

    `tasks` has the numbers of the units of each task, for files that workers can open; for other files the rows of a
    task hold the content.
    """

    units: tuple[tuple[PlannedLog, ...], ...]
    tasks: tuple[tuple[int, ...], ...] = ()

    def each(self, rows: Iterable[pa.RecordBatch], work: Work[Result]) -> Iterator[Result]:
        """Return the result of `work` for each unit of a task; `rows` are the task's."""
        return self._opened(rows, work) if self.tasks else self._copied(rows, work)

    def _opened(self, rows: Iterable[pa.RecordBatch], work: Work[Result]) -> Iterator[Result]:
        for batch in rows:
            for task in batch.column(0).to_pylist():
                for number in self.tasks[task]:
                    with ExitStack() as stack:
                        places = Places(stack)
                        logs = [log for each in self.units[number] for log in places.on_disk(each)]
                        yield from work(logs, places)

    def _copied(self, rows: Iterable[pa.RecordBatch], work: Work[Result]) -> Iterator[Result]:
        """Write the files of each unit to a private folder, and read them there; a unit's rows follow each other."""
        scratch: _Scratch | None = None
        with ExitStack() as last:
            for unit, path, content in _files(rows):
                if scratch is None or scratch.unit != unit:
                    if scratch is not None:
                        yield from self._of_copy(scratch, work)
                        last.close()
                    scratch = last.enter_context(_folder(unit, self.units[unit]))
                if path:
                    scratch.write(path, content)
                del content
            if scratch is not None:
                yield from self._of_copy(scratch, work)

    def _of_copy(self, scratch: _Scratch, work: Work[Result]) -> Iterator[Result]:
        with ExitStack() as stack:
            places = Places(stack)
            yield from work([log for each in self.units[scratch.unit] for log in scratch.logs(each, places)], places)


@dataclass(frozen=True, slots=True)
class Job:
    """A table of several units; `build` makes the rows of a unit."""

    table: str
    build: Build
    units: Units

    def __call__(self, rows: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Return the rows of a task's units."""
        yield from batches(TABLES[self.table], self.units.each(rows, self._rows))

    def _rows(self, logs: list[ReadLog | LogError], places: Places) -> Iterator[Row]:
        rows = self.build(logs)
        return map(places.row, rows) if places.renamed else rows


def _files(rows: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, str, memoryview]]:
    for batch in rows:
        for at in range(batch.num_rows):
            unit, path, content = (column[at] for column in batch.columns)
            yield unit.as_py(), path.as_py(), memoryview(content.as_buffer())


class Places:
    """The logs of a unit on this machine while a context lasts. `renamed` are folders with what they stand for."""

    def __init__(self, stack: ExitStack) -> None:
        self.renamed: list[tuple[str, str]] = []
        self._stack = stack

    def on_disk(self, log: PlannedLog) -> Iterator[ReadLog | LogError]:
        """Open a log whose files this machine has."""
        shown = plain(log.path)
        return self.opened(log, shown, tuple(map(plain, log.singles)) or (shown,))

    def opened(self, log: PlannedLog, shown: str, paths: tuple[str, ...]) -> Iterator[ReadLog | LogError]:
        """Open a log at other paths, or all logs of a bundle."""
        try:
            _check_is_there(log, shown)
            if paths[0].endswith(BUNDLE_SUFFIX):
                yield from self._of_bundle(log, shown, paths[0])
            else:
                source = _joined([open_source(path) for path in paths])
                yield ReadLog(paths, shown, log.title, log.name, source)
        except KafkactlError as error:
            yield LogError(shown, log.cluster, log.cluster_id, error)

    def _of_bundle(self, log: PlannedLog, shown: str, path: str) -> Iterator[ReadLog]:
        from kafkactl.bundle.api.reading import unpacked_logs

        for inside, folder in self._stack.enter_context(unpacked_logs(path)).items():
            name = shown + inside.removeprefix(path)
            self.renamed.insert(0, (folder, name))
            yield ReadLog((folder,), name, log.title, log.name, open_source(folder))

    def row(self, row: Row) -> Row:
        """Return a row with the paths of the original files."""
        return tuple(self.text(value) if isinstance(value, str) else value for value in row)

    def text(self, text: str) -> str:
        """Return a text with the paths of the original files."""
        for here, shown in self.renamed:
            if here in text:
                is_json = text[:2] in ('{"', "[{")
                text = text.replace(here, json_text(shown)[1:-1] if is_json else shown)
        return text


def _check_is_there(log: PlannedLog, shown: str) -> None:
    if log.unlisted is not None:
        text = f"{shown} cannot be listed: {log.unlisted}"
        if is_on_disk(log.path):
            raise InputError(text, id="input-file-unreadable")
        raise FailedError(text, id="remote-log-not-read")
    if log.is_missing:
        raise InputError(f"{shown} contains no metadata log", id="no-metadata-log")
    if log.too_large is not None:
        raise InputError(
            f"{log.too_large} is too large for a row of Spark, which takes {MOST_SEGMENT_BYTES >> 20} MB or as much as"
            " spark.sql.sources.binaryFile.maxLength allows; copy"
            " the log to a disk that all workers have, and name it with file:",
            id="segment-too-large",
        )


def _joined(sources: list[LogSource]) -> LogSource:
    from kafkactl.metadata.io.image import joined

    found = joined(sources)
    if len(sources) == 1:
        return found
    from kafkactl.core.frozen import changed

    first = sources[0]
    return changed(found, cluster_id=first.cluster_id, node_id=first.node_id, directory_id=first.directory_id)


class _Scratch:
    """The files of a unit in a private folder: of each log its folder, and the meta.properties above it."""

    def __init__(self, unit: int, logs: tuple[PlannedLog, ...], folder: Path) -> None:
        self.unit = unit
        self._places: dict[str, Path] = {}
        self._missing: set[str] = set()
        self._roots: dict[PlannedLog, Path] = {}
        for number, log in enumerate(logs):
            above = _above(log)
            root = folder / str(number)
            self._roots[log] = root
            for path, _ in log.files:
                self._places[path] = root / path.removeprefix(above).lstrip("/")
        self._missing.update(self._places)

    def write(self, path: str, content: memoryview) -> None:
        """Write one file."""
        place = self._places[path]
        self._missing.discard(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        try:
            place.write_bytes(content)
        except OSError as error:
            raise FailedError(
                f"{path} cannot be copied to {place.parent}: {error.strerror}", id="fetched-log-not-written"
            ) from error

    def logs(self, log: PlannedLog, places: Places) -> Iterator[ReadLog | LogError]:
        """Open one log of the unit. A log without one of its files is an error: it would end in another state."""
        lost = next((path for path, _ in log.files if path in self._missing), None)
        if lost is not None:
            error = FailedError(
                f"{lost} was listed and could not be read: it was removed meanwhile, it is damaged, or reading it is"
                " not permitted",
                id="remote-log-not-read",
            )
            yield LogError(log.path, log.cluster, log.cluster_id, error)
            return
        root = self._roots[log]
        places.renamed.append((str(root), _above(log)))
        here = tuple(str(self._places[path]) for path in log.singles)
        folder = root / log.path.removeprefix(_above(log)).lstrip("/")
        yield from places.opened(log, log.path, here or (str(folder),))


def _above(log: PlannedLog) -> str:
    """Return the folder above the log's folder, so that the meta.properties there keeps its place."""
    folder = log.path.rpartition("/")[0] if log.path in log.singles else log.path
    return folder.rpartition("/")[0]


@contextmanager
def _folder(unit: int, logs: tuple[PlannedLog, ...]) -> Iterator[_Scratch]:
    folder = tempfile.mkdtemp(prefix="kafkactl-log-")
    try:
        yield _Scratch(unit, logs, Path(folder))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class Failures:
    """Treatment of a log that cannot be read in a table: a row of its own, or the end of the query."""

    def __init__(self, table: str, *, raises: bool) -> None:
        self._names = [column.name for column in TABLES[table]]
        self.raises = raises

    def row(self, log: LogError, **more: Any) -> Row:
        """Return the one row of a log, with `more` columns. Raises its error if the first one ends the query."""
        if self.raises:
            raise type(log.error)(f"{log.error.id}: {log.error.message}", id=log.error.id)
        values: Mapping[str, Any] = {
            "cluster_id": log.cluster_id,
            "cluster": log.cluster,
            "node_id": log.node_id,
            "source": log.shown,
            "error": f"{log.error.id}: {log.error.message}",
            **more,
        }
        return tuple(values.get(name) for name in self._names)


def failed(log: ReadLog, error: KafkactlError) -> LogError:
    """Return a log that was opened as one that cannot be read."""
    return LogError(log.shown, log.cluster, log.source.cluster_id, error, log.source.node_id)
