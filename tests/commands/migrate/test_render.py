"""`kafkactl migrate render`: files, diffs and the manifest, and what is left alone."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

import pytest

from kafkactl.protocol.text.properties import parse_properties
from tests.migration.render.files import cluster

HOSTILE_LINES = {
    "migrate render": ("{saved} --dry-run", "{saved} --out {rendered}", "--inventory {inventory} --dry-run")
}

HOSTILE_PATHS = {
    "migrate render": [
        ("--out", "--inventory {migration} --out {}", (1, 2, 3)),
        ("--out", "--inventory {migration} --out {@manifest.json}", (1, 2, 3)),
    ],
}

FLAG = "zookeeper.metadata.migration.enable"


@pytest.fixture
def inventory(tmp_path: Path) -> Path:
    """Return an inventory of four nodes whose files are copies next to it."""
    lines = ['[zookeeper]\nconnect = "zk1:2181/kafka"\n']
    for number, node in enumerate(cluster()):
        (tmp_path / f"{node.id}.properties").write_bytes(node.content)
        lines.append(
            f'[[nodes]]\nid = {node.id}\nrole = "{node.role}"\naddress = "h{number}:9092"\n'
            f'config = "/etc/kafka/server.properties"\ncopy = "{node.id}.properties"\n'
        )
    file = tmp_path / "migration.toml"
    file.write_text("\n".join(lines), encoding="utf-8")
    return file


def rendered(kafkactl, *arguments, code: int = 0):
    run = kafkactl("migrate", "render", *arguments, "-o", "json")
    assert run.code == code, run.stdout + run.stderr
    assert "hunter" not in run.stdout + run.stderr
    return run.json


def test_all_files_of_all_phases_are_written(kafkactl, inventory, tmp_path):
    out = tmp_path / "out"
    answer = rendered(kafkactl, "--inventory", inventory, "--out", out)
    assert (answer["outcome"], answer["folder"], answer["findings"]) == ("done", str(out), [])
    assert len(answer["files"]) == 12
    for file in answer["files"]:
        path = out / file["path"]
        assert sha256(path.read_bytes()).hexdigest() == file["sha256"]
        assert path.stat().st_mode & 0o777 == 0o600
    assert (out / "broker-1/original.properties").read_bytes() == (inventory.parent / "1.properties").read_bytes()
    assert parse_properties((out / "broker-2/migration.properties").read_bytes()).mapping[FLAG] == "true"
    diff = (out / "controller-3001/migration.diff").read_text()
    assert "+zookeeper.connect=zk1:2181,zk2:2181/kafka" in diff
    assert "hunter" not in diff
    manifest = json.loads((out / "manifest.json").read_bytes())
    assert [input["id"] for input in manifest["inputs"]] == [1, 2, 3001, 3002]
    assert "hunter" not in json.dumps(manifest)


def test_dry_run_writes_nothing_and_shows_the_diffs(kafkactl, inventory, tmp_path):
    out = tmp_path / "out"
    answer = rendered(kafkactl, "--inventory", inventory, "--out", out, "--dry-run")
    assert (answer["outcome"], out.exists()) == ("planned", False)
    text = kafkactl("migrate", "render", "--inventory", inventory, "--dry-run")
    assert f"+{FLAG}=true" in text.stdout
    assert "-broker.id=1" in text.stdout
    assert "hunter" not in text.stdout


def test_only_own_files_are_replaced(kafkactl, inventory, tmp_path):
    out = tmp_path / "out"
    first = rendered(kafkactl, "--inventory", inventory, "--out", out)
    assert rendered(kafkactl, "--inventory", inventory, "--out", out) == first
    file = inventory.parent / "1.properties"
    file.write_bytes(file.read_bytes() + b"num.io.threads=9\n")
    rendered(kafkactl, "--inventory", inventory, "--out", out)
    assert b"num.io.threads=9" in (out / "broker-1/kraft.properties").read_bytes()
    edited = out / "broker-1/kraft.properties"
    edited.write_bytes(edited.read_bytes() + b"# mine\n")
    run = kafkactl("migrate", "render", "--inventory", inventory, "--out", out, "-o", "json")
    assert (run.code, json.loads(run.stderr)["id"]) == (3, "render-folder-in-use")
    assert edited.read_bytes().endswith(b"# mine\n")


@pytest.mark.parametrize("phase", ["migration", "kraft"])
def test_in_the_middle_of_the_migration_it_starts_from_the_original(kafkactl, inventory, tmp_path, phase):
    out = tmp_path / "out"
    first = rendered(kafkactl, "--inventory", inventory, "--out", out)
    (inventory.parent / "1.properties").write_bytes((out / f"broker-1/{phase}.properties").read_bytes())
    again = rendered(kafkactl, "--inventory", inventory, "--out", out)
    assert [file["sha256"] for file in again["files"]] == [file["sha256"] for file in first["files"]]
    # Without the saved original, the file for the rollback cannot be rendered.
    refused = rendered(kafkactl, "--inventory", inventory, "--out", tmp_path / "elsewhere", code=3)
    assert refused["outcome"] == "refused"
    assert "render-original-needed" in [finding["id"] for finding in refused["findings"]]
    assert not (tmp_path / "elsewhere").exists()


def test_unknown_value_is_refused_and_reported_once(kafkactl, inventory, tmp_path):
    file = inventory.parent / "3001.properties"
    file.write_bytes(file.read_bytes().replace(b"super.users=User:kafka;User:controller\n", b""))
    answer = rendered(kafkactl, "--inventory", inventory, "--out", tmp_path / "out", code=3)
    assert [(finding["id"], finding["subject"]) for finding in answer["findings"]] == [
        ("render-super-users-unknown", "controller 3001")
    ]
    assert not (tmp_path / "out").exists()


def test_nothing_is_written_for_a_node_without_a_file(kafkactl, inventory, tmp_path):
    # The others can be looked at; nothing is written, for each file has to fit the others.
    (inventory.parent / "2.properties").unlink()
    answer = rendered(kafkactl, "--inventory", inventory, "--out", tmp_path / "out", code=3)
    found = [finding for finding in answer["findings"] if finding["id"] == "render-file-missing"]
    assert [finding["subject"] for finding in found] == ["broker 2"]
    assert {file["id"] for file in answer["files"]} == {1, 3001, 3002}
    assert not (tmp_path / "out").exists()
    assert kafkactl("migrate", "render", "--inventory", inventory).code == 2


def _observation(folder: Path, *, hide: bool) -> Path:
    nodes = [
        {"id": file.id, "role": file.role.value, "alive": True, "kafka_version": "3.9.2", "mode": None, "metrics": None,
         "config": file.content.decode().replace("encoder-hunter2", "<redacted>" if hide else "encoder-hunter2"),
         "meta_properties": None, "api_versions": None, "describe_quorum": None}
        for file in cluster()
    ]  # fmt: skip
    folder.mkdir()
    body = {"kind": "migrate.observation", "schema_version": 1, "time_ms": 1, "zookeeper": None, "nodes": nodes}
    (folder / "observation.json").write_text(json.dumps(body), encoding="utf-8")
    return folder


def test_files_are_rendered_from_an_observation(kafkactl, inventory, tmp_path):
    live = rendered(kafkactl, "--inventory", inventory, "--dry-run")
    saved = rendered(kafkactl, "--observation", _observation(tmp_path / "o", hide=False), "--dry-run")
    assert [file["sha256"] for file in saved["files"]] == [file["sha256"] for file in live["files"]]


def test_files_whose_secrets_were_taken_out_are_for_looking_at(kafkactl, tmp_path):
    out = tmp_path / "out"
    answer = rendered(kafkactl, "--observation", _observation(tmp_path / "o", hide=True), "--out", out, code=5)
    assert answer["outcome"] == "partial"
    assert {finding["id"] for finding in answer["findings"]} == {"render-file-redacted", "render-secret-not-shown"}
    assert not list(out.glob("broker-*/*.properties"))
    assert {file["path"] for file in answer["files"] if file["path"] and not (out / file["path"]).exists()} == set()
    assert f"+{FLAG}=true" in (out / "broker-1/migration.diff").read_text()


def test_observation_without_nodes_is_refused(kafkactl, tmp_path):
    folder = _observation(tmp_path / "o", hide=False)
    body = json.loads((folder / "observation.json").read_bytes())
    (folder / "observation.json").write_text(json.dumps({**body, "nodes": []}), encoding="utf-8")
    run = kafkactl("migrate", "render", "--observation", folder, "--dry-run", "-o", "json")
    assert (run.code, json.loads(run.stderr)["id"]) == (2, "render-file-missing")


def test_files_from_hooks_are_rendered_byte_for_byte(kafkactl, inventory, tmp_path):
    # Byte for byte, whatever the bytes.
    odd = b"# caf\xe9\nnum.partitions=3\n"
    first = inventory.parent / "1.properties"
    first.write_bytes(first.read_bytes() + odd)
    parts = [
        '[zookeeper]\nconnect = "zk1:2181/kafka"\n',
        '[hooks]\ntemplate = "command"\nget_config = ["cat", "{config_path}"]\n',
    ]
    for number, node in enumerate(cluster()):
        file = inventory.parent / f"{node.id}.properties"
        parts.append(
            f'[[nodes]]\nid = {node.id}\nrole = "{node.role}"\naddress = "h{number}:9092"\nconfig = "{file}"\n'
        )
    by_hooks = inventory.parent / "hooks.toml"
    by_hooks.write_text("\n".join(parts), encoding="utf-8")
    copies = rendered(kafkactl, "--inventory", inventory, "--dry-run")
    hooked = rendered(kafkactl, "--inventory", by_hooks, "--out", tmp_path / "out")
    assert [file["sha256"] for file in hooked["files"]] == [file["sha256"] for file in copies["files"]]
    assert (tmp_path / "out/broker-1/original.properties").read_bytes() == first.read_bytes()
    assert odd in (tmp_path / "out/broker-1/kraft.properties").read_bytes()
