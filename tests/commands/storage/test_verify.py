"""`kafkactl storage verify` as a command: its answer in every form, its exit codes."""

from __future__ import annotations

import json

import pytest

from tests.commands.storage.fleet_on_disk import FleetOnDisk
from tests.lab.storage.verify_damage import flipped, holds, removed
from tests.storage.fleet.fleets import FleetBuilder
from tests.storage.verify.nodes import SEGMENT, VerifyNode

HOSTILE_LINES = {"storage verify": ("-c {config}",)}

HOSTILE_PATHS = {
    "storage verify": [
        ("config.providers", "-c {of:provider}", (2, 7)),
    ],
}


@pytest.fixture
def node(tmp_path, kafkactl):
    """Make a node of a version, on disks under the test's folder."""
    return lambda version: VerifyNode(tmp_path, kafkactl, version)


def verify(kafkactl, made, *more):
    return kafkactl("storage", "verify", "-c", made.file, "--kafka-version", made.version, *more)


def test_start_of_a_healthy_node_is_predicted(kafkactl, node):
    made = node("4.3.1").format(static=True)
    run = verify(kafkactl, made, "-o", "json")
    assert (run.code, run.stderr) == (0, "")
    assert run.json["kind"] == "storage.verify"
    assert (run.json["will_start"], run.json["expected_failure"], run.json["would_lose"]) == (True, None, [])
    assert run.json["starts_with"] == ["4.3", "4.4"]
    assert (run.json["node_id"], run.json["kafka_version"]) == (1, "4.3.1")
    assert [directory["role"] for directory in run.json["directories"]] == ["metadata"]


def test_end_of_a_damaged_node_is_predicted(kafkactl, node):
    made = node("4.3.1").format(static=True)
    removed("d1/meta.properties")(made.root)
    run = verify(kafkactl, made, "-o", "json")
    assert run.code == 7
    assert run.json["will_start"] is False
    assert run.json["expected_failure"]["phase"] == "meta-properties"
    assert "No readable meta.properties files found." in run.json["expected_failure"]["message"]
    assert "does not start" in verify(kafkactl, made).stdout


def test_start_that_ends_before_the_metadata_log_loses_nothing(kafkactl, node):
    made = node("4.3.1").format(static=True)
    removed("d1/bootstrap.checkpoint")(made.root)
    assert [loss["what"] for loss in verify(kafkactl, made, "-o", "json").json["would_lose"]] == [
        "release",
        "features",
        "scram",
    ]
    removed("d1/meta.properties")(made.root)
    assert verify(kafkactl, made, "-o", "json").json["would_lose"] == []


def test_wait_of_a_node_without_a_quorum_is_predicted(kafkactl, node):
    made = node("4.3.1").format("--standalone")
    holds("d1/__cluster_metadata-0/00000000000000000000-0000000000.checkpoint", "")(made.root)
    run = verify(kafkactl, made, "-o", "json")
    assert (run.code, run.json["will_start"]) == (7, False)
    assert run.json["expected_failure"]["phase"] == "waiting-for-quorum"
    assert "no error is logged" in run.json["expected_failure"]["message"]


def test_node_with_a_damaged_log_loses_everything(kafkactl, node):
    made = node("4.4.0").format(static=True).started_once()
    flipped(f"d1/{SEGMENT}", 1, 80)(made.root)
    run = verify(kafkactl, made, "-o", "json")
    assert (run.code, run.json["will_start"], run.json["starts_with"]) == (7, True, [])
    assert [loss["what"] for loss in run.json["would_lose"]] == ["metadata-log"]
    table = verify(kafkactl, made).stdout
    assert "loses something" in table and "metadata-log" in table


def test_unpredictable_start_is_reported_as_unknown(kafkactl, node):
    made = node("4.4.0").format("--no-initial-controllers")
    made.file.write_text(made.file.read_text().replace("servers=localhost:9093", "servers=other:9093"))
    run = verify(kafkactl, made, "-o", "json")
    assert (run.code, run.json["will_start"], run.json["expected_failure"]) == (0, None, None)
    assert "may or may not start" in verify(kafkactl, made).stdout


def test_invalid_configuration_stops_the_start(kafkactl, node):
    made = node("4.4.0").format(static=True)
    made.file.write_text(made.file.read_text().replace("node.id=1", "node.id=one"))
    run = verify(kafkactl, made, "-o", "json")
    assert (run.code, run.json["will_start"], run.json["node_id"]) == (7, False, None)
    assert run.json["expected_failure"]["phase"] == "config"
    assert "Invalid value one for configuration node.id" in run.json["expected_failure"]["message"]


def test_missing_file_and_unknown_release_are_refused(kafkactl, node, tmp_path):
    made = node("4.4.0").format(static=True)
    run = kafkactl("storage", "verify", "-c", tmp_path / "nothing", "-o", "json")
    assert (run.code, run.stdout) == (run.error["exit_code"], "")
    assert kafkactl("storage", "verify", "-c", made.file, "--kafka-version", "9.9", "-o", "json").code == 2


def test_answer_is_shown_in_every_form(kafkactl, node):
    made = node("4.4.0").format(static=True)
    assert json.loads(verify(kafkactl, made, "-o", "jsonl").stdout)["will_start"] is True
    assert "will_start: true" in verify(kafkactl, made, "-o", "yaml").stdout


def test_every_node_of_a_planned_fleet_starts(kafkactl, tmp_path):
    fleet = FleetOnDisk(tmp_path, FleetBuilder(controllers=(1, 2, 3), brokers=(4, 5, 6)))
    kafkactl("storage", "plan", fleet.inventory, "--out", fleet.plan)
    for node_id in (1, 2, 3, 4, 5, 6):
        assert kafkactl("storage", "apply", fleet.plan, "--node", node_id, "--yes").code == 0
        run = kafkactl("storage", "verify", "-c", fleet.config(node_id), "--kafka-version", "4.3", "-o", "json")
        assert (run.code, run.json["will_start"]) == (0, True), run.json["findings"]
        assert "needs-other-nodes" in {finding["id"] for finding in run.json["findings"]}


def test_cluster_and_node_that_all_directories_share_are_in_no_column(kafkactl, node):
    made = node("4.3.1").format(static=True)
    shown = verify(kafkactl, made).stdout
    assert "DIRECTORY ID" in shown
    assert "  NODE  " not in shown and "\nnode " in shown
