"""The fold of remote log metadata on Spark: metadata partitions in workers, joined on the driver.

A user partition's records lie in one metadata partition, in their order. So a task folds one metadata partition, by the
same code as one process does; of a large one several tasks fold a share of its user partitions each, all reading it
whole. What they come to is packed into bytes and joined. User partitions that lie in several metadata partitions, as
after these were made more, are folded again by the driver. Why it is so: docs/decisions/0022-tiered.md.
"""

from __future__ import annotations

import json
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkactl.core.errors import FailedError
from kafkactl.dryrun.engine.spark.read import bytes_of, opened_anywhere
from kafkactl.metadata.io.source import PIECE_BYTES
from kafkactl.metadata.log.fetched_folder import FETCHED
from kafkactl.metadata.replay.collector import no_collection
from kafkactl.tiered.io.sources import MetadataReplica
from kafkactl.tiered.ledger import MOST_POISON, Ledger, LogFacts, MetadataLog, fold_log
from kafkactl.tiered.packed import Part, packed, take_facts, unpacked
from kafkactl.tiered.plain import PlainReader
from kafkactl.tiered.reading import FastRead, read_fast
from kafkactl.tiered.records import PartitionKey

if TYPE_CHECKING:
    from pyspark import Broadcast, SparkContext

_ID_BYTES: Final = 16
_TASKS_OF_A_CORE: Final = 3
# A share reads its metadata partition whole, which is a third of the work: beyond the cores there is nothing to gain.
_SMALLEST_SHARE: Final = 16 * 1024 * 1024


class Task(NamedTuple):
    """A share of a metadata partition: of its user partitions every `shares`th by their hash, from `share` on.

    `files` are name, path, base offset and bytes; `log` is the place of the metadata partition among all.
    """

    log: int
    partition: int
    files: tuple[tuple[str, str, int, int], ...]
    log_start: int
    read_from: int
    share: int = 0
    shares: int = 1

    @property
    def size(self) -> int:
        """Return the number of bytes to read."""
        return sum(size for *_, size in self.files)

    def wanted(self, key: PartitionKey) -> bool:
        """Return True if a user partition is in the share."""
        return zlib.crc32(key.topic_id, key.partition & 0xFFFFFFFF) % self.shares == self.share


class _ChangedError(Exception):
    """A file is not what it was when it was listed."""

    def __init__(self, path: str, position: int) -> None:
        super().__init__(path)
        self.path, self.position = path, position


# --- the driver -----------------------------------------------------------------------------------------------------


def fold_on_spark(
    context: SparkContext,
    logs: Sequence[tuple[MetadataReplica, MetadataLog]],
    *,
    keep_deleted: bool = False,
    watched: frozenset[bytes] = frozenset(),
) -> Ledger:
    """Fold all records of the logs on Spark, with the result of `ledger.fold`.

    Raises FailedError `log-changed-while-read`, InputError `input-file-unreadable`, and what Spark raises.
    """
    ledger = Ledger(keep_deleted=keep_deleted, watched=watched)
    with ExitStack() as stack, no_collection():
        tasks = tasks_of(_listed(context, logs, stack), max(1, int(context.defaultParallelism)))
        sent: Broadcast[bytes] | None = context.broadcast(b"".join(watched)) if watched else None
        work = partial(folded, keep_deleted, sent)
        found = context.parallelize(tasks, len(tasks)).mapPartitions(work).collect() if tasks else []
        parts = _Parts(ledger, [log for _, log in logs])
        found.sort(key=lambda row: row[:2], reverse=True)
        while found:
            number, _, kind, content = found.pop()  # and let go of
            if kind != _FOLDED:
                raise _changed(*json.loads(content))
            parts.take(number, unpacked(content))
        parts.end()
        ledger.finish([log for _, log in logs])
    return ledger


def _listed(
    context: SparkContext, logs: Sequence[tuple[MetadataReplica, MetadataLog]], stack: ExitStack
) -> Iterator[Task]:
    """Yield a task for each log. Segments fetched from a live cluster are written to files that workers can read."""
    folder = None
    for number, (replica, log) in enumerate(logs):
        files = []
        for at, file in enumerate(replica.files):
            path, size = str(Path(file.path).absolute()), file.size
            if file.fetched is None:
                next(iter(file.pieces()), None)  # raises what one process would raise of a file that it cannot read
            else:
                folder = folder or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix=FETCHED)))
                path, size = _saved(folder / f"{number}-{at}.log", file.fetched())
            files.append((file.path, path, file.base_offset, size))
        yield Task(number, log.partition, tuple(files), log.log_start, log.read_from)
    if folder is not None and not context.master.startswith("local"):
        context.addFile(str(folder), recursive=True)


