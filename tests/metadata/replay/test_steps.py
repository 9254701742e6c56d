"""Number of records that are read together from batches of all kinds."""

from __future__ import annotations

import numpy as np
import pytest

from kafkactl.metadata.replay.columns import frame as columns_frame


@pytest.mark.parametrize(
    ("counts", "steps"),
    [
        ([], 0),
        ([5_000] * 3, 0),  # a step over three batches takes as long as 60 records of one
        ([20] * 1_000, 20),
        ([5_000] * 17 + [20] * 1_000, 20),
        ([300] * 100 + [20] * 1_000, 300),
    ],
)
def test_batches_are_read_together_where_that_takes_less_time(counts: list[int], steps: int) -> None:
    assert columns_frame._steps(np.array(counts, np.int64)) == steps
