"""Voters that are counted for a recovery: by epoch, by address, by their newest state, and not while a node runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.quorum.recover import worlds
from tests.quorum.recover.test_recover import LOST, Recovery, recover, survivors
from tests.quorum.recover.worlds import broker_disks, disk, lagging_log, whole_log

__all__ = ["recover"]


def test_disk_of_a_later_epoch_is_better_than_a_longer_one(recover: Recovery, tmp_path: Path) -> None:
    # The longer log ends with records of a leader that was replaced, so that they were not committed.
    longer = lagging_log()
    for _ in range(9):
        longer = longer.noop(1)
    disks = [disk(tmp_path / "c2", 2, longer), disk(tmp_path / "c1", 1, lagging_log().lead(2).noop(2))]
    words = ("--lost", 3, "--node-id", 2, "--without-broker-disks", "--drop-empty", "--from", disks[0])
    assert "better-disk-exists" in recover.refused(*words, disks=disks)


def test_voter_that_moved_leaves_one_of_two_and_no_majority(recover: Recovery, tmp_path: Path) -> None:
    disks = [*(disk(tmp_path / f"c{id}", id, whole_log()) for id in (1, 2)), *broker_disks(tmp_path)]
    assert recover.refused("--lost", 3, disks=disks) == ["quorum-has-majority"]
    planned = recover.plan("--lost", 3, "--node-id", 2, "--new-address", "1=new-1:9093", disks=disks)
    assert "voters-at-new-addresses" in [finding["id"] for finding in planned["findings"]]


@pytest.mark.parametrize("newest", [1, 2])
def test_voters_of_a_static_quorum_are_those_of_the_newest_state(
    recover: Recovery, tmp_path: Path, newest: int
) -> None:
    log = whole_log(dynamic=False)
    disks = [disk(tmp_path / f"c{id}", id, log) for id in (1, 2)]
    for id, path in enumerate(disks, start=1):
        worlds.static_state(path, 9 if id == newest else 4, (id, 3, 7, 8))
    run = recover("--plan", *("--lost", "3,7,8"), disks=[*disks, *broker_disks(tmp_path, log=log)])
    assert [voter["id"] for voter in run.json["voters_before"]] == [newest, 3, 7, 8]


@pytest.mark.parametrize("name", ["c2", "b11"])
def test_running_broker_may_be_declared_and_a_running_controller_not(
    recover: Recovery, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    disks = survivors(tmp_path)
    lock = str(tmp_path / name / ".lock")
    monkeypatch.setattr("kafkactl.storage.io.directories.lock_holder", lambda at: 7 if at == lock else None)
    run = recover(*LOST, "--brokers-run", "--plan", disks=disks)
    (found,) = [finding for finding in run.json["findings"] if finding["id"] == "log-dir-in-use"]
    assert found["severity"] == ("blocker" if name == "c2" else "warning")