def _saved(path: Path, pieces: Iterable[bytes]) -> tuple[str, int]:
    with path.open("wb") as file:
        for piece in pieces:
            file.write(piece)
        return str(path), file.tell()


def tasks_of(logs: Iterable[Task], cores: int) -> list[Task]:
    """Tasks for all logs, the largest first; a log that one core would be busy with when all else is done is shared."""
    whole = list(logs)
    most = max(_SMALLEST_SHARE, sum(log.size for log in whole) // (cores * _TASKS_OF_A_CORE) + 1)
    tasks = []
    for log in whole:
        shares = min(cores, -(-log.size // most)) if log.size else 1
        tasks += [log._replace(share=share, shares=shares) for share in range(shares)]
    return sorted(tasks, key=lambda task: -task.size)


class _Parts:
    """Joins what tasks came to."""

    def __init__(self, ledger: Ledger, logs: Sequence[MetadataLog]) -> None:
        self._ledger = ledger
        self._logs = logs
        self._order = {log.partition: at for at, log in enumerate(logs)}
        for log in logs:
            ledger.logs[log.partition] = LogFacts(log)

    def take(self, number: int, part: Part) -> None:
        """Add the part of one log; parts are added in the order of the logs."""
        ledger = self._ledger
        take_facts(ledger.logs[self._logs[number].partition], part.facts)
        ledger.poison += part.poison
        ledger.partition_deletes += part.partition_deletes
        ledger.named |= part.named
        ledger.deleted_at.update(part.deleted_at)
        ledger.join(part.partitions)

    def end(self) -> None:
        """Sort what has a position into the order of the logs. Drops duplicates: parts of a log may report the same."""
        by_place = {(self._order[held.metadata_partition], held.offset): held for held in self._ledger.poison}
        self._ledger.poison = [by_place[place] for place in sorted(by_place)][:MOST_POISON]
        self._ledger.partition_deletes.sort(key=lambda held: (self._order[held.metadata_partition], held.offset))


def _changed(path: str, position: int) -> FailedError:
    return FailedError(
        f"{path} changed while it was read: the data at byte {position} is gone",
        id="log-changed-while-read",
        next_step="Run the command again, or copy the logs first: a broker may have deleted the segment.",
    )


# --- workers --------------------------------------------------------------------------------------------------------

_FOLDED, _GONE = "folded", "gone"
_watched_here: dict[bytes, frozenset[bytes]] = {}  # of the job that this process works for


def folded(
    keep_deleted: bool, sent: Broadcast[bytes] | None, tasks: Iterator[Task]
) -> Iterator[tuple[int, int, str, bytes]]:
    """Yield the result of each task: its log, its share, and a fold as bytes.

    An error would make Spark repeat the task: for a changed file the row contains the message instead.
    """
    watched = _ids(b"" if sent is None else sent.value)
    for task in tasks:
        try:
            with no_collection():
                content = _folded(task, keep_deleted, watched)
        except _ChangedError as error:
            yield task.log, task.share, _GONE, json.dumps([error.path, error.position]).encode()
        else:
            yield task.log, task.share, _FOLDED, content


def _ids(joined: bytes) -> frozenset[bytes]:
    if joined not in _watched_here:
        _watched_here.clear()
        _watched_here[joined] = frozenset(joined[at : at + _ID_BYTES] for at in range(0, len(joined), _ID_BYTES))
    return _watched_here[joined]


def _folded(task: Task, keep_deleted: bool, watched: frozenset[bytes]) -> bytes:
    ledger = Ledger(keep_deleted=keep_deleted, watched=watched)
    log = MetadataLog(
        partition=task.partition, paths=(), log_start=task.log_start, read=lambda: iter(()), read_from=task.read_from
    )
    wanted = task.wanted if task.shares > 1 else None
    fold_log(ledger, log, _reads(task, wanted), wanted)
    return packed(ledger, ledger.logs[task.partition])


def _reads(task: Task, wanted: Callable[[PartitionKey], bool] | None) -> Iterator[FastRead]:
    reader = PlainReader(wanted)
    for name, path, base_offset, size in task.files:
        yield from read_fast(_pieces(path, size), file=name, first_offset=base_offset, reader=reader)


def _pieces(path: str, size: int) -> Iterator[bytes]:
    """Yield the bytes that the file had when it was listed: all shares of a log read the same bytes."""
    try:
        with opened_anywhere(path) as file:
            at = 0
            while at < size:
                piece = bytes_of(file, at, min(PIECE_BYTES, size - at))
                if not piece:
                    raise _ChangedError(path, at)
                at += len(piece)
                yield piece
    except OSError as error:
        raise _ChangedError(path, 0) from error
