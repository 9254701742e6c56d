"""`kafkactl quorum describe` with disks: whose they are, which history they hold, and voters under old addresses."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kafkactl.cluster.quorum.voter_sets import Voter, voters_data
from kafkactl.core.values import Endpoint
from kafkactl.protocol.control_records import ControlType, encode_control_record
from kafkactl.protocol.record_batch import encode_batch
from tests.conftest import Run
from tests.kafka.quorum_nodes import CLUSTER_ID, NOT_LEADER, Quorum, directory, quorum_body, running
from tests.lab.harness.ports import HOST, free_port
from tests.quorum.recover import worlds
from tests.quorum.recover.worlds import DIRECTORY, MetadataLog, disk

Cli = Callable[..., Run]


def described(kafkactl: Cli, *words: object) -> tuple[int, dict[str, Any], dict[str, dict[str, Any]]]:
    run = kafkactl("quorum", "describe", *words, "-o", "json")
    return run.code, run.json, {finding["id"]: finding for finding in run.json["findings"]}


def test_disk_with_another_directory_id_is_not_the_voters(kafkactl: Cli, tmp_path: Path) -> None:
    log = worlds.whole_log()
    own, strange = disk(tmp_path / "c1", 1, log), disk(tmp_path / "c2", 2, log)
    meta = strange / "meta.properties"
    meta.write_text(meta.read_text().replace(str(DIRECTORY[2]), str(DIRECTORY[12])))
    code, answer, found = described(kafkactl, "--log-dir", own, "--log-dir", strange)
    assert code == 7
    reported = found["directory-id-not-in-voter-set"]
    assert reported["subject"] == f"directory {strange}"
    assert "not the disk of that voter" in reported["message"]
    assert {voter["id"]: voter["log_end_offset"] for voter in answer["voters"]} == {1: log.end, 2: None, 3: None}


def test_disks_of_two_foundings_are_named(kafkactl: Cli, tmp_path: Path) -> None:
    old = disk(tmp_path / "c1", 1, worlds.whole_log())
    new = [disk(tmp_path / f"c{id}", id, MetadataLog(begun_ms=9_000).lead(4).noop(4)) for id in (2, 3)]
    code, _, found = described(kafkactl, *(word for path in (old, *new) for word in ("--log-dir", path)))
    assert code == 7
    assert "Start none of them" in found["cluster-founded-twice"]["next_step"]
    whole = [disk(tmp_path / f"w{id}", id, worlds.whole_log()) for id in (1, 2)]
    _, _, found = described(kafkactl, *(word for path in whole for word in ("--log-dir", path)))
    assert set(found) == {"only-disks-read"}


def log_with_voters(ports: dict[int, int]) -> MetadataLog:
    """Return a log of the fake quorum's cluster whose voter set has these ports."""
    voters = [
        Voter(
            node_id=id, directory_id=directory(id), endpoints=(Endpoint(listener="CONTROLLER", host=HOST, port=port),)
        )
        for id, port in ports.items()
    ]
    ids = [{"VoterId": id} for id in ports]
    controls = [
        encode_control_record(ControlType.LEADER_CHANGE, {"LeaderId": 1, "Voters": ids, "GrantingVoters": ids}),
        encode_control_record(ControlType.KRAFT_VERSION, {"KRaftVersion": 1}),
        encode_control_record(ControlType.KRAFT_VOTERS, voters_data(voters)),
    ]
    data = encode_batch(controls, base_offset=0, timestamp_ms=1, partition_leader_epoch=1, is_control=True)
    return MetadataLog(data=data, end=len(controls)).noop()


@pytest.mark.parametrize("moved", [(1, 2, 3), (2, 3), (3,), ()])
def test_voters_that_answer_at_other_addresses_are_the_cause(
    kafkactl: Cli, tmp_path: Path, moved: tuple[int, ...]
) -> None:
    # Without a leader; a majority at the old addresses could elect one, so then it is only a warning.
    with running(Quorum()) as quorum:
        quorum.leader_id = -1
        for id in quorum.ids:
            quorum.overrides[id, "DescribeQuorum"] = quorum_answer_without_leader
        ports = {id: free_port() if id in moved else quorum.endpoints[id].port for id in quorum.ids}
        made = disk(tmp_path / "c1", 1, log_with_voters(ports), cluster=CLUSTER_ID)
        meta = made / "meta.properties"
        meta.write_text(meta.read_text().replace(str(DIRECTORY[1]), str(directory(1))))
        addresses = ",".join(str(quorum.endpoints[id]) for id in quorum.ids)
        words = ("--bootstrap-controller", addresses, "--log-dir", made)
        code, _, found = described(kafkactl, *words)
        shown = kafkactl("quorum", "describe", *words).stdout
    assert code == 7
    if not moved:
        assert "voters-at-other-addresses" not in found
        return
    reported = found["voters-at-other-addresses"]
    assert reported["severity"] == ("blocker" if len(moved) > 1 else "warning")
    assert reported["evidence"]["addresses"] == {str(id): [str(quorum.endpoints[id])] for id in moved}
    assert ("voters-at-other-addresses" in found["no-quorum-leader"]["next_step"]) is (len(moved) > 1)
    assert "ANSWERS AT" in shown


def quorum_answer_without_leader(_asked: object) -> Any:
    from kafkactl.commands.demo.broker import Reply

    return Reply(body=quorum_body(error=NOT_LEADER))
