"""The image that a metadata log comes to, at its end or at any earlier point: the right snapshot, and what follows it.

Of the snapshots the newest is taken that does not lie beyond the point. The snapshot at offset 0, which formatting
writes, stands for nothing: its data records are in the log again, only its voters are not.
"""

from __future__ import annotations

import gc
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from kafkactl.adapters.log_source import CHECKPOINT, LogFile, LogSource
from kafkactl.errors import DecodeError, InputError
from kafkactl.frozen import frozen
from kafkactl.metadata.dump_records import log_records
from kafkactl.metadata.image import EMPTY, Image, LogRecord
from kafkactl.metadata.replay import Leader, Position, Replaying
from kafkactl.plan import Finding, Severity
from kafkactl.protocol.control_records import ControlRecord, ControlType


@frozen
class Point:
    """The last record that counts: by offset, or by time (milliseconds); both None for the end of the log."""

    offset: int | None = None
    timestamp_ms: int | None = None

    def is_before(self, record: LogRecord) -> bool:
        """Whether a record no longer counts."""
        if self.offset is not None:
            return record.offset > self.offset
        return self.timestamp_ms is not None and record.timestamp_ms > self.timestamp_ms

    @property
    def is_end(self) -> bool:
        """Whether all of the log counts."""
        return self.offset is None and self.timestamp_ms is None


@frozen
class LoadedImage:
    """An image and where it comes from: `position` is the last record of the log in it, None for nothing at all.

    `files` are the names of what was read, `snapshot` that of the snapshot among them. `counts` tells how often each
    type of record was met, in the snapshot and in the log together.
    """

    image: Image
    position: Position | None
    leader: Leader | None
    snapshot: str | None
    files: tuple[str, ...]
    counts: dict[str, int]
    findings: tuple[Finding, ...]


def load_image(source: LogSource, point: Point, *, whole: bool = False) -> LoadedImage:
    """The image of a log on disk. Raises InputError `offset-not-in-log` where the log does not reach to the point.

    With `whole` as much of the log is replayed as there is, so that its findings are about all of it.
    """
    files = _all_files(source) if whole else chosen_files(source, point)
    return replay_files(files, point, name=source.name)


def chosen_files(source: LogSource, point: Point) -> list[LogFile]:
    """What has to be read: the first checkpoint for its voters, a snapshot, and the segments behind it."""
    first = [one for one in source.checkpoints if _is_first(one)]
    snapshots = [one for one in source.checkpoints if not _is_first(one) and _reaches(one, point)]
    snapshot = snapshots[-1:]
    since = (snapshot[0].base_offset or 0) if snapshot else 0
    if source.is_folder and source.segments and (source.segments[0].base_offset or 0) > since:
        raise _not_in_log(source, point)
    return [*(first if not snapshot else []), *snapshot, *segments_from(source.segments, since)]


def segments_from(segments: Sequence[LogFile], offset: int) -> list[LogFile]:
    """The segments without those that end before an offset."""
    behind = itertools.zip_longest(segments, (later.base_offset for later in segments[1:]))
    return [one for one, next_base in behind if next_base is None or next_base > offset]


def _is_first(file: LogFile) -> bool:
    return file.base_offset == 0


def _reaches(checkpoint: LogFile, point: Point) -> bool:
    """Whether a snapshot does not lie beyond the point."""
    if point.offset is not None:
        return (checkpoint.base_offset or 0) <= point.offset + 1
    if point.timestamp_ms is None:
        return True
    time_ms = _snapshot_time_ms(checkpoint)
    return time_ms is not None and time_ms <= point.timestamp_ms


def _snapshot_time_ms(checkpoint: LogFile) -> int | None:
    """The time of the last log record in a snapshot, as its header says."""
    for record in log_records(checkpoint.pieces(), file=checkpoint.name):
        found = record.record
        if isinstance(found, ControlRecord) and found.type is ControlType.SNAPSHOT_HEADER:
            return int(found.data["LastContainedLogTimestamp"])
        return None
    return None


def _not_in_log(source: LogSource, point: Point) -> InputError:
    begins = source.segments[0].base_offset
    text = f"the log begins at offset {begins}, and no snapshot of {source.name} tells what was before"
    if not point.is_end:
        text += " the point that was asked for"
    return InputError(text, id="offset-not-in-log", next_step="Ask for a later point, or for the end of the log.")


# --- replay -------------------------------------------------------------------------------------------------------


def replay_files(files: Iterable[LogFile], point: Point, *, name: str) -> LoadedImage:
    """The image of these files, read in their order, up to the point. Raises InputError `offset-not-in-log`."""
    replaying = _Loading(point)
    with _no_garbage_collection():
        for file in files:
            replaying.take(file)
    return replaying.result(name)


