"""The local engine: replays a metadata log piece by piece. Memory depends on the size of the state, not of the log.

A folder is read as a starting node reads it: the newest complete checkpoint within the log, then the records after it;
without a checkpoint, all segments from offset 0. Records before the checkpoint are counted. What cannot be decoded is
reported as a finding. The first bad batch ends the log, as for a node that starts; if the checkpoint's end offset is
after it, the state is that of the checkpoint alone (`KafkaMetadataLog.truncateToLatestSnapshot`). With `past_damage`
readable records after the damage are replayed as well, which gives a state that no node has.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Final, Protocol

from kafkactl.core.errors import DecodeError, InputError
from kafkactl.core.findings import Finding, Severity
from kafkactl.core.frozen import frozen
from kafkactl.dryrun.engine.earlier_records import Before
from kafkactl.metadata.image.model import EMPTY, Broker, Image, LogRecord
from kafkactl.metadata.replay.collector import no_collection
from kafkactl.metadata.replay.log_replay import LogReplay
from kafkactl.metadata.replay.reference import Leader, Position, Replay, Replaying
from kafkactl.protocol.batch_scan import Damage
from kafkactl.protocol.control_records import ControlRecord, ControlType, decode_control_record
from kafkactl.protocol.log.batch_runs import BATCH_HEAD, BatchRun, walk_runs
from kafkactl.protocol.log.frame import decode_record
from kafkactl.protocol.record_batch import LENGTH_END, BatchHeader, decode_header, decode_records

GAP: Final = "offset-gap"
_OTHER_NODE: Final = "Use the log of another controller; `kafkactl log verify` shows which part of this one is sound."
_NEXT_STEPS: Final = {
    GAP: "Give the whole folder, or the log of another controller.",
    "damaged-log": _OTHER_NODE,
    "damaged-checkpoint": _OTHER_NODE,
    "torn-tail": "",
}

_OFFSET: Final = struct.Struct(">q")  # a batch begins with that of its first record


class LogFile(Protocol):
    """A segment or checkpoint as `metadata.io.source.LogFile` gives it."""

    @property
    def name(self) -> str:
        """Return the shown name."""

    @property
    def kind(self) -> str:
        """Return `segment` or `checkpoint`."""

    @property
    def base_offset(self) -> int | None:
        """Return the first offset of a segment, the end offset of a checkpoint."""

    @property
    def epoch(self) -> int | None:
        """Return the epoch of a checkpoint."""

    @property
    def pieces(self) -> Callable[[], Iterable[bytes]]:
        """Return a function that opens the file and gives its bytes."""


@frozen
class Loaded:
    """The result of replaying a log. Offsets are -1 if there are no records; times are in milliseconds.

    `voters` are the ids in the last LeaderChange record, () without one. `snapshot_offset` is the end offset of the
    checkpoint that the replay began with, None without one. `committed_offset` is the last offset that is known to be
    committed, None if the files do not show one. `first_offset`, `records`, `counts` and `log_bytes` cover the whole
    log, including records before that checkpoint. `departed` are the brokers that were unregistered after that
    checkpoint, as last registered; `starting` those that were registered after it and neither unfenced nor fenced
    since.
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
    departed: Mapping[int, Broker] = field(default_factory=dict)
    starting: frozenset[int] = frozenset()


def load(
    segments: Sequence[LogFile], checkpoints: Sequence[LogFile], *, at: int | None = None, past_damage: bool = False
) -> Loaded:
    """Return the state after the record at offset `at` (default: the last one).

    Raises InputError `log-start-missing` if neither a checkpoint nor a segment gives the beginning,
    and whatever the pieces raise.
    """
    with no_collection():
        start = start_of(segments, checkpoints, at)
        replay = SegmentReplay(start, at, past_damage=past_damage)
        for position, segment in enumerate(segments):
            runs = walk_runs(segment.pieces(), file=segment.name)
            replay.read(segment.name, runs, is_last=position + 1 == len(segments))
        return replay.loaded(checkpoints)


