"""`kafkactl migrate compare` on observations made of real migrations (tests/golden/migrations)."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
import yaml

from kafkactl.core.frozen import changed
from kafkactl.migration.zktree.znode import Znode, decode_znodes, encode_znodes
from tests.campaigns.goldens.migrations import INTO as GOLDENS
from tests.lab.migration.configs import ENCODER_SECRET

HOSTILE_LINES = {"migrate compare": ("{saved}", "{saved} --before {tree}")}

HOSTILE_PATHS = {
    "migrate compare": [
        ("--before", "--observation {observation} --before {}"),
    ],
}

RELEASE = "3.9.2"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return saved(tmp_path / "observation")


def saved(folder: Path, *, secret: str = ENCODER_SECRET, data: dict[str, bytes | None] | None = None) -> Path:
    """Return an observation in dual write; `data` replaces that of some znodes, None takes them away."""
    log = folder / "metadata" / "3001" / "__cluster_metadata-0"
    log.mkdir(parents=True)
    (log / f"{0:020}.log").write_bytes(gzip.decompress((GOLDENS / RELEASE / "metadata.log.gz").read_bytes()))
    znodes = decode_znodes((GOLDENS / RELEASE / "zk.jsonl.gz").read_bytes(), file="zk").znodes
    data = data or {}
    kept = [
        changed(znode, data=data.get(znode.path, znode.data))
        for znode in znodes
        if data.get(znode.path, b"") is not None
    ]
    new = [
        Znode(path=path, data=content) for path, content in data.items() if path not in {znode.path for znode in znodes}
    ]
    (folder / "zk.jsonl.gz").write_bytes(encode_znodes([*kept, *new]))
    node = {
        "id": 3001, "role": "controller", "alive": True, "kafka_version": RELEASE, "mode": None,
        "config": f"process.roles=controller\npassword.encoder.secret={secret}\n", "meta_properties": None,
        "api_versions": None, "describe_quorum": None, "metrics": None,
    }  # fmt: skip
    observation = {
        "kind": "migrate.observation", "schema_version": 1, "time_ms": 1, "nodes": [node],
        "zookeeper": {"connect": "zk:2181/kafka", "chroot": "/kafka"},
    }  # fmt: skip
    (folder / "observation.json").write_text(json.dumps(observation), encoding="utf-8")
    return folder


def compared(kafkactl, *arguments, code: int = 0):
    run = kafkactl("migrate", "compare", *arguments, "-o", "json")
    assert run.code == code, run.stdout + run.stderr
    return run.json


def test_healthy_migration_has_no_differences(kafkactl, folder):
    answer = compared(kafkactl, "--observation", folder)
    assert (answer["kind"], answer["phase"], answer["compared"]) == ("migrate.compare", "dual-write", True)
    assert (answer["differences"], answer["unexplained"], answer["unknown"]) == ([], 0, [])
    assert answer["last_offset"] >= answer["mirror_offset"] > 0
    assert answer["copy"] is None


@pytest.mark.slow
def test_change_of_another_client_is_a_difference(kafkactl, tmp_path):
    config = b'{"version":1,"config":{"producer_byte_rate":"1"}}'
    folder = saved(tmp_path / "o", data={"/config/clients/behind": config})
    answer = compared(kafkactl, "--observation", folder, code=7)
    names = [(difference["entity"], difference["key"], difference["explained"]) for difference in answer["differences"]]
    assert ("client-quota", "client-id behind", None) in names
    text = kafkactl("migrate", "compare", "--observation", folder)
    assert text.code == 7
    assert "client-id behind" in text.stdout
    assert "unexplained" in text.stdout
    lines = kafkactl("migrate", "compare", "--observation", folder, "-o", "jsonl").stdout.splitlines()
    assert [json.loads(line)["key"] for line in lines] == [difference["key"] for difference in answer["differences"]]
    as_yaml = yaml.safe_load(kafkactl("migrate", "compare", "--observation", folder, "-o", "yaml").stdout)
    assert as_yaml["differences"] == answer["differences"]


def test_copy_is_compared_with_its_prediction(kafkactl, folder, tmp_path):
    for before in (folder, folder / "zk.jsonl.gz"):
        answer = compared(kafkactl, "--observation", folder, "--before", before)
        assert answer["copy"] == {"unexplained": 0, "differences_total": 0, "differences": []}
    config = b'{"version":1,"config":{"retention.ms":"1"}}'
    znodes = decode_znodes((folder / "zk.jsonl.gz").read_bytes(), file="zk").znodes
    topic = next(znode.path for znode in znodes if znode.path.startswith("/config/topics/"))
    other = saved(tmp_path / "other", data={topic: config})
    answer = compared(kafkactl, "--observation", folder, "--before", other, code=7)
    assert {difference["entity"] for difference in answer["copy"]["differences"]} == {"ConfigRecord"}
    assert [finding["id"] for finding in answer["findings"]] == ["migration-copy-not-as-predicted"]


def test_another_secret_makes_passwords_unknown(kafkactl, tmp_path):
    folder = saved(tmp_path / "o", secret="another")
    answer = compared(kafkactl, "--observation", folder)
    assert {value["entity"] for value in answer["unknown"]} == {"broker-config"}
    assert [finding["id"] for finding in answer["findings"]] == ["comparison-incomplete"]


@pytest.mark.parametrize("missing", ["metadata", "zk.jsonl.gz"])
def test_comparison_without_one_side_is_unknown(kafkactl, folder, missing):
    gone = folder / missing
    gone.rename(folder.parent / "away")
    answer = compared(kafkactl, "--observation", folder, code=6)
    assert (answer["compared"], answer["differences"]) == (False, [])
    assert "comparison-impossible" in [finding["id"] for finding in answer["findings"]]


def test_bad_input_is_refused(kafkactl, folder, tmp_path):
    assert kafkactl("migrate", "compare", "-o", "json").code == 2
    assert kafkactl("migrate", "compare", "--observation", tmp_path / "nothing", "-o", "json").code == 2
    log = folder / "metadata" / "3001" / "__cluster_metadata-0" / f"{0:020}.log"
    log.write_bytes(log.read_bytes()[:300])
    run = kafkactl("migrate", "compare", "--observation", folder, "--before", folder, "-o", "json")
    assert (run.code, json.loads(run.stderr)["id"]) == (2, "no-copy-in-log")


def test_part_of_a_tree_foretells_no_copy(kafkactl, folder, tmp_path):
    tree = (folder / "zk.jsonl.gz").read_bytes()
    (tmp_path / "zk.jsonl.gz").write_bytes(tree[: len(tree) // 2])
    for before in (tmp_path, tmp_path / "zk.jsonl.gz"):
        run = kafkactl("migrate", "compare", "--observation", folder, "--before", before, "-o", "json")
        assert (run.code, json.loads(run.stderr)["id"]) == (2, "znode-line-unreadable")


@pytest.mark.slow
def test_nothing_shown_is_a_secret(kafkactl, tmp_path):
    znodes = decode_znodes((GOLDENS / RELEASE / "zk.jsonl.gz").read_bytes(), file="zk").znodes
    emptied = {
        znode.path: b'{"version":1,"config":{}}'
        for znode in znodes
        if znode.path.startswith(("/config/brokers/", "/config/users/"))
    }
    folder = saved(tmp_path / "o", data=emptied)
    for output in ("table", "json", "jsonl"):
        run = kafkactl("migrate", "compare", "--observation", folder, "-o", output)
        assert run.code == 7
        for secret in ("encryptedPassword", "stored_key=", ENCODER_SECRET):
            assert secret not in run.stdout + run.stderr


@pytest.mark.slow
def test_many_differences_are_bounded_and_counted(kafkactl, tmp_path):
    # The unexplained ones come first; `jsonl` gives all of them.
    quota = b'{"version":1,"config":{"producer_byte_rate":"1"}}'
    gone = b'{"partitions":{},"topic_id":"q8jYpF3nTeKz0g2GQ2hVcg","version":3}'
    data = {f"/config/clients/c{number:04}": quota for number in range(1005)}
    folder = saved(tmp_path / "o", data={**data, "/brokers/topics/gone": gone, "/admin/delete_topics/gone": b""})
    answer = compared(kafkactl, "--observation", folder, code=7)
    assert (answer["differences_total"], len(answer["differences"])) == (1006, 1000)
    assert answer["counts"]["client-quota"] == {"unexplained": 1005, "explained": 0, "unknown": 0}
    lines = kafkactl("migrate", "compare", "--observation", folder, "-o", "jsonl").stdout.splitlines()
    assert len(lines) == 1006
    assert json.loads(lines[-1])["rule"] == "pending-deletion"
    text = kafkactl("migrate", "compare", "--observation", folder).stdout
    assert "966 more" in text
    assert len(text.splitlines()) < 100