class _Loading:
    """A replay over a snapshot and segments."""

    def __init__(self, point: Point) -> None:
        self._point = point
        self._replaying = Replaying(EMPTY)
        self._base: Position | None = None  # the last record that the snapshot stands for
        self._counts: Counter[str] = Counter()
        self._findings: list[Finding] = []
        self._files: list[str] = []
        self._snapshot: str | None = None
        self._leader: Leader | None = None
        self._next = 0  # the offset that the log must go on with
        self._torn: LogRecord | None = None  # a batch that is not whole, and nothing behind it yet
        self._is_over = False

    def take(self, file: LogFile) -> None:
        if file.kind == CHECKPOINT:
            self._take_snapshot(file)
        elif not self._is_over:
            self._files.append(file.name)
            self._take_segment(file)

    def _take_snapshot(self, file: LogFile) -> None:
        self._files.append(file.name)
        if _is_first(file):
            for record in log_records(file.pieces(), file=file.name):
                if isinstance(record.record, ControlRecord):
                    self._replaying.take(*record)
            self._close()
            return
        self._replaying = Replaying(EMPTY, snapshot=True)
        time_ms = epoch = -1
        for record in log_records(file.pieces(), file=file.name):
            self._replaying.take(*record)
            epoch = record.epoch
            if isinstance(record.record, ControlRecord) and record.record.type is ControlType.SNAPSHOT_HEADER:
                time_ms = int(record.record.data["LastContainedLogTimestamp"])
        self._close()
        if file.base_offset is not None:
            epoch = epoch if file.epoch is None else file.epoch
            self._base = Position(offset=file.base_offset - 1, epoch=epoch, timestamp_ms=time_ms)
            self._next = file.base_offset
        self._snapshot = file.name

    def _close(self) -> None:
        """Go on with the image so far in a replay of its own, for offsets in a snapshot are not those of the log."""
        done = self._replaying.result()
        self._counts.update(done.counts)
        self._findings += done.findings
        self._leader = done.leader or self._leader
        self._replaying = Replaying(done.image)

    def _take_segment(self, file: LogFile) -> None:
        """The records of a segment. A batch that is cut is damage only if something comes behind it."""
        for record in log_records(file.pieces(), file=file.name, from_offset=self._next):
            if self._point.is_before(record):
                self._is_over = True
                return
            if self._torn is not None:
                self._replaying.take(*self._torn)
                self._torn = None
            if isinstance(record.record, DecodeError) and record.record.id == "truncated-batch":
                self._torn = record
                continue
            if record.offset > self._next:
                self._findings.append(_gap(file, self._next, record.offset))
            self._next = max(self._next, record.offset + 1)
            self._replaying.take(*record)

    def result(self, name: str) -> LoadedImage:
        done = self._replaying.result()
        if self._torn is not None:
            self._findings.append(_torn_tail(self._torn))
        position = done.position if self._base is None else (done.position or self._base)
        self._check_reached(position, name)
        return LoadedImage(
            image=done.image,
            position=position,
            leader=done.leader or self._leader,
            snapshot=self._snapshot,
            files=tuple(self._files),
            counts=dict(sorted((self._counts + Counter(done.counts)).items())),
            findings=(*self._findings, *done.findings),
        )

    def _check_reached(self, position: Position | None, name: str) -> None:
        wanted = self._point.offset
        if wanted is None:
            if self._point.timestamp_ms is not None and position is None:
                text = f"{name} holds nothing from before the time that was asked for"
                raise InputError(text, id="offset-not-in-log", next_step="Ask for a later time.")
            return
        if self._base is not None and self._base.offset > wanted:
            text = f"what could be read of {name} begins with a snapshot of offset {self._base.offset}"
            raise InputError(text, id="offset-not-in-log", next_step="Ask for a later point.")
        if not self._is_over and (position is None or position.offset < wanted):
            end = "is empty" if position is None else f"ends at offset {position.offset}"
            text = f"{name} {end}; the state at offset {wanted} is not in it"
            raise InputError(text, id="offset-not-in-log", next_step="Ask for an earlier point, or leave --at out.")


def _gap(file: LogFile, first: int, behind: int) -> Finding:
    return Finding(
        id="metadata-log-gap",
        severity=Severity.BLOCKER,
        subject=f"file {file.name}",
        message=f"The records from offset {first} to {behind - 1} were not read, so they are not in this state.",
        evidence={"first": first, "behind": behind},
        next_step="Name the whole folder, or all the files that belong together.",
    )


def _torn_tail(record: LogRecord) -> Finding:
    error: DecodeError = record.record
    return Finding(
        id="torn-tail",
        severity=Severity.INFO,
        subject=f"file {error.file}",
        message=f"It ends in the middle of a batch, at byte {error.offset}: a running node may be writing it.",
        evidence={"position": error.offset},
    )


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """The collector finds nothing in a fold and looks for it again and again: up to a third of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _all_files(source: LogSource) -> list[LogFile]:
    return [*(one for one in source.checkpoints if _is_first(one)), *history_files(source)]


def history_files(source: LogSource) -> list[LogFile]:
    """Everything that says how the present came to be: where the log does not begin at 0, the snapshot before it."""
    if not source.segments:
        return [one for one in source.checkpoints if not _is_first(one)][-1:]
    begins = source.segments[0].base_offset or 0
    if begins == 0:
        return list(source.segments)
    before = [one for one in source.checkpoints if (one.base_offset or 0) <= begins and not _is_first(one)]
    after = [one for one in source.checkpoints if (one.base_offset or 0) > begins]
    return [*(before[-1:] or after[:1]), *source.segments]


def joined(sources: Sequence[LogSource]) -> LogSource:
    """Single files that belong together, as one log; a folder stands for itself. Raises InputError for two folders."""
    if len(sources) == 1:
        return sources[0]
    if any(source.is_folder for source in sources):
        raise InputError(
            "one image is of one log: a folder, or single files that belong together",
            id="several-logs",
            next_step="`kafkactl log verify` and `kafkactl log diff` compare the logs of several nodes.",
        )
    segments = [one for source in sources for one in source.segments]
    checkpoints = [one for source in sources for one in source.checkpoints]
    return LogSource(
        name=", ".join(source.name for source in sources),
        segments=tuple(sorted(segments, key=_by_offset)),
        checkpoints=tuple(sorted(checkpoints, key=_by_offset)),
        is_folder=False,
    )


def _by_offset(file: LogFile) -> tuple[int, int]:
    return (file.base_offset if file.base_offset is not None else -1, file.epoch or 0)
