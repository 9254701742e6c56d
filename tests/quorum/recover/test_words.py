"""Steps of a recovery plan with numbers and commands, and its text about voters, disks and tails."""

from __future__ import annotations

from typing import Any

from kafkactl.core.frozen import changed
from kafkactl.core.values import Endpoint
from kafkactl.quorum.recover.answer import plan_sha256
from kafkactl.quorum.recover.folders import brokers_shown, topics_without_data
from kafkactl.quorum.recover.losses import _has
from kafkactl.quorum.recover.observed_disks import DiskSeen, FolderKind, PartitionFolder
from kafkactl.quorum.recover.rank import OldVoter
from kafkactl.quorum.recover.repairs import raised
from kafkactl.quorum.recover.request import RecoveryInput
from kafkactl.quorum.recover.steps import Way, steps_of
from tests.quorum.recover import worlds
from tests.quorum.recover.worlds import AFTER, BEFORE, DIRECTORY

VOTERS = (
    OldVoter(id=1, directory_id=DIRECTORY[1], endpoints=(Endpoint(listener="C", host="c1", port=9093),), state="lost"),
    OldVoter(id=2, directory_id=None, endpoints=(), state="lost"),
)
LOG: Any = object()  # a metadata log is there; steps do not look into it
WAY = Way(
    read=RecoveryInput(disks=(DiskSeen(path="/data/b11"),)), voters=VOTERS, brokers=(11, 12), brokers_run=False,
    node_id=2, endpoints=(Endpoint(listener="C", host="c2", port=9093),), directory="/new",
    plan_file="/new.recovery.json", is_dynamic=True, adopted=(), written=False,
)  # fmt: skip


def test_steps_are_numbered_from_1_and_the_brokers_are_checked_after_the_first():
    steps = steps_of(WAY)
    assert [step.number for step in steps] == list(range(1, len(steps) + 1))
    first, second = (step for step in steps if step.action == "start-broker")
    assert (first.target, second.target, second.command) == ("broker 11", "broker 12", None)
    assert str(first.command).startswith("kafkactl quorum recover verify /new.recovery.json --bootstrap-controller ")


def test_copies_of_metadata_logs_do_not_overwrite_each_other():
    # All folders have one name: `cp -a` into one BACKUP would merge them, and keep the last log only.
    disks = tuple(DiskSeen(path=f"/data/{name}", node_id=id, log=LOG) for name, id in (("a", 2), ("b", 2), ("c", None)))
    copies = [
        step.command for step in steps_of(changed(WAY, read=RecoveryInput(disks=disks))) if step.action == "copy-aside"
    ]
    assert copies == [
        f"mkdir -p BACKUP/{to} && cp -a /data/{name}/__cluster_metadata-0 BACKUP/{to}/"
        for name, to in (("a", "1-node-2"), ("b", "2-node-2"), ("c", "3"))
    ]


def test_check_after_a_broker_s_start_looks_at_its_folders():
    live = (
        PartitionFolder(
            disk="/d",
            broker=11,
            directory_id=None,
            name="a-0",
            kind=FolderKind.LIVE,
            topic="a",
            partition=0,
            topic_id=None,
        ),
    )
    disks = (DiskSeen(path="/data/b11", node_id=11, folders=live), DiskSeen(path="/data/b12", node_id=12, folders=live))
    way = changed(WAY, read=RecoveryInput(disks=disks))
    (first, _) = (step for step in steps_of(way) if step.action == "start-broker")
    last = [step for step in steps_of(way) if step.action == "verify"][-1]
    assert str(first.command).endswith(" --bootstrap-controller c2:9093 --log-dir /data/b11")
    assert str(last.command).endswith(" --log-dir /data/b11 --log-dir /data/b12")
    (running,) = [step for step in steps_of(changed(way, brokers_run=True)) if step.target == "brokers 11, 12"]
    assert running.command == last.command


def test_recovered_controller_keeps_its_old_disk():
    # The best copy that is left is not wiped before the new one is proven.
    way = changed(WAY, voters=(VOTERS[0], changed(VOTERS[1], state="shown")))
    (_, own) = (step for step in steps_of(way) if step.action == "fence-old-voter")
    assert "Keep the old one" in own.text
    assert "Wipe" not in own.text


def test_old_voter_is_fenced_by_its_directory():
    first, second = (step for step in steps_of(WAY) if step.action == "fence-old-voter")
    assert f"Withdraw the configuration of old voter 1, directory id {DIRECTORY[1]}, or" in first.text
    assert "Withdraw the configuration of old voter 2, or" in second.text


def test_voter_that_is_a_broker_too_keeps_its_partitions():
    # Wiping its disk, as that of another old voter, would delete them; and it starts with its controller.
    disks = tuple(DiskSeen(path=f"/data/{id}", node_id=id, directory_id=DIRECTORY[id], log=LOG) for id in (2, 12))
    voters = (VOTERS[0], changed(VOTERS[1], state="shown"))
    way = changed(WAY, read=RecoveryInput(disks=disks), voters=voters, brokers=(1, 2, 12))
    fenced = {step.target.split(" at ")[0]: step for step in steps_of(way) if step.action == "fence-old-voter"}
    assert fenced["controller 1"].text.startswith("Withdraw the configuration of old voter 1")
    assert "keep its partition folders" in fenced["controller 2"].text
    assert fenced["controller 2"].command == "mv -nT /data/2/__cluster_metadata-0 BACKUP/old-voter-2"
    assert [step.target for step in steps_of(way) if step.action == "start-broker"] == ["broker 12"]
    (own, _) = (step for step in steps_of(way) if step.action == "change-config")
    assert own.text == "Set metadata.log.dir=/new, and leave log.dirs as it is: its partitions are there."
    verify = next(step for step in steps_of(way) if step.action == "verify")
    assert str(verify.command).endswith(" --log-dir /data/2")


def test_plan_is_the_same_in_whatever_order_its_parts_are():
    answer = {"cluster_id": "x", "result": {"epoch": 1, "offset": 2}}
    assert plan_sha256(answer) == plan_sha256({"result": {"offset": 2, "epoch": 1}, "cluster_id": "x"})
    assert plan_sha256(answer) != plan_sha256({"result": {"offset": 2, "epoch": 1}, "cluster_id": "y"})


def test_broker_with_two_disks_is_shown_by_both():
    two = changed(AFTER.brokers[11], directories=(DIRECTORY[11], DIRECTORY[12]))
    image = changed(AFTER, brokers={11: two})
    disks = [DiskSeen(path=f"/d{id}", node_id=11, directory_id=DIRECTORY[id]) for id in (11, 12)]
    assert brokers_shown(image, disks) == ({11}, {})
    assert brokers_shown(image, disks[1:]) == (set(), {11: [DIRECTORY[11]]})


def test_topic_returns_empty_only_where_every_replica_is_shown():
    image = worlds.image(worlds.topic("far", 700, 1, brokers=(11, 13)))
    assert topics_without_data(image, [], {11}) == []
    assert [topic.name for topic in topics_without_data(image, [], {11, 13})] == ["far"]


def test_topic_with_a_dash_in_its_name_is_found():
    image = worlds.image(worlds.topic("pay-eu-1", 700, 2))
    assert [_has(image, f"pay-eu-1-{number}") for number in (0, 1, 2)] == [True, True, False]
    assert not _has(image, "pay-0")


def test_kraft_version_is_never_lowered():
    (voter,) = worlds.voters([2])
    for before, after in ((None, 1), (1, 1), (2, 2)):
        image = changed(BEFORE, kraft_version=before)
        assert raised(image, voter=voter, node_id=2, epochs={}).kraft_version == after
