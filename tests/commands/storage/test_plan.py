from __future__ import annotations

import json
import stat

import pytest

from tests.commands.storage.fleet_on_disk import FleetOnDisk
from tests.storage.fleet.fleets import FleetBuilder

HOSTILE_LINES = {"storage plan": ("{fleet} --out {new}", "{config} --out {new}")}

HOSTILE_PATHS = {
    "storage plan": [
        ("inventory", "{} --out {new}"),
        ("--out", "{fleet} --out {}", (2, 3)),
        ("scram_file", "{of:scram_file} --out {new}"),
        ("config", "{of:config} --out {new}", (2, 3)),
    ],
}

SCRAM = "SCRAM-SHA-256=[name=alice,password=alice-secret]\n"


@pytest.fixture
def fleet(tmp_path):
    return FleetOnDisk(tmp_path, FleetBuilder())


def plan(kafkactl, fleet, *more):
    return kafkactl("storage", "plan", fleet.inventory, "--out", fleet.plan, "-o", "json", *more)


def test_plan_is_shown_and_written(kafkactl, fleet):
    run = plan(kafkactl, fleet)
    assert (run.code, run.stderr) == (0, "")
    answer = run.json
    assert (answer["outcome"], answer["out"]) == ("planned", str(fleet.plan))
    assert [node["id"] for node in answer["nodes"]] == [1, 2, 3, 4, 5, 6]
    assert answer["nodes"][0]["directories"][0]["role"] == "metadata"
    written = fleet.planned()
    assert written["plan_sha256"] == answer["plan_sha256"]
    assert {file["sha256"] for node in answer["nodes"] for file in node["files"]} == set(written["contents"])
    assert not (fleet.folder / "disks").exists()


def test_plan_is_its_owners_alone(kafkactl, fleet):
    plan(kafkactl, fleet)
    assert stat.S_IMODE(fleet.plan.stat().st_mode) == 0o600
    assert [path.name for path in fleet.folder.iterdir() if "tmp" in path.name] == []


def test_plan_is_shown_as_text(kafkactl, fleet):
    run = kafkactl("storage", "plan", fleet.inventory, "--out", fleet.plan)
    assert run.code == 0
    for text in ("Planned", "initial-controllers", "4.3-IV0 (30)", str(fleet.disk(1))):
        assert text in run.stdout


def test_dry_run_writes_nothing(kafkactl, fleet):
    run = kafkactl("storage", "plan", fleet.inventory, "--dry-run", "-o", "json")
    assert (run.code, run.json["outcome"], run.json["out"]) == (0, "planned", None)
    assert not fleet.plan.exists()


@pytest.mark.parametrize("words", [[], ["--dry-run", "--out", "x.json"]])
def test_place_for_the_plan_or_a_dry_run_is_needed(kafkactl, fleet, words):
    run = kafkactl("storage", "plan", fleet.inventory, *words, "-o", "json")
    assert (run.code, run.error["exit_code"]) == (2, 2)


def test_refused_plan_is_an_answer_and_no_file(kafkactl, tmp_path):
    fleet = FleetOnDisk(tmp_path, FleetBuilder(configs={2: {"node.id": "9"}, 5: {"node.id": "4"}}))
    run = plan(kafkactl, fleet)
    assert (run.code, run.stderr) == (3, "")
    assert (run.json["outcome"], run.json["nodes"], run.json["out"]) == ("refused", [], None)
    assert {finding["subject"] for finding in run.json["findings"] if finding["id"] == "node-id-mismatch"} == {
        "node 2",
        "node 5",
    }
    assert not fleet.plan.exists()


def test_missing_configuration_is_reported_with_everything_else(kafkactl, fleet):
    fleet.config(3).unlink()
    run = plan(kafkactl, fleet)
    assert run.code == 3
    (finding,) = [finding for finding in run.json["findings"] if finding["id"] == "input-file-unreadable"]
    assert "3.properties" in finding["message"]


def test_plan_is_not_replaced_by_accident(kafkactl, fleet):
    plan(kafkactl, fleet)
    before = fleet.plan.read_bytes()
    run = plan(kafkactl, fleet)
    assert (run.code, run.error["id"]) == (3, "plan-file-exists")
    assert fleet.plan.read_bytes() == before
    assert plan(kafkactl, fleet, "--overwrite").code == 0
    assert fleet.plan.read_bytes() != before


