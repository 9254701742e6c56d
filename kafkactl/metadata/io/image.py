"""The image of a metadata log at its end or at an earlier point: the right snapshot, and the records after it.

Damage ends the log where it ends for a Kafka node (`cut`). Records after it are in the image only with `past_damage`,
and no node ever had such an image.

The newest snapshot that does not end after the point is used. The snapshot at offset 0, which formatting writes,
covers no records: its data records are in the log as well, only its voters are not.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from kafkactl.core.answers import by_fields
from kafkactl.core.errors import InputError
from kafkactl.core.findings import Finding
from kafkactl.core.frozen import changed, frozen
from kafkactl.core.progress import heard_by
from kafkactl.metadata.dump.findings import (
    GAP,
    covered_damage,
    covered_gap,
    cut_checkpoint,
    gap_finding,
    torn_tail,
)
from kafkactl.metadata.dump.records import log_records
from kafkactl.metadata.image.model import EMPTY, Image
from kafkactl.metadata.io.log_end import LogEnd
from kafkactl.metadata.io.source import CHECKPOINT, LogFile, LogSource, announce, segments_from
from kafkactl.metadata.replay.collector import no_collection
from kafkactl.metadata.replay.log_replay import LogReplay
from kafkactl.metadata.replay.reference import Leader, Position
from kafkactl.protocol.batch_scan import Damage
from kafkactl.protocol.control_records import ControlRecord, ControlType
from kafkactl.protocol.log.batch_runs import BatchRun, walk_runs

_OFFSET: Final = struct.Struct(">q")  # a batch begins with that of its first record
_TIME: Final = struct.Struct(">27xq")  # a batch's base timestamp; its records have no other in this log


@frozen
class Point:
    """The last record that counts: by offset, or by time (milliseconds); both None for the end of the log."""

    offset: int | None = None
    timestamp_ms: int | None = None

    @property
    def is_end(self) -> bool:
        """Return True if all of the log counts."""
        return self.offset is None and self.timestamp_ms is None


@frozen
class Provenance:
    """The origin of a state: files, snapshot, and the last record in the state (None: no record)."""

    files: tuple[str, ...]
    """Sources in the order in which they were read."""
    snapshot: str | None
    offset: int | None
    """The last record that counts; None for an empty log."""
    epoch: int | None
    timestamp_ms: int | None

    to_dict = by_fields


@frozen
class LoadedImage:
    """An image and where it comes from: `position` is the last record of the log in it, None for nothing at all.

    `files` are the names of what was read, `snapshot` that of the snapshot among them. `counts` has how often each
    type of record was met, in the snapshot and in the log together. `cut_offset` is the offset of the first bad batch,
    at which the log was ended; None for a log that is whole, or read past its damage.
    """

    image: Image
    position: Position | None
    leader: Leader | None
    snapshot: str | None
    files: tuple[str, ...]
    counts: dict[str, int]
    findings: tuple[Finding, ...]
    cut_offset: int | None = None

    @property
    def provenance(self) -> Provenance:
        """Return the source of the image, as every answer has it."""
        place = self.position
        return Provenance(
            files=self.files,
            snapshot=self.snapshot,
            offset=None if place is None else place.offset,
            epoch=None if place is None else place.epoch,
            timestamp_ms=None if place is None else place.timestamp_ms,
        )


def load_image(source: LogSource, point: Point, *, whole: bool = False, past_damage: bool = False) -> LoadedImage:
    """Return the image of a log on disk. Raise InputError `offset-not-in-log` if the log does not reach the point.

    With `whole` all of the log is replayed, so that its findings are about all of it; if records are missing, from the
    snapshot that covers them. The first bad batch ends the log, even in a segment that the snapshot covers; with
    `past_damage` records after it are replayed as well.
    """
    if not whole:
        return _from_snapshot(source, point, past_damage=past_damage)
    loaded = replay_files(_all_files(source), point, name=source.name, past_damage=past_damage)
    if loaded.cut_offset is not None and any(
        not _is_first(log_file) and _reaches(log_file, point) and (log_file.base_offset or 0) >= loaded.cut_offset
        for log_file in source.checkpoints
    ):
        return _from_snapshot(source, point, past_damage=past_damage)
    gaps = [finding for finding in loaded.findings if finding.id == GAP]
    files = chosen_files(source, point) if gaps else []
    covered_end = next((log_file.base_offset or 0 for log_file in files if log_file.kind == CHECKPOINT), 0)
    if not gaps or any(max(finding.evidence["first"], finding.evidence["behind"]) > covered_end for finding in gaps):
        return loaded
    again = replay_files(files, point, name=source.name, past_damage=past_damage)
    return changed(again, findings=(*(covered_gap(finding, covered_end) for finding in gaps), *again.findings))


def _from_snapshot(source: LogSource, point: Point, *, past_damage: bool) -> LoadedImage:
    """Replay only the newest snapshot and what follows; the segments before it are searched for damage."""
    files = chosen_files(source, point)
    names = {log_file.name for log_file in files}
    before = () if past_damage else [log_file for log_file in source.segments if log_file.name not in names]
    return _replayed(files, point, source.name, before=before, past_damage=past_damage)


def chosen_files(source: LogSource, point: Point) -> list[LogFile]:
    """Return the files to read: the first checkpoint for its voters, a snapshot, and the segments after it."""
    first = [log_file for log_file in source.checkpoints if _is_first(log_file)]
    snapshots = [log_file for log_file in source.checkpoints if not _is_first(log_file) and _reaches(log_file, point)]
    snapshot = snapshots[-1:]
    since = (snapshot[0].base_offset or 0) if snapshot else 0
    if source.is_folder and source.segments and (source.segments[0].base_offset or 0) > since:
        raise _not_in_log(source, point)
    return [*(first if not snapshot else []), *snapshot, *segments_from(source.segments, since)]


def _is_first(file: LogFile) -> bool:
    return file.base_offset == 0


def _reaches(checkpoint: LogFile, point: Point) -> bool:
    """Return True if a snapshot does not lie beyond the point."""
    if point.offset is not None:
        return (checkpoint.base_offset or 0) <= point.offset + 1
    if point.timestamp_ms is None:
        return True
    time_ms = _snapshot_time_ms(checkpoint)
    return time_ms is not None and time_ms <= point.timestamp_ms


def _snapshot_time_ms(checkpoint: LogFile) -> int | None:
    """Return the time of the last log record in a snapshot, from its header."""
    with heard_by(None):  # a glance at its first record
        first = next(iter(log_records(checkpoint.pieces(), file=checkpoint.name)), None)
    found = None if first is None else first.record
    if isinstance(found, ControlRecord) and found.type is ControlType.SNAPSHOT_HEADER:
        return int(found.data["LastContainedLogTimestamp"])
    return None


def _not_in_log(source: LogSource, point: Point) -> InputError:
    begins = source.segments[0].base_offset
    text = f"the log begins at offset {begins}, and no snapshot of {source.name} covers what was before"
    step = "Give the whole folder, checkpoints included."
    if not point.is_end:
        text += " the point that was asked for"
        step = "Ask for a later point, or for the end of the log."
    return InputError(text, id="offset-not-in-log", next_step=step)


def replay_files(files: Iterable[LogFile], point: Point, *, name: str, past_damage: bool = False) -> LoadedImage:
    """Return the image of these files, read in their order, up to the point. Raise InputError `offset-not-in-log`."""
    return _replayed(files, point, name, past_damage=past_damage)


def _replayed(
    files: Iterable[LogFile], point: Point, name: str, *, before: Iterable[LogFile] = (), past_damage: bool
) -> LoadedImage:
    replaying = _Loading(point, past_damage=past_damage)
    if isinstance(files, Sequence):
        announce([*before, *files])
    with no_collection():
        for file in before:
            replaying.search(file)
        for file in files:
            replaying.take(file)
        return replaying.result(name)


class _Loading:
    """A replay over a snapshot and segments."""

    def __init__(self, point: Point, *, past_damage: bool) -> None:
        self._point = point
        self._past_damage = past_damage
        self._end = LogEnd()
        self._replaying = self._started(EMPTY, 0)
        self._base: Position | None = None  # the last record that the snapshot covers
        self._counts: Counter[str] = Counter()
        self._findings: list[Finding] = []
        self._files: list[str] = []
        self._snapshot: str | None = None
        self._leader: Leader | None = None
        self._torn: Damage | None = None  # a batch that is not whole, and nothing after it yet
        self._covered: list[Damage] = []  # damage that the snapshot may cover: the offset of the next batch decides
        self._is_over = False

    def _started(self, image: Image, first_offset: int) -> LogReplay:
        end_offset = None if self._point.offset is None else self._point.offset + 1
        return LogReplay(image, first_offset=first_offset, end_offset=end_offset, on_gap=self._note_gap)

    def take(self, file: LogFile) -> None:
        if file.kind == CHECKPOINT:
            self._take_snapshot(file)
        elif self._end.cut is not None:
            self.search(file)
        elif not self._is_over:
            self._files.append(file.name)
            self._take_segment(file)

    def search(self, file: LogFile) -> None:
        """Search a segment, of which nothing is replayed, for the end of the log."""
        self._end.begin(file.base_offset)
        for found in walk_runs(file.pieces(), file=file.name):
            if isinstance(found, BatchRun):
                self._end.pass_run(found, found.positions)
            else:
                self._end.stop(found, file.name)

    def _take_snapshot(self, file: LogFile) -> None:
        self._files.append(file.name)
        if _is_first(file):
            for record in log_records(file.pieces(), file=file.name):
                if isinstance(record.record, ControlRecord):
                    self._replaying.take(*record)
            self._close(0)
            return
        self._replaying, is_damaged = LogReplay(EMPTY, snapshot=True), False
        for found in walk_runs(file.pieces(), file=file.name):
            if isinstance(found, Damage):
                self._replaying.take_damage(found)
                is_damaged = True
                if not self._past_damage and not found.may_be_tail:
                    self._is_over = True  # no node starts with it
                    break
            else:
                self._replaying.take_run(found.data, found.positions, found.base)
            del found  # its bytes are not needed while the next ones are read
        epoch = -1 if self._replaying.position is None else self._replaying.position[1]
        counts = self._close(file.base_offset or 0)
        if not is_damaged and ControlType.SNAPSHOT_FOOTER.record_name not in counts:
            self._findings.append(cut_checkpoint(file.name))
        if file.base_offset is not None:
            time_ms = _snapshot_time_ms(file)
            self._base = Position(
                offset=file.base_offset - 1,
                epoch=epoch if file.epoch is None else file.epoch,
                timestamp_ms=-1 if time_ms is None else time_ms,
            )
        self._snapshot = file.name

    def _close(self, next_offset: int) -> Mapping[str, int]:
        """End this replay and start another from its image, because offsets in a snapshot are not those of the log.

        Returns how often each type of record occurred.
        """
        done = self._replaying.result()
        self._counts.update(done.counts)
        self._findings += done.findings
        self._leader = done.leader or self._leader
        self._replaying = self._started(done.image, next_offset)
        return done.counts

    def _take_segment(self, file: LogFile) -> None:
        """Take the batches of a segment. One that is cut is damage only if something comes after it."""
        self._end.begin(file.base_offset)
        for found in walk_runs(file.pieces(), file=file.name):
            if self._torn is not None:
                self._take_damage(self._torn, file)
                self._torn = None
            if self._end.cut is not None:
                if isinstance(found, BatchRun):
                    self._end.pass_run(found, found.positions)
                del found
                continue
            if isinstance(found, BatchRun):
                self._tell_covered(found)
                self._take_run(found)
            elif found.may_be_tail:
                self._torn = found
            else:
                self._take_damage(found, file)
            del found
            if self._is_over:
                return

    def _take_damage(self, damage: Damage, file: LogFile) -> None:
        if not self._past_damage:
            self._end.stop(damage, damage.error.file or file.name)
        elif self._base is None or self._replaying.position is not None:
            self._replaying.take_damage(damage)
        else:
            self._covered.append(damage)

    def _tell_covered(self, run: BatchRun | None) -> None:
        """Report damage before the batch that comes now as covered if the state begins after it."""
        begins = 0 if self._base is None else self._base.offset + 1
        for damage in self._covered:
            if run is not None and _OFFSET.unpack_from(run.data, run.positions[0])[0] <= begins:
                self._findings.append(covered_damage(damage.error, begins))
            else:
                self._replaying.take_damage(damage)
        self._covered.clear()

    def _take_run(self, run: BatchRun) -> None:
        """Take the batches up to the point."""
        positions = run.positions
        if self._point.timestamp_ms is not None:
            times = (_TIME.unpack_from(run.data, at)[0] for at in positions)
            late = (index for index, time_ms in enumerate(times) if time_ms > self._point.timestamp_ms)
            end = next(late, len(positions))
            self._is_over, positions = end < len(positions), positions[:end]
        self._replaying.take_run(run.data, positions, run.base)
        self._end.pass_run(run, positions)
        self._is_over = self._is_over or self._replaying.is_over

    def _note_gap(self, expected: int, found: int) -> None:
        self._findings.append(gap_finding(self._files[-1], expected, found, then="they are not in this state"))

    def result(self, name: str) -> LoadedImage:
        self._tell_covered(None)
        done = self._replaying.result()
        if self._torn is not None:
            self._findings.append(torn_tail(self._torn.error))
        cut = self._end.finding(None if self._base is None else self._base.offset + 1, self._point.offset)
        if cut is not None:
            self._findings.append(cut)
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
            cut_offset=None if self._end.cut is None else self._end.cut.offset,
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
        if not self._is_over and self._end.cut is None and (position is None or position.offset < wanted):
            end = "is empty" if position is None else f"ends at offset {position.offset}"
            text = f"{name} {end}; the state at offset {wanted} is not in it"
            raise InputError(text, id="offset-not-in-log", next_step="Ask for an earlier point, or leave --at out.")


def _all_files(source: LogSource) -> list[LogFile]:
    return [*(log_file for log_file in source.checkpoints if _is_first(log_file)), *history_files(source)]


def history_files(source: LogSource) -> list[LogFile]:
    """Return all files of the present state's history: if the log does not begin at 0, the snapshot before it, too."""
    if not source.segments:
        return [log_file for log_file in source.checkpoints if not _is_first(log_file)][-1:]
    begins = source.segments[0].base_offset or 0
    if begins == 0:
        return list(source.segments)
    before = [
        log_file for log_file in source.checkpoints if (log_file.base_offset or 0) <= begins and not _is_first(log_file)
    ]
    after = [log_file for log_file in source.checkpoints if (log_file.base_offset or 0) > begins]
    return [*(before[-1:] or after[:1]), *source.segments]


