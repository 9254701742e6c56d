"""The committed offset that logs of several nodes prove, by Kafka's rule.

A leader's high watermark is the largest offset that a majority of the present voters have, and it is above the first
offset of the leader's own epoch. Numbers below are written as `END + n`: offsets around the end of the common log.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.conftest import Run
from tests.quorum.recover import worlds
from tests.quorum.recover.worlds import BEFORE, MetadataLog, disk, records

Kafkactl = Callable[..., Run]
OTHER = 77  # number of another directory id


def extended(log: MetadataLog, batches: int, epoch: int = 1) -> MetadataLog:
    for _ in range(batches):
        log = log.noop(epoch)
    return log


def common(*, dynamic: bool = True, ids: tuple[int, ...] = (1, 2, 3)) -> MetadataLog:
    return extended(MetadataLog(dynamic=dynamic, ids=ids).lead(1).append(records(BEFORE)), 6)


def until(log: MetadataLog, end: int) -> bytes:
    """Return the bytes of the batches below an offset."""
    return log.data[: dict(log.starts).get(end, len(log.data))]


LOG, STATIC, FIVE = common(), common(dynamic=False), common(ids=(1, 2, 3, 4, 5))
END, STATIC_END, FIVE_END = LOG.end, STATIC.end, FIVE.end
SOLE = common(ids=(1,))
WITHOUT_3 = LOG.vote((1, 2)).noop()
WITH_4 = LOG.vote((1, 2, 3, 4)).noop()
GROWN = extended(SOLE.vote((1, 2, 3)), 3)
NEXT = extended(LOG.lead(2, 2), 2, 2)
TAIL, LATER = extended(LOG, 4), extended(LOG.lead(3, 2), 2, 3)
DAMAGED_AT, DAMAGED_BYTE = LOG.starts[-3]
DAMAGED = LOG.data[: DAMAGED_BYTE + 30] + b"\xff" + LOG.data[DAMAGED_BYTE + 31 :]


class Copy(NamedTuple):
    """A log directory: its node, its log, the number of its directory id (0: the one in the voter set)."""

    node: int
    log: MetadataLog | bytes
    directory: int = 0
    snapshot_end: int = 0


def copies(log: MetadataLog, *nodes: int) -> list[Copy]:
    return [Copy(node, log) for node in nodes]


CASES: dict[str, tuple[int | None, Sequence[Copy]]] = {
    "all three voters": (END - 1, copies(LOG, 1, 2, 3)),
    "two of three voters": (END - 1, copies(LOG, 1, 2)),
    "voters that lag": (END - 2, [Copy(1, LOG), Copy(2, until(LOG, END - 1)), Copy(3, until(LOG, END - 3))]),
    "one voter twice": (None, copies(LOG, 1, 1)),
    "one voter twice, with two directory ids": (None, [Copy(1, LOG), Copy(1, LOG, OTHER)]),
    "other directory of a voter": (None, [Copy(1, LOG), Copy(2, LOG, OTHER)]),
    "voter, observer and broker": (None, copies(LOG, 1, 4, 11)),
    "three brokers": (None, copies(LOG, 11, 12, 13)),
    "older and newer copy of a voter": (
        END - 2, [Copy(1, LOG), Copy(2, until(LOG, END - 4)), Copy(2, until(LOG, END - 1))],
    ),
    "static: two of three": (STATIC_END - 1, copies(STATIC, 1, 2)),
    "static: one voter twice": (None, copies(STATIC, 1, 1)),
    "static: observers": (None, copies(STATIC, 1, 4, 11)),
    "static: directory ids do not count": (STATIC_END - 1, [Copy(1, STATIC), Copy(2, STATIC, OTHER)]),
    "five: two": (None, copies(FIVE, 1, 2)),
    "five: three": (FIVE_END - 1, copies(FIVE, 1, 2, 3)),
    "five: three copies of two voters": (None, copies(FIVE, 1, 2, 2)),
    "five: two and the other directory of a third": (None, [*copies(FIVE, 1, 2), Copy(3, FIVE, OTHER)]),
    "five: four that lag": (
        FIVE_END - 3,
        [
            Copy(1, FIVE),
            Copy(2, until(FIVE, FIVE_END - 1)),
            Copy(3, until(FIVE, FIVE_END - 2)),
            Copy(4, until(FIVE, FIVE_END - 3)),
        ],
    ),
    "removed voter does not count": (None, copies(WITHOUT_3, 1, 3)),
    "both voters that are left": (WITHOUT_3.end - 1, copies(WITHOUT_3, 1, 2)),
    "removed voter and one that lags": (END - 1, [Copy(1, WITHOUT_3), Copy(2, until(WITHOUT_3, END)), Copy(3, LOG)]),
    "two of four after an addition": (None, copies(WITH_4, 1, 2)),
    "three of four after an addition": (WITH_4.end - 1, copies(WITH_4, 1, 2, 4)),
    "addition that one voter has, with both others": (END - 1, [Copy(1, WITH_4), *copies(LOG, 2, 3)]),
    "addition that one voter has, with one other": (None, [Copy(1, WITH_4), Copy(2, LOG)]),
    "sole voter and a broker that lags": (SOLE.end - 1, [Copy(1, SOLE), Copy(11, until(SOLE, SOLE.end - 3))]),
    "sole voter that a broker outruns": (SOLE.end - 3, [Copy(1, until(SOLE, SOLE.end - 2)), Copy(11, SOLE)]),
    "epoch that one voter has": (None, [Copy(2, NEXT), *copies(LOG, 1, 3)]),
    # The first record of an epoch is committed with the offset after it.
    "first record of an epoch on two voters": (END, [Copy(2, NEXT), Copy(1, until(NEXT, END + 1)), Copy(3, LOG)]),
    "records before the first of an epoch": (None, [Copy(2, NEXT), Copy(1, until(NEXT, END)), Copy(3, LOG)]),
    "epoch on two voters": (NEXT.end - 1, [*copies(NEXT, 1, 2), Copy(3, LOG)]),
    "tail of an old leader": (LATER.end - 1, [Copy(1, TAIL), *copies(LATER, 2, 3)]),
    "tail of an old leader and one new log": (None, [Copy(1, TAIL), Copy(2, LATER)]),
    "newer epoch of an observer": (None, [*copies(LOG, 1, 2), Copy(4, NEXT)]),
    "damaged log of a voter": (DAMAGED_AT - 1, [Copy(1, LOG), Copy(2, DAMAGED)]),
    "snapshot of the log that is replayed": (END - 4, [Copy(1, LOG, 0, END - 3)]),
    "snapshot of an observer": (END - 4, [Copy(1, LOG), Copy(4, LOG, 0, END - 3)]),
    "snapshot of another directory of a voter": (END - 4, [Copy(1, LOG), Copy(2, LOG, OTHER, END - 3)]),
    "newest of several snapshots": (
        END - 2, [Copy(1, LOG, 0, END - 5), Copy(11, LOG, 0, END - 3), Copy(4, LOG, 0, END - 1)],
    ),
    "snapshot below what two voters have": (END - 1, [Copy(1, LOG, 0, END - 5), Copy(2, LOG)]),
}  # fmt: skip


def committed(kafkactl: Kafkactl, root: Path, held: Sequence[Copy], *words: object) -> int | None:
    paths = []
    for number, copy in enumerate(held):
        paths.append(disk(root / str(number), copy.node, copy.log, directory=copy.directory))
        if copy.snapshot_end:
            worlds.snapshot(paths[-1], BEFORE, copy.snapshot_end, 1)
    run = kafkactl("dryrun", "replay", *paths, *words, "-o", "json")
    assert run.stdout, run.stderr
    offset: int | None = run.json["source"]["committed_offset"]
    return offset


@pytest.mark.parametrize("name", CASES)
def test_committed_offset_is_that_of_the_majority_of_the_voters(kafkactl: Kafkactl, tmp_path: Path, name: str) -> None:
    expected, held = CASES[name]
    assert committed(kafkactl, tmp_path, held) == expected


@pytest.mark.parametrize(("log", "end"), [(WITH_4, END - 1), (GROWN, SOLE.end - 1)])
def test_voters_before_the_end_of_the_log_prove_nothing(
    kafkactl: Kafkactl, tmp_path: Path, log: MetadataLog, end: int
) -> None:
    # The voters at --at are fewer than those at the end of the log: the offset after which two logs end is not theirs.
    assert committed(kafkactl, tmp_path, [Copy(1, log), Copy(11, log)], "--at", end) is None
    snapshot = [Copy(1, log, 0, 9), Copy(11, log)]
    assert committed(kafkactl, tmp_path / "snapshot", snapshot, "--at", end) == 8
