"""Rows of numbers of segments: what is deleted leaves its row, and what is still shown keeps it."""

from __future__ import annotations

from kafkactl.tiered.numbers import (
    INT_BYTES,
    INTS_EACH,
    LONG_BYTES,
    LONGS_EACH,
    SegmentNumbers,
    SegmentRows,
    put_ints,
    put_longs,
)
from kafkactl.tiered.partition_log import PartitionLog
from kafkactl.tiered.records import BaseRecord, PartitionKey, UpdateRecord
from kafkactl.tiered.states import COPIED, COPYING, DELETED, DELETING, SegmentState

KEY = PartitionKey(b"t" * 16, 0)
NEWEST_MS, COPIED_MS = 2**40, 2**41


def base(number: int, start: int) -> BaseRecord:
    segment_id = number.to_bytes(16, "big")
    return BaseRecord(
        "t", KEY, segment_id, start, start + 9, 1, NEWEST_MS, 1, ((0, start),), 2**31 - 1, None, COPYING, True
    )


def update(number: int, state: SegmentState, time_ms: int = COPIED_MS) -> UpdateRecord:
    return UpdateRecord("t", KEY, number.to_bytes(16, "big"), 1, time_ms, None, state)


def stored(numbers: SegmentNumbers, start: int) -> tuple[SegmentRows, int]:
    rows, at = numbers.take()
    put_longs(rows.longs, at * LONG_BYTES, start, -(2**63), 2**63 - 1, 4, 5, 6)
    put_ints(rows.ints, at * INT_BYTES, -(2**31), 2**31 - 1, 9, 10, start)
    return rows, at


def row(rows: SegmentRows, at: int) -> list[int]:
    return [*rows.longs[at : at + LONGS_EACH], *rows.ints[at : at + INTS_EACH]]


def test_row_is_used_again():
    numbers = SegmentNumbers()
    first, second = stored(numbers, 1), stored(numbers, 2)
    first[0].give_up(first[1])
    assert stored(numbers, 3) == first
    assert row(*first) == [3, -(2**63), 2**63 - 1, 4, 5, 6, -(2**31), 2**31 - 1, 9, 10, 3]
    assert row(*second) == [2, -(2**63), 2**63 - 1, 4, 5, 6, -(2**31), 2**31 - 1, 9, 10, 2]


def test_full_rows_are_followed_by_others_until_there_is_space_in_them():
    numbers = SegmentNumbers()
    held = [stored(numbers, 0)]
    while (found := stored(numbers, len(held)))[0] is held[0][0]:
        held.append(found)
    assert [row(*each)[0] for each in held] == list(range(len(held)))
    held[0][0].give_up(held[0][1])
    assert stored(numbers, 0) == held[0]
    assert numbers.take()[0] is found[0]


def test_memory_follows_the_living_segments():
    numbers = SegmentNumbers()
    log = PartitionLog("t", KEY, keep_deleted=False, numbers=numbers)
    for number in range(100):
        log.add(base(number, 10 * number), 0, 4 * number)
        for at, state in enumerate((COPIED, DELETING, DELETED), 1):
            log.update(update(number, state), 0, 4 * number + at)
    first_place = SegmentNumbers().take()[1]
    assert (len(log.table), numbers.take()[1]) == (0, first_place)


def test_numbers_of_a_segment_are_kept():
    log = PartitionLog("t", KEY, keep_deleted=False)
    log.add(base(1, 50), 3, 7)
    log.update(update(1, COPIED), 3, 9)
    log.update(update(1, DELETING, 5), 3, 12)
    log.update(update(1, DELETING, 6), 3, 13)
    (segment,) = log.segments()
    assert (segment.start_offset, segment.end_offset, segment.size) == (50, 59, 2**31 - 1)
    assert (segment.max_timestamp_ms, segment.event_timestamp_ms) == (NEWEST_MS, 6)
    assert (segment.first_record, segment.last_record, segment.records) == (7, 13, 4)
    assert (segment.metadata_partition, segment.broker_id, segment.txn_index_empty) == (3, 1, True)
    assert (segment.leader_epochs, segment.only_epoch, segment.epoch_numbers) == (((0, 50),), 0, (0,))
    assert (segment.delete_starts, segment.deleting_since_ms, segment.forgotten_by) == (2, 5, None)


def test_deleted_segment_that_an_epoch_still_shows_keeps_its_row():
    # Two segments with one start offset: deleting the second does not take the first out of the map (KAFKA-15168).
    numbers = SegmentNumbers()
    log = PartitionLog("t", KEY, keep_deleted=False, numbers=numbers)
    log.add(base(1, 0), 0, 0)
    log.update(update(1, COPIED), 0, 1)
    (segment,) = log.segments()
    segment.mapped += 1  # as where DELETE_SEGMENT_STARTED did not take it out of a map
    log.update(update(1, DELETING), 0, 2)
    log.update(update(1, DELETED), 0, 3)
    log.add(base(2, 100), 0, 4)
    assert [found.end_offset for found in log.segments()] == [109]
    assert segment.end_offset == 9


def test_deleted_segments_that_are_kept_keep_their_rows():
    numbers = SegmentNumbers()
    log = PartitionLog("t", KEY, keep_deleted=True, numbers=numbers)
    for number in range(3):
        log.add(base(number, 10 * number), 0, 4 * number)
        for at, state in enumerate((COPIED, DELETING, DELETED), 1):
            log.update(update(number, state), 0, 4 * number + at)
    assert [segment.end_offset for segment in (log.deleted or {}).values()] == [9, 19, 29]