def test_plan_by_which_nodes_were_formatted_is_not_replaced_at_all(kafkactl, fleet):
    plan(kafkactl, fleet)
    kafkactl("storage", "apply", fleet.plan, "--node", 1, "--yes")
    run = plan(kafkactl, fleet, "--overwrite")
    assert (run.code, run.error["id"]) == (3, "plan-already-applied")


def test_plan_into_a_missing_folder_fails(kafkactl, fleet):
    run = kafkactl("storage", "plan", fleet.inventory, "--out", fleet.folder / "no" / "plan.json", "-o", "json")
    assert (run.code, run.error["id"]) == (1, "plan-file-not-written")


@pytest.mark.parametrize(
    ("text", "id"),
    [
        ("cluster_id = ", "inventory-not-toml"),
        ('cluster = "new"', "invalid-inventory"),
        (None, "input-file-unreadable"),
    ],
)
def test_inventory_that_cannot_be_used_is_an_error(kafkactl, fleet, text, id):
    fleet.inventory.unlink()
    if text is not None:
        fleet.inventory.write_text(text, encoding="utf-8")
    run = plan(kafkactl, fleet)
    assert (run.code, run.error["id"], run.stdout) == (2, id, "")


def test_credentials_come_from_a_file_and_are_shown_nowhere(kafkactl, tmp_path):
    fleet = FleetOnDisk(tmp_path, FleetBuilder(inventory={"scram_file": "users.txt"}))
    (tmp_path / "users.txt").write_text(SCRAM, encoding="utf-8")
    run = plan(kafkactl, fleet)
    assert run.code == 0
    contents = set(fleet.planned()["contents"].values())
    for shown in (run.stdout, run.stderr, kafkactl("storage", "plan", fleet.inventory, "--dry-run").stdout):
        assert "alice-secret" not in shown
        assert not any(content in shown for content in contents)
    assert "alice-secret" not in fleet.plan.read_text()


@pytest.mark.parametrize(("content", "id"), [(b"", "scram-file-empty"), (b"\xff", "scram-file-not-utf8")])
def test_unusable_credentials_file_is_refused(kafkactl, tmp_path, content, id):
    fleet = FleetOnDisk(tmp_path, FleetBuilder(inventory={"scram_file": "users.txt"}))
    (tmp_path / "users.txt").write_bytes(content)
    run = plan(kafkactl, fleet)
    assert (run.code, run.error["id"]) == (2, id)


def test_credential_that_cannot_be_read_is_not_shown(kafkactl, tmp_path):
    fleet = FleetOnDisk(tmp_path, FleetBuilder(inventory={"scram_file": "users.txt"}))
    (tmp_path / "users.txt").write_text("SCRAM-SHA-256=[name=alice,passwort=alice-secret]\n", encoding="utf-8")
    run = plan(kafkactl, fleet)
    assert run.code in (2, 3)
    assert "alice-secret" not in run.stdout + run.stderr


def test_configurations_of_other_hosts_are_read_below_root(kafkactl, tmp_path):
    fleet = FleetOnDisk(tmp_path, FleetBuilder(controllers=(1,), brokers=()))
    copies = tmp_path / "hosts" / "h1" / "etc"
    copies.mkdir(parents=True)
    fleet.config(1).rename(copies / "server.properties")
    text = fleet.inventory.read_text().replace('"1.properties"', '"/etc/server.properties"\nroot = "hosts/h1"')
    fleet.inventory.write_text(text, encoding="utf-8")
    run = plan(kafkactl, fleet)
    assert run.code == 0
    assert run.json["nodes"][0]["config"] == "/etc/server.properties"


def test_plan_of_two_runs_is_two_plans(kafkactl, fleet):
    plan(kafkactl, fleet)
    first = fleet.planned()
    fleet.plan.unlink()
    plan(kafkactl, fleet)
    second = fleet.planned()
    ids = [
        {directory["directory_id"] for node in document["nodes"] for directory in node["directories"]}
        for document in (first, second)
    ]
    assert not ids[0] & ids[1]
    assert json.dumps(first) != json.dumps(second)
