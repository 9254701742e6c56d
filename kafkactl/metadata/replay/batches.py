"""Replay straight from the bytes of batches: the same fold as `replay`, several times as fast.

Nearly all of a log are PartitionChangeRecords, PartitionRecords and NoOpRecords, and of what they say behind the topic
id most has been said before: a cluster has few different ISRs, leaders and replica lists. So those bytes are looked up
and only what is new is decoded; every other record, and whatever is unusual in a batch, takes the careful way through
`Replaying.take`. A property test holds the two ways to the same image and the same findings.
"""

from __future__ import annotations

import gc
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from contextlib import contextmanager
from typing import Any, Final

from kafkactl.core.errors import DecodeError
from kafkactl.core.findings import Severity
from kafkactl.core.kafka_names import METADATA_VERSION
from kafkactl.metadata.image.model import EMPTY, LEADER_EPOCH_AT, PARTITION_EPOCH_AT, Image, PartitionState
from kafkactl.metadata.log.batch_runs import BatchRun
from kafkactl.metadata.log.frame import FRAME_VERSION, MetadataRecord, decode_record
from kafkactl.metadata.replay.framing import framed
from kafkactl.metadata.replay.reference import ABORT, BEGIN, END, Replay, Replaying
from kafkactl.metadata.replay.state import State
from kafkactl.metadata.replay.topics import CHANGE, LEADER_STAYS, NEWEST, PARTITION, RECOVERY_STATE_STAYS
from kafkactl.protocol.batch_scan import Damage
from kafkactl.protocol.control_records import decode_control_record
from kafkactl.protocol.record_batch import HEADER_BYTES, LENGTH_END, decode_header, decode_records

BATCH_HEAD = struct.Struct(">qii5xhiqq14xi")  # base offset, length, epoch, attributes, last delta, times, count
_HEAD = struct.Struct(">i16s")  # partition and topic id, with which both partition records begin
_EPOCHS = struct.Struct(">iii")  # leader, leader epoch, partition epoch
UNUSUAL_BITS: Final = 0x2F  # compressed, append time, control
NO_OP: Final = 20
_NO_OP_BYTES: Final = bytes([FRAME_VERSION, NO_OP, 0, 0])
_HEAD_END = 3 + _HEAD.size  # in a record's value: frame, api key and version take a byte each
_MOST_REMEMBERED = 200_000
_MANY_OBJECTS: Final = 100_000  # of a fold, from which on the collector should not look at them

_OTHER: Final = -1
_CHANGED_LISTS: Final = ("Isr", "EligibleLeaderReplicas", "LastKnownElr", "RemovingReplicas", "AddingReplicas")

# What a PartitionChangeRecord changes, as in the record: ISR, leader, and if there is more than that: ELR, last known
# ELR, removing, adding, recovery state.
Patch = tuple[Any, ...]


def replay_runs(
    runs: Iterable[BatchRun | Damage],
    start: Image = EMPTY,
    *,
    snapshot: bool = False,
    first_offset: int | None = None,
    end_offset: int | None = None,
) -> Replay:
    """The image after these batches (`batch_runs.walk_runs`). Never raises for what they hold.

    Records below `first_offset` are passed over (the start already has them), and those from `end_offset` on. What is
    damaged is a finding.
    """
    return replay_with(BatchReplaying(start, snapshot=snapshot, first_offset=first_offset, end_offset=end_offset), runs)


def replay_with(replaying: BatchReplaying, runs: Iterable[BatchRun | Damage]) -> Replay:
    """What a replay finds in these batches."""
    with no_collection():
        for run in runs:
            if isinstance(run, Damage):
                replaying.take_damage(run)
            else:
                replaying.take_run(run.data, run.positions, run.base)
            del run  # its bytes are not needed while the next ones are read
        return replaying.result()


