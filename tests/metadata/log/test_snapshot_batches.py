"""The batches of a snapshot, predicted from sizes and made of values: the same, up to Kafka's largest batch."""

from __future__ import annotations

import pytest

from kafkactl.metadata.log.checkpoint import MAX_BATCH_BYTES, batch_sizes, batch_values
from kafkactl.protocol.record_batch import encode_batch

MIB = 1024 * 1024


@pytest.mark.parametrize(
    "sizes",
    [
        [],
        [0],
        [3] * 70,
        [100] * 9_000,
        [3 * MIB] * 5,
        [9 * MIB, 1, 1],
        [1, 9 * MIB, 1],
        [MIB // 2] * 15 + [MIB // 2 - 220, 1, 1],
    ],
    ids=["none", "an empty value", "many small", "more than one byte of offset", "two each", "too large alone",
         "too large between", "at the edge"],
)  # fmt: skip
def test_predicted_batches_are_those_that_are_written(sizes: list[int]):
    written = [
        (len(encode_batch([(None, value) for value in chunk], base_offset=0, timestamp_ms=0)), len(chunk))
        for chunk in batch_values([bytes(size) for size in sizes])
    ]
    assert list(batch_sizes(sizes)) == written
    assert sum(count for _, count in written) == len(sizes)
    assert all(size <= MAX_BATCH_BYTES or count == 1 for size, count in written)
