"""Divergence point of two logs, from their batches alone."""

from __future__ import annotations

import pytest

from kafkactl.metadata.log.lineage import Divergence, divergence, index_of
from kafkactl.protocol.log.batch_runs import walk_runs
from kafkactl.protocol.record_batch import encode_batch

Batch = tuple[int, int, bytes]  # base offset, epoch, value; each batch has two records


def index(*batches: Batch):
    data = b"".join(
        encode_batch([(None, value)] * 2, base_offset=offset, timestamp_ms=1, partition_leader_epoch=epoch)
        for offset, epoch, value in batches
    )
    return index_of(walk_runs([data]))


A, B, C = (0, 1, b"a"), (2, 1, b"b"), (4, 2, b"c")


@pytest.mark.parametrize(
    ("batches", "other", "expected"),
    [
        ((A, B, C), (A, B, C), None),
        ((A, B), (A, B, C), None),
        ((B, C), (A, B), None),
        ((), (A,), None),
        ((A,), (C,), None),
        ((A, B, (4, 1, b"c")), (A, B, C), Divergence(offset=4, epoch=1, other_epoch=2)),
        ((A, (2, 1, b"x"), C), (A, B, C), Divergence(offset=2, epoch=1, other_epoch=1)),
        ((A, (3, 1, b"x")), (A, B, C), Divergence(offset=2, epoch=None, other_epoch=1)),
        ((A, B, C), (A, (3, 1, b"x")), Divergence(offset=2, epoch=1, other_epoch=None)),
    ],
)
def test_divergence_point_of_two_logs_is_found(
    batches: tuple[Batch, ...], other: tuple[Batch, ...], expected: Divergence | None
):
    assert divergence(index(*batches), index(*other)) == expected


def test_index_has_the_offsets_and_epochs_of_a_log():
    found = index(A, B, C)
    assert (found.first_offset, found.end_offset, found.last_epoch) == (0, 6, 2)
    assert (index().first_offset, index().end_offset, index().last_epoch) == (None, 0, -1)
    assert list(index(A, C, B).base_offsets) == [0, 4]
