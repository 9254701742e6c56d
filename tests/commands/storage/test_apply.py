from __future__ import annotations

import base64
import json
import shutil
import socket
import subprocess
import sys

import pytest

from kafkactl.files.filesystem import OsFilesystem
from kafkactl.storage.io.locks import directory_lock
from tests.commands.storage.fleet_on_disk import FleetOnDisk
from tests.storage.fleet.fleets import FleetBuilder

HOSTILE_LINES = {"storage apply": ("{config} --node 1 --dry-run", "{fleet-plan} --node 1 --dry-run")}

HOSTILE_PATHS = {
    "storage apply": [
        ("plan_file", "{} --node 1 --dry-run"),
        ("--receipts", "{plan} --node 1 --dry-run --receipts {@node-1.json}"),
    ],
}

USERS = "SCRAM-SHA-512=[name=alice,password=alice-secret]\n"


@pytest.fixture
def fleet(kafkactl, tmp_path):
    """Return a fleet that is planned."""
    return planned(kafkactl, tmp_path, FleetBuilder())


def planned(kafkactl, tmp_path, builder):
    made = FleetOnDisk(tmp_path, builder)
    if "scram_file" in builder.inventory:
        (tmp_path / "users.txt").write_text(USERS, encoding="utf-8")
    run = kafkactl("storage", "plan", made.inventory, "--out", made.plan, "-o", "json")
    assert run.code == 0, run.stdout
    return made


@pytest.fixture
def apply(kafkactl, fleet):
    return lambda *words: kafkactl("storage", "apply", fleet.plan, "-o", "json", *words)


ALL = [word for number in range(1, 7) for word in ("--node", number)]


def ids(run):
    return [finding["id"] for finding in run.json["findings"] if finding["severity"] == "blocker"]


def test_exactly_the_planned_files_are_written(apply, fleet):
    run = apply(*ALL, "--yes")
    assert (run.code, run.json["outcome"], run.stderr) == (0, "done", "")
    document = fleet.planned()
    root = str(fleet.folder / "disks") + "/"
    expected = {
        file["path"].removeprefix(root): base64.b64decode(document["contents"][file["sha256"]])
        for node in document["nodes"]
        for file in node["files"]
    }
    assert fleet.tree() == expected


def test_apply_of_one_node_writes_that_node_only(apply, fleet):
    assert apply("--node", 2, "--yes").json["nodes"][0]["id"] == 2
    assert {path.split("/")[0] for path in fleet.tree()} == {"2"}
    assert [path.name for path in fleet.receipts.iterdir()] == ["node-2.json"]


@pytest.mark.slow
def test_applying_again_changes_nothing(apply, fleet):
    apply(*ALL, "--yes")
    before, receipts = fleet.tree(), {path: path.read_bytes() for path in fleet.receipts.iterdir()}
    run = apply(*ALL)
    assert (run.code, run.json["outcome"]) == (0, "nothing-to-do")
    assert {node["outcome"] for node in run.json["nodes"]} == {"nothing-to-do"}
    assert fleet.tree() == before
    assert {path: path.read_bytes() for path in fleet.receipts.iterdir()} == receipts


@pytest.mark.slow
def test_bytes_are_the_same_on_another_day(apply, fleet):
    apply(*ALL, "--yes")
    before = fleet.tree()
    shutil.rmtree(fleet.folder / "disks")
    shutil.rmtree(fleet.receipts)
    apply(*ALL, "--yes")
    assert fleet.tree() == before


def test_without_a_terminal_yes_is_needed(apply, fleet):
    run = apply(*ALL)
    assert (run.code, run.json["outcome"], ids(run)) == (3, "refused", ["confirmation-missing"])
    assert fleet.tree() == {}


def test_dry_run_writes_nothing(apply, fleet):
    run = apply(*ALL, "--dry-run")
    assert (run.code, run.json["outcome"]) == (0, "planned")
    assert run.json["nodes"][0]["directories"][0]["action"] == "format"
    assert fleet.tree() == {}
    assert not fleet.receipts.exists()


def test_dry_run_of_a_refused_plan_is_refused(apply, fleet):
    fleet.disk(1).mkdir(parents=True)
    (fleet.disk(1) / "orders-0").mkdir()
    run = apply(*ALL, "--dry-run")
    assert (run.code, run.json["outcome"]) == (3, "refused")


def test_nothing_is_written_on_any_node_if_one_is_refused(apply, fleet):
    fleet.disk(5, "b").mkdir(parents=True)
    (fleet.disk(5, "b") / "orders-0").mkdir()
    run = apply(*ALL, "--yes")
    assert (run.code, run.json["outcome"]) == (3, "refused")
    assert "directory-not-blank" in ids(run)
    assert {node["outcome"] for node in run.json["nodes"]} == {"refused"}
    assert fleet.tree() == {}


