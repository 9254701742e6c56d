"""Findings of a recovery plan: the disk that is meant, possible losses, next steps."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest

from kafkactl.core.frozen import changed
from kafkactl.metadata.image.model import Partition, Partitions, state_of
from kafkactl.quorum.recover.folders import topics_without_data
from tests.quorum.recover import worlds
from tests.quorum.recover.test_recover import LOST, Cli, Recovery, survivors
from tests.quorum.recover.worlds import (
    AFTER,
    BEFORE,
    DIRECTORY,
    LATE,
    ORDERS,
    PAY,
    broker_disks,
    disk,
    image,
    lagging_log,
    topic,
    whole_log,
)


@pytest.fixture
def recover(kafkactl: Cli, tmp_path: Path) -> Recovery:
    return Recovery(kafkactl, tmp_path)


def finding(planned: dict[str, Any], id: str) -> dict[str, Any]:
    (found,) = [each for each in planned["findings"] if each["id"] == id]
    return found  # type: ignore[no-any-return]


def ids(planned: dict[str, Any]) -> set[str]:
    return {each["id"] for each in planned["findings"]}


def test_snapshot_that_is_broken_is_named(recover: Recovery, tmp_path: Path) -> None:
    disks = survivors(tmp_path)
    broken = worlds.snapshot(disks[0], AFTER, whole_log().end + 50, 1)
    broken.write_bytes(b"broken")
    planned = recover.plan(*LOST, "--from", disks[0], disks=disks[:1], code=3)
    assert broken.name in finding(planned, "source-damaged")["message"]


def test_voter_that_is_not_shown_is_named_by_its_directory_too(recover: Recovery, tmp_path: Path) -> None:
    planned = recover.plan("--lost", 1, disks=survivors(tmp_path), code=3)
    assert f"voter 3 (directory id {DIRECTORY[3]}) is neither" in finding(planned, "voter-disk-not-shown")["message"]


def test_voters_of_a_static_quorum_have_no_directory_ids(recover: Recovery, tmp_path: Path) -> None:
    # Without a quorum-state, they are those of the last LeaderChange record.
    log = whole_log(dynamic=False)
    disks = [disk(tmp_path / "c2", 2, log), *broker_disks(tmp_path, log=log)]
    planned = recover.plan(*LOST, disks=disks)
    assert [voter["id"] for voter in planned["voters_before"]] == [1, 2, 3]
    assert finding(planned, "old-voters-must-not-return")["message"].endswith(": 1 at h:9; 2 at h:9; 3 at h:9")
    assert any("controller.quorum.voters=2@h:9 on" in step["text"] for step in planned["steps"])
    assert "no request changes the voters of a static quorum" in finding(planned, "single-voter")["next_step"]
    hidden = recover.plan("--lost", 1, disks=[disks[0], disk(tmp_path / "c3", 3), *disks[1:]], code=3)
    assert "voter-disk-not-shown" in ids(hidden)  # a directory without a metadata log shows nothing
    assert "None" not in str([each["message"] for each in hidden["findings"]])


def test_two_foundings_are_never_recovered_from_nor_started(recover: Recovery, tmp_path: Path) -> None:
    # A majority was formatted again: its disks are sound, and would cut the third one.
    old = disk(tmp_path / "c1", 1, worlds.first_log(AFTER))
    new = [disk(tmp_path / f"c{id}", id, worlds.MetadataLog(begun_ms=9_000).lead(15).noop(15)) for id in (2, 3)]
    planned = recover.plan("--without-broker-disks", disks=[old, *new], code=3)
    assert {"cluster-founded-twice", "quorum-has-majority"} <= ids(planned)
    assert "disks-diverge" not in ids(planned)
    assert "Start none of these controllers yet" in finding(planned, "quorum-has-majority")["next_step"]
    assert "nothing is lost" not in str(planned["findings"])
    assert "--lost" in finding(planned, "cluster-founded-twice")["next_step"]
    alone = recover.plan("--lost", "2,3", "--without-broker-disks", "--drop-empty", disks=[old])
    assert alone["outcome"] == "planned"


def new_addresses(*ids: int) -> list[object]:
    return [word for id in ids for word in ("--new-address", f"{id}=new-{id}:9093")]


def test_sound_voters_under_lost_addresses_are_recovered_at_a_new_one(recover: Recovery, tmp_path: Path) -> None:
    disks = [*(disk(tmp_path / f"c{id}", id, whole_log()) for id in (1, 2, 3)), *broker_disks(tmp_path)]
    assert recover.refused(disks=disks) == ["quorum-has-majority"]
    # One voter that moved leaves a majority that finds each other.
    assert recover.refused(*new_addresses(2), disks=disks) == ["quorum-has-majority"]
    planned = recover.plan("--node-id", 2, *new_addresses(1, 2, 3), disks=disks)
    moved = finding(planned, "voters-at-new-addresses")
    assert moved["severity"] == "warning"
    assert "2 has 127.0.0.1:1 there and listens at new-2:9093" in moved["message"]
    assert "quorum-has-majority" not in ids(planned)
    assert "loss-not-knowable" not in ids(planned)
    assert planned["losses"]["count"] == 0
    assert [voter["state"] for voter in planned["voters_before"]] == ["shown"] * 3
    (endpoint,) = planned["result"]["endpoints"]
    assert (endpoint["listener"], endpoint["host"], endpoint["port"]) == ("CONTROLLER", "new-2", 9093)
    assert "127.0.0.1:1" not in str(planned["steps"])
    assert "controller 3 at new-3:9093" in [step["target"] for step in planned["steps"]]


def test_new_addresses_of_other_nodes_and_of_static_quorums_are_refused(recover: Recovery, tmp_path: Path) -> None:
    disks = [*(disk(tmp_path / f"c{id}", id, whole_log()) for id in (1, 2, 3)), *broker_disks(tmp_path)]
    assert "new-address-of-no-voter" in recover.refused(*new_addresses(7), disks=disks)
    log = whole_log(dynamic=False)
    static = [*(disk(tmp_path / f"s{id}", id, log) for id in (1, 2, 3)), *broker_disks(tmp_path / "b", log=log)]
    found = recover.refused(*new_addresses(1, 2, 3), disks=static)
    assert "new-address-in-static-quorum" in found
    assert "quorum-has-majority" in found


@pytest.mark.parametrize("word", ["1", "1=", "=h:1", "x=h:1", "1=h", "1=h:70000", "1=:9093"])
def test_address_that_is_not_one_is_a_usage_error(kafkactl: Cli, tmp_path: Path, word: str) -> None:
    run = kafkactl("quorum", "recover", "--log-dir", tmp_path, "--out", tmp_path / "x", "--new-address", word)
    assert run.code == 2


def test_plan_does_not_warn_of_what_needs_nothing(recover: Recovery, tmp_path: Path) -> None:
    planned = recover.plan(*LOST, disks=survivors(tmp_path))
    assert [each["id"] for each in planned["findings"] if "Nothing to do" in each["next_step"]] == []
    raised = {"uncommitted-tail-possible", "leader-epochs-raised", "producer-ids-raised", "registrations-dropped"}
    assert {finding(planned, id)["severity"] for id in raised} == {"info"}


def test_only_voter_is_not_started_again_where_it_is_replaced(recover: Recovery, tmp_path: Path) -> None:
    made = disk(tmp_path / "c2", 2)
    worlds.snapshot(made, changed(BEFORE, kraft_version=1, voters=worlds.voters([2])), 500, 7)
    disks = [made, *broker_disks(tmp_path, suffix="stray")]
    replaced = recover.plan("--adopt", "--return-strays", "--drop-empty", disks=disks)
    assert "keep it stopped" in finding(replaced, "quorum-has-majority")["next_step"]
    kept = recover.plan("--drop-empty", disks=disks, code=3)
    assert "Start these controllers" in finding(kept, "quorum-has-majority")["next_step"]


def test_voters_that_lost_their_end_are_not_started(recover: Recovery, tmp_path: Path) -> None:
    # The only voter's log was cut, and the broker's copy goes on (4.3.1: offset 30 and 34, and a topic between).
    alone = changed(BEFORE, kraft_version=1, voters=worlds.voters([2]))
    voter, broker, other = disk(tmp_path / "c2", 2), *broker_disks(tmp_path)
    worlds.snapshot(voter, alone, 30, 1)
    worlds.snapshot(broker, changed(AFTER, kraft_version=1, voters=worlds.voters([2])), 34, 1)
    planned = recover.plan("--adopt", "--drop-empty", disks=[voter, broker, other])
    lost = finding(planned, "quorum-has-majority")
    assert (lost["severity"], lost["evidence"]["voters_end"], lost["evidence"]["source_end"]) == ("warning", 30, 34)
    assert "Keep these controllers stopped" in lost["next_step"]
    assert planned["source"]["path"] == str(broker)
    shorter = recover.plan("--from", voter, "--accept-loss", "--drop-empty", disks=[voter, broker, other], code=3)
    assert finding(shorter, "quorum-has-majority")["severity"] == "blocker"


def test_two_logs_that_differ_are_not_merged(recover: Recovery, tmp_path: Path) -> None:
    # What only the other one has is listed as lost.
    begin = worlds.first_log(image(ORDERS, PAY))
    source = disk(tmp_path / "c3", 3, begin.lead(2).noop(2))
    tail = disk(tmp_path / "t1", 11, begin.append(worlds.topic_records(LATE)).noop(1))
    words = ("--lost", "1,2", "--node-id", 3, "--without-broker-disks", "--drop-empty")
    planned = recover.plan(*words, disks=[source, tail], code=3)
    assert finding(planned, "disks-diverge")["next_step"].startswith("Nothing is merged. ")
    assert planned["losses"]["topics_missing"] == ["late"]


def test_records_of_a_leader_alone_are_not_reported_as_lost(recover: Recovery, tmp_path: Path) -> None:
    # Three voters end at offset 10. A broker goes on, which proves nothing; a snapshot of any broker does.
    three = changed(BEFORE, kraft_version=1, voters=worlds.voters([1, 2, 3]))
    disks = [disk(tmp_path / f"c{id}", id) for id in (1, 2, 3)]
    for made in disks:
        worlds.snapshot(made, three, 10, 1)
    log = worlds.first_log(three).noop(1)
    broker, other = broker_disks(tmp_path, log=log)
    words = ("--node-id", 2, "--adopt", "--drop-empty")
    perhaps = finding(recover.plan(*words, disks=[*disks, broker, other]), "quorum-has-majority")
    assert perhaps["severity"] == "warning"
    assert "may have lost records" in perhaps["message"]
    assert perhaps["next_step"].startswith("If a majority of these controllers did not lose power at the same time")
    worlds.snapshot(other, three, log.end, 1)
    proved = finding(recover.plan(*words, disks=[*disks, broker, other]), "quorum-has-majority")
    assert "lost records that they had" in proved["message"]
    assert proved["next_step"].startswith("Keep these controllers stopped")


def test_hole_below_a_snapshot_does_not_make_logs_diverge(recover: Recovery, tmp_path: Path) -> None:
    # A page of zeros amid the log, readable batches behind it, and a snapshot of all that (4.3.1 starts on it).
    log = worlds.whole_log()
    for _ in range(6):
        log = log.noop()
    first, behind = log.starts[-5][1] + 20, log.starts[-3][1]
    hole = log.data[:first] + bytes(behind - first) + log.data[behind:]
    survivor = disk(tmp_path / "c2", 2, hole)
    worlds.snapshot(survivor, AFTER, log.end, 1)
    planned = recover.plan(*LOST, disks=[survivor, *broker_disks(tmp_path, log=log)])
    assert "disks-diverge" not in ids(planned)


def test_registrations_of_controllers_are_not_counted_as_lost(recover: Recovery, tmp_path: Path) -> None:
    # Each controller that lives registers again.
    known = image(ORDERS, PAY)
    registered = changed(known.controllers[3], incarnation_id=worlds.uuid(999))
    more = image(ORDERS, PAY, controllers={**known.controllers, 3: registered})
    begin = worlds.first_log(known)
    newer = begin.append([record for record in worlds.records(more) if record.type == "RegisterControllerRecord"][-1:])
    lagging = disk(tmp_path / "c1", 1, begin)
    best = disk(tmp_path / "b11", 11, newer)
    planned = recover.plan("--lost", "2,3", "--from", lagging, "--without-broker-disks", "--drop-empty",
                           disks=[lagging, best], code=3)  # fmt: skip
    assert planned["losses"]["records_after_source"] == 1
    assert planned["losses"]["others"] == []


def test_topic_may_have_its_data_on_a_replica_that_was_not_in_sync() -> None:
    held = Partition(
        replicas=(11, 13), isr=(11,), removing_replicas=(), adding_replicas=(), leader=11, leader_recovery_state=0,
        leader_epoch=0, partition_epoch=0, directories=(DIRECTORY[11], DIRECTORY[13]), eligible_leader_replicas=(),
        last_known_elr=(),
    )  # fmt: skip
    apart = changed(topic("apart", 510, 0), partitions=Partitions({0: state_of(held)}))
    assert topics_without_data(image(apart), (), (11,)) == []
    assert topics_without_data(image(apart), (), (11, 13)) == [apart]


def test_adoption_of_partitions_is_offered_once(recover: Recovery, tmp_path: Path) -> None:
    disks = [disk(tmp_path / "c1", 1, lagging_log()), *broker_disks(tmp_path)]
    offered = recover.plan("--lost", "2,3", "--drop-empty", disks=disks, code=3)
    assert "3 partitions could be adopted" in finding(offered, "partitions-adoptable")["message"]
    assert "partitions-adoptable" not in ids(recover.plan("--lost", "2,3", "--drop-empty", "--adopt", disks=disks))


def test_plan_of_a_directory_that_was_moved_is_found_by_its_directory_id(
    recover: Recovery, tmp_path: Path, kafkactl: Cli
) -> None:
    # The next step of `recovery-plan-exists`: verify a recovery that is done; move the plan of none away.
    disks = survivors(tmp_path)
    assert recover(*LOST, "--confirm", worlds.CLUSTER, disks=disks).json["outcome"] == "done"
    moved = recover.out.rename(tmp_path / "srv")
    step = finding(recover.plan(*LOST, "--raise-epoch", 7, disks=disks, code=3), "recovery-plan-exists")["next_step"]
    searched = re.search(r"directory\.id=\S+", step)
    assert searched is not None and searched[0] in (moved / "meta.properties").read_text().split()
    typed = re.search(r"`kafkactl (.*?)`", step)
    assert typed is not None
    moved.rename(recover.out)
    verified = kafkactl(*shlex.split(typed[1]), "-o", "json")
    assert (verified.code, verified.json["findings"]) == (0, []), verified.stdout

    shutil.rmtree(recover.out)
    recover.out.with_name("new.recovery.json").rename(tmp_path / "aside.json")
    assert recover.plan(*LOST, "--raise-epoch", 7, disks=disks)["outcome"] == "planned"
