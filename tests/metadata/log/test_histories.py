"""Proof that records of a log are committed, and detection of a log written without them."""

from __future__ import annotations

import pytest

from kafkactl.metadata.log.histories import (
    CommittedRecord,
    committed_records,
    longest_reign_ms,
    overtakes,
)
from kafkactl.metadata.log.lineage import BatchIndex, index_of
from kafkactl.protocol.log.batch_runs import walk_runs
from kafkactl.protocol.record_batch import encode_batch

CONTROL, DATA = True, False


def index(*batches: tuple[int, int, bool], first: int = 0) -> BatchIndex:
    """Return batches of one record: epoch, time in s, whether it is a control batch."""
    data = b"".join(
        encode_batch(
            [(b"k" if is_control else None, b"v")],
            base_offset=first + at,
            timestamp_ms=1_000 * time_s,
            partition_leader_epoch=epoch,
            is_control=is_control,
        )
        for at, (epoch, time_s, is_control) in enumerate(batches)
    )
    return index_of(walk_runs([data]))


LED = index((1, 1, CONTROL), (1, 2, DATA), (3, 9, CONTROL), (4, 10, CONTROL), (4, 11, DATA))


@pytest.mark.parametrize(
    ("log", "snapshots", "expected"),
    [
        (LED, (), [(0, 1), (3, 4)]),  # the leader of epoch 3 never became active
        (LED.until(4), (), [(0, 1)]),
        (index((5, 1, CONTROL)), (), []),
        (index((5, 1, CONTROL), (5, 2, CONTROL)), (), []),  # elected, and no majority followed
        (index((5, 1, CONTROL), (5, 2, DATA), first=70), (), []),  # the log does not show where epoch 5 begins
        (index((5, 1, DATA), (5, 2, DATA)), (), []),
        (index(), ((0, 0), (9, 2)), [(8, 2)]),
    ],
)
def test_committed_records_are_found(
    log: BatchIndex, snapshots: tuple[tuple[int, int], ...], expected: list[tuple[int, int]]
) -> None:
    found = [(record.offset, record.epoch) for record in committed_records(log, snapshots)]
    assert found == expected


@pytest.mark.parametrize(
    ("record", "log", "snapshots", "expected"),
    [
        ((0, 1), index((2, 1, CONTROL)), (), True),
        ((1, 1), index((1, 1, CONTROL)), (), False),  # it lags
        ((1, 2), index((1, 1, CONTROL), (1, 2, DATA)), (), False),  # an uncommitted tail of an older leader
        ((9, 2), index((1, 1, CONTROL), (3, 1, CONTROL)), (), True),  # a later leader ended below that record
        ((9, 2), index(), ((4, 3),), True),
        ((9, 2), index(), ((11, 3),), False),
        ((0, 1), index(), (), False),
    ],
)
def test_log_of_a_later_leader_without_a_committed_record_overtakes_it(
    record: tuple[int, int], log: BatchIndex, snapshots: tuple[tuple[int, int], ...], expected: bool
) -> None:
    assert overtakes(CommittedRecord(offset=record[0], epoch=record[1]), log, snapshots) is expected


def test_longest_reign_is_that_of_one_leader() -> None:
    assert longest_reign_ms(LED, 0) == 1_000
    assert longest_reign_ms(index((1, 1, CONTROL), (1, 9, DATA), (2, 60, CONTROL)), 0) == 8_000
    assert longest_reign_ms(index((1, 1, CONTROL), (1, 9, DATA)), 1) == 0
    assert longest_reign_ms(index(), 0) == 0
