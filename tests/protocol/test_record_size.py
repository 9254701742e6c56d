"""Sizes of records without writing them: as large as the records that the writer makes."""

from __future__ import annotations

import pytest

from kafkactl.protocol.record_batch import HEADER_BYTES, encode_batch
from kafkactl.protocol.record_size import record_size, value_record_size
from tests.sampling import one_in


def written(values: list[bytes]) -> int:
    return len(encode_batch([(None, value) for value in values], base_offset=0, timestamp_ms=0)) - HEADER_BYTES


@pytest.mark.parametrize("count", [1, 63, 64, 65, 8_191, 8_192, 8_193])
@pytest.mark.parametrize("value_bytes", one_in(4, [0, 58, 63, 64, 200]))
def test_sizes_are_those_of_a_batch_that_is_written(count: int, value_bytes: int):
    # Offsets and lengths take another byte from 64 and from 8,192 on.
    value = bytes(value_bytes)
    size = written([value] * count)
    assert sum(value_record_size(delta, value_bytes) for delta in range(count)) == size
    assert sum(record_size(delta, None, value) for delta in range(count)) == size
