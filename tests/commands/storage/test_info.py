from __future__ import annotations

import pytest

from tests.commands.storage.fleet_on_disk import FleetOnDisk
from tests.storage.fleet.fleets import FleetBuilder

HOSTILE_LINES = {"storage info": ("-c {config}",)}


@pytest.fixture
def node(kafkactl, tmp_path):
    """Return the configuration of a formatted node with two directories, and the place of its disks."""
    fleet = FleetOnDisk(tmp_path, FleetBuilder(controllers=(1,), brokers=()))
    kafkactl("storage", "plan", fleet.inventory, "--out", fleet.plan)
    assert kafkactl("storage", "apply", fleet.plan, "--node", 1, "--yes").code == 0
    return fleet


def info(kafkactl, node, *more):
    return kafkactl("storage", "info", "-c", node.config(1), "--kafka-version", "4.3", *more)


def test_formatted_node_has_no_problem(kafkactl, node):
    run = info(kafkactl, node, "-o", "json")
    assert (run.code, run.stderr) == (0, "")
    assert (run.json["problems"], run.json["node_id"]) == ([], 1)
    assert [directory["state"] for directory in run.json["directories"]] == ["formatted", "formatted"]
    assert [directory["role"] for directory in run.json["directories"]] == ["metadata", "data"]


def test_formatted_node_is_shown_as_by_kafka(kafkactl, node):
    lines = info(kafkactl, node).stdout.splitlines()
    assert lines[:4] == ["Found log directories:", f"  {node.disk(1, 'a')}", f"  {node.disk(1, 'b')}", ""]
    assert lines[4].startswith("Found metadata: {cluster.id=")


def test_problems_are_exit_code_7(kafkactl, node):
    (node.disk(1, "b") / "meta.properties").unlink()
    run = info(kafkactl, node)
    assert run.code == 7
    assert run.stdout.splitlines()[-2:] == ["Found problem:", f"  {node.disk(1, 'b')} is not formatted."]
    assert info(kafkactl, node, "-o", "json").json["problems"] == [f"{node.disk(1, 'b')} is not formatted."]


def test_node_from_zookeeper_is_a_problem_to_kafka_and_explained(kafkactl, node):
    for name in "ab":
        (node.disk(1, name) / "meta.properties").write_text("version=0\nbroker.id=1\ncluster.id=abc\n")
    run = info(kafkactl, node, "-o", "json")
    assert (run.code, [finding["id"] for finding in run.json["findings"]]) == (7, ["meta-properties-from-zookeeper"])
    assert run.json["problems"][0].endswith("but the directories are formatted for legacy mode.")


@pytest.mark.parametrize("text", [None, "node.id=x\n"])
def test_configuration_that_cannot_be_used_is_an_error(kafkactl, tmp_path, text):
    path = tmp_path / "server.properties"
    if text is not None:
        path.write_text(text)
    run = kafkactl("storage", "info", "-c", path, "-o", "json")
    assert (run.code, run.stdout, run.error["exit_code"]) == (2, "", 2)