def records_in(file: LogFile) -> Iterator[tuple[LogRecord, BatchHeader] | Damage]:
    """Yield every record of a file with its batch, and the damage between batches.

    A record that does not decode is a LogRecord whose record is the DecodeError.
    """
    for run in walk_runs(file.pieces(), file=file.name):
        if isinstance(run, Damage):
            yield run
            continue
        for position in run.positions:
            yield from decoded_records(run.data, position, run.base, file.name)


def decoded_records(data: bytes, position: int, base: int, file: str) -> Iterator[tuple[LogRecord, BatchHeader]]:
    """Yield the records of the batch at a position of `data`; `base` is the place of `data` in the file."""
    header = decode_header(data, position, file=file, base=base)
    epoch = header.partition_leader_epoch
    try:
        records = decode_records(data, header, file=file, base=base)
    except DecodeError as error:
        yield LogRecord(header.base_offset, epoch, header.base_timestamp_ms, error), header
        return
    for record in records:
        try:
            if header.is_control:
                decoded: object = decode_control_record(
                    record.key, record.value, file=file, key_base=record.key_position, value_base=record.value_position
                )
            elif record.value is None:
                raise DecodeError(
                    "a record without a value", id="record-without-value", offset=record.position, file=file
                )
            else:
                decoded = decode_record(record.value, file=file, base=record.value_position)
        except DecodeError as error:
            decoded = error
        yield LogRecord(record.offset, epoch, record.timestamp_ms, decoded), header


