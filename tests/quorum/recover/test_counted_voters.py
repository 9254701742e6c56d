"""Voters of a lost quorum: named by the log if nothing else names them, and counted by directory id."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.commands.dryrun.test_committed_offset import DAMAGED, FIVE, LOG, OTHER, STATIC, WITH_4, WITHOUT_3, extended
from tests.quorum.recover import worlds
from tests.quorum.recover.test_recover import Recovery, recover
from tests.quorum.recover.worlds import MetadataLog, disk

__all__ = ["recover"]

Disks = list[tuple[int, MetadataLog | bytes, int]]


def states(recover: Recovery, root: Path, shown: Disks, *words: object) -> tuple[dict[int, str], dict[str, str], dict]:
    """Return the voters with their states, the findings with their severities, and the answer."""
    paths = [disk(root / f"{at}", node, log, directory=number) for at, (node, log, number) in enumerate(shown)]
    for path, (node, _, _) in zip(paths, shown, strict=True):
        if node > 10:
            for topic in worlds.BEFORE.topics.values():
                for partition in topic.partitions:
                    worlds.folder(path, topic, partition)
    answer = recover(*words, "--plan", disks=paths).json
    voters = {voter["id"]: voter["state"] for voter in answer["voters_before"]}
    return voters, {finding["id"]: finding["severity"] for finding in answer["findings"]}, answer


def brokers(log: MetadataLog) -> Disks:
    return [(11, log, 0), (12, log, 0)]


def test_voters_of_a_static_quorum_without_a_state_file_are_those_of_the_log(recover: Recovery, tmp_path: Path):
    voters, found, answer = states(recover, tmp_path, [(1, STATIC, 0), *brokers(STATIC)])
    assert voters == {1: "shown", 2: "unknown", 3: "unknown"}
    assert "quorum-has-majority" not in found
    assert (found["voter-disk-not-shown"], answer["losses"]["unknown"]) == ("blocker", True)


def test_voters_of_a_static_quorum_are_not_those_of_the_file_of_the_recovered_node(recover: Recovery, tmp_path: Path):
    file = tmp_path / "server.properties"
    file.write_text(
        "process.roles=controller\nnode.id=1\ncontroller.quorum.voters=1@h:9093\ncontroller.listener.names=C\n"
        f"listeners=C://h:9093\nlog.dirs={recover.out}\n"
    )
    words = ("--config", file, "--lost", "2,3")
    voters, found, _ = states(recover, tmp_path, [(1, STATIC, 0), *brokers(STATIC)], *words)
    assert voters == {1: "shown", 2: "lost", 3: "lost"}
    assert "quorum-has-majority" not in found


def test_copy_of_a_broker_alone_names_every_voter(recover: Recovery, tmp_path: Path):
    voters, _, _ = states(recover, tmp_path, brokers(STATIC))
    assert voters == dict.fromkeys((1, 2, 3), "unknown")


def test_other_directory_of_a_voter_that_goes_further_is_not_the_voters_end(recover: Recovery, tmp_path: Path):
    # Voters that lost their end lead with less than the other copy has: it is not true that nothing is lost.
    shown: Disks = [*((id, LOG, 0) for id in (1, 2, 3)), (1, extended(LOG, 3), OTHER), *brokers(LOG)]
    _, found, answer = states(recover, tmp_path, shown)
    assert (found["quorum-has-majority"], answer["outcome"]) == ("warning", "planned")
    (finding,) = [each for each in answer["findings"] if each["id"] == "quorum-has-majority"]
    assert finding["evidence"]["voters_end"] == LOG.end


@pytest.mark.parametrize(
    ("shown", "lost", "majority"),
    [
        ([(1, FIVE, 0), (2, FIVE, 0)], "3,4,5", False),
        ([(1, FIVE, 0), (1, FIVE, 0), (2, FIVE, 0)], "3,4,5", False),
        ([(1, FIVE, 0), (2, FIVE, 0), (3, FIVE, OTHER)], "3,4,5", False),
        ([(1, FIVE, 0), (2, FIVE, 0), (3, FIVE, 0)], "4,5", True),
        # A voter set takes effect as soon as it is in the log, committed or not.
        ([(1, WITH_4, 0), (2, LOG, 0)], "3,4", False),
        ([(1, WITH_4, 0), (2, LOG, 0), (3, LOG, 0)], "4", True),
        ([(1, WITHOUT_3, 0), (3, WITHOUT_3, 0)], "2", False),
        ([(1, WITHOUT_3, 0), (2, WITHOUT_3, 0)], "3", True),
        ([(2, LOG, 0), (3, LOG, 0)], "1", True),
        ([(1, LOG, 0), (2, DAMAGED, 0)], "3", False),
        ([(1, LOG, 0), (2, DAMAGED, 0), (2, LOG, 0)], "3", True),
    ],
)
def test_majority_is_one_of_the_voters_of_the_best_log(
    recover: Recovery, tmp_path: Path, shown: Disks, lost: str, majority: bool
):
    log = max((log for _, log, _ in shown if isinstance(log, MetadataLog)), key=lambda log: log.end)
    _, found, _ = states(recover, tmp_path, [*shown, *brokers(log)], "--lost", lost)
    assert ("quorum-has-majority" in found) is majority, found


@pytest.mark.parametrize(("third", "lost", "unknown"), [(LOG, "1", False), (DAMAGED, "1", True), (b"", "1", True)])
def test_loss_is_unknown_if_lost_and_damaged_voters_are_a_majority(
    recover: Recovery, tmp_path: Path, third: MetadataLog | bytes, lost: str, unknown: bool
):
    shown: Disks = [(2, LOG, 0), (3, third, 0), *brokers(LOG)]
    _, _, answer = states(recover, tmp_path, shown, "--lost", lost)
    assert answer["losses"]["unknown"] is unknown
