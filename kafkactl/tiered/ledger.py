"""Fold of all records of `__remote_log_metadata`: the user partitions, and the records that harm brokers.

Records of a user partition lie in one metadata partition, whose order is theirs, unless the number of metadata
partitions was changed. Then they lie in several, which have no order among each other; such records are folded again,
merged by their timestamps.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple, TypeGuard

from kafkactl.core.errors import DecodeError
from kafkactl.core.frozen import frozen
from kafkactl.metadata.replay.collector import no_collection
from kafkactl.tiered.numbers import SegmentNumbers
from kafkactl.tiered.partition_log import (
    AFTER_DELETE,
    FORGOTTEN_BY_LOG_START,
    POISON,
    PartitionLog,
)
from kafkactl.tiered.plain_records import PlainRecords
from kafkactl.tiered.reading import CleanedOffsets, FastRead, PlacedRecord, Read, SkippedOffsets, Unread
from kafkactl.tiered.records import BaseRecord, PartitionDeleteRecord, PartitionKey, RemoteRecord, UpdateRecord
from kafkactl.tiered.states import COPYING, DELETED, PartitionDeleteState

UNDECODABLE: Final = "undecodable"
BASE_NOT_STARTED: Final = "base-record-not-started"
# Legal by its states, and refused where it is applied (`RemoteLogMetadataCache.updateRemoteLogSegmentMetadata`).
COPY_STARTED_AGAIN: Final = "update-to-copy-started"
MOST_POISON = 10_000  # that are kept with their places


@frozen
class MetadataLog:
    """A metadata partition as it is read: `log_start` is where brokers begin, `end_offset` what was known of its end.

    `read` opens it and gives its records in order, from `read_from` on if none is missing: files may still have what
    lies below the start. `read_fast` gives a fold the same, sooner (`reading.read_fast`); None if there is no such
    way. `expected_end` is None if the end is not known from elsewhere.
    """

    partition: int
    paths: tuple[str, ...]
    log_start: int
    read: Callable[[], Iterator[Read]]
    read_from: int = 0
    expected_end: int | None = None
    read_fast: Callable[[], Iterator[FastRead]] | None = None


class Poison(NamedTuple):
    """A record at which metadata consumers end. `key` is None if it could not be decoded."""

    metadata_partition: int
    offset: int
    why: str
    error: DecodeError | None
    topic: str | None
    key: PartitionKey | None


class PartitionDelete(NamedTuple):
    """A DELETE_PARTITION_FINISHED record, and how many segments brokers forgot by it."""

    metadata_partition: int
    offset: int
    topic: str
    key: PartitionKey
    segments: int


class LogFacts:
    """Facts about one metadata partition."""

    __slots__ = ("end_offset", "log", "missing", "newest_ms", "records", "removed_to", "unread")

    def __init__(self, log: MetadataLog) -> None:
        self.log = log
        self.records = 0
        self.end_offset = log.read_from
        self.newest_ms = -1
        self.removed_to = 0  # below this offset the log cleaner removed records
        self.unread: list[Unread] = []
        self.missing: list[tuple[int, int]] = []  # from an offset up to, and without, another

    @property
    def is_complete(self) -> bool:
        """Return True if nothing that is known to be in the log is missing from what was read."""
        short = self.log.expected_end is not None and self.end_offset < self.log.expected_end
        return not short and not self.missing and all(part.is_tail for part in self.unread)

    def reach(self, first: int, end: int) -> None:
        """Note that offsets from `first` up to `end` were met."""
        if first > self.end_offset:
            self.missing.append((self.end_offset, first))
        self.end_offset = max(self.end_offset, end)


class Ledger:
    """The fold. `watched` are segment ids of which is noted that a record named them, and whether they are deleted.

    With `keep_deleted` DELETE_SEGMENT_FINISHED segments are kept; without, memory follows the living ones.
    """

    def __init__(self, *, keep_deleted: bool = False, watched: frozenset[bytes] = frozenset()) -> None:
        self.partitions: dict[PartitionKey, PartitionLog] = {}
        self.logs: dict[int, LogFacts] = {}
        self.poison: list[Poison] = []
        self.poison_count = 0
        self.partition_deletes: list[PartitionDelete] = []
        self.named: set[bytes] = set()
        self.deleted_at: dict[bytes, tuple[PartitionKey, str, int]] = {}
        self.scattered: set[PartitionKey] = set()
        self._numbers = SegmentNumbers()
        self._keep_deleted = keep_deleted
        self._watched = watched
        self._ended: set[tuple[int, PartitionKey]] = set()

    def take(self, log: MetadataLog, placed: PlacedRecord) -> str | None:
        """Fold one record; why it is not applied, None if it is."""
        record = placed.record
        if record is None:
            self._poisoned(Poison(log.partition, placed.offset, UNDECODABLE, placed.error, None, None))
            return POISON
        return self._take(log, placed.offset, record)

    def _take(self, log: MetadataLog, offset: int, record: RemoteRecord) -> str | None:
        partition = self._partition(record.topic, record.key)
        partition.count(record.topic, log.partition, record.event_timestamp_ms)
        if len(partition.records_in) > 1:
            self.scattered.add(record.key)
        if not isinstance(record, PartitionDeleteRecord):
            self._watch(record)
        why = self._stops(log, partition, record)
        if why is not None:
            self._poisoned(Poison(log.partition, offset, why, None, record.topic, record.key))
            return AFTER_DELETE if why == AFTER_DELETE else POISON
        if isinstance(record, PartitionDeleteRecord):
            self._partition_delete(log, offset, record, partition)
            return None
        if isinstance(record, UpdateRecord):
            return partition.update(record, log.partition, offset)
        return partition.add(record, log.partition, offset)

    def take_plain(self, log: MetadataLog, plain: PlainRecords) -> None:
        """Fold many: for each the same as `take`."""
        at, watched, key = log.partition, self._watched, None
        for offset, record in enumerate(plain.records, plain.first_offset):
            if record.key is not key:  # most come in pairs
                key = record.key
                partition = self._partition(record.topic, key)
                partition.count(record.topic, at, record.event_timestamp_ms, 0)
                if len(partition.records_in) > 1:
                    self.scattered.add(key)
                is_ended = (at, key) in self._ended
            if is_ended or isinstance(record, BaseRecord) is not (record.state is COPYING):
                self._take(log, offset, record)
                continue
            partition.records_in[at] += 1
            if partition.first_ms is None or record.event_timestamp_ms < partition.first_ms:
                partition.first_ms = record.event_timestamp_ms
            if watched:
                self._watch(record)
            if isinstance(record, BaseRecord):
                partition.add(record, at, offset)
            else:
                partition.update(record, at, offset)

    def _stops(self, log: MetadataLog, partition: PartitionLog, record: RemoteRecord) -> str | None:
        """Return the reason why a record ends a metadata consumer; None if it does not."""
        if (log.partition, record.key) in self._ended:
            return AFTER_DELETE
        if isinstance(record, BaseRecord) and record.state is not COPYING:
            return BASE_NOT_STARTED
        again = isinstance(record, UpdateRecord) and record.state is COPYING and partition.is_copying(record.segment_id)
        return COPY_STARTED_AGAIN if again else None

    def _partition(self, topic: str, key: PartitionKey) -> PartitionLog:
        partition = self.partitions.get(key)
        if partition is None:
            partition = PartitionLog(topic, key, keep_deleted=self._keep_deleted, numbers=self._numbers)
            self.partitions[key] = partition
        return partition

    def _partition_delete(
        self, log: MetadataLog, offset: int, record: PartitionDeleteRecord, partition: PartitionLog
    ) -> None:
        if record.state is not PartitionDeleteState.DELETE_PARTITION_FINISHED:
            return
        count = partition.forget()
        self._ended.add((log.partition, record.key))
        self.partition_deletes.append(PartitionDelete(log.partition, offset, record.topic, record.key, count))

    def _poisoned(self, poison: Poison) -> None:
        self.poison_count += 1
        if len(self.poison) < MOST_POISON:
            self.poison.append(poison)

    def _watch(self, record: BaseRecord | UpdateRecord) -> None:
        if record.segment_id in self._watched:
            self.named.add(record.segment_id)
            if record.state is DELETED:
                self.deleted_at[record.segment_id] = (record.key, record.topic, record.event_timestamp_ms)

    def _drop(self, keys: set[PartitionKey]) -> None:
        """Forget what some user partitions came to, so that they can be folded again."""
        for key in keys:
            self.partitions.pop(key, None)
        self.poison = [poison for poison in self.poison if poison.key not in keys]
        self.partition_deletes = [found for found in self.partition_deletes if found.key not in keys]
        self._ended = {(at, key) for at, key in self._ended if key not in keys}

    def finish(self, logs: Sequence[MetadataLog]) -> None:
        """Fold scattered records again after all logs, and mark the records before their log starts as lost."""
        if self.scattered:
            scattered = set(self.scattered)
            self._drop(scattered)
            for log, placed in merged(logs, scattered):
                self.take(log, placed)
        self._lose_with_log_start()

    def join(self, partitions: Iterable[PartitionLog]) -> None:
        """Take in what user partitions came to in another fold; what a second one has of them is scattered."""
        for partition in partitions:
            known = self.partitions.setdefault(partition.key, partition)
            if known is not partition:
                self.scattered.add(partition.key)

    def _lose_with_log_start(self) -> None:
        """Mark the segments whose base record lies below the start of its metadata partition."""
        starts = {at: facts.log.log_start for at, facts in self.logs.items() if facts.log.log_start > 0}
        if not starts:
            return
        for partition in self.partitions.values():
            for segment in partition.table.values():
                if segment.first_record < starts.get(segment.metadata_partition, 0):
                    segment.forgotten_by = FORGOTTEN_BY_LOG_START

    @property
    def newest_ms(self) -> int | None:
        """Return the newest timestamp of any record; None without one."""
        newest = max((facts.newest_ms for facts in self.logs.values()), default=-1)
        return newest if newest >= 0 else None


def fold(logs: Sequence[MetadataLog], *, keep_deleted: bool = False, watched: frozenset[bytes] = frozenset()) -> Ledger:
    """Fold all records of the logs. Each log is read once, and again if records of a partition are scattered."""
    ledger = Ledger(keep_deleted=keep_deleted, watched=watched)
    with no_collection():
        for log in logs:
            fold_log(ledger, log, log.read() if log.read_fast is None else log.read_fast())
        ledger.finish(logs)
    return ledger


def fold_log(ledger: Ledger, log: MetadataLog, reads: Iterable[FastRead]) -> None:
    """Fold one metadata partition from all its `reads`."""
    facts = ledger.logs[log.partition] = LogFacts(log)
    for found in reads:
        if isinstance(found, PlainRecords):
            facts.reach(found.first_offset, found.end_offset)
            facts.records += len(found.records)
            facts.newest_ms = max(facts.newest_ms, found.newest_ms)
            ledger.take_plain(log, found)
        elif is_record(found, facts):
            ledger.take(log, found)


def is_record(found: Read, facts: LogFacts) -> TypeGuard[PlacedRecord]:
    """Count what was read of a log; True for a record."""
    if isinstance(found, Unread):
        facts.unread.append(found)
        return False
    if isinstance(found, CleanedOffsets):
        facts.removed_to = max(facts.removed_to, found.end_offset)
        return False
    facts.reach(found.first_offset if isinstance(found, SkippedOffsets) else found.offset, found.end_offset)
    if isinstance(found, SkippedOffsets):
        return False
    facts.records += 1
    facts.newest_ms = max(facts.newest_ms, found.timestamp_ms)
    return True


def merged(logs: Iterable[MetadataLog], keys: set[PartitionKey]) -> Iterator[tuple[MetadataLog, PlacedRecord]]:
    """Yield the records of some user partitions from all logs, by time; those of one log keep their order."""
    by_time = heapq.merge(*(_of_partitions(log, keys) for log in logs), key=lambda entry: entry[:3])
    return ((log, placed) for *_, log, placed in by_time)


def _of_partitions(
    log: MetadataLog, keys: set[PartitionKey]
) -> Iterator[tuple[int, int, int, MetadataLog, PlacedRecord]]:
    """Yield each record of the partitions with the newest time up to it, which ascends within one log."""
    newest = -1
    for placed in log.read():
        if isinstance(placed, PlacedRecord) and placed.record is not None:
            newest = max(newest, placed.timestamp_ms)
            if placed.record.key in keys:
                yield newest, log.partition, placed.offset, log, placed
