"""`kafkactl quorum recover` on disks made here: what is planned, what is refused, what is written."""

from __future__ import annotations

import errno
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from kafkactl.commands.demo.broker import FakeBroker
from kafkactl.metadata.image.diff import diff
from kafkactl.protocol.text.meta_properties import parse_meta_properties
from kafkactl.quorum.io.recover import partitions
from kafkactl.quorum.recover.folders import parse_folder_name, parse_largest_epoch
from kafkactl.quorum.recover.observed_disks import FolderKind
from tests.conftest import Run
from tests.quorum.recover import worlds
from tests.quorum.recover.worlds import (
    AFTER,
    BEFORE,
    CLUSTER,
    GONE,
    LATE,
    LOG,
    broker_disks,
    disk,
    lagging_log,
    tree,
    whole_log,
    written_image,
)

Cli = Callable[..., Run]


class Recovery:
    """The command with a target of its own."""

    def __init__(self, kafkactl: Cli, root: Path) -> None:
        self._kafkactl = kafkactl
        self.root = root
        self.out = root / "target" / "new"
        self.out.parent.mkdir()

    def __call__(self, *words: object, disks: list[Path] = ()) -> Run:  # type: ignore[assignment]
        shown = [word for path in disks for word in ("--log-dir", path)]
        return self._kafkactl("quorum", "recover", "--out", self.out, *shown, *words, "-o", "json")

    def plan(self, *words: object, disks: list[Path], code: int = 0) -> dict:
        before = tree(self.root)
        run = self(*words, "--plan", disks=disks)
        assert run.code == code, run.stdout + run.stderr
        assert tree(self.root) == before
        return run.json

    def refused(self, *words: object, disks: list[Path]) -> list[str]:
        """Return the blockers; nothing is written, also without --plan."""
        before = tree(self.root)
        run = self(*words, "--confirm", CLUSTER, disks=disks)
        assert (run.code, run.json["outcome"], run.json["result"]) == (3, "refused", None), run.stdout
        assert tree(self.root) == before
        return [finding["id"] for finding in run.json["findings"] if finding["severity"] == "blocker"]


@pytest.fixture
def recover(kafkactl: Cli, tmp_path: Path) -> Recovery:
    return Recovery(kafkactl, tmp_path)


def survivors(root: Path) -> list[Path]:
    """Return F and both brokers, all of them whole."""
    return [disk(root / "c2", 2, whole_log()), *broker_disks(root, log=whole_log())]


LOST = ("--lost", "1,3")


def test_complete_survivor_loses_nothing_and_stays_unchanged(recover: Recovery, tmp_path: Path):
    disks = survivors(tmp_path)
    sources = {path: tree(path) for path in disks}
    planned = recover.plan(*LOST, disks=disks)
    assert (planned["outcome"], planned["mode"], planned["losses"]["count"]) == ("planned", "dynamic", 0)
    assert [disk["rank"] for disk in planned["disks"]] == [1, 2, 3]
    assert [(finding["id"], finding["state"]) for finding in planned["voters_before"]] == [
        (1, "lost"),
        (2, "shown"),
        (3, "lost"),
    ]
    run = recover(*LOST, "--confirm", CLUSTER, disks=disks)
    assert (run.code, run.json["outcome"]) == (0, "done")
    made = run.json["result"]
    assert (made["offset"], made["epoch"]) == (whole_log().end + 1_000_000, 1_000_001)
    assert sorted(tree(recover.out)) == [
        LOG,
        f"{LOG}/{made['offset']:020}-{made['epoch']:010}.checkpoint",
        "meta.properties",
    ]
    meta = parse_meta_properties((recover.out / "meta.properties").read_bytes())
    assert (meta.cluster_id, meta.node_id, str(meta.directory_id)) == (CLUSTER, 2, made["directory_id"])
    image = written_image(recover.out)
    (voter,) = image.voters or ()
    assert (voter.node_id, str(voter.directory_id), image.kraft_version) == (2, made["directory_id"], 1)
    parts = {difference.part for difference in diff(AFTER, image)}
    assert parts == {"partitions", "producer_ids", "voters", "kraft_version", "controllers"}
    assert image.next_producer_id == 1_003_000
    assert set(image.controllers) == {2}
    epochs = {
        topic.name: {partition.leader_epoch for partition in topic.partitions.values()}
        for topic in image.topics.values()
    }
    assert epochs == {"orders": {1002, 1008}, "pay": {1008}, "late": {1001}}  # above those in the folders
    assert {path: tree(path) for path in disks} == sources


