"""The fold of remote log metadata on Spark: a task folds a metadata partition as one process does, and the driver joins
all.

A user partition's records lie in one metadata partition, in their order. User partitions that lie in several, as after
the metadata topic was given more partitions, are folded again by the driver. Reasons: docs/decisions/0022-tiered.md.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeAlias

from kafkactl.core.errors import FailedError, KafkactlError
from kafkactl.files.input_files import open_regular
from kafkactl.metadata.io.source import PIECE_BYTES
from kafkactl.metadata.log.fetched_folder import FETCHED, fetched_folder, within_fetched
from kafkactl.metadata.replay.collector import no_collection
from kafkactl.tiered.io.sources import MetadataReplica
from kafkactl.tiered.ledger import MOST_POISON, Ledger, LogFacts, MetadataLog, fold_log
from kafkactl.tiered.ledger_bytes import Part, packed, take_facts, unpacked
from kafkactl.tiered.plain_records import PlainReader
from kafkactl.tiered.reading import FastRead, read_fast

Folded: TypeAlias = bytes | KafkactlError


class Task(NamedTuple):
    """A metadata partition. `files` are name, path, base offset and bytes."""

    partition: int
    files: tuple[tuple[str, str, int, int], ...]
    log_start: int
    read_from: int

    @property
    def size(self) -> int:
        """Return the number of bytes to read."""
        return sum(size for *_, size in self.files)


def fold_on_spark(
    master: str | None,
    name: str,
    logs: Sequence[tuple[MetadataReplica, MetadataLog]],
    *,
    keep_deleted: bool = False,
    watched: frozenset[bytes] = frozenset(),
) -> Ledger:
    """Fold all records of the logs in tasks of the application `name`, with the result of `ledger.fold`.

    Raises FailedError `log-changed-while-read`, InputError `input-file-unreadable`, and as `spark_session`.
    """
    from kafkactl.jobs.session import spark_session
    from kafkactl.jobs.tasks import done_in_tasks

    with ExitStack() as stack, no_collection():
        tasks = [task_of(replica, log, stack) for replica, log in logs]
        with spark_session(master, name) as session:
            folders = {fetched_folder(path) for task in tasks for _, path, _, _ in task.files}
            if not session.sparkContext.master.startswith("local"):
                for folder in sorted(folder for folder in folders if folder is not None):
                    session.sparkContext.addFile(folder, recursive=True)
            work = partial(folded, keep_deleted, watched)
            parts = done_in_tasks(session, work, tasks, [task.size for task in tasks])
        return joined([log for _, log in logs], parts, keep_deleted=keep_deleted, watched=watched)


def task_of(replica: MetadataReplica, log: MetadataLog, stack: ExitStack) -> Task:
    """Return the task of a log. Segments fetched from a live cluster are written to files that workers can read."""
    files, folder = [], None
    for at, file in enumerate(replica.files):
        path, size = str(Path(file.path).absolute()), file.size
        if file.fetched is None:
            next(iter(file.pieces()), None)  # raises what one process would raise of a file that it cannot read
        else:
            folder = folder or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix=FETCHED)))
            path, size = _saved(folder / f"{at}.log", file.fetched())
        files.append((file.path, path, file.base_offset, size))
    return Task(log.partition, tuple(files), log.log_start, log.read_from)


def _saved(path: Path, pieces: Iterable[bytes]) -> tuple[str, int]:
    with path.open("wb") as file:
        for piece in pieces:
            file.write(piece)
        return str(path), file.tell()


def joined(
    logs: Sequence[MetadataLog], parts: list[Folded], *, keep_deleted: bool, watched: frozenset[bytes]
) -> Ledger:
    """Return the ledger of all logs from the part of each, in their order. Raises the first error among them."""
    ledger = Ledger(keep_deleted=keep_deleted, watched=watched)
    for log in logs:
        ledger.logs[log.partition] = LogFacts(log)
    parts.reverse()
    for log in logs:
        part = parts.pop()  # and not kept
        if isinstance(part, KafkactlError):
            raise part
        _take(ledger, log, unpacked(part))
    order = {log.partition: at for at, log in enumerate(logs)}
    ledger.poison.sort(key=lambda held: (order[held.metadata_partition], held.offset))
    del ledger.poison[MOST_POISON:]
    ledger.partition_deletes.sort(key=lambda held: (order[held.metadata_partition], held.offset))
    ledger.finish(list(logs))
    return ledger


def _take(ledger: Ledger, log: MetadataLog, part: Part) -> None:
    take_facts(ledger.logs[log.partition], part.facts)
    ledger.poison += part.poison
    ledger.partition_deletes += part.partition_deletes
    ledger.named |= part.named
    ledger.deleted_at.update(part.deleted_at)
    ledger.join(part.partitions)


def folded(keep_deleted: bool, watched: frozenset[bytes], task: Task) -> Folded:
    """Return the fold of a metadata partition as bytes, or an error if a file has changed after it was listed."""
    ledger = Ledger(keep_deleted=keep_deleted, watched=watched)
    log = MetadataLog(
        partition=task.partition, paths=(), log_start=task.log_start, read=lambda: iter(()), read_from=task.read_from
    )
    try:
        with no_collection():
            fold_log(ledger, log, _reads(task))
            return packed(ledger, ledger.logs[task.partition])
    except KafkactlError as error:
        return error


def _reads(task: Task) -> Iterator[FastRead]:
    reader = PlainReader()
    for name, path, base_offset, size in task.files:
        yield from read_fast(_pieces(path, size), file=name, first_offset=base_offset, reader=reader)


def _pieces(path: str, size: int) -> Iterator[bytes]:
    """Yield the bytes that the file had when it was listed."""
    at = 0
    try:
        with os.fdopen(open_regular(_place(path)), "rb", buffering=0) as file:
            while at < size:
                piece = file.read(min(PIECE_BYTES, size - at))
                if not piece:
                    raise _changed(path, at)
                at += len(piece)
                yield piece
    except OSError as error:
        raise _changed(path, at) from error


def _place(path: str) -> Path:
    inside = within_fetched(path)
    if inside is not None and not Path(path).exists():
        from pyspark import SparkFiles

        return Path(SparkFiles.get(inside))
    return Path(path)


def _changed(path: str, position: int) -> FailedError:
    return FailedError(
        f"{path} changed while it was read: the data at byte {position} is gone",
        id="log-changed-while-read",
        next_step="Run the command again, or copy the logs first: a broker may have deleted the segment.",
    )
