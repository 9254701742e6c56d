"""Committed records that the logs of several voters prove."""

from __future__ import annotations

import pytest

from bench.log_generator import LogGenerator, Shape
from kafkactl.dryrun.engine.commit_bound import Lineage, commit_bound, lineage_of
from kafkactl.metadata.log.lineage import index_of
from kafkactl.protocol.log.batch_runs import walk_runs


def log(end: int, *epochs: tuple[int, int]) -> Lineage:
    return Lineage(epochs=epochs, end_offset=end)


ONE_EPOCH = [log(100, (1, 0)), log(90, (1, 0)), log(50, (1, 0))]


@pytest.mark.parametrize(
    "logs, voters, bound",
    [
        (ONE_EPOCH, 3, 89),
        (ONE_EPOCH, 5, 49),
        (ONE_EPOCH[:1], 3, None),
        (ONE_EPOCH[:1], 1, 99),
        # Two logs have everything of epoch 1, but nothing of epoch 2: not committed through the newest leader.
        ([log(100, (1, 0)), log(100, (1, 0)), log(103, (1, 0), (2, 101))], 3, None),
        ([log(103, (1, 0), (2, 101)), log(102, (1, 0), (2, 101)), log(100, (1, 0))], 3, 101),
        # One log differs from the others after offset 80 in epoch 1.
        ([log(100, (1, 0), (3, 80)), log(95, (1, 0), (2, 70)), log(90, (1, 0), (3, 80))], 3, 89),
        ([log(100, (1, 0), (3, 80)), log(95, (1, 0), (2, 70))], 3, None),
        ([], 3, None),
    ],
)
def test_commit_bound_is_the_end_that_a_majority_has(logs: list[Lineage], voters: int, bound: int | None) -> None:
    assert commit_bound(list(enumerate(logs)), voters) == bound


def test_copies_of_one_voter_and_other_nodes_do_not_count() -> None:
    ahead, behind = ONE_EPOCH[0], ONE_EPOCH[2]
    assert commit_bound([(1, ahead), (1, ahead)], 3) is None
    assert commit_bound([(1, ahead), (None, ahead), (None, ahead)], 3) is None
    assert commit_bound([(1, ahead), (1, behind), (2, behind)], 3) == 49
    # With an observer's log of a newer epoch it is unknown how much of the older one is committed.
    assert commit_bound([(1, ahead), (2, ahead), (None, log(103, (1, 0), (2, 101)))], 3) is None


def test_commit_bound_follows_the_lineage_of_a_log() -> None:
    generator = LogGenerator(Shape(records=2_000, partitions=200, brokers=3, epochs=3))
    data = b"".join(generator.batches())
    index = index_of(walk_runs([data]))
    found = lineage_of(index, index.end_offset)
    assert [epoch for epoch, _ in found.epochs] == [1, 2, 3]
    assert found.end_offset == generator.expected().last_offset + 1
    cut = lineage_of(index, 1_500)
    assert cut.end_offset == 1_500
    assert commit_bound([(1, found), (2, cut)], 3) == (1_499 if cut.epochs[-1][0] == 3 else None)
