"""Replay of a metadata log from the bytes of its batches: the fold of `reference`, many records at a time.

Batches as Kafka writes them are usual. Their records are folded together, some thousand at a time: those about
partitions as columns (`columns.fold`), all others by the rules of `reference`. A stretch of records is odd if the
columns cannot fold it, for example because a record contradicts the state. Before an odd stretch and before an unusual
batch the columns are written back into the state, and `reference` replays the records one by one. So there is one
state, and one place that decides what a wrong record means. Property tests compare this replay with the reference.

Why columns, and what they gain: docs/decisions/0015-replay-by-columns.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Set
from typing import Any, Final

from kafkactl.core.errors import DecodeError
from kafkactl.core.findings import Severity
from kafkactl.core.kafka_names import METADATA_VERSION
from kafkactl.metadata.image.model import EMPTY, Image
from kafkactl.metadata.replay.collector import no_collection
from kafkactl.metadata.replay.columns.bytes import Window
from kafkactl.metadata.replay.columns.fold import CLEAR_ELR, FOLLOWED, NEVER, ColumnFold, Stretch
from kafkactl.metadata.replay.columns.frame import Batches, Records, batches, heads, side_by_side
from kafkactl.metadata.replay.reference import ABORT, BEGIN, END, Replay, Replaying
from kafkactl.protocol.batch_scan import Damage
from kafkactl.protocol.control_records import ControlRecord, decode_control_record
from kafkactl.protocol.log.batch_runs import BATCH_HEAD, BatchRun
from kafkactl.protocol.log.frame import MetadataRecord, decode_record
from kafkactl.protocol.record_batch import decode_header, decode_records

# Of a stretch. Its columns take some hundred bytes a record while it is folded.
_MOST_RECORDS: Final = 16_384
_MOST_SKIPPED: Final = 64  # stretches
_BY_REFERENCE: Final = frozenset({-1, BEGIN, END, ABORT})  # -1 is a record that cannot be decoded


def replay_runs(runs: Iterable[BatchRun | Damage], start: Image = EMPTY, **options: Any) -> Replay:
    """Return the image after these batches (`batch_runs.walk_runs`). Never raise for their content.

    `options` are those of `LogReplay`.
    """
    replay = LogReplay(start, **options)
    with no_collection():
        for run in runs:
            if isinstance(run, Damage):
                replay.take_damage(run)
            else:
                replay.take_run(run.data, run.positions, run.base)
            del run  # The bytes are not needed while the next ones are read.
        return replay.result()


class LogReplay(Replaying):
    """A replay that takes batches: runs of sound ones, and the damage between them.

    Records below `first_offset` are passed over, because the start already has them, and those from `end_offset` on.
    `on_gap` is called with the expected and the actual offset of a batch that does not follow on the one before (or on
    `first_offset`); by default that is a finding. `is_over` means that `end_offset` was reached.
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
    ) -> None:
        super().__init__(start, snapshot=snapshot, kept_aborts=kept_aborts)
        self.is_over = False
        self._on_gap = on_gap
        self._first = -(2**63) if first_offset is None else first_offset
        self._end_offset = 2**63 if end_offset is None else end_offset
        self._next_offset = first_offset  # None if unknown: at the start of a log, and after damage
        self._epoch = -1
        self._columns: ColumnFold | None = None
        self._window = Window()
        self._odd = self._skipped = 0  # odd stretches in a row, and how many are not tried as columns after them

    def take_damage(self, damage: Damage) -> None:
        """Note bytes that are not a sound batch."""
        text = (
            f"bytes {damage.position} to {damage.end} cannot be read ({damage.error.id}): what they say is missing,"
            " and a node of Kafka ends the log here; what can be read after them was applied"
        )
        self.counts["undecodable"] += 1
        if self._next_offset is not None:
            self.state.offset = self._next_offset  # the one that was due there
        self.state.note("undecodable-record", Severity.BLOCKER, "metadata log", text)
        self._next_offset = None

    def _note_place(self, offset: int, epoch: int) -> None:
        """Note a batch whose offset or epoch does not follow. Neither of them is under its checksum."""
        self.state.offset = offset
        expected = self._next_offset
        reaches_back = offset < self._first == expected  # the window begins inside of a batch
        if expected is not None and offset != expected and not reaches_back:
            if self._on_gap is not None:
                self._on_gap(expected, offset)
            else:
                text = f"a batch begins with offset {offset}, expected was {expected}"
                self.state.note("offset-gap", Severity.BLOCKER, "metadata log", text)
        if epoch < self._epoch:
            text = f"a batch is of leader epoch {epoch}, behind one of {self._epoch}"
            self.state.note("leader-epoch-regression", Severity.BLOCKER, "metadata log", text)

    def _note_negative(self, offset: int) -> None:
        """Note a negative offset. No log of Kafka has one, so no snapshot replaces the batch either."""
        text = f"a batch begins with offset {offset}; offsets begin with 0, and its records are not in this state"
        self.state.note("offset-gap", Severity.BLOCKER, "metadata log", text)

    def _follow(self, offset: int, epoch: int, last: int, last_epoch: int) -> None:
        """Check that batches from `offset` to `last`, which follow on each other, follow on those before."""
        if offset != self._next_offset or epoch < self._epoch:
            self._note_place(offset, epoch)
        self._next_offset, self._epoch = last + 1, last_epoch

    def take_run(self, data: bytes, positions: Sequence[int], base: int = 0) -> None:
        """Take the batches at these positions of `data`, whole and of a right CRC; `base` is its place in the file."""
        if not positions:
            return
        self._window.show(data)
        found = heads(self._window, positions)
        before = int((found.last < self._first).sum())
        in_order = int(found.offset.min()) >= 0 and (not before or int(found.last[:before].max()) < self._first)
        if in_order:
            self._take_batches(
                batches(self._window, found.since(before), first=self._first, end=self._end_offset), base
            )
        else:
            for at in positions:
                if not self._take_batch(data, at, base):
                    break
        self._window.leave()

    def _take_batches(self, found: Batches, base: int) -> None:
        at, heads = 0, found.heads
        while at < len(heads.at):
            after = found.usual_until(at, None)
            if after == at:
                if not self._take_batch(self._window.data, int(heads.at[at]), base):
                    return
                at += 1
                continue
            offset, epoch = int(heads.offset[at]), int(heads.epoch[at])
            last = int(heads.last[after - 1]), int(heads.epoch[after - 1]), int(heads.timestamp[after - 1])
            self._follow(offset, epoch, *last[:2])
            self._take_usual(found, at, after)
            self.position, at = last, after

    def _take_batch(self, data: bytes, at: int, base: int) -> bool:
        """Take a batch of any kind by the codecs. Return False if the batch begins at or after the end offset."""
        offset, _, epoch, _, delta, *_ = BATCH_HEAD.unpack_from(data, at)
        if offset + delta < self._first:
            if offset < 0:
                self._note_negative(offset)
            return True
        self._follow(offset, epoch, offset + delta, epoch)
        if offset + delta >= self._end_offset:
            self.is_over = True
            if offset >= self._end_offset:
                return False
        self._take_decoded(data, at, base)
        return True

    def _take_decoded(self, data: bytes, at: int, base: int) -> None:
        """Take a batch by the codecs, wherever it belongs."""
        try:
            header = decode_header(data, at, base=base)
            records = decode_records(data, header, base=base)
        except DecodeError as error:
            offset, _, epoch, *_ = BATCH_HEAD.unpack_from(data, at)
            self.take(offset, epoch, 0, error)
            return
        for record in records:
            if self._first <= record.offset < self._end_offset:
                decoded: Any
                try:
                    decoded = _decoded(record.key, record.value, is_control=header.is_control)
                except DecodeError as error:
                    decoded = error
                self.take(record.offset, header.partition_leader_epoch, record.timestamp_ms, decoded)

    def _take_usual(self, found: Batches, first: int, after: int) -> None:
        """Take the batches from `first` to below `after`, which are usual and follow on each other."""
        row, end = found.rows(first, after)
        shift = int(found.heads.offset[first]) - row  # from the row of a record to its offset
        while row < end:
            if not self._takes_effect_at_once():
                row = self._take_values(found, range(first, after), row, end, until_at_once=True)
                continue
            stop = min(end, row + _MOST_RECORDS)
            stretch = self._read(found.records.part(row, stop), shift + row)
            if stretch is not None and stretch.open_at >= 0:
                # A transaction that does not end here. What lies before it is folded, then it is read from its begin.
                stop = row + max(1, stretch.open_at)
                stretch = self._read(found.records.part(row, stop), shift + row) if stretch.open_at else None
            if stretch is None:
                self._take_values(found, range(first, after), row, stop)
            else:
                self._commit(self._window, stretch, found.records.part(row, stop), shift + row)
            row = stop

    def _takes_effect_at_once(self) -> bool:
        """Return True if no transaction is open, and metadata.version is known.

        Its absence is a finding for each record.
        """
        return self.transaction is None and METADATA_VERSION in self.state.features

    def _take_values(self, found: Batches, own: range, row: int, stop: int, *, until_at_once: bool = False) -> int:
        """Take the records of some rows one by one; return the row after the last. `own` are the usual batches.

        `until_at_once`: stop where records take effect at once. A snapshot begins with metadata.version, in a batch
        that may have a third of its records.
        """
        batch = found.batch_of(row, own.start, own.stop)
        while row < stop:
            heads = found.heads
            offset, epoch, timestamp = (int(each[batch]) for each in (heads.offset, heads.epoch, heads.timestamp))
            begin, end = found.rows(batch, batch + 1)
            part = found.records.part(row, min(stop, end))
            for start, after in zip(part.start.tolist(), part.end.tolist(), strict=True):
                if until_at_once and self._takes_effect_at_once():
                    return row
                self._take_value(self._window.data[start:after], offset + row - begin, epoch, timestamp)
                row += 1
            batch += 1
        return row

    def _take_value(self, value: bytes, offset: int, epoch: int, timestamp: int) -> None:
        """Take a record of any type by its bytes."""
        try:
            record = decode_record(value)
        except DecodeError as error:
            self.take(offset, epoch, timestamp, error)
            return
        if self.transaction is None or record.api_key in (BEGIN, END, ABORT):
            self.take(offset, epoch, timestamp, record)
            return
        self.counts[record.type] += 1
        self.transaction.records.append((offset, value))  # Bytes take a tenth of the memory of a decoded record.

    def take(
        self, offset: int, epoch: int, timestamp_ms: int, record: MetadataRecord | ControlRecord | DecodeError
    ) -> None:
        """Implement `Replaying.take`: a record that takes effect finds everything in the state."""
        if self._columns is not None and isinstance(record, MetadataRecord) and self._takes_effect(offset, record):
            if self.transaction is not None and self._end_by_columns(offset):
                self.position = offset, epoch, timestamp_ms
                self.state.offset = offset
                self.counts[record.type] += 1
                return
            self._settle()
        super().take(offset, epoch, timestamp_ms, record)

    def _takes_effect(self, offset: int, record: MetadataRecord) -> bool:
        """Return True if a record changes the state, or lets a transaction do so."""
        if self.transaction is None:
            return record.api_key not in (BEGIN, END, ABORT)
        return record.api_key == END or (record.api_key == ABORT and offset in self.kept_aborts)

    def image(self) -> Image:
        """Implement `Replaying.image`. The topics stay columns if the columns have all of them."""
        topics = None
        if self._columns is not None:
            topics = self._columns.table.topics_of_state()
            if topics is None:
                self._columns.table.flush()
        return self.state.image(self.transaction.value() if self.transaction else None, topics)

    def _settle(self) -> None:
        """Write the columns back into the state."""
        if self._columns is not None:
            self._columns.table.flush()
            self._columns = None

    def _read(self, records: Records, offset: int) -> Stretch | None:
        """Read a stretch whose first record is at `offset`; return None if it is odd."""
        if self._skipped:
            self._skipped -= 1
            return None
        if self._columns is None or self._columns.is_full:
            self._settle()
            self._columns = ColumnFold(self.state)
        stretch = self._columns.read(self._window, records, frozenset(at - offset for at in self.kept_aborts))
        self._odd = self._odd + 1 if stretch is None else 0
        if stretch is None:
            # Each odd stretch costs a write of all columns into the state: a log that is odd throughout is tried
            # ever more rarely.
            self._skipped = min(1 << self._odd, _MOST_SKIPPED) - 1
        return stretch

    def _end_by_columns(self, offset: int) -> bool:
        """Apply the withheld records of the open transaction; return False, without a change, if a record is irregular.

        Such a transaction did not end in the stretch in which it began: to write the columns back for it would take as
        long as many pieces.
        """
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
        self._commit(window, stretch, records, first, were_counted=True)
        return True

    def _commit(
        self, window: Window, stretch: Stretch, records: Records, offset: int, *, were_counted: bool = False
    ) -> None:
        """Fold partition records by columns, the others in their order; a ClearElrRecord divides the former.

        `offset` is that of the first of the records; `were_counted`: when they were withheld.
        """
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
            if key in _BY_REFERENCE:
                if key == ABORT and self.transaction is not None and offset + at not in self.kept_aborts:
                    self.transaction.records.extend(stretch.withheld(window, records, at, offset))
                super().take(offset + at, -1, -1, item)
                continue
            # The records of a transaction that ends take effect at once: nothing lies between them and its end.
            self.counts[item.type] += not were_counted
            self._apply(offset + at, item)
            if key in FOLLOWED:
                columns.followed(item)
            if key == CLEAR_ELR:
                columns.fold(window, stretch, at, next(bounds))


def _decoded(key: bytes | None, value: bytes | None, *, is_control: bool) -> MetadataRecord | ControlRecord:
    if is_control:
        return decode_control_record(key, value)
    if key is not None or value is None:
        raise DecodeError(
            "a metadata record has a value and no key", id="not-a-metadata-record", offset=0, path="Record"
        )
    return decode_record(value)