def test_same_twice_gives_the_same_bytes(recover: Recovery, tmp_path: Path):
    disks = survivors(tmp_path)
    first = recover(*LOST, "--confirm", CLUSTER, disks=disks)
    before = tree(recover.out.parent)
    again = recover(*LOST, "--confirm", CLUSTER, disks=disks)
    assert (again.code, again.json["outcome"]) == (0, "nothing-to-do")
    assert again.json["plan_sha256"] == first.json["plan_sha256"]
    assert tree(recover.out.parent) == before


def test_killed_run_is_repeated_with_the_same_ids(recover: Recovery, tmp_path: Path):
    disks = survivors(tmp_path)
    recover(*LOST, "--confirm", CLUSTER, disks=disks)
    before = tree(recover.out.parent)
    (recover.out / "meta.properties").unlink()
    (checkpoint,) = (recover.out / LOG).iterdir()
    checkpoint.write_bytes(b"half")
    assert recover(*LOST, "--confirm", CLUSTER, disks=disks).code == 0
    assert tree(recover.out.parent) == before


def test_edited_plan_is_refused(recover: Recovery, tmp_path: Path):
    disks = survivors(tmp_path)
    recover(*LOST, "--confirm", CLUSTER, disks=disks)
    file = recover.out.with_name("new.recovery.json")
    held = json.loads(file.read_text())
    held["result"]["node_id"] = 7
    file.write_text(json.dumps(held))
    run = recover(*LOST, "--confirm", CLUSTER, disks=disks)
    assert (run.code, run.error["id"]) == (2, "recovery-plan-edited")


def test_copy_of_a_broker_alone_needs_a_node_id(recover: Recovery, tmp_path: Path):
    disks = broker_disks(tmp_path, log=whole_log())
    assert recover.refused("--lost", "1,2,3", disks=disks) == ["recovered-node-unknown"]
    planned = recover.plan("--lost", "1,2,3", "--node-id", 1, disks=disks)
    assert planned["result"]["endpoints"] == [{"listener": "CONTROLLER", "host": "127.0.0.1", "port": 1}]
    other = recover.plan("--lost", "1,2,3", "--node-id", 4, "--listener", "C://[::1]:9093", disks=disks)
    assert other["result"]["endpoints"] == [{"listener": "C", "host": "::1", "port": 9093}]
    assert recover.refused("--lost", "1,2,3", "--node-id", 4, disks=disks) == ["recovered-node-unknown"]


def test_worse_disk_is_not_taken_in_silence(recover: Recovery, tmp_path: Path):
    lagging = disk(tmp_path / "c1", 1, lagging_log())
    disks = [lagging, *broker_disks(tmp_path, log=whole_log())]
    words = ("--lost", "2,3", "--from", lagging)
    found = recover.refused(*words, disks=disks)
    assert found == ["better-disk-exists", "partitions-would-be-stray", "deleted-topics-return"]
    losses = recover.plan(*words, disks=disks, code=3)["losses"]
    assert losses["records_after_source"] == whole_log().end - lagging_log().end
    assert losses["topics_missing"] == ["late"]
    assert losses["partitions_missing"] == ["late-0", "late-1", "orders-3"]
    assert (losses["topics_returning_empty"], losses["topics_returning"]) == (["gone"], [])
    assert [acl["entity"] for acl in losses["acls"]] == [str(worlds.uuid(601))]
    assert losses["configs_changed"] == [
        {"entity": "topic pay", "key": "retention.ms", "recovered": None, "newer": "700000000"}
    ]
    assert losses["count"] == 3
    accepted = (*words, "--accept-loss", "--accept-strays", "--accept-empty")
    assert recover.plan(*accepted, disks=disks)["outcome"] == "planned"
    for loss, id in (((), "confirmation-missing"), (("--confirm-loss", "4"), "confirmation-mismatch")):
        run = recover(*accepted, "--confirm", CLUSTER, *loss, disks=disks)
        assert (run.code, run.json["findings"][-1]["id"]) == (3, id)
        assert not recover.out.exists()
    assert recover(*accepted, "--confirm", CLUSTER, "--confirm-loss", 3, disks=disks).code == 0