class SegmentReplay:
    """Segments while they are replayed: the offsets, counts and findings that are reported about a log."""

    def __init__(self, start: Start, at: int | None, *, past_damage: bool = False) -> None:
        self.is_cut = False  # at damage, after which nothing is part of the log
        self._past_damage = past_damage
        self.replaying = LogReplay(
            start.image,
            first_offset=start.end_offset,
            end_offset=None if at is None else at + 1,
            on_gap=self.gap,
        )
        self.before = Before(start.end_offset)
        self.start = start
        self.segment = ""
        self.first = -1
        self.first_ms = 0
        self.bytes = 0
        self._findings: list[Finding] = []
        self._next_before: int | None = None

    def read(self, segment: str, runs: Iterable[BatchRun | Damage], *, is_last: bool) -> None:
        """Read a segment, in its turn."""
        torn = None
        if self.is_cut:
            return
        self.segment = segment
        for found in runs:
            if torn is not None:
                self.damaged(torn)
                torn = None
                if self.is_cut:
                    return
            if isinstance(found, Damage):
                torn = found
            else:
                self.take(found)
            del found  # its bytes are not needed while the next ones are read
        if torn is not None:
            self.damaged(torn, is_tail=is_last and torn.may_be_tail)

    def take(self, run: BatchRun) -> None:
        """Take batches: those before the start are counted, those after it replayed, up to the end of what was asked
        for."""
        data, end = run.data, self.start.end_offset
        base, _, _, _, _, timestamp, *_ = BATCH_HEAD.unpack_from(data, run.positions[0])
        self.begin(base, timestamp)
        _, length, *_ = BATCH_HEAD.unpack_from(data, run.positions[-1])
        self.bytes += run.positions[-1] + LENGTH_END + length - run.positions[0]  # they stand side by side
        is_before = run.least_offset <= end
        for at in [at for at in run.positions if _OFFSET.unpack_from(data, at)[0] <= end] if is_before else ():
            base, _, _, _, delta, *_ = BATCH_HEAD.unpack_from(data, at)
            if base < end:
                self.before.take(data, at, run.base)
            self.chain_before(base, base + delta)
        if not self.replaying.is_over:
            self.replaying.take_run(run.data, run.positions, run.base)

    def begin(self, offset: int, timestamp_ms: int) -> None:
        """Note the first of all batches: there the log begins."""
        if self.first < 0:
            self.first, self.first_ms = offset, timestamp_ms

    def chain_before(self, first: int, last: int) -> None:
        """Check that a batch before the start, or the one there, follows on the one before."""
        end = self.start.end_offset
        if first == end and (self._next_before is None or self._next_before > end):
            return  # nothing before it to follow; the replay reports records that are repeated
        if self._next_before is not None and first != self._next_before:
            self.gap(self._next_before, first)
        self._next_before = last + 1

    def gap(self, expected: int, found: int) -> None:
        """Report a batch that does not begin where the one before it ended."""
        text = f"a batch begins at offset {found}, and {expected} was due: records are missing, or stand there twice"
        severity = Severity.BLOCKER
        if max(expected, found) <= self.start.end_offset:
            text += f"; the state begins with the checkpoint at {self.start.end_offset}, which covers them"
            severity = Severity.WARNING
        self._findings.append(_finding(GAP, self.segment, text, severity, expected=expected, found=found))

    def damaged(self, damage: Damage, *, is_tail: bool = False) -> None:
        """Report bytes that are not a batch. `is_tail`: at the end of the log, where a node may still be writing."""
        if is_tail:
            text = "the last batch is not whole: a live node is writing it, or one that stopped will cut it off"
            if damage.error.id == "zero-tail":
                text = f"{damage.error.reason}; a node that starts cuts them off"
            self._findings.append(_finding("torn-tail", self.segment, text, Severity.INFO, position=damage.position))
            return
        self.is_cut = not self._past_damage
        text = (
            f"bytes {damage.position} to {damage.end} hold no batch ({damage.error.reason}); a node that starts cuts "
            "the log there, "
        )
        text += "and what follows was read all the same" if self._past_damage else "and so what follows was left out"
        self._findings.append(_finding("damaged-log", self.segment, text, position=damage.position, end=damage.end))

    def loaded(self, checkpoints: Sequence[LogFile]) -> Loaded:
        """Return the result of the replay."""
        result, start = self.replaying.result(), self.start
        leader = result.leader or self.before.leader
        counts = self.before.counts + Counter(result.counts)
        ends = [log_file.base_offset for log_file in checkpoints if log_file.base_offset]
        last = result.position or Position(
            offset=start.end_offset - 1, epoch=start.epoch, timestamp_ms=start.timestamp_ms
        )
        return Loaded(
            image=result.image,
            leader=leader,
            voters=leader.voters if leader is not None else (),
            first_offset=self.first,
            last_offset=last.offset,
            last_epoch=last.epoch,
            first_timestamp_ms=self.first_ms,
            last_timestamp_ms=last.timestamp_ms,
            committed_offset=max(ends) - 1 if ends else None,
            snapshot_offset=start.end_offset if start.is_checkpoint else None,
            records=sum(counts.values()),
            log_bytes=self.bytes,
            counts=dict(sorted(counts.items())),
            findings=(*start.findings, *self._findings, *result.findings),
            departed=result.departed,
            starting=result.starting,
        )


@frozen
class Start:
    """Start of a replay: nothing, or a checkpoint that was read whole. `end_offset` is the next offset."""

    image: Image = EMPTY
    end_offset: int = 0
    epoch: int = -1
    timestamp_ms: int = 0
    is_checkpoint: bool = False
    findings: tuple[Finding, ...] = ()


def start_of(segments: Sequence[LogFile], checkpoints: Sequence[LogFile], at: int | None) -> Start:
    """Return the newest checkpoint that is whole and lies within what is asked for, or offset 0."""
    begin = min((log_file.base_offset for log_file in segments if log_file.base_offset is not None), default=None)
    findings: list[Finding] = []
    for file in sorted(
        checkpoints, key=lambda log_file: (log_file.base_offset or 0, log_file.epoch or 0), reverse=True
    ):
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
        id="log-start-missing",
    )


def _snapshot(file: LogFile) -> Start | Finding:
    """Return the image of a checkpoint, or why it is not whole."""
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
    step = _NEXT_STEPS[id]
    return Finding(id=id, severity=severity, subject=subject, message=message, evidence=evidence, next_step=step)
