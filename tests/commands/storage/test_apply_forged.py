"""Plan files that an enemy wrote, with a checksum that fits: `storage apply` writes only what planning makes."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Callable
from typing import Any

import pytest

from kafkactl.change.plan_document import checksum
from kafkactl.metadata.log.checkpoint import decode_checkpoint
from tests.commands.storage.fleet_on_disk import FleetOnDisk
from tests.sampling import one_in
from tests.storage.fleet.fleets import FleetBuilder

ALL = [word for number in range(1, 7) for word in ("--node", number)]
USERS = "SCRAM-SHA-512=[name=alice,password=alice-secret]\n"
Document = dict[str, Any]


@pytest.fixture(params=["4.3.1", "4.4.0", "3.9.2"])
def release(request) -> str:
    return request.param


@pytest.fixture
def fleet(kafkactl, tmp_path):
    return planned(kafkactl, tmp_path)


def planned(kafkactl, tmp_path, **inventory) -> FleetOnDisk:
    (tmp_path / "users.txt").write_text(USERS, encoding="utf-8")
    made = FleetOnDisk(tmp_path, FleetBuilder(inventory={"scram_file": "users.txt", **inventory}))
    run = kafkactl("storage", "plan", made.inventory, "--out", made.plan, "-o", "json")
    assert run.code == 0, run.stdout
    return made


def forge(fleet: FleetOnDisk, change: Callable[[Document], None]) -> None:
    document = fleet.planned()
    change(document)
    document["plan_sha256"] = checksum(document)
    fleet.plan.write_text(json.dumps(document), encoding="utf-8")


def file_of(document: Document, name: str, node: int = 0) -> Document:
    return next(file for file in document["nodes"][node]["files"] if file["name"].endswith(name))


def content(document: Document, file: Document, data: bytes) -> None:
    file["sha256"] = hashlib.sha256(data).hexdigest()
    file["size"] = len(data)
    document["contents"][file["sha256"]] = base64.b64encode(data).decode()


def ids(run) -> set[str]:
    return {finding["id"] for finding in run.json["findings"] if finding["severity"] == "blocker"}


def test_unchanged_plan_is_applied(kafkactl, tmp_path, release):
    fleet = planned(kafkactl, tmp_path, kafka_version=release)
    run = kafkactl("storage", "apply", fleet.plan, *ALL, "--yes", "-o", "json")
    assert (run.code, run.json["outcome"]) == (0, "done"), run.stdout
    assert kafkactl("storage", "apply", fleet.plan, *ALL, "-o", "json").json["outcome"] == "nothing-to-do"


def _other_bytes(name: str, data: bytes) -> Callable[[Document], None]:
    return lambda document: content(document, file_of(document, name), data)


def _set(*path: Any, to: Any) -> Callable[[Document], None]:
    def change(document: Document) -> None:
        place: Any = document
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = to

    return change


def _another_user(document: Document) -> None:
    """Plant a checkpoint of an honest plan for another user of another cluster's time: its keys fit no declaration."""
    file = file_of(document, "bootstrap.checkpoint")
    data = bytearray(base64.b64decode(document["contents"][file["sha256"]]))
    at = data.index(b"alice")
    data[at : at + 5] = b"mallo"
    content(document, file, bytes(data))


def _two_files(document: Document) -> None:
    files = document["nodes"][0]["files"]
    files.append(dict(files[0]))