def test_nothing_is_written_without_confirmation(recover: Recovery, tmp_path: Path):
    disks = survivors(tmp_path)
    for words, id in ((("--yes",), "confirmation-missing"), (("--confirm", "other"), "confirmation-mismatch")):
        run = recover(*LOST, *words, disks=disks)
        assert (run.code, run.json["findings"][-1]["id"]) == (3, id)
        assert not recover.out.exists()


@pytest.mark.parametrize("batch", range(1, len(whole_log().starts)))
def test_damage_ends_a_candidate_where_it_ends_for_kafka(recover: Recovery, tmp_path: Path, batch: int):
    log = whole_log()
    offset, position = log.starts[batch]
    data = bytearray(log.data)
    data[position + 40] ^= 1
    disks = [disk(tmp_path / "c2", 2, bytes(data)), *broker_disks(tmp_path)]
    planned = recover.plan(*LOST, "--node-id", 2, "--listener", "C://h:1", "--adopt", "--drop-empty", "--accept-loss",
                           "--without-broker-disks", disks=disks, code=3 if batch == 1 else 0)  # fmt: skip
    (first, *_) = planned["disks"]
    assert (first["damaged"], first["log_end_offset"]) == (True, offset)
    assert "source-damaged" in {finding["id"] for finding in planned["findings"]}


def test_sound_disk_is_better_than_a_damaged_one(recover: Recovery, tmp_path: Path):
    log = whole_log()
    damaged = bytearray(log.data)
    damaged[log.starts[-2][1] + 40] ^= 1
    disks = [disk(tmp_path / "c2", 2, bytes(damaged)), *broker_disks(tmp_path, log=log)]
    planned = recover.plan(*LOST, disks=disks)
    assert planned["source"]["path"] == str(disks[1])
    assert [disk["damaged"] for disk in planned["disks"]] == [True, False, False]


def test_older_snapshot_and_the_log_behind_it_may_still_be(recover: Recovery, tmp_path: Path):
    disks = survivors(tmp_path)
    for path in disks:
        worlds.snapshot(path, AFTER, whole_log().end - 1, 1).write_bytes(b"broken")
    assert recover.plan(*LOST, disks=disks)["source"]["end_offset"] == whole_log().end


def test_quorum_is_recovered_from_a_snapshot_alone(recover: Recovery, tmp_path: Path):
    made = disk(tmp_path / "c2", 2)
    from kafkactl.core.frozen import changed

    worlds.snapshot(made, changed(AFTER, kraft_version=1, voters=worlds.voters()), 500, 7)
    planned = recover.plan(*LOST, disks=[made, *broker_disks(tmp_path)])
    assert (planned["source"]["end_offset"], planned["source"]["epoch"]) == (500, 7)
    assert (planned["result"]["offset"], planned["result"]["epoch"]) == (1_000_500, 1_000_007)


def test_diverged_tails_with_records_are_refused(recover: Recovery, tmp_path: Path):
    begin = lagging_log()
    empty_tail, full_tail = begin.noop(1).noop(1), begin.append(worlds.topic_records(LATE)).noop(1)
    best = begin.lead(2).append([record for record in worlds.records(AFTER) if record.type == "NoOpRecord"] or
                                worlds.topic_records(LATE), epoch=2).noop(2)  # fmt: skip
    brokers = broker_disks(tmp_path)
    common = ("--lost", "1,2", "--node-id", 3, "--adopt", "--drop-empty")
    source = disk(tmp_path / "c3", 3, best)
    tail = disk(tmp_path / "t1", 11, empty_tail)
    planned = recover.plan(*common, "--without-broker-disks", disks=[source, tail, *brokers])
    assert [finding["severity"] for finding in planned["findings"] if finding["id"] == "disks-diverge"] == ["info"]
    other = disk(tmp_path / "t2", 11, full_tail)
    assert recover.refused(*common, disks=[source, other, *brokers]) == ["disks-diverge"]
    assert recover.plan(*common, "--accept-loss", disks=[source, other, *brokers])["outcome"] == "planned"
    same = disk(tmp_path / "t3", 11, begin.lead(2).append(worlds.topic_records(GONE), epoch=2))
    assert recover.refused(*common, "--accept-loss", disks=[source, same, *brokers]) == ["disks-diverge"]