@contextmanager
def no_collection() -> Iterator[None]:
    """For a fold: the collector looks again and again at a growing state and never finds a cycle.

    That is a sixth of the time, at a million partitions a third.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            # What was made is treated as old: one pass over it is a waste, too. A caller's own frozen objects stay
            # frozen; to count them takes as long as there are many, so it is asked only where much was made.
            if gc.get_count()[0] > _MANY_OBJECTS and not gc.get_freeze_count():
                gc.freeze()
                gc.unfreeze()
            gc.enable()


class BatchReplaying(Replaying):
    """A replay that goes on, and takes whole batches, too.

    `on_gap` is called with the offset that was expected and the one that was found where batches do not follow on each
    other (or on `first_offset`); by default that is a finding. `is_over`: `end_offset` was reached.
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
        self._next_offset = first_offset  # not known where it is None: at first, and behind damage
        self._epoch = -1
        self._known = _Known(self.state)

    def take_damage(self, damage: Damage) -> None:
        """Bytes that are not a sound batch."""
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
        """Neither the offset nor the epoch of a batch is under its checksum."""
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
        """No log of Kafka has such an offset, so no snapshot replaces the batch either."""
        text = f"a batch begins with offset {offset}; offsets begin with 0, and its records are not in this state"
        self.state.note("offset-gap", Severity.BLOCKER, "metadata log", text)

    def take_run(self, data: bytes, positions: Sequence[int], base: int = 0) -> None:
        """Batches at these positions of `data`, whole and of a right CRC; `base` is the place of `data` in the file."""
        unpack, first, end = BATCH_HEAD.unpack_from, self._first, self._end_offset
        for at in positions:
            offset, length, epoch, attributes, delta, timestamp, _, count = unpack(data, at)
            if offset + delta < first:
                if offset < 0:
                    self._note_negative(offset)
                continue
            if offset != self._next_offset or epoch < self._epoch:
                self._note_place(offset, epoch)
            self._next_offset, self._epoch = offset + delta + 1, epoch
            if offset + delta >= end:
                self.is_over = True
                if offset >= end:
                    return
            elif first <= offset and not attributes & UNUSUAL_BITS:
                places = framed(data, at + HEADER_BYTES, at + LENGTH_END + length, count)
                if places and delta == count - 1:
                    self._take_plain(data, places, offset, epoch, timestamp)
                    continue
            self._take_carefully(data, at, base)

    def _take_carefully(self, data: bytes, at: int, base: int) -> None:
        """A batch of any kind, by the codecs."""
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

    def _take_plain(self, data: bytes, places: list[int], offset: int, epoch: int, timestamp: int) -> None:
        """Data records that lie at these places: start and end of each value by turns."""
        known, topics, head = self._known, self.state.topics, _HEAD.unpack_from
        patches, is_plain = known.patches, self._is_plain()
        changes = no_ops = 0
        values = iter(places)
        for start, end in zip(values, values, strict=True):
            kind = data[start + 1] if is_plain and data[start] == FRAME_VERSION else _OTHER
            if kind == CHANGE:
                number, raw = head(data, start + 3)
                version, rest = data[start + 2], data[start + _HEAD_END : end]
                topic = topics.get(raw)
                old = None if topic is None else topic.partitions.get(number)
                patch = patches[version].get(rest) or known.new_patch(version, rest)
                if topic is not None and old is not None and patch is not None:
                    if topic.shared:
                        topic.own()
                    topic.partitions[number] = _patched(old, patch)
                    changes += 1
                else:
                    self._take_value(data[start:end], offset, epoch, timestamp)
            elif kind == NO_OP and data[start:end] == _NO_OP_BYTES:
                no_ops += 1
            elif kind != PARTITION or not self._take_partition(data, start, end):
                self._take_value(data[start:end], offset, epoch, timestamp)
                is_plain = self._is_plain()
            offset += 1
        self.position = offset - 1, epoch, timestamp
        if changes:
            self.counts["PartitionChangeRecord"] += changes
        if no_ops:
            self.counts["NoOpRecord"] += no_ops

    def _is_plain(self) -> bool:
        """Whether records take effect at once, and none precedes the first level of metadata.version."""
        return self.transaction is None and METADATA_VERSION in self.state.features

    def _take_partition(self, data: bytes, start: int, end: int) -> bool:
        """A PartitionRecord; False where it is unusual or wrong."""
        if data[start] != FRAME_VERSION or data[start + 2] > NEWEST or end < start + _HEAD_END:
            return False
        number, raw = _HEAD.unpack_from(data, start + 3)
        topic = self.state.topics.get(raw)
        state = self._known.partition(data, start, end) if topic is not None else None
        if topic is None or state is None:
            return False
        topic.own()[number] = state
        self.counts["PartitionRecord"] += 1
        return True

    def _take_value(self, value: bytes, offset: int, epoch: int, timestamp: int) -> None:
        """A record of any type, decoded."""
        try:
            record = decode_record(value)
        except DecodeError as error:
            self.take(offset, epoch, timestamp, error)
        else:
            self._take_record(record, value, offset, epoch, timestamp)

    def _take_record(self, record: MetadataRecord, value: bytes, offset: int, epoch: int, timestamp: int) -> None:
        """A record that was decoded from `value`."""
        if self.transaction is None or record.api_key in (BEGIN, END, ABORT):
            self.take(offset, epoch, timestamp, record)
            return
        self.counts[record.type] += 1  # withheld as bytes, which take a tenth of the memory
        self.transaction.records.append((offset, value))


