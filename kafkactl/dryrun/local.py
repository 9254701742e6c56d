"""The local engine: a metadata log, piece by piece, to the image at its end, in memory that the state alone decides.

A folder is read as a starting node reads it: the newest whole checkpoint within the log, then the records behind it;
without one, all segments from offset 0 on. What does not decode is a finding, and what lies behind damage is read all
the same but told, for a node would have cut the log there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final, Protocol

from kafkactl.errors import DecodeError, InputError
from kafkactl.frozen import frozen
from kafkactl.metadata.batch_runs import BatchRun, walk_runs
from kafkactl.metadata.frame import decode_record
from kafkactl.metadata.image import EMPTY, Image, LogRecord
from kafkactl.metadata.replay import Leader, Position, Replay, Replaying
from kafkactl.metadata.replay_batches import BatchReplaying, no_collection
from kafkactl.plan import Finding, Severity
from kafkactl.protocol.batch_scan import Damage
from kafkactl.protocol.control_records import ControlRecord, ControlType, decode_control_record
from kafkactl.protocol.record_batch import LENGTH_END, BatchHeader, decode_header, decode_records

SEGMENT: Final = "segment"


class LogFile(Protocol):
    """A segment or checkpoint as `adapters.log_source.LogFile` gives it."""

    @property
    def name(self) -> str:
        """How it is shown."""

    @property
    def kind(self) -> str:
        """`segment` or `checkpoint`."""

    @property
    def base_offset(self) -> int | None:
        """First offset of a segment, end offset of a checkpoint."""

    @property
    def epoch(self) -> int | None:
        """The epoch of a checkpoint."""

    @property
    def pieces(self) -> Callable[[], Iterable[bytes]]:
        """Opens it and gives its bytes."""


@frozen
class Loaded:
    """What a log leads to. Offsets are -1 where there are no records; times in milliseconds.

    `voters` are the ids in the last LeaderChange record, () without one.
    `snapshot_offset` is the end offset of the checkpoint that it was begun with, None without one; `committed_offset`
    the last offset that is known to be committed, None where nothing in these files tells. `log_bytes` counts the
    segments read, `first_timestamp_ms` is that of their first record.
    """

    image: Image
    leader: Leader | None
    voters: tuple[int, ...]
    first_offset: int
    last_offset: int
    last_epoch: int
    first_timestamp_ms: int
    last_timestamp_ms: int
    committed_offset: int | None
    snapshot_offset: int | None
    records: int
    log_bytes: int
    counts: dict[str, int]
    findings: tuple[Finding, ...]


def load(segments: Sequence[LogFile], checkpoints: Sequence[LogFile], *, at: int | None = None) -> Loaded:
    """The state after the record at offset `at` (default: the last one).

    Raises InputError `log-begins-late` where neither a checkpoint nor a segment gives the beginning, `no-such-offset`
    where `at` lies outside, and whatever the pieces raise.
    """
    with no_collection():
        start = start_of(segments, checkpoints, at)
        offset = start.end_offset
        reading = _Reading(start, at)
        for position, segment in enumerate(segments):
            following = segments[position + 1].base_offset if position + 1 < len(segments) else None
            if following is not None and following <= offset:
                continue
            reading.read(segment, is_last=following is None)
        return reading.loaded(checkpoints)


def records_in(file: LogFile) -> Iterator[tuple[LogRecord, BatchHeader] | Damage]:
    """Every record of a file with its batch, and the damage between batches.

    A record that does not decode is a LogRecord whose record is the DecodeError.
    """
    for run in walk_runs(file.pieces(), file=file.name):
        if isinstance(run, Damage):
            yield run
            continue
        for position in run.positions:
            yield from _records(run.data, position, run.base, file.name)


def _records(data: bytes, position: int, base: int, file: str) -> Iterator[tuple[LogRecord, BatchHeader]]:
    header = decode_header(data, position, file=file, base=base)
    epoch = header.partition_leader_epoch
    try:
        records = decode_records(data, header, file=file, base=base)
    except DecodeError as error:
        yield LogRecord(header.base_offset, epoch, header.base_timestamp_ms, error), header
        return
    for one in records:
        try:
            if header.is_control:
                decoded: object = decode_control_record(
                    one.key, one.value, file=file, key_base=one.key_position, value_base=one.value_position
                )
            elif one.value is None:
                raise DecodeError("a record without a value", id="record-without-value", offset=one.position, file=file)
            else:
                decoded = decode_record(one.value, file=file, base=one.value_position)
        except DecodeError as error:
            decoded = error
        yield LogRecord(one.offset, epoch, one.timestamp_ms, decoded), header


class _Reading:
    """Segments on their way into a state."""

    def __init__(self, start: Start, at: int | None) -> None:
        self._replaying = BatchReplaying(
            start.image,
            first_offset=start.end_offset,
            end_offset=None if at is None else at + 1,
            on_gap=self._gap,
        )
        self._start = start
        self._segment = ""
        self._findings: list[Finding] = []
        self.first = -1
        self.first_ms = 0
        self.bytes = 0

    def read(self, segment: LogFile, *, is_last: bool) -> None:
        torn = None
        self._segment = segment.name
        for found in walk_runs(segment.pieces(), file=segment.name):
            if torn is not None:
                self._damaged(segment, torn)
                torn = None
            if isinstance(found, Damage):
                torn = found
            else:
                self._take(found)
        if torn is not None:
            self._damaged(segment, torn, is_tail=is_last and torn.error.id == "truncated-batch")

    def _take(self, run: BatchRun) -> None:
        if self.first < 0:
            self._begin(run)
        last = run.positions[-1]
        length = int.from_bytes(run.data[last + 8 : last + LENGTH_END], "big")
        self.bytes += last + LENGTH_END + length - run.positions[0]
        self._replaying.take_run(run.data, run.positions, run.base)

    def _begin(self, run: BatchRun) -> None:
        """Where the records begin that the start does not have yet."""
        for at in run.positions:
            header = decode_header(run.data, at, base=run.base)
            if header.last_offset >= self._start.end_offset:
                self.first = max(header.base_offset, self._start.end_offset)
                self.first_ms = header.base_timestamp_ms
                return

    def _gap(self, expected: int, found: int) -> None:
        text = f"a batch begins at offset {found}, and {expected} was due: records are missing, or stand there twice"
        self._findings.append(_finding("offset-gap", self._segment, text, expected=expected, found=found))

    def _damaged(self, segment: LogFile, damage: Damage, *, is_tail: bool = False) -> None:
        if is_tail:
            text = "the last batch is not whole: a live node is writing it, or one that stopped will cut it off"
            self._findings.append(_finding("torn-tail", segment.name, text, Severity.INFO, position=damage.position))
            return
        text = (
            f"bytes {damage.position} to {damage.end} hold no batch ({damage.error.reason}); a node that starts cuts "
            "the log there, and what follows was read all the same"
        )
        self._findings.append(_finding("damaged-log", segment.name, text, position=damage.position, end=damage.end))

    def loaded(self, checkpoints: Sequence[LogFile]) -> Loaded:
        result, start = self._replaying.result(), self._start
        ends = [one.base_offset for one in checkpoints if one.base_offset]
        last = result.position or Position(
            offset=start.end_offset - 1, epoch=start.epoch, timestamp_ms=start.timestamp_ms
        )
        return Loaded(
            image=result.image,
            leader=result.leader,
            voters=result.leader.voters if result.leader is not None else (),
            first_offset=-1 if result.position is None else self.first,
            last_offset=last.offset,
            last_epoch=last.epoch,
            first_timestamp_ms=0 if result.position is None else self.first_ms,
            last_timestamp_ms=last.timestamp_ms,
            committed_offset=max(ends) - 1 if ends else None,
            snapshot_offset=start.end_offset if start.is_checkpoint else None,
            records=sum(result.counts.values()),
            log_bytes=self.bytes,
            counts=dict(result.counts),
            findings=(*start.findings, *self._findings, *result.findings),
        )


@frozen
class Start:
    """What a replay begins with: nothing, or a checkpoint that was read whole. `end_offset` is the first behind it."""

    image: Image = EMPTY
    end_offset: int = 0
    epoch: int = -1
    timestamp_ms: int = 0
    is_checkpoint: bool = False
    findings: tuple[Finding, ...] = ()


def start_of(segments: Sequence[LogFile], checkpoints: Sequence[LogFile], at: int | None) -> Start:
    """The newest checkpoint that is whole and lies within what is asked for, or offset 0."""
    begin = min((one.base_offset for one in segments if one.base_offset is not None), default=None)
    findings: list[Finding] = []
    for file in sorted(checkpoints, key=lambda one: (one.base_offset or 0, one.epoch or 0), reverse=True):
        end = file.base_offset or 0
        outside = (at is not None and end > at + 1) or (begin is not None and end < begin)
        if outside or (end == 0 and begin == 0):  # the first: the log repeats what it says
            continue
        read = _snapshot(file)
        if isinstance(read, Finding):
            findings.append(read)
        else:
            return replace(read, end_offset=end, findings=(*findings, *read.findings))
    if begin == 0:
        return Start(findings=tuple(findings))
    where = "there are no segments" if begin is None else f"the first segment begins at offset {begin}"
    why = f" ({findings[0].message})" if findings else ""
    raise InputError(
        f"the beginning of the state is missing: {where}, and no whole checkpoint reaches it{why}",
        id="log-begins-late",
        next_step="Give the whole folder, checkpoints included.",
    )


def _snapshot(file: LogFile) -> Start | Finding:
    """The image of a checkpoint, or why it is not whole."""
    replaying, whole, epoch, timestamp = Replaying(snapshot=True), False, 0, 0
    for found in records_in(file):
        if isinstance(found, Damage):
            text = f"the checkpoint is damaged at byte {found.position} ({found.error.reason}): it was not used"
            return _finding("damaged-checkpoint", file.name, text, position=found.position)
        record, _ = found
        decoded = record.record
        if isinstance(decoded, ControlRecord) and decoded.type is ControlType.SNAPSHOT_FOOTER:
            whole = True
        elif isinstance(decoded, ControlRecord) and decoded.type is ControlType.SNAPSHOT_HEADER:
            timestamp = decoded.data["LastContainedLogTimestamp"]
        epoch = record.epoch
        replaying.take(*record)
    if not whole:
        text = "the checkpoint has no end (SnapshotFooter): it was not used"
        return _finding("damaged-checkpoint", file.name, text)
    result: Replay = replaying.result()
    return Start(image=result.image, epoch=epoch, timestamp_ms=timestamp, is_checkpoint=True, findings=result.findings)


def _finding(id: str, subject: str, message: str, severity: Severity = Severity.BLOCKER, **evidence: object) -> Finding:
    return Finding(id=id, severity=severity, subject=subject, message=message, evidence=evidence)
