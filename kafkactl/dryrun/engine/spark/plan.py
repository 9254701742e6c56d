"""From files to the stretches that Spark's workers read: batch headers, and what they show of the log.

If headers do not lead through a file, the file is scanned as the local engine scans it, because both engines have to
report damage in the same words.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from kafkactl.core.frozen import frozen
from kafkactl.core.values import Uuid
from kafkactl.dryrun.engine.columns import BATCH, VALUE, Window
from kafkactl.dryrun.engine.local import LogFile, SegmentReplay, Start
from kafkactl.dryrun.engine.spark.files import opened_segment
from kafkactl.dryrun.engine.spark.read import Stretch
from kafkactl.metadata.image.model import Topic
from kafkactl.metadata.log.batch_runs import BatchRun, walk_runs
from kafkactl.metadata.log.frame import MetadataRecord
from kafkactl.metadata.replay.columns.bytes import Window as Bytes
from kafkactl.metadata.replay.columns.frame import Heads, heads
from kafkactl.metadata.replay.columns.table import PartitionTable
from kafkactl.metadata.replay.log_replay import LogReplay
from kafkactl.protocol.batch_bounds import MOST_BATCH_BYTES
from kafkactl.protocol.batch_scan import Damage
from kafkactl.protocol.record_batch import HEADER_BYTES, LENGTH_END, MAGIC

NO_END: Final = 1 << 62
_REMEMBERED_BATCHES: Final = 100
_LEAST: Final = HEADER_BYTES - LENGTH_END
_HEAD: Final = struct.Struct(">8xi4xB40xi")  # length, magic, record count
_PIECE_BYTES: Final = 4 * 1024 * 1024
_OLDER_EPOCH: Final = -1  # a kind of row in addition to those of the source


@frozen
class ClusterLog:
    """The log of one cluster. Names of segments are paths that the driver and every worker can read."""

    segments: tuple[LogFile, ...]
    checkpoints: tuple[LogFile, ...]
    at: int | None = None
    past_damage: bool = False


class RowReplaying(LogReplay):
    """A replay of what Spark gave, row by row. `table` has the partitions at its end; `decoded` are records that were
    decoded before, by their bytes."""

    table: PartitionTable | None = None
    decoded: Mapping[bytes, MetadataRecord] = MappingProxyType({})

    def _topics(self) -> Mapping[Uuid, Topic] | None:
        return None if self.table is None else self.table.topics_at_end()

    def replay_row(self, row: Row) -> None:
        """The next row, in the order of the log."""
        if row.kind == BATCH:
            self.take_decoded(row.content, 0, row.position)
        elif row.kind == VALUE:
            place = row.offset, row.epoch, row.timestamp_ms
            record = self.decoded.get(row.content)
            if record is None:
                self.take_value(row.content, *place)
            else:
                self.take_record(record, row.content, *place)
        else:
            self._next_offset, self._epoch = row.offset, row.split
            self._note_place(row.offset, row.epoch)


class Row(NamedTuple):
    """A row of the source other than a patch; or a batch whose epoch is older than the epoch before it, in `split`."""

    file: int
    position: int
    number: int
    kind: int
    split: int
    offset: int
    epoch: int
    timestamp_ms: int
    content: bytes


class Planning(SegmentReplay):
    """Batch headers on their way to stretches; says of the log what the local engine says while it replays."""

    REPLAYING = RowReplaying
    replaying: RowReplaying

    def __init__(self, log: int, source: ClusterLog, start: Start, split_bytes: int) -> None:
        super().__init__(start, source.at, past_damage=source.past_damage)
        self.stretches: list[Stretch] = []
        self.older_epochs: list[Row] = []
        self.last: deque[tuple[str, int, int]] = deque(maxlen=_REMEMBERED_BATCHES)  # path, start, end of batches
        self.is_ascending = True
        self.window = Window(first=self.start.end_offset, end=NO_END if source.at is None else source.at + 1)
        self._file = -1
        self._log = log
        self._split_bytes = split_bytes
        self._next = self.start.end_offset
        self._epoch = -1
        self._is_over = False
        self._begin = self._stop = 0

    def read(self, segment: str, runs: Iterable[BatchRun | Damage], *, is_last: bool) -> None:
        """A segment, in its turn."""
        self._file += 1
        self._bytes = Bytes()
        super().read(segment, runs, is_last=is_last)
        self._close()
        del self._bytes

    def take(self, run: BatchRun) -> None:
        """Batches, of which nothing but the headers is looked at."""
        base = run.base
        if base + run.positions[0] != self._stop:
            self._close()
            self._begin = self._stop = base + run.positions[0]
        self._bytes.show(run.data)
        found = heads(self._bytes, run.positions)
        self.bytes += int(found.end[-1]) - run.positions[0]  # they stand side by side
        if self._follow(found):
            self._take_following(found, base)
            return
        first, end = self.window.first, self.window.end
        columns = (found.at, found.end, found.offset, found.last, found.epoch, found.timestamp)
        for at, stop, offset, last, epoch, timestamp in zip(*(column.tolist() for column in columns), strict=True):
            self.begin(offset, timestamp)
            if offset <= first:
                self.chain_before(offset, last)
            if last >= first:
                self._chain(base + at, offset, last, epoch)
                if offset < end:
                    self.last.append((self.segment, base + at, base + stop))
            self._reach(base + stop)

    def _follow(self, found: Heads) -> bool:
        """Whether these batches follow on those before and on each other, behind the start and before the end."""
        offset, last, epoch = found.offset, found.last, found.epoch
        return (
            not self._is_over
            and self.first >= 0
            and self._next == int(offset[0]) > self.window.first
            and self._epoch <= int(epoch[0])
            and int(last[-1]) < self.window.end
            and bool((offset[1:] == last[:-1] + 1).all())
            and bool((last >= offset).all())
            and bool((epoch[1:] >= epoch[:-1]).all())
        )

    def _take_following(self, found: Heads, base: int) -> None:
        """Batches of which there is nothing to say: those that end a stretch are all that is looked for."""
        stops = found.end + base
        behind = 0
        while behind < len(stops):
            ends_at = int(stops.searchsorted(self._begin + self._split_bytes))
            self._reach(int(stops[min(ends_at, len(stops) - 1)]))
            behind = ends_at + 1
        self._next, self._epoch = int(found.last[-1]) + 1, int(found.epoch[-1])
        ends = zip(
            (found.at[-_REMEMBERED_BATCHES:] + base).tolist(), stops[-_REMEMBERED_BATCHES:].tolist(), strict=True
        )
        self.last.extend((self.segment, at, stop) for at, stop in ends)

    def _reach(self, stop: int) -> None:
        """A batch ends there, and with it a stretch that is long enough."""
        self._stop = stop
        if stop - self._begin >= self._split_bytes:
            self._close()

    def _close(self) -> None:
        """The stretch that was begun is at its end; the next one begins there."""
        if self._stop > self._begin:
            self.stretches.append(
                Stretch(
                    log=self._log,
                    number=len(self.stretches),
                    file=self._file,
                    path=self.segment,
                    start=self._begin,
                    end=self._stop,
                )
            )
        self._begin = self._stop

    def _chain(self, position: int, offset: int, last: int, epoch: int) -> None:
        """Follow batches as `LogReplay.take_run` does; an older epoch is reported with the findings of records."""
        if self._is_over:
            return
        if offset != self._next and not offset < self.window.first == self._next:
            self.gap(self._next, offset)
        if epoch < self._epoch:
            self.older_epochs.append(Row(self._file, position, -1, _OLDER_EPOCH, self._epoch, offset, epoch, 0, b""))
        self.is_ascending = (
            self.is_ascending and last >= offset and (offset >= self._next or offset < self.window.first)
        )
        self._next, self._epoch = last + 1, epoch
        self._is_over = last >= self.window.end


class _NoWayError(Exception):
    """Headers do not lead to the end of the file."""


def planned(number: int, log: ClusterLog, start: Start, damaged: set[str], split_bytes: int) -> Planning:
    """The plan of a log, the `number`th of the job; `damaged` are the segments that have to be scanned, to which those
    are added whose headers lead nowhere."""
    while True:
        planning = Planning(number, log, start, split_bytes)
        for at, segment in enumerate(log.segments):
            scan = segment.name in damaged
            runs = walk_runs(segment.pieces(), file=segment.name) if scan else _by_headers(segment.name)
            try:
                planning.read(segment.name, runs, is_last=at + 1 == len(log.segments))
            except _NoWayError:
                damaged.add(segment.name)
                break
        else:
            return planning


def _by_headers(path: str) -> Iterator[BatchRun]:
    """All batches of a file by their headers, of which alone the data of a run has to be whole; no CRC is looked at."""
    with opened_segment(path) as file:
        size, at, unpack = file.seek(0, 2), 0, _HEAD.unpack_from
        while at < size:
            file.seek(at)
            data = file.read(_PIECE_BYTES)
            positions, place, most = [], 0, size - at
            last_head = len(data) - HEADER_BYTES
            while place <= last_head:
                length, magic, count = unpack(data, place)
                end = place + LENGTH_END + length
                if not _LEAST <= length <= MOST_BATCH_BYTES or magic != MAGIC or count < 0 or end > most:
                    raise _NoWayError
                positions.append(place)
                place = end
            if not positions:
                raise _NoWayError
            yield BatchRun(data, at, positions)
            at += place