def _decoded(key: bytes | None, value: bytes | None, *, is_control: bool) -> Any:
    if is_control:
        return decode_control_record(key, value)
    if key is not None or value is None:
        raise DecodeError(
            "a metadata record has a value and no key", id="not-a-metadata-record", offset=0, path="Record"
        )
    return decode_record(value)


def _patched(old: PartitionState, patch: Patch) -> PartitionState:
    """The partition after a change (`apply_topics.merged` is the same rule by the words of the record)."""
    replicas, isr, removing, adding, leader, recovery, leader_epoch, epoch, directories, elr, last_known = old
    new_isr, new_leader, more = patch
    if new_isr is not None:
        isr = new_isr
    if new_leader != LEADER_STAYS:
        leader = new_leader
        leader_epoch += 1
    if more is not None:
        new_elr, new_last_known, new_removing, new_adding, new_recovery = more
        elr = elr if new_elr is None else new_elr
        last_known = last_known if new_last_known is None else new_last_known
        removing = removing if new_removing is None else new_removing
        adding = adding if new_adding is None else new_adding
        recovery = recovery if new_recovery == RECOVERY_STATE_STAYS else new_recovery
    return replicas, isr, removing, adding, leader, recovery, leader_epoch, epoch + 1, directories, elr, last_known


