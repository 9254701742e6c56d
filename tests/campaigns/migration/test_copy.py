"""A fresh migration of each release against its prediction; the goldens of the same are compared in every run."""

from __future__ import annotations

import pytest

from tests.campaigns.goldens.migrations import ATTEMPTS, RELEASES, capture
from tests.migration.copy.proof import assert_same_batches, assert_same_records, read_copy, read_tree

pytestmark = pytest.mark.timeout(900)


@pytest.mark.parametrize("release", RELEASES)
def test_real_copy_is_the_predicted_one(release, tmp_path):
    for attempt in range(ATTEMPTS):
        if capture(release, tmp_path / str(attempt), tmp_path):
            break
    else:
        pytest.fail("partitions changed after the copy in each run, so that the tree is not the copied one")
    tree, real = read_tree(tmp_path / release), read_copy(tmp_path / release, tmp_path)
    assert_same_records(tree, release, real)
    assert_same_batches(tree, release, real)