def without_needless(files: Iterable[LogFile]) -> Iterator[LogFile]:
    """Yield a live log (`source.cluster_files`) without its snapshot if it still has its beginning.

    Offset 0, which a controller with a snapshot gives no more, holds a LeaderChange and nothing of the state.
    """
    snapshot: LogFile | None = None
    for file in files:
        if file.kind == CHECKPOINT:
            snapshot = file
            continue
        if snapshot is not None and (file.base_offset or 0) > 1:
            yield snapshot
        snapshot = None
        yield file
    if snapshot is not None:
        yield snapshot


def joined(sources: Sequence[LogSource]) -> LogSource:
    """Return single files that belong together as one log; a single source is returned unchanged.

    Raises InputError `several-logs` for a folder among several sources.
    """
    if len(sources) == 1:
        return sources[0]
    if any(source.is_folder for source in sources):
        raise InputError("one image is of one log: a folder, or single files that belong together", id="several-logs")
    segments = [log_file for source in sources for log_file in source.segments]
    checkpoints = [log_file for source in sources for log_file in source.checkpoints]
    return LogSource(
        name=", ".join(source.name for source in sources),
        segments=tuple(sorted(segments, key=_by_offset)),
        checkpoints=tuple(sorted(checkpoints, key=_by_offset)),
        is_folder=False,
    )


def _by_offset(file: LogFile) -> tuple[int, int]:
    return (file.base_offset if file.base_offset is not None else -1, file.epoch or 0)