class _Known:
    """What bytes behind the topic id mean, so far."""

    def __init__(self, state: State) -> None:
        self._state = state
        # By the byte of the version; those that no change has stay empty.
        self.patches: list[dict[bytes, Patch]] = [{}, {}, {}, *([{}] * 253)]
        self._wholes: dict[bytes, PartitionState] = {}
        self._lists: dict[bytes, tuple[tuple[int, ...], ...]] = {}
        self._rests: dict[bytes, tuple[Any, ...] | None] = {}

    def new_patch(self, version: int, rest: bytes) -> Patch | None:
        """Of a PartitionChangeRecord, by its tagged fields. None where replicas or directories change, or something is
        wrong: these take the careful way."""
        if version > NEWEST:
            return None
        try:
            data = decode_record(bytes([FRAME_VERSION, CHANGE, version]) + bytes(_HEAD.size) + rest).data
        except DecodeError:
            return None
        recovery = data["LeaderRecoveryState"]
        if data["Replicas"] is not None or data["Directories"] is not None or recovery not in (-1, 0, 1):
            return None
        isr, *lists = (None if data[name] is None else self._state.ids(data[name]) for name in _CHANGED_LISTS)
        more = None if recovery == RECOVERY_STATE_STAYS and lists == [None] * 4 else (*lists, recovery)
        patch = isr, data["Leader"], more
        _remember(self.patches[version], rest, patch)
        return patch

    def partition(self, data: bytes, start: int, end: int) -> PartitionState | None:
        """The state of a PartitionRecord; None where it takes the careful way."""
        whole = data[start + 2 : start + 3] + data[start + _HEAD_END : end]
        found = self._wholes.get(whole)
        if found is None:
            found = self._new_partition(data, start, end)
            # As made, many are alike.
            if found is not None and not found[LEADER_EPOCH_AT] and not found[PARTITION_EPOCH_AT]:
                _remember(self._wholes, whole, found)
        return found

    def _new_partition(self, data: bytes, start: int, end: int) -> PartitionState | None:
        at = start + _HEAD_END
        try:
            for _ in range(4):
                length = data[at]
                if not 0 < length < 0x80:
                    return None
                at += 4 * length - 3
        except IndexError:
            return None
        if at + _EPOCHS.size >= end:
            return None
        lists = self._four_lists(data[start + _HEAD_END : at])
        rest = self._rest(data[start + 2 : start + 3] + data[at + _EPOCHS.size : end])
        if lists is None or rest is None:
            return None
        leader, leader_epoch, epoch = _EPOCHS.unpack_from(data, at)
        directories, recovery, elr, last_known = rest
        replicas, isr, removing, adding = lists
        if not directories:
            directories = self._state.joined(bytes(16 * len(replicas)))
        elif len(directories) != 16 * len(replicas):
            return None
        return replicas, isr, removing, adding, leader, recovery, leader_epoch, epoch, directories, elr, last_known

    def _four_lists(self, content: bytes) -> tuple[tuple[int, ...], ...] | None:
        """Replicas, ISR, removing and adding replicas."""
        try:
            return self._lists[content]
        except KeyError:
            found = self._decoded_lists(content)
            _remember(self._lists, content, found)
            return found

    def _decoded_lists(self, content: bytes) -> tuple[tuple[int, ...], ...]:
        found, at = [], 0
        for _ in range(4):
            length = content[at] - 1
            found.append(self._state.ids(struct.unpack_from(f">{length}i", content, at + 1)))
            at += 1 + 4 * length
        return tuple(found)

    def _rest(self, rest: bytes) -> tuple[Any, ...] | None:
        """The version, and what follows the epochs: directories, recovery state, ELR, last known ELR."""
        try:
            return self._rests[rest]
        except KeyError:
            found = self._decoded_rest(rest)
            _remember(self._rests, rest, found)
            return found

    def _decoded_rest(self, rest: bytes) -> tuple[Any, ...] | None:
        nothing = bytes(_HEAD.size) + bytes([1]) * 4 + bytes(_EPOCHS.size)
        try:
            data = decode_record(bytes([FRAME_VERSION, PARTITION, rest[0]]) + nothing + rest[1:]).data
        except DecodeError:
            return None
        directories = self._state.directories(data["Directories"])
        recovery = data["LeaderRecoveryState"]
        if recovery not in (0, 1):
            return None
        if not any(directories):
            directories = b""  # as many unknown ones as there are replicas, whatever the record says
        elr, last_known = (self._state.ids(data[name] or ()) for name in ("EligibleLeaderReplicas", "LastKnownElr"))
        return directories, recovery, elr, last_known


def _remember(memory: dict[bytes, Any], key: bytes, value: Any) -> None:
    """A log in which everything is different must not fill the memory."""
    if len(memory) >= _MOST_REMEMBERED:
        memory.clear()
    memory[key] = value