def test_directory_with_data_is_allowed_by_its_path(apply, fleet):
    fleet.disk(5, "b").mkdir(parents=True)
    (fleet.disk(5, "b") / "notes.txt").write_text("x")
    run = apply(*ALL, "--yes", "--allow-not-blank", fleet.disk(5, "b"))
    assert (run.code, run.json["outcome"]) == (0, "done")


def test_nodes_are_chosen_by_host(kafkactl, tmp_path):
    here = socket.gethostname()
    fleet = planned(kafkactl, tmp_path, FleetBuilder(nodes={2: {"host": here}, 5: {"host": here.upper()}}))
    run = kafkactl("storage", "apply", fleet.plan, "--local", "--dry-run", "-o", "json")
    assert [node["id"] for node in run.json["nodes"]] == [2, 5]
    run = kafkactl("storage", "apply", fleet.plan, "--host", "h1", "--host", "H6", "--dry-run", "-o", "json")
    assert [node["id"] for node in run.json["nodes"]] == [1, 6]


@pytest.mark.parametrize("words", [["--node", 9], ["--host", "nowhere"], ["--local"]])
def test_node_outside_the_plan_is_refused(apply, words):
    run = apply(*words, "--yes")
    assert (run.code, run.error["id"]) == (2, "node-not-in-plan")


@pytest.mark.parametrize("words", [[], ["--node", 1, "--reformat", "1/x"], ["--node", 1, "--reason", "why"]])
def test_contradicting_options_are_refused(apply, words):
    assert apply(*words, "--yes").code == 2


@pytest.mark.parametrize("text", ["disk1", "x/disk1", "1"])
def test_reformat_names_a_node_and_a_directory(apply, text):
    run = apply("--node", 1, "--reformat", text, "--reason", "why", "--yes")
    assert (run.code, run.error["id"]) == (2, "invalid-reformat")


def test_edited_plan_is_refused(apply, fleet):
    document = fleet.planned()
    document["nodes"][0]["directories"][0]["directory_id"] = "AAAAAAAAAAAAAAAAAAAAAg"
    fleet.plan.write_text(json.dumps(document), encoding="utf-8")
    run = apply("--node", 1, "--yes")
    assert (run.code, run.error["id"]) == (3, "plan-file-edited")
    assert fleet.tree() == {}


@pytest.mark.parametrize("content", [b"", b"{}", b"\xff", None])
def test_file_that_is_not_a_plan_is_an_error(apply, fleet, content):
    fleet.plan.unlink()
    if content is not None:
        fleet.plan.write_bytes(content)
    run = apply("--node", 1, "--yes")
    assert run.code == 2
    assert run.error["id"] == ("not-a-plan-file" if content is not None else "input-file-unreadable")


def test_configuration_that_changed_since_is_shown_and_refused(apply, fleet):
    fleet.builder.configs[4] = {"log.dirs": str(fleet.disk(4, "c"))}
    fleet.write_config(4)
    run = apply(*ALL, "--yes")
    assert (run.code, ids(run)) == (3, ["config-changed-since-plan"])
    (finding,) = [finding for finding in run.json["findings"] if finding["severity"] == "blocker"]
    assert finding["evidence"]["changed"]["log.dirs"]["found"] == str(fleet.disk(4, "c"))
    assert fleet.tree() == {}


def test_change_that_does_not_matter_for_the_disks_is_none(apply, fleet):
    fleet.builder.configs[4] = {"num.io.threads": "3"}
    fleet.write_config(4)
    assert apply(*ALL, "--yes").code == 0


def test_configuration_that_is_gone_is_refused(apply, fleet):
    fleet.config(4).unlink()
    run = apply(*ALL, "--yes")
    assert (run.code, ids(run)) == (3, ["input-file-unreadable"])
    assert fleet.tree() == {}


def test_disks_of_another_cluster_are_refused(kafkactl, apply, fleet):
    config = fleet.config(1)
    words = ["-t", "AAAAAAAAAAAAAAAAAAAAAA", "-c", config, "-s", "--kafka-version", "4.3.1"]
    assert kafkactl("storage", "format", *words).code == 0
    before = fleet.tree()
    run = apply(*ALL, "--yes")
    assert run.code == 3
    assert {"cluster-id-mismatch", "directory-id-mismatch"} <= set(ids(run))
    assert fleet.tree() == before