@pytest.mark.parametrize("pair", [(1, 2), (1, 3), (2, 3)])
def test_two_of_three_are_a_majority(recover: Recovery, tmp_path: Path, pair: tuple[int, int]):
    disks = [disk(tmp_path / f"c{node_id}", node_id, whole_log()) for node_id in pair]
    found = recover.refused("--lost", 6 - sum(pair), disks=[*disks, *broker_disks(tmp_path)])
    assert found == ["quorum-has-majority"]


def test_voter_without_a_disk_or_loss_is_refused(recover: Recovery, tmp_path: Path):
    assert recover.refused("--lost", 1, disks=survivors(tmp_path)) == ["voter-disk-not-shown"]


def test_disks_of_two_clusters_are_refused(recover: Recovery, tmp_path: Path):
    strange = disk(tmp_path / "c3", 3, lagging_log(), cluster="AAAAAAAAAAAAAAAAAAAAAA")
    assert "cluster-id-differs" in recover.refused("--lost", 1, disks=[*survivors(tmp_path), strange])


def test_missing_broker_disk_is_refused(recover: Recovery, tmp_path: Path):
    disks = survivors(tmp_path)[:2]
    assert recover.refused(*LOST, disks=disks) == ["broker-disk-not-shown"]
    planned = recover.plan(*LOST, "--without-broker-disks", disks=disks)
    assert [finding["severity"] for finding in planned["findings"] if finding["id"] == "broker-disk-not-shown"] == [
        "warning"
    ]


def test_target_with_files_is_refused(recover: Recovery, tmp_path: Path):
    disks = survivors(tmp_path)
    recover.out.mkdir()
    (recover.out / "something").write_text("x")
    assert recover.refused(*LOST, disks=disks) == ["target-not-empty"]
    (recover.out / "something").unlink()
    assert recover(*LOST, "--confirm", CLUSTER, disks=disks).code == 0  # an empty one may be a mount point


def test_started_target_is_refused(recover: Recovery, tmp_path: Path):
    # The step after it is the check, not a second recovery from the old disks, which lack what was done since.
    disks = survivors(tmp_path)
    assert recover(*LOST, "--confirm", CLUSTER, disks=disks).code == 0
    (recover.out / "__cluster_metadata-0" / "quorum-state").write_text("{}")
    found = recover.plan(*LOST, disks=disks, code=3)["findings"][0]
    assert found["id"] == "target-not-empty"
    assert f"the recovery of {recover.out}.recovery.json wrote it" in found["message"]
    assert f"`kafkactl quorum recover verify {recover.out}.recovery.json`" in found["next_step"]


def test_target_inside_a_source_is_refused(recover: Recovery, tmp_path: Path):
    disks = survivors(tmp_path)
    recover.out = disks[0] / "new"
    assert recover.refused(*LOST, disks=disks) == ["target-in-source"]


