"""`kafkactl log verify` of a tail that was perhaps committed: the voters that have it are counted, not the logs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.commands.dryrun.test_committed_offset import FIVE, LOG, OTHER, SOLE, STATIC, Copy, copies, extended
from tests.conftest import Run
from tests.quorum.recover.worlds import MetadataLog, disk

Kafkactl = Callable[..., Run]
DOUBTFUL, UNCOMMITTED = {"tail-may-be-committed"}, {"uncommitted-tail"}


def parted(log: MetadataLog) -> tuple[MetadataLog, MetadataLog]:
    """Return the log with a tail of its first leader, and with the records of a later one."""
    return extended(log, 4), extended(log.lead(2, 2), 3, 2)


TAIL, NEW = parted(LOG)
STATIC_TAIL, STATIC_NEW = parted(STATIC)
FIVE_TAIL, FIVE_NEW = parted(FIVE)
SOLE_TAIL, SOLE_NEW = parted(SOLE)
TAIL_4 = extended(LOG.vote((1, 2, 3, 4)), 3)
CASES: dict[str, tuple[set[str], Sequence[Copy]]] = {
    "two of three voters, beside brokers": (DOUBTFUL, [*copies(TAIL, 2, 3), *copies(NEW, 1, 11, 12, 13)]),
    "the same in a static quorum": (DOUBTFUL, [*copies(STATIC_TAIL, 2, 3), *copies(STATIC_NEW, 1, 11, 12, 13)]),
    "one voter and three brokers": (UNCOMMITTED, [*copies(TAIL, 2, 11, 12, 13), *copies(NEW, 1, 3)]),
    "one voter and an observer": (UNCOMMITTED, [*copies(TAIL, 2, 4), *copies(NEW, 1)]),
    "one voter twice": (UNCOMMITTED, [*copies(TAIL, 2, 2, 2), *copies(NEW, 1, 3)]),
    "a voter and the other directory of another": (UNCOMMITTED, [Copy(2, TAIL), Copy(3, TAIL, OTHER), Copy(1, NEW)]),
    "one of two voters that are shown": (UNCOMMITTED, [*copies(TAIL, 2), *copies(NEW, 1)]),
    "two of five, and two are not shown": (DOUBTFUL, [*copies(FIVE_TAIL, 2, 3), *copies(FIVE_NEW, 1)]),
    "two of five, and all are shown": (UNCOMMITTED, [*copies(FIVE_TAIL, 2, 3), *copies(FIVE_NEW, 1, 4, 5)]),
    "three of five": (DOUBTFUL, [*copies(FIVE_TAIL, 2, 3, 4), *copies(FIVE_NEW, 1, 5, 11, 12)]),
    "the only voter": (DOUBTFUL, [*copies(SOLE_TAIL, 1), *copies(SOLE_NEW, 11, 12)]),
    "two of the four voters that the tail has": (UNCOMMITTED, [*copies(TAIL_4, 1, 2), *copies(NEW, 3, 4)]),
}


def found(kafkactl: Kafkactl, root: Path, held: Sequence[Copy]) -> set[str]:
    paths = [disk(root / str(at), copy.node, copy.log, directory=copy.directory) for at, copy in enumerate(held)]
    return {finding["id"] for finding in kafkactl("log", "verify", *paths, "-o", "json").json["findings"]}


@pytest.mark.parametrize("name", CASES)
def test_tail_is_doubtful_if_a_majority_of_the_voters_may_have_it(
    kafkactl: Kafkactl, tmp_path: Path, name: str
) -> None:
    expected, held = CASES[name]
    assert found(kafkactl, tmp_path, held) == expected


def test_tail_after_the_damage_of_a_voter_does_not_count(kafkactl: Kafkactl, tmp_path: Path) -> None:
    # Voter 3 has the tail after a batch that is damaged before it: a node that starts does not keep it.
    at = LOG.starts[-2][1]
    damaged = TAIL.data[: at + 30] + b"\xff" + TAIL.data[at + 31 :]
    held = [*copies(TAIL, 2), Copy(3, damaged), *copies(NEW, 1)]
    assert found(kafkactl, tmp_path, held) == {"metadata-log-damaged", "damaged-log-ranked", *UNCOMMITTED}
