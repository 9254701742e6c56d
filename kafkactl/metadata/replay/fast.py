"""Replay by columns where that is quicker: the same fold as `replay_batches`, many records at a time.

Partition records are folded in columns (`columns_fold`), which needs numpy. Everything else takes the way it always
takes, as does any stretch of a log in which something is odd: batches that are compressed or do not follow on each
other, contradictions, transactions that do not end in the piece that they begin in. Before such a stretch the columns
are put back into the state, so that there is one state and one place that knows what is wrong with a record. Property
tests hold this way to the plain one, on sound logs and on any other bytes.

Why it is so, and what it gains: docs/decisions/0015-replay-by-columns.md.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any, Final

from kafkactl.core.errors import DecodeError
from kafkactl.core.kafka_names import METADATA_VERSION
from kafkactl.core.values import Uuid
from kafkactl.metadata.image.model import EMPTY, Image, Topic
from kafkactl.metadata.log.batch_runs import BatchRun
from kafkactl.metadata.log.frame import MetadataRecord
from kafkactl.metadata.log.worth import has_numpy
from kafkactl.metadata.replay.batches import NO_OP, UNUSUAL_BITS, BatchReplaying, replay_with
from kafkactl.metadata.replay.framing import framed_first
from kafkactl.metadata.replay.reference import ABORT, BEGIN, END, Replay
from kafkactl.metadata.replay.topics import CHANGE, PARTITION
from kafkactl.protocol.batch_scan import Damage
from kafkactl.protocol.control_records import ControlRecord
from kafkactl.protocol.record_batch import HEADER_BYTES, LENGTH_END

if TYPE_CHECKING:
    from kafkactl.metadata.replay.columns.bytes import Window
    from kafkactl.metadata.replay.columns.fold import ColumnFold, Stretch
    from kafkactl.metadata.replay.columns.frame import Batches, Records

WORTH_FOLDING_BYTES: Final = 2 << 20  # of log, which take as long by the word as numpy takes to be loaded
_PIECES_OF_WORTH: Final = 2  # a piece is not less than this part of it, so that numpy is not loaded for an end
_FEW_RECORDS: Final = 500  # fewer are not worth to begin with columns
# Of a stretch: what is made of its records at once takes some hundred bytes each, which of a small state is the most.
_LEAST_RECORDS: Final = 8_192
_MOST_RECORDS: Final = 32_768
_ROWS_OF_RECORD: Final = 4  # of the table
_LEAST_STRETCH_BYTES: Final = 20_000  # of so many records as take as long by the word as by columns
_MANY: Final = 8  # batches that cut a piece, so that it is known what the log is like
_MOST_LEFT: Final = 64
_LOOKED_AT: Final = 200  # batches
_RECORDS_LOOKED_AT: Final = 2_000
_BY_COLUMNS: Final = frozenset({PARTITION, CHANGE, NO_OP})
_COUNT_AT: Final = 57  # of the number of records
_ATTRIBUTES_AT: Final = 22  # the lower byte of a batch's attributes
_BY_THE_WORD: Final = frozenset({-1, BEGIN, END, ABORT})  # as ever: -1 is a record that cannot be read


class FastReplaying(BatchReplaying):
    """A replay that takes large pieces by columns; in all else a `BatchReplaying`.

    `worth_bytes` is the size from which a log is taken by columns; None for never.
    """

    def __init__(
        self,
        start: Image = EMPTY,
        *,
        snapshot: bool = False,
        first_offset: int | None = None,
        end_offset: int | None = None,
        on_gap: Callable[[int, int], None] | None = None,
        kept_aborts: Set[int] = frozenset(),
        worth_bytes: int | None = WORTH_FOLDING_BYTES,
    ) -> None:
        super().__init__(
            start,
            snapshot=snapshot,
            first_offset=first_offset,
            end_offset=end_offset,
            on_gap=on_gap,
            kept_aborts=kept_aborts,
        )
        self._worth_bytes = worth_bytes if has_numpy() else None
        self._columns: ColumnFold | None = None
        self._window: Window | None = None
        self._seen_bytes, self._looks_from = 0, self._worth_bytes or 0
        self._odd = self._plain_left = 0  # odd stretches in a row, and how many are then taken plainly

    # --- what goes the plain way --------------------------------------------------------------------------------

    def _taken_by_columns(
        self, offset: int, epoch: int, timestamp_ms: int, record: MetadataRecord | ControlRecord | DecodeError
    ) -> bool:
        if not isinstance(record, MetadataRecord) or not self._takes_effect(offset, record):
            return False
        if self.transaction is None or not self._end_by_columns(offset, epoch):
            self._settle()
            return False
        self.position = offset, epoch, timestamp_ms
        self.state.offset = offset
        self.counts[record.type] += 1
        return True

    def _takes_effect(self, offset: int, record: MetadataRecord) -> bool:
        """Whether a record changes the state, or what a transaction has withheld so far does with it."""
        if self.transaction is None:
            return record.api_key not in (BEGIN, END, ABORT)
        return record.api_key == END or (record.api_key == ABORT and offset in self.kept_aborts)

    def _topics(self) -> Mapping[Uuid, Topic] | None:
        if self._columns is None:
            return None
        self._window = None
        topics = self._columns.table.topics_of_state()
        if topics is None:
            self._columns.table.flush()
        return topics

    def _settle(self) -> None:
        """Put what the columns hold into the state, and start again with them."""
        if self._columns is not None:
            self._columns.table.flush()
            self._columns, self._has_columns = None, False

    def take_run(self, data: bytes, positions: Sequence[int], base: int = 0) -> None:
        """As `BatchReplaying.take_run`."""
        self._seen_bytes += len(data)
        if not positions or not (self._columns is not None or self._is_worth(data, positions)):
            self._take_plainly(data, positions, base)
            return
        from kafkactl.metadata.replay.columns.bytes import BEYOND, Window

        window = self._window = self._window or Window()
        # The last batches of a piece may be too close to its end to be read where they are.
        inside = _ending_before(data, positions, len(data) - BEYOND)
        taken, is_over = 0, False
        if inside:
            window.show(data, _end(data, positions[inside - 1]))
            taken, is_over = self._take_shown(window, positions[:inside], base)
        if taken < len(positions) and not is_over:
            begin = positions[taken]
            window.show(data[begin:])
            more, _ = self._take_shown(window, [at - begin for at in positions[taken:]], base + begin)
            taken += more
        window.leave()
        if taken < len(positions):
            self._take_plainly(data, positions[taken:], base)

    def _is_worth(self, data: bytes, positions: Sequence[int]) -> bool:
        """Whether to begin with columns. Of a file the first piece is the largest for long."""
        worth = self._worth_bytes
        if worth is None or self._seen_bytes < self._looks_from or len(data) < worth // _PIECES_OF_WORTH:
            return False
        is_worth = not _is_cut_up(data, positions) and not (worth and _is_else(data, positions))
        if not is_worth:  # to look at every piece of such a log would take a twentieth of its time
            self._looks_from = 2 * self._seen_bytes
        return is_worth

    def _take_plainly(self, data: bytes, positions: Sequence[int], base: int) -> None:
        self._settle()
        super().take_run(data, positions, base)

    # --- by columns ---------------------------------------------------------------------------------------------

    def _take_shown(self, window: Window, positions: Sequence[int], base: int) -> tuple[int, bool]:
        """Batches of a piece; returns how many were taken, and whether all others are for the plain way."""
        from kafkactl.metadata.replay.columns.frame import batches, heads

        taken = heads(window, positions)
        skipped = int((taken.last < self._first).sum())  # the plain way passes over them, wherever they stand
        is_sorted = not skipped or int(taken.last[:skipped].max()) < self._first
        if not is_sorted or int(taken.offset.min()) < 0:
            return 0, True
        found = batches(window, taken.since(skipped), first=self._first, end=self._end_offset)
        done, is_over = self._take_batches(window, found, base)
        return skipped + done, is_over

    def _take_batches(self, window: Window, found: Batches, base: int) -> tuple[int, bool]:
        """Batches, cut where the plain way has to look at one; returns as `_take_shown`."""
        heads, breaks, at = found.heads, found.breaks, 0
        while at < len(heads.at):
            if found.is_usual[at]:
                next_break = bisect_right(breaks, at)
                behind = breaks[next_break] if next_break < len(breaks) else len(heads.at)
                behind = found.cut(at, behind, self._most_records())
                at = self._take_stretch(window, found, at, behind, base)
            elif heads.last[at] >= self._end_offset:
                return at, True
            else:
                if not heads.is_control[at]:
                    self._settle()
                super().take_run(window.data, heads.at[at : at + 1].tolist(), base)
                at += 1
        return at, False

    def _most_records(self) -> int:
        rows = 0 if self._columns is None else self._columns.table.used
        return min(_MOST_RECORDS, max(_LEAST_RECORDS, rows // _ROWS_OF_RECORD))

    def _take_stretch(
        self, window: Window, found: Batches, first: int, behind: int, base: int, *, begun: int = 0
    ) -> int:
        """Usual batches that follow on each other; returns the first one that is not taken yet.

        `begun`: how many records of the first batch were taken before.
        """
        heads = found.heads
        if not self._is_plain():
            self._begin_batch(found, first)
            begun = self._take_by_word(window, found, first, until_plain=True)
            if begun == int(heads.counts[first]):
                return first + 1
        records = found.between(first, behind).since(begun)
        stretch = self._read(window, records, int(heads.offset[first]) + begun)
        if stretch is not None and stretch.open_at >= 0:
            # A transaction that does not end here: what lies before it goes by columns.
            whole = int(records.first.searchsorted(stretch.open_at, "right")) - 1
            if whole:
                return self._take_stretch(window, found, first, first + whole, base, begun=begun)
            behind = first + 1
            if self._take_beginning(window, found, first, begun, stretch.open_at):
                return behind
            stretch = None
        if stretch is None:
            if begun:
                self._take_rest(window, found, first, begun)
            self._take_plainly(window.data, heads.at[first + (begun > 0) : behind].tolist(), base)
            return behind
        if not begun:
            self._begin_batch(found, first)
        self._commit(window, stretch, records, int(heads.offset[first]) + begun, int(heads.epoch[first]))
        last = int(heads.last[behind - 1]), int(heads.epoch[behind - 1]), int(heads.timestamp[behind - 1])
        self.position, self._next_offset, self._epoch = last, last[0] + 1, last[1]
        return behind

    def _begin_batch(self, found: Batches, at: int) -> None:
        offset, epoch = int(found.heads.offset[at]), int(found.heads.epoch[at])
        if offset != self._next_offset or epoch < self._epoch:
            self._note_place(offset, epoch)
        self._next_offset, self._epoch = int(found.heads.last[at]) + 1, epoch

    def _take_beginning(self, window: Window, found: Batches, at: int, begun: int, before: int) -> bool:
        """A batch in which a transaction begins, behind so many of the records that are left of it, and does not end.

        False where nothing was done, because the records before are odd.
        """
        records, offset = found.between(at, at + 1).since(begun), int(found.heads.offset[at]) + begun
        own = records.until(before)
        stretch = self._read(window, own, offset) if before else None
        if before and stretch is None:
            return False
        if not begun:
            self._begin_batch(found, at)
        if stretch is not None:
            self._commit(window, stretch, own, offset, int(found.heads.epoch[at]))
        self._take_by_word(window, found, at, begun + before)
        return True

    def _take_by_word(
        self, window: Window, found: Batches, at: int, taken: int = 0, *, until_plain: bool = False
    ) -> int:
        """Records of a batch by the word from one on; returns the place of the first one that was not taken.

        `until_plain`: until the others can be taken as they come. A snapshot begins with metadata.version, in a batch
        that may hold a third of it.
        """
        heads, records = found.heads, found.between(at, at + 1)
        offset, epoch, timestamp = int(heads.offset[at]), int(heads.epoch[at]), int(heads.timestamp[at])
        count = len(records.start)
        while taken < count and not (until_plain and self._is_plain()):
            value = window.data[int(records.start[taken]) : int(records.end[taken])]
            self._take_value(value, offset + taken, epoch, timestamp)
            taken += 1
        self.position = offset + taken - 1, epoch, timestamp
        return taken

    def _take_rest(self, window: Window, found: Batches, at: int, begun: int) -> None:
        """The records of a batch from one on, the plain way."""
        self._settle()
        heads, records = found.heads, found.between(at, at + 1).since(begun)
        places = [int(place) for span in zip(records.start, records.end, strict=True) for place in span]
        offset = int(heads.offset[at]) + begun
        self._take_plain(window.data, places, offset, int(heads.epoch[at]), int(heads.timestamp[at]))

    def _read(self, window: Window, records: Records, offset: int) -> Stretch | None:
        """What a stretch holds, whose first record is at `offset`; None where it is odd, or not worth it."""
        if self._columns is None and len(records.start) < _FEW_RECORDS:
            return None
        if self._plain_left:
            self._plain_left -= 1
            return None
        from kafkactl.metadata.replay.columns.fold import ColumnFold

        if self._columns is None or self._columns.is_full:
            self._settle()
            self._columns, self._has_columns = ColumnFold(self.state), True
        kept = frozenset(at - offset for at in self.kept_aborts)
        stretch = self._columns.read(window, records, kept)
        self._odd = self._odd + 1 if stretch is None else 0
        if stretch is None:  # a log that is odd throughout is not to be read twice throughout
            self._plain_left = min(1 << self._odd, _MOST_LEFT) - 1
        return stretch

    def _end_by_columns(self, offset: int, epoch: int) -> bool:
        """Let what the open transaction withheld take effect; False where nothing was done, because it is odd.

        Such a transaction did not end in the stretch in which it began: to put the columns back for it would take as
        long as many pieces.
        """
        from kafkactl.metadata.replay.columns.bytes import Window
        from kafkactl.metadata.replay.columns.frame import side_by_side

        columns, transaction = self._columns, self.transaction
        assert columns is not None
        assert transaction is not None
        first = offset - len(transaction.records)
        values = [value for at, (place, value) in enumerate(transaction.records, first) if place == at]
        data = [value for value in values if isinstance(value, bytes)]
        if len(data) < len(transaction.records) or METADATA_VERSION not in self.state.features:
            return False
        window, records = Window(), side_by_side(data)
        window.show(b"".join(data))
        stretch = columns.read(window, records)
        if stretch is None:
            return False
        self.transaction = None
        self._commit(window, stretch, records, first, epoch, were_counted=True)
        return True

    def _commit(
        self,
        window: Window,
        stretch: Stretch,
        records: Records,
        offset: int,
        epoch: int,
        *,
        were_counted: bool = False,
    ) -> None:
        """Partition records by columns, the others in their order; a ClearElrRecord divides the former.

        `offset` is that of the first of the records, `epoch` that of its batch; `were_counted`: when they were
        withheld.
        """
        from kafkactl.metadata.replay.columns.fold import CLEAR_ELR, FOLLOWED, NEVER

        columns, others = self._columns, stretch.others
        assert columns is not None
        if not were_counted:
            self.counts.update(stretch.counts())
        bounds = iter([*stretch.clears(), NEVER])
        columns.fold(window, stretch, -1, next(bounds))
        item: Any
        for at, item, key, aborted in zip(*others, strict=True):
            if aborted:
                continue
            if key in _BY_THE_WORD:
                if key == ABORT and self.transaction is not None and offset + at not in self.kept_aborts:
                    self.transaction.records.extend(stretch.withheld(window, records, at, offset))
                self._has_columns = False  # they know of the transactions of the stretch
                self.take(offset + at, epoch, 0, item)
                self._has_columns = True
                continue
            # Those of a transaction that ends take effect where they stand: nothing lies between them and its end.
            self.counts[item.type] += not were_counted
            self._apply(offset + at, item)
            if key in FOLLOWED:
                columns.followed(item)
            if key == CLEAR_ELR:
                columns.fold(window, stretch, at, next(bounds))


def _end(data: bytes, position: int) -> int:
    """The place behind the batch at a position."""
    length_at = position + LENGTH_END - 4
    return position + LENGTH_END + int.from_bytes(data[length_at : position + LENGTH_END], "big")


def _ending_before(data: bytes, positions: Sequence[int], place: int) -> int:
    """How many of these batches, which follow on each other, do not reach beyond a place."""
    inside = len(positions)
    while inside and _end(data, positions[inside - 1]) > place:
        inside -= 1
    return inside


def _is_cut_up(data: bytes, positions: Sequence[int]) -> bool:
    """Whether so many batches are compressed or control batches that little is left between them for columns."""
    odd = sum(data[position + _ATTRIBUTES_AT] & UNUSUAL_BITS != 0 for position in positions)
    return odd >= _MANY and odd * _LEAST_STRETCH_BYTES > len(data)


def _is_else(data: bytes, positions: Sequence[int]) -> bool:
    """Whether most records are about no partition, by the first ones of some batches: columns gain nothing then, and
    hold what the plain way lets go of at once."""
    by_columns = total = 0.0
    sample = positions[:: len(positions) // _LOOKED_AT + 1]
    most = _RECORDS_LOOKED_AT // len(sample)
    for at in sample:
        count = int.from_bytes(data[at + _COUNT_AT : at + HEADER_BYTES], "big")
        places = framed_first(data, at + HEADER_BYTES, min(count, most)) or []
        keys = [data[place + 1] for place in places[::2]]
        total += count
        by_columns += count * sum(key in _BY_COLUMNS for key in keys) / max(1, len(keys))
    return 2 * by_columns < total


def replay_fast(runs: Iterable[BatchRun | Damage], start: Image = EMPTY, **options: Any) -> Replay:
    """As `replay_batches.replay_runs`, by columns; `options` are those of a `FastReplaying`."""
    return replay_with(FastReplaying(start, **options), runs)
