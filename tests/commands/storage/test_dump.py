from __future__ import annotations

import json

import pytest

from tests.commands.storage.fleet_on_disk import FleetOnDisk
from tests.storage.fleet.fleets import FleetBuilder

HOSTILE_LINES = {"storage dump": ("{segment}", "{meta}", "{config}")}

HOSTILE_PATHS = {
    "storage dump": [
        ("files", "{}"),
    ],
}


@pytest.fixture
def disk(kafkactl, tmp_path):
    """Return the formatted metadata directory of a controller with a user."""
    fleet = FleetOnDisk(tmp_path, FleetBuilder(controllers=(1,), brokers=(), inventory={"scram_file": "users.txt"}))
    (tmp_path / "users.txt").write_text("SCRAM-SHA-256=[name=alice,password=alice-secret]\n", encoding="utf-8")
    kafkactl("storage", "plan", fleet.inventory, "--out", fleet.plan)
    assert kafkactl("storage", "apply", fleet.plan, "--node", 1, "--yes").code == 0
    return fleet.disk(1)


def files(disk):
    return sorted(path for path in disk.rglob("*") if path.is_file())


def test_every_file_of_a_formatted_node_is_dumped(kafkactl, disk):
    run = kafkactl("storage", "dump", *files(disk), "-o", "json")
    assert (run.code, run.stderr, run.json["findings"]) == (0, "", [])
    assert [file["type"] for file in run.json["files"]] == ["checkpoint", "checkpoint", "meta.properties"]
    first, bootstrap, meta = run.json["files"]
    assert [voter["id"] for voter in first["voters"]] == [1]
    assert first["voters"][0]["directory_id"] == meta["directory_id"]
    assert bootstrap["records"][0]["data"] == {"name": "metadata.version", "featureLevel": 30}


def test_dump_is_shown_as_text(kafkactl, disk):
    run = kafkactl("storage", "dump", *files(disk))
    for text in ("CONTROLLER://h1.example:9093", "metadata.version", "name=alice", "cluster.id"):
        assert text in run.stdout


def test_keys_are_shown_only_when_asked_for(kafkactl, disk):
    bootstrap = disk / "bootstrap.checkpoint"
    hidden = kafkactl("storage", "dump", bootstrap, "-o", "json")
    assert hidden.json["files"][0]["records"][-1]["data"]["storedKey"] == "<redacted>"
    shown = kafkactl("storage", "dump", bootstrap, "-o", "json", "--show-secrets")
    key = shown.json["files"][0]["records"][-1]["data"]["storedKey"]
    assert key not in hidden.stdout
    assert key not in kafkactl("storage", "dump", bootstrap).stdout


def test_jsonl_prints_one_object_for_each_file(kafkactl, disk):
    run = kafkactl("storage", "dump", *files(disk), "-o", "jsonl")
    lines = [json.loads(line) for line in run.stdout.splitlines()]
    assert [(line["kind"], line["type"]) for line in lines] == [
        ("storage.dump", "checkpoint"),
        ("storage.dump", "checkpoint"),
        ("storage.dump", "meta.properties"),
    ]


def test_damage_is_exit_code_7_and_the_rest_is_shown(kafkactl, disk):
    bootstrap = disk / "bootstrap.checkpoint"
    bootstrap.write_bytes(bootstrap.read_bytes()[:-20])
    run = kafkactl("storage", "dump", *files(disk), "-o", "json")
    assert run.code == 7
    assert {finding["subject"] for finding in run.json["findings"]} == {f"file {bootstrap}"}
    assert all(finding["evidence"]["offset"] > 0 for finding in run.json["findings"])
    assert run.json["files"][1]["records"]


@pytest.mark.parametrize(("content", "id"), [(b"hello", "unknown-file-type"), (None, "input-file-unreadable")])
def test_missing_file_is_an_error(kafkactl, tmp_path, content, id):
    path = tmp_path / "file"
    if content is not None:
        path.write_bytes(content)
    run = kafkactl("storage", "dump", path, "-o", "json")
    assert (run.code, run.error["id"], run.stdout) == (2, id, "")


def test_directory_is_an_error(kafkactl, tmp_path):
    assert kafkactl("storage", "dump", tmp_path, "-o", "json").error["id"] == "input-file-unreadable"


@pytest.mark.parametrize("content", ["", "# only a comment\n"])
def test_empty_file_is_not_an_answer(kafkactl, tmp_path, content):
    (tmp_path / "meta.properties").write_text(content)
    run = kafkactl("storage", "dump", tmp_path / "meta.properties", "-o", "json")
    assert (run.code, [finding["id"] for finding in run.json["findings"]]) == (7, ["incomplete-meta-properties"])


def test_secrets_of_any_file_of_properties_are_hidden(kafkactl, tmp_path):
    # Entries other than Kafka's own keys are shown as in a server.properties; lines of a PEM block read as keys.
    file = tmp_path / "meta.properties"
    file.write_text(
        "version=1\nnode.id=1\ncluster.id=q1Sh-9_ISia_zwGINzRvyQ\nnum.io.threads=7\nmy.pwd=hunter01\n"
        "ssl.keystore.key=-----BEGIN PRIVATE KEY-----\nMIIEhunter02\nMIIFhunter03=\n-----END PRIVATE KEY-----\n"
        "log.dir=/x\n"
    )
    (dumped,) = kafkactl("storage", "dump", file, "-o", "json").json["files"]
    shown = dumped["properties"]
    assert (shown["node.id"], shown["num.io.threads"], shown["log.dir"]) == ("1", "7", "/x")
    assert shown["my.pwd"] == shown["ssl.keystore.key"] == "<redacted>"
    run = kafkactl("storage", "dump", file, "--show-secrets", "-o", "json")
    assert "hunter01" in run.stdout and "MIIEhunter02" in run.stdout