def test_directory_that_is_in_use(recover: Recovery, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    disks = survivors(tmp_path)
    for path, words, found in (
        (disks[0], (), ["log-dir-in-use"]),
        (disks[1], (), ["log-dir-in-use"]),
        (disks[1], ("--brokers-run",), []),
    ):
        lock = str(path / ".lock")
        monkeypatch.setattr(
            "kafkactl.storage.io.directories.lock_holder", lambda at, lock=lock: 7 if at == lock else None
        )
        if found:
            assert recover.refused(*LOST, *words, disks=disks) == found
        else:
            plan = recover.plan(*LOST, *words, disks=disks)
            assert "stop-brokers" not in {step["action"] for step in plan["steps"]}
            (in_use,) = [finding for finding in plan["findings"] if finding["id"] == "log-dir-in-use"]
            assert in_use["next_step"].startswith("Leave the broker running")


def test_brokers_may_not_run_where_something_is_missing(recover: Recovery, tmp_path: Path):
    disks = [disk(tmp_path / "c1", 1, lagging_log()), *broker_disks(tmp_path)]
    found = recover.refused("--lost", "2,3", "--adopt", "--drop-empty", "--brokers-run", disks=disks)
    assert found == ["brokers-must-stop"]


def test_strays_and_topics_that_return_are_reported_as_losses(recover: Recovery, tmp_path: Path):
    disks = [disk(tmp_path / "c1", 1, lagging_log()), *broker_disks(tmp_path)]
    planned = recover.plan("--lost", "2,3", disks=disks, code=3)
    losses = planned["losses"]
    stray = [
        (folder["broker"], folder["topic"], folder["partition"], folder["log_end_offset"])
        for folder in losses["partitions_stray"]
    ]
    assert stray == [
        (11, "late", 0, 4), (11, "late", 1, 4), (11, "orders", 3, 5),
        (12, "late", 0, 7), (12, "late", 1, 7), (12, "orders", 3, 5),
    ]  # fmt: skip
    assert losses["topics_returning_empty"] == ["gone"]
    assert losses["partitions_missing"] == ["late-0", "late-1", "orders-3"]


@pytest.mark.parametrize("suffix", ["", "stray"])
def test_partitions_of_brokers_are_adopted(recover: Recovery, tmp_path: Path, suffix: str):
    disks = [disk(tmp_path / "c1", 1, lagging_log()), *broker_disks(tmp_path, suffix=suffix)]
    words = ("--lost", "2,3", "--adopt", "--drop-empty", *(("--return-strays",) if suffix else ()))
    run = recover(*words, "--confirm", CLUSTER, disks=disks)
    assert run.code == 0, run.stdout + run.stderr
    assert run.json["losses"]["count"] == 0
    adopted = {f"{folder['topic']}-{folder['partition']}": folder for folder in run.json["repairs"]["adopted"]}
    assert sorted(adopted) == ["late-0", "late-1", "orders-3"]
    assert (adopted["late-0"]["isr"], adopted["late-0"]["leader"], adopted["orders-3"]["isr"]) == ([12], 12, [11, 12])
    renames = [step["command"] for step in run.json["steps"] if step["action"] == "rename-stray"]
    assert len(renames) == (6 if suffix else 0)
    image = written_image(recover.out)
    assert set(image.topic_ids) == {"orders", "pay", "late"}
    late = image.topics[LATE.id].partitions[0]
    assert (late.replicas, late.isr, late.leader, late.leader_epoch) == ((12, 11), (12,), 12, 1001)
    assert late.directories == (worlds.DIRECTORY[12], worlds.DIRECTORY[11])


def test_topic_that_was_deleted_is_not_adopted(recover: Recovery, tmp_path: Path):
    disks = [
        disk(tmp_path / "c1", 1, worlds.first_log(worlds.image(worlds.ORDERS, worlds.PAY))),
        *broker_disks(tmp_path),
    ]
    worlds.folder(disks[1], GONE, 0, suffix="delete")
    worlds.folder(disks[2], GONE, 0)
    planned = recover.plan("--lost", "2,3", "--adopt", disks=disks, code=3)
    assert [folder["topic"] for folder in planned["losses"]["partitions_stray"]] == ["gone"]
    (found,) = [finding for finding in planned["findings"] if finding["id"] == "partitions-would-be-stray"]
    assert "was being deleted" in found["evidence"]["not_adopted"][0]


def test_retention_with_a_loss_is_refused(recover: Recovery, tmp_path: Path):
    from kafkactl.core.frozen import changed

    short = changed(BEFORE, configs={(worlds.TOPIC_CONFIG, "pay"): {"retention.ms": "1000"}})
    path = disk(tmp_path / "b11", 11)
    worlds.folder(path, worlds.PAY, 0, timestamp_ms=5_000)
    disks = [disk(tmp_path / "c1", 1, worlds.first_log(short)), path]
    words = ("--lost", "2,3", "--without-broker-disks")
    assert recover.refused(*words, disks=disks) == ["retention-would-delete"]
    assert recover.plan(*words, "--accept-retention", disks=disks)["outcome"] == "planned"


def test_static_quorum_is_recovered(recover: Recovery, tmp_path: Path):
    log = whole_log(dynamic=False)
    disks = [disk(tmp_path / "c2", 2, log), *broker_disks(tmp_path, log=log)]
    worlds.static_state(disks[0], epoch=9)
    run = recover(*LOST, "--confirm", CLUSTER, disks=disks)
    assert (run.code, run.json["mode"], run.json["result"]["epoch"]) == (0, "static", 1_000_009)
    image = written_image(recover.out)
    assert (image.kraft_version, image.voters) == (None, None)
    assert "voters-unlearned" in {finding["id"] for finding in run.json["findings"]}
    assert [voter["id"] for voter in run.json["voters_before"]] == [1, 2, 3]


def test_single_voter_is_replaced_only_to_adopt(recover: Recovery, tmp_path: Path):
    from kafkactl.core.frozen import changed

    made = disk(tmp_path / "c2", 2)
    worlds.snapshot(made, changed(BEFORE, kraft_version=1, voters=worlds.voters([2])), 500, 7)
    disks = [made, *broker_disks(tmp_path, suffix="stray")]
    assert "quorum-has-majority" in recover.refused("--drop-empty", disks=disks)
    planned = recover.plan("--adopt", "--return-strays", "--drop-empty", disks=disks)
    assert len(planned["repairs"]["adopted"]) == 3


@pytest.mark.parametrize(
    "words",
    [
        ("--out", "x"),
        ("--log-dir", "x"),
        ("--out", "x", "--log-dir", "y", "--lost", "one"),
        ("--out", "x", "--log-dir", "y", "--listener", "nowhere"),
        ("--out", "x", "--log-dir", "y", "--return-strays"),
        ("--out", "x", "--log-dir", "/nonexistent"),
        ("--out", "x", "verify", "y"),
        ("revert",),
    ],
)
def test_invalid_options_are_refused(kafkactl: Cli, words: tuple[str, ...]):
    assert kafkactl("quorum", "recover", *words, "-o", "json").code == 2


def test_plan_is_shown_as_text(kafkactl: Cli, recover: Recovery, tmp_path: Path):
    disks = [disk(tmp_path / "c1", 1, lagging_log()), *broker_disks(tmp_path)]
    shown = [word for path in disks for word in ("--log-dir", path)]
    run = kafkactl(
        "quorum", "recover", "--out", recover.out, *shown, "--lost", "2,3", "--adopt", "--drop-empty", "--plan"
    )
    assert run.code == 0
    for text in ("Plan: nothing was written", "adopted", "late-0", "fence-old-voter", "kafkactl quorum reassign"):
        assert text in run.stdout


VOTE = 52


@pytest.mark.parametrize(("requests", "found"), [({VOTE: (0, 2)}, ["old-voter-answers"]), ({}, [])])
def test_recovery_is_refused_while_an_old_voter_answers(
    recover: Recovery, tmp_path: Path, requests: dict, found: list[str]
):
    disks = survivors(tmp_path)
    with FakeBroker(lambda _: None, versions=requests) as controller:
        words = (*LOST, "--bootstrap-controller", controller.address)
        if found:
            assert recover.refused(*words, disks=disks) == found
        else:  # a broker may answer: it is not a voter
            assert recover.plan(*words, disks=disks)["outcome"] == "planned"
    assert recover(*LOST, "--bootstrap-controller", "nonsense", disks=disks).code == 2


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("orders-3", ("orders", 3, FolderKind.LIVE)),
        ("a-b.c-12", ("a-b.c", 12, FolderKind.LIVE)),
        ("x-0.0123456789abcdef0123456789abcdef-delete", ("x", 0, FolderKind.DELETED)),
        ("x-0.0123456789abcdef0123456789abcdef-future", ("x", 0, FolderKind.FUTURE)),
        ("x.y-1-0.0123456789abcdef0123456789abcdef-stray", ("x.y-1", 0, FolderKind.STRAY)),
        (LOG, None),
        ("lost+found", None),
        ("orders-", None),
        ("orders-٣", None),
        ("orders-" + "9" * 200, None),
    ],
)
def test_name_of_a_folder_is_parsed(name: str, found: tuple | None):
    assert parse_folder_name(name) == found