def test_disks_of_another_plan_of_the_same_cluster_are_refused(kafkactl, apply, fleet):
    config, cluster_id = fleet.config(1), fleet.planned()["cluster_id"]
    kafkactl("storage", "format", "-t", cluster_id, "-c", config, "-s", "--kafka-version", "4.3.1")
    run = apply("--node", 1, "--yes")
    assert run.code == 3
    assert {"directory-id-mismatch", "voters-differ"} <= set(ids(run))


@pytest.mark.slow
def test_users_of_the_plan_are_compared_too(kafkactl, tmp_path):
    fleet = planned(kafkactl, tmp_path, FleetBuilder(inventory={"scram_file": "users.txt"}))
    run = kafkactl("storage", "apply", fleet.plan, *ALL, "--yes", "-o", "json")
    assert (run.code, run.json["outcome"]) == (0, "done")
    again = kafkactl("storage", "apply", fleet.plan, *ALL, "-o", "json")
    assert again.json["outcome"] == "nothing-to-do"
    assert "alice-secret" not in run.stdout + again.stdout


def test_second_operator_at_once_is_refused(apply, fleet):
    fleet.disk(4).mkdir(parents=True)
    with directory_lock(str(fleet.disk(4)), OsFilesystem()):
        run = apply("--node", 4, "--yes")
    assert (run.code, run.json["outcome"], ids(run)) == (3, "refused", ["another-kafkactl-is-writing"])
    assert fleet.tree() == {}
    assert apply("--node", 4, "--yes").json["outcome"] == "done"


def test_directory_that_is_not_a_mount_is_refused(kafkactl, tmp_path):
    disk = str(tmp_path / "disks" / "4" / "a")
    fleet = planned(kafkactl, tmp_path, FleetBuilder(nodes={4: {"mounts": [disk]}}))
    run = kafkactl("storage", "apply", fleet.plan, *ALL, "--yes", "-o", "json")
    assert (run.code, ids(run)) == (3, ["not-a-mount"])
    assert fleet.tree() == {}


def test_node_that_runs_is_refused(apply, fleet):
    lock = fleet.disk(4) / ".lock"
    lock.parent.mkdir(parents=True)
    script = "import fcntl, sys; f = open(sys.argv[1], 'w'); fcntl.lockf(f, fcntl.LOCK_EX); print(); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", script, lock], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        holder.stdout.readline()
        run = apply(*ALL, "--yes")
        holder.stdin.close()
    assert run.code == 3
    assert "directory-in-use" in ids(run)
    assert list(fleet.tree()) == ["4/a/.lock"]


def lose(fleet, node_id, name="a"):
    shutil.rmtree(fleet.disk(node_id, name))
    fleet.disk(node_id, name).mkdir()


def test_disk_that_was_formatted_and_is_blank_again_is_refused(apply, fleet):
    apply(*ALL, "--yes")
    lose(fleet, 4, "b")
    before = fleet.tree()
    run = apply(*ALL, "--yes")
    assert (run.code, ids(run)) == (3, ["formatted-before"])
    assert fleet.tree() == before


def test_whole_node_that_is_blank_again_is_refused(apply, fleet):
    # No other directory of the node could tell: only the receipt remembers.
    apply(*ALL, "--yes")
    shutil.rmtree(fleet.disk(4).parent)
    run = apply("--node", 4, "--yes")
    assert (run.code, ids(run)) == (3, ["formatted-before", "formatted-before"])
    subjects = {finding["subject"] for finding in run.json["findings"] if finding["severity"] == "blocker"}
    assert subjects == {f"node 4, directory {fleet.disk(4, name)}" for name in "ab"}


def test_lost_disk_is_formatted_again_with_the_operators_reason(apply, fleet):
    apply(*ALL, "--yes")
    before = fleet.tree()
    lose(fleet, 4, "b")
    run = apply("--node", 4, "--yes", "--reformat", f"4{fleet.disk(4, 'b')}", "--reason", "ticket 4711")
    assert (run.code, run.json["outcome"]) == (0, "done")
    assert fleet.tree() == before
    receipt = json.loads((fleet.receipts / "node-4.json").read_text())
    assert [(reformat["directory"], reformat["reason"]) for reformat in receipt["reformats"]] == [
        (str(fleet.disk(4, "b")), "ticket 4711")
    ]