FORGED = {
    "bytes of a program": _other_bytes("bootstrap.checkpoint", b"\x7fELF" + bytes(400)),
    "bytes of meta.properties": _other_bytes("meta.properties", b"EVIL\n"),
    "bytes of the first checkpoint": _other_bytes("0.checkpoint", b"EVIL\n"),
    "nothing at all": _other_bytes("bootstrap.checkpoint", b""),
    "another user, CRC wrong": _another_user,
    "another cluster id": _set("cluster_id", to="AAAAAAAAAAAAAAAAAAAAAg"),
    "another level": _set("metadata_version", "level", to=20),
    "another name of the level": _set("metadata_version", "name", to="4.0-IV0"),
    "another kraft.version": _set("kraft_version", to=0),
    "another feature": _set("features", "share.version", to=9),
    "another directory id": _set("nodes", 0, "directories", 1, "directory_id", to="AAAAAAAAAAAAAAAAAAAAAg"),
    "no directory id": _set("nodes", 0, "directories", 1, "directory_id", to=None),
    "another role": _set("nodes", 0, "directories", 1, "role", to="metadata"),
    "another time": _set("created_ms", to=1),
    "another voter": _set("voters", 0, "id", to=9),
    "another listener": _set("voters", 0, "endpoints", 0, "listener", to="X"),
    "another way to vote": _set("nodes", 0, "voter_mode", to="standalone"),
    "other roles": _set("nodes", 0, "roles", to=["broker"]),
    "another node": _set("nodes", 0, "id", to=7),
    "a file twice": _two_files,
    "a file less": lambda document: document["nodes"][0]["files"].pop(),
    "a mode that another file has": lambda document: file_of(document, "meta.properties").update(mode=0o600),
    "a release that is none": _set("release_version", to="9.9"),
}


@pytest.mark.parametrize("words", one_in(2, [["--yes"], ["--dry-run"]]))
@pytest.mark.parametrize("name", one_in(3, FORGED))
def test_forged_plan_is_refused(kafkactl, fleet, name, words):
    forge(fleet, FORGED[name])
    node = fleet.planned()["nodes"][0]["id"]
    run = kafkactl("storage", "apply", fleet.plan, "--node", node, *words, "-o", "json")
    assert (run.code, run.json["outcome"]) == (3, "refused"), run.stdout
    assert ids(run) == {"plan-forged"}
    assert fleet.tree() == {} and not fleet.receipts.exists()


def test_one_forged_node_stops_the_whole_apply(kafkactl, fleet):
    forge(fleet, _other_bytes("meta.properties", b"EVIL\n"))
    run = kafkactl("storage", "apply", fleet.plan, *ALL, "--yes", "-o", "json")
    assert (run.code, fleet.tree()) == (3, {})


@pytest.mark.parametrize("path", ["/etc", "relative", "/etc/cron.d/x"])
def test_plan_for_other_directories_is_refused(kafkactl, fleet, path):
    def change(document: Document) -> None:
        node = document["nodes"][0]
        old = node["directories"][1]["path"]
        node["directories"][1]["path"] = path
        for file in node["files"]:
            if file["directory"] == old:
                file["directory"] = path

    forge(fleet, change)
    run = kafkactl("storage", "apply", fleet.plan, "--node", 1, "--yes", "-o", "json")
    assert (run.code, ids(run)) == (3, {"plan-for-other-directories"})
    assert fleet.tree() == {}