@pytest.mark.parametrize(
    ("content", "epoch"),
    [
        (b"0\n2\n0 0\n8 120\n", 8),
        (b"0\n0\n", None),
        (b"", None),
        (b"0\n1\n" + b"9" * 5000 + b" 1\n", None),
        (b"\xff", None),
    ],
)
def test_largest_leader_epoch_of_a_folder_is_parsed(content: bytes, epoch: int | None):
    assert parse_largest_epoch(content) == epoch


def test_hostile_files_of_a_folder_are_reported(recover: Recovery, tmp_path: Path):
    disks = survivors(tmp_path)
    made = worlds.folder(disks[1], worlds.PAY, 7)
    (made / "partition.metadata").write_bytes(b"topic_id: \xff\xff\n")
    (made / worlds.SEGMENT).write_bytes(b"\x00" * 20 + b"\xff" * 200)
    (disks[1] / "kafkactl-collected.json").write_text("[" * 100_000)
    found = recover.plan(*LOST, disks=disks, code=3)
    (stray,) = found["losses"]["partitions_stray"]
    assert (stray["folder"], stray["topic_id"], stray["log_end_offset"]) == ("pay-7", None, 0)
    unread = [finding["subject"] for finding in found["findings"] if finding["id"] == "disk-not-read"]
    assert str(disks[1] / "kafkactl-collected.json") in unread