def test_lost_metadata_disk_of_a_controller_asks_the_others(kafkactl, tmp_path):
    # Their hosts do not exist, so the operator's word is all there is, and that is said.
    fleet = planned(kafkactl, tmp_path, FleetBuilder(static=True))
    assert kafkactl("storage", "apply", fleet.plan, *ALL, "--yes", "-o", "json").code == 0
    lose(fleet, 1, "a")
    words = ["--node", 1, "--yes", "--reformat", f"1{fleet.disk(1, 'a')}", "--reason", "disk replaced"]
    run = kafkactl("storage", "apply", fleet.plan, *words, "-o", "json")
    assert (run.code, ids(run)) == (3, ["metadata-disk-lost"])
    confirmed = ["--replace-lost-metadata-disk", "--verified-quorum"]
    run = kafkactl("storage", "apply", fleet.plan, *words, *confirmed, "-o", "json")
    assert (run.code, run.json["outcome"]) == (0, "done")
    assert "quorum-not-observed" in {finding["id"] for finding in run.json["findings"]}


def test_reason_for_one_directory_does_not_open_another(apply, fleet):
    apply(*ALL, "--yes")
    shutil.rmtree(fleet.disk(4).parent)
    run = apply("--node", 4, "--yes", "--reformat", f"4{fleet.disk(4, 'b')}", "--reason", "ticket 4711")
    assert (run.code, ids(run)) == (3, ["formatted-before"])


def test_majority_of_static_voters_is_never_formatted_again_at_once(kafkactl, tmp_path):
    fleet = planned(kafkactl, tmp_path, FleetBuilder(static=True))
    run = kafkactl("storage", "apply", fleet.plan, *ALL, "--yes", "-o", "json")
    assert run.code == 0, run.stdout
    for node_id in (1, 2):
        shutil.rmtree(fleet.disk(node_id).parent)
    words = [
        word
        for number in (1, 2)
        for name in "ab"
        for word in ("--reformat", f"{number}{fleet.disk(number, name)}")
    ]  # fmt: skip
    run = kafkactl("storage", "apply", fleet.plan, *ALL, "--yes", *words, "--reason", "both", "-o", "json")
    assert (run.code, ids(run)) == (3, ["majority-of-voters-blank"])
    assert [finding["subject"] for finding in run.json["findings"] if finding["severity"] == "blocker"] == ["fleet"]
    run = kafkactl("storage", "apply", fleet.plan, "--node", 1, "--yes", *words[:4], "--reason", "first", "-o", "json")
    assert (run.code, run.json["outcome"]) == (0, "done")


def test_unreadable_receipt_is_an_error(apply, fleet):
    apply("--node", 1, "--yes")
    (fleet.receipts / "node-1.json").write_text("{}", encoding="utf-8")
    run = apply("--node", 1, "--yes")
    assert (run.code, run.error["id"]) == (2, "receipt-damaged")


@pytest.mark.slow
def test_missing_receipt_is_left_by_the_next_apply(apply, fleet):
    apply(*ALL, "--yes")
    shutil.rmtree(fleet.receipts)
    assert apply(*ALL).json["outcome"] == "nothing-to-do"
    assert len(list(fleet.receipts.iterdir())) == 6


def test_receipts_that_cannot_be_written_are_reported(apply):
    run = apply("--node", 1, "--yes", "--receipts", "/proc/kafkactl-receipts")
    assert (run.code, run.json["outcome"]) == (0, "done")
    assert "receipt-not-written" in [finding["id"] for finding in run.json["findings"]]


def test_place_for_receipts_may_be_named(apply, fleet, tmp_path):
    apply("--node", 1, "--yes", "--receipts", tmp_path / "elsewhere")
    assert (tmp_path / "elsewhere" / "node-1.json").exists()
    assert not fleet.receipts.exists()


def test_result_is_shown_as_text(kafkactl, fleet):
    run = kafkactl("storage", "apply", fleet.plan, "--node", 1, "--yes")
    assert run.code == 0
    assert "Formatted as planned" in run.stdout
    run = kafkactl("storage", "apply", fleet.plan, "--node", 1)
    assert "formatted as planned already" in run.stdout


def warned(run):
    return [finding["subject"] for finding in run.json["findings"] if finding["id"] == "host-differs-from-plan"]


@pytest.mark.parametrize(
    ("host", "words", "is_warned"),
    [
        ("another-machine", ("--node", 1), True),
        ("another-machine", ("--host", "another-machine"), False),
        ("192.0.2.77", ("--node", 1), True),
        ("127.0.0.1", ("--node", 1), False),
        (socket.gethostname(), ("--node", 1), False),
        (f"{socket.gethostname().partition('.')[0].upper()}.example", ("--node", 1), False),
    ],
)
def test_node_of_another_host_is_applied_with_a_warning(kafkactl, tmp_path, host, words, is_warned):
    made = planned(kafkactl, tmp_path, FleetBuilder(nodes={1: {"host": host}}))
    run = kafkactl("storage", "apply", made.plan, "-o", "json", *words, "--yes")
    assert run.code == 0
    assert bool(warned(run)) is is_warned
