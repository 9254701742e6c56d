"""`kafkactl log verify` of logs that part: an uncommitted tail, or two histories of one cluster id."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Run
from tests.quorum.recover import worlds
from tests.quorum.recover.worlds import MetadataLog, disk

Kafkactl = Callable[..., Run]
SECOND, HOUR = 1_000, 3_600_000


def founding(epoch: int, *, begun_ms: int = 1_000, noops: int = 3) -> MetadataLog:
    """Return a log from offset 0 on whose leader became the active controller."""
    log = MetadataLog(begun_ms=begun_ms).lead(epoch)
    for _ in range(noops):
        log = log.noop(epoch)
    return log


def elected_only(epoch: int, *, begun_ms: int = 1_000) -> MetadataLog:
    """Return the log of a first leader that no majority followed."""
    return MetadataLog(begun_ms=begun_ms).lead(epoch)


def compacted(path: Path, *, begun_ms: int) -> Path:
    """Return the disk of node 1 whose log begins at offset 500, behind a snapshot of epoch 7."""
    made = disk(path, 1, MetadataLog(end=500, begun_ms=begun_ms).noop(7).noop(7))
    (made / worlds.LOG / worlds.SEGMENT).rename(made / worlds.LOG / f"{500:020}.log")
    worlds.snapshot(made, worlds.BEFORE, 500, 7)
    return made


def verified(kafkactl: Kafkactl, *paths: object) -> tuple[int, dict[str, Any], dict[str, str]]:
    run = kafkactl("log", "verify", *paths, "-o", "json")
    answer = run.json
    return run.code, answer, {finding["id"]: finding["severity"] for finding in answer["findings"]}


@pytest.mark.parametrize(("old_epoch", "new_epoch"), [(4, 15), (15, 4), (1, 1)])
def test_two_foundings_are_reported_with_the_disks_of_each(
    kafkactl: Kafkactl, tmp_path: Path, old_epoch: int, new_epoch: int
) -> None:
    old = disk(tmp_path / "c1", 1, founding(old_epoch, noops=30))
    new = [disk(tmp_path / f"c{id}", id, founding(new_epoch, begun_ms=9 * SECOND)) for id in (2, 3)]
    code, answer, found = verified(kafkactl, *new, old)
    assert (code, found) == (7, {"cluster-founded-twice": "blocker"})
    (reported,) = answer["findings"]
    sides = sorted(reported["evidence"]["foundings"], key=len)
    assert sides == [[str(old)], [str(path) for path in new]]
    assert "Start none of them" in reported["next_step"]
    assert "kafkactl log diff" in reported["next_step"]
    shown = kafkactl("log", "verify", *new, old).stdout
    assert "Best disk" not in shown
    assert "Nothing to do" not in shown


def test_first_leader_without_majority_leaves_an_uncommitted_tail(kafkactl: Kafkactl, tmp_path: Path) -> None:
    logs = [disk(tmp_path / "c1", 1, elected_only(1))]
    logs += [disk(tmp_path / f"c{id}", id, founding(2)) for id in (2, 3)]
    assert verified(kafkactl, *logs)[::2] == (0, {"uncommitted-tail": "warning"})
    later = disk(tmp_path / "later", 1, elected_only(1, begun_ms=HOUR))  # formatted again, and elected by others
    assert verified(kafkactl, later, *logs[1:])[2]["empty-metadata-log"] == "blocker"


def test_blank_leader_with_a_higher_epoch_does_not_make_the_old_log_a_tail(kafkactl: Kafkactl, tmp_path: Path) -> None:
    # The new leader of a formatted disk was elected and not followed yet: only the old log was committed.
    logs = [disk(tmp_path / "c1", 1, founding(4, noops=30)), disk(tmp_path / "c2", 2, elected_only(15))]
    code, answer, found = verified(kafkactl, *logs)
    assert (code, found) == (7, {"committed-log-diverged": "blocker", "empty-metadata-log": "blocker"})
    (reported,) = [each for each in answer["findings"] if each["id"] == "committed-log-diverged"]
    assert "offset 0 (epoch 4)" in reported["message"]


def test_later_epoch_that_ends_below_a_snapshot_is_another_history(kafkactl: Kafkactl, tmp_path: Path) -> None:
    # Segments of the old history begin behind everything that the new one has.
    old = compacted(tmp_path / "c1", begun_ms=1_000)
    new = disk(tmp_path / "c2", 2, founding(9))
    code, answer, found = verified(kafkactl, old, new)
    assert (code, found) == (7, {"committed-log-diverged": "blocker"})
    assert "offset 499 (epoch 7)" in answer["findings"][0]["message"]


@pytest.mark.parametrize(
    ("late_ms", "expected"),
    [(-HOUR, {}), (20 * SECOND, {}), (HOUR, {"tail-may-be-committed": "blocker"})],
)
def test_short_log_written_after_the_long_one_may_be_another_history(
    kafkactl: Kafkactl, tmp_path: Path, late_ms: int, expected: dict[str, str]
) -> None:
    old = compacted(tmp_path / "c1", begun_ms=2 * HOUR)
    behind = disk(tmp_path / "c2", 2, founding(3, begun_ms=2 * HOUR + late_ms))
    assert verified(kafkactl, old, behind)[2] == expected


def common(leader_alone_ms: int, epoch: int = 1) -> tuple[MetadataLog, MetadataLog]:
    """Return a log that goes on in epoch 2, and one whose old leader wrote for some time more."""
    begun = founding(1)
    alone = MetadataLog(begun.dynamic, begun.data, begun.end, begun.starts, begun.begun_ms).noop(epoch)
    alone = MetadataLog(alone.dynamic, alone.data, alone.end, alone.starts, begun.begun_ms + leader_alone_ms)
    return begun.lead(2).noop(2), alone.noop(epoch)


@pytest.mark.parametrize(
    ("alone_ms", "expected"),
    [(3 * SECOND, {"uncommitted-tail": "warning"}), (25 * SECOND, {"tail-may-be-committed": "blocker"})],
)
def test_tail_that_one_leader_wrote_for_long_may_be_committed(
    kafkactl: Kafkactl, tmp_path: Path, alone_ms: int, expected: dict[str, str]
) -> None:
    later, tail = common(alone_ms)
    logs = [disk(tmp_path / "c1", 1, later), disk(tmp_path / "c2", 2, tail)]
    code, answer, found = verified(kafkactl, *logs)
    assert (code, found) == (7 if alone_ms > 9 * SECOND else 0, expected)
    if code:
        assert "over 25.0 s" in answer["findings"][0]["message"]
        assert "Either an earlier leader wrote it alone" in answer["findings"][0]["message"]


def test_tail_on_most_of_the_nodes_may_be_committed(kafkactl: Kafkactl, tmp_path: Path) -> None:
    later, tail = common(SECOND)
    logs = [disk(tmp_path / "c1", 1, later), *(disk(tmp_path / f"c{id}", id, tail) for id in (2, 3))]
    assert verified(kafkactl, *logs)[2] == {"tail-may-be-committed": "blocker"}
    # Two copies of one node are one node.
    copy = disk(tmp_path / "copy", 2, tail)
    assert verified(kafkactl, logs[0], logs[1], copy)[2] == {"uncommitted-tail": "warning"}


def test_committed_record_that_a_later_leader_replaced_is_another_history(kafkactl: Kafkactl, tmp_path: Path) -> None:
    # A majority was restored: the record that its leader of epoch 4 committed has epoch 3 in the log of epoch 5.
    newer = founding(1).lead(3).lead(5).noop(5)
    older = founding(1).lead(4).noop(4)
    logs = [disk(tmp_path / f"c{id}", id, older) for id in (1, 2)]
    logs += [disk(tmp_path / f"c{id}", id, newer) for id in (3, 11)]
    code, answer, found = verified(kafkactl, *logs)
    assert (code, found) == (7, {"committed-log-diverged": "blocker"})
    reported = answer["findings"][0]
    assert f"kafkactl log diff {logs[0]} {logs[2]}" in reported["next_step"]
    assert "with --lost for the other voters" in reported["next_step"]