@pytest.mark.parametrize("content", ["{", "[]", '{"folders": 5}'], ids=len)
def test_copy_whose_manifest_is_damaged_is_reported(recover: Recovery, tmp_path: Path, content: str):
    disks = survivors(tmp_path)
    (disks[1] / "kafkactl-collected.json").write_text(content)
    found = recover.plan(*LOST, disks=disks)
    (finding,) = [finding for finding in found["findings"] if finding["id"] == "disk-not-read"]
    assert finding["subject"] == str(disks[1] / "kafkactl-collected.json")


def test_directory_that_is_named_twice_counts_once(recover: Recovery, tmp_path: Path):
    disks = survivors(tmp_path)
    link = tmp_path / "link"
    link.symlink_to(disks[0])
    found = recover.plan(*LOST, "--from", link, disks=[*disks, link, disks[0] / LOG])
    assert [disk["path"] for disk in found["disks"]] == [str(path) for path in disks]
    assert found["source"]["path"] == str(disks[0])
    (named,) = [finding for finding in found["findings"] if finding["id"] == "named-twice"]
    assert named["message"] == f"{disks[0]} and {link} and {disks[0]}/{LOG} are one directory: it counts once"
    assert named["severity"] == "info"


REFUSED = {
    "topic-id": ("partition.metadata", "read_whole"),
    "epochs": ("leader-epoch-checkpoint", "read_whole"),
    "segment": (worlds.SEGMENT, "open_regular"),
}


@pytest.mark.parametrize(("name", "opens"), REFUSED.values(), ids=REFUSED)
def test_partition_that_this_user_may_not_read_ends_the_plan(
    recover: Recovery, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, opens: str
):
    # Its replica would be left out of what is adopted, or count as an empty or an older one.
    disks, original = survivors(tmp_path), getattr(partitions, opens)
    (refused, *_) = [path for path in sorted(disks[1].glob(f"*/{name}")) if path.parent.name != LOG]

    def opened(path, *words, **changes):
        if Path(path) == refused:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return original(path, *words, **changes)

    monkeypatch.setattr(partitions, opens, opened)
    run = recover(*LOST, "--plan", disks=disks)
    assert (run.code, run.error["id"]) == (2, "log-dir-unreadable")
    assert run.error["message"] == f"{refused} cannot be read: Permission denied"


def test_partition_with_a_broken_file_is_named(recover: Recovery, tmp_path: Path):
    disks = survivors(tmp_path)
    (file, *_) = sorted(disks[1].glob("*/partition.metadata"))
    file.unlink()
    file.mkdir()
    run = recover(*LOST, "--plan", disks=disks)
    (unread,) = [finding for finding in run.json["findings"] if finding["id"] == "disk-not-read"]
    assert unread["subject"] == str(file) and "Is a directory" in unread["message"]


def test_unreadable_file_of_a_disk_is_reported(recover: Recovery, tmp_path: Path):
    disks = survivors(tmp_path)
    (disks[1] / "meta.properties").unlink()
    found = recover.plan(*LOST, disks=disks, code=3)
    (unread,) = [finding for finding in found["findings"] if finding["id"] == "disk-not-read"]
    assert unread["subject"] == f"{disks[1]}/meta.properties" and "who this disk belongs to" in unread["message"]