FILE = ("nodes", 0, "files", 0)
TYPES = {
    "setuid": _set(*FILE, "mode", to=0o4755),
    "everybody": _set(*FILE, "mode", to=0o666),
    "mode as words": _set(*FILE, "mode", to="rwx"),
    "mode of 100 digits": _set(*FILE, "mode", to=10**100),
    "mode as a list": _set(*FILE, "mode", to=[384]),
    "mode true": _set(*FILE, "mode", to=True),
    "no path": _set("nodes", 0, "directories", 0, "path", to=None),
    "a path as a number": _set("nodes", 0, "directories", 0, "path", to=7),
    "files of no directory": _set(*FILE, "directory", to="/elsewhere"),
    "a name as a list": _set(*FILE, "name", to=["meta.properties"]),
    "a name with a path": _set(*FILE, "name", to="../../etc/x"),
    "NUL in a path": _set("nodes", 0, "directories", 0, "path", to="/a\0b"),
    "half a character": _set("nodes", 0, "directories", 0, "path", to="/a\ud800"),
    "a sha256 as a number": _set(*FILE, "sha256", to=5),
    "contents as a list": _set("contents", to=[]),
    "a content as a number": lambda document: document["contents"].update(dict.fromkeys(document["contents"], 5)),
    "nodes as a table": _set("nodes", to={}),
    "a node as a text": _set("nodes", to=["x"]),
    "an id as a text": _set("nodes", 0, "id", to="1"),
    "a huge id": _set("nodes", 0, "id", to=1 << 70),
    "a port as a text": _set("voters", 0, "endpoints", 0, "port", to="9093"),
    "a time as a text": _set("created_ms", to="now"),
    "a time of 40 digits": _set("created_ms", to=10**40),
    "features as a list": _set("features", to=["x"]),
    "a level as a text": _set("metadata_version", "level", to="30"),
    "a level as a broken number": _set("metadata_version", "level", to=30.5),
    "a config as null": _set("nodes", 0, "config", to=None),
    "config values as numbers": _set("nodes", 0, "config_values", "node.id", to=1),
    "a host with an escape": _set("nodes", 0, "host", to="\x1b]0;x\x07"),
    "a finding as a text": _set("findings", to=["x"]),
    "no kafka version": _set("kafka_version", to=None),
}


@pytest.mark.parametrize("name", one_in(4, TYPES))
def test_value_of_a_wrong_type_is_a_typed_error(kafkactl, fleet, name):
    forge(fleet, TYPES[name])
    run = kafkactl("storage", "apply", fleet.plan, "--node", 1, "--yes", "-o", "json")
    assert (run.code, run.error["id"]) == (2, "not-a-plan-file")
    assert fleet.tree() == {} and not (fleet.folder / "disks").exists()


def test_dry_run_shows_modes_owner_and_users(kafkactl, fleet):
    owner = f"{os.geteuid()}:{os.getegid()}"
    run = kafkactl(
        "storage", "apply", fleet.plan, "--node", 1, "--node", 4, "--dry-run", "--owner", owner, "-o", "json"
    )
    controller, broker = run.json["nodes"]
    assert controller["scram_users"] == [{"name": "alice", "mechanism": "SCRAM-SHA-512", "iterations": 4096}]
    assert broker["scram_users"] == []
    assert controller["config"] == str(fleet.config(1))
    modes = {file["path"].rpartition("/")[2]: file["mode"] for file in controller["directories"][0]["files"]}
    first = "00000000000000000000-0000000000.checkpoint"
    assert modes == {first: "0400", "bootstrap.checkpoint": "0600", "meta.properties": None}
    assert {directory["owner"] for directory in controller["directories"]} == {owner}
    shown = kafkactl("storage", "apply", fleet.plan, "--node", 1, "--dry-run").stdout
    assert "alice" in shown and "mode 0400" in shown and "SCRAM-SHA-512" in shown


def test_planted_user_is_seen(kafkactl, tmp_path, release):
    # An honest plan may bring any user in: the one who applies it sees whom.
    (tmp_path / "a").mkdir()
    fleet = planned(kafkactl, tmp_path / "a", kafka_version=release)
    run = kafkactl("storage", "apply", fleet.plan, "--node", 1, "--dry-run", "-o", "json")
    assert [user["name"] for user in run.json["nodes"][0]["scram_users"]] == ["alice"]


def test_users_file_is_its_owners_alone(kafkactl, fleet):
    # Keys are worth as much as passwords, on the disk as in the plan.
    assert kafkactl("storage", "apply", fleet.plan, "--node", 1, "--yes").code == 0
    path = fleet.disk(1) / "bootstrap.checkpoint"
    assert path.stat().st_mode & 0o777 == 0o600
    read = decode_checkpoint(path.read_bytes())
    assert [record.type for _, record in read.records].count("UserScramCredentialRecord") == 1
