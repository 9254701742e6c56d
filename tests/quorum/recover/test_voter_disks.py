"""Disks that count as those of voters, and what of a disk that differs from the source may be given up."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.quorum.recover import worlds
from tests.quorum.recover.test_recover import Recovery, recover, survivors
from tests.quorum.recover.worlds import AFTER, LATE, broker_disks, disk, lagging_log, whole_log

__all__ = ["recover"]


def with_directory_id(path: Path, number: int) -> Path:
    """Return the disk as another format of the same node would have left it."""
    file = path / "meta.properties"
    file.write_text(file.read_text().replace(str(worlds.DIRECTORY[2]), str(worlds.uuid(number))))
    return path


def test_disk_that_was_formatted_again_is_not_the_disk_of_the_voter(recover: Recovery, tmp_path: Path):
    disks = [disk(tmp_path / "c1", 1, whole_log()), *broker_disks(tmp_path, log=whole_log())]
    other = with_directory_id(disk(tmp_path / "c2", 2, whole_log()), 77)
    assert "voter-disk-not-shown" in recover.refused("--lost", 3, disks=[*disks, other])
    planned = recover.plan("--lost", "2,3", disks=[*disks, other])
    assert [(voter["id"], voter["state"]) for voter in planned["voters_before"]] == [
        (1, "shown"), (2, "lost"), (3, "lost"),
    ]  # fmt: skip
    again = disk(tmp_path / "again" / "c2", 2, whole_log())
    assert recover.refused("--lost", 3, disks=[*disks, again]) == ["quorum-has-majority"]


def test_disk_without_a_metadata_log_is_not_the_disk_of_a_voter(recover: Recovery, tmp_path: Path):
    disks = [disk(tmp_path / "c1", 1, whole_log()), *broker_disks(tmp_path, log=whole_log())]
    empty = disk(tmp_path / "c2", 2)
    assert "voter-disk-not-shown" in recover.refused("--lost", 3, disks=[*disks, empty])


def test_diverging_records_that_a_snapshot_covers_are_never_given_up(recover: Recovery, tmp_path: Path):
    # A snapshot holds committed records only, so that what differs below its end was committed.
    begin = lagging_log()
    best = begin.lead(2).append(worlds.topic_records(LATE), epoch=2).noop(2)
    tail = disk(tmp_path / "t", 11, begin.append(worlds.topic_records(LATE)).noop(1))
    source = disk(tmp_path / "c3", 3, best)
    brokers = broker_disks(tmp_path)
    words = ("--lost", "1,2", "--node-id", 3, "--adopt", "--drop-empty", "--without-broker-disks", "--accept-loss")
    shown = [source, tail, *brokers]
    assert recover.plan(*words, disks=shown)["outcome"] == "planned"
    worlds.snapshot(source, AFTER, begin.end + 2, 2)
    assert recover.refused(*words, disks=shown) == ["disks-diverge"]


@pytest.mark.parametrize("kind", ["damaged", "blank", "elections", "whole"])
def test_only_sound_disks_of_voters_are_a_majority(recover: Recovery, tmp_path: Path, kind: str):
    # A voter whose log is damaged or blank cannot elect a leader that has what was committed.
    log = whole_log()
    held = {"damaged": log.data[:-30] + b"\x01" + log.data[-29:], "blank": b"", "whole": log.data}.get(
        kind, worlds.MetadataLog().lead(1).data
    )
    disks = [disk(tmp_path / "c1", 1, log), disk(tmp_path / "c2", 2, held), *broker_disks(tmp_path, log=log)]
    run = recover("--lost", 3, "--plan", "--node-id", 1, disks=disks)
    ids = {finding["id"] for finding in run.json["findings"] if finding["severity"] == "blocker"}
    assert ("quorum-has-majority" in ids) is (kind == "whole"), ids


def test_loss_is_unknown_where_a_voter_is_neither_shown_nor_declared_lost(recover: Recovery, tmp_path: Path):
    run = recover("--lost", 1, "--plan", disks=survivors(tmp_path))
    assert run.json["losses"]["unknown"] is True
    disks = [disk(tmp_path / "all" / f"c{node_id}", node_id, whole_log()) for node_id in (2, 3)]
    run = recover("--lost", 1, "--plan", disks=[*disks, tmp_path / "b11", tmp_path / "b12"])
    assert run.json["losses"]["unknown"] is False
