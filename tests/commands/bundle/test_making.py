"""`kafkactl bundle`: what is gathered from a node of this host, what could not be and why, and no secret in it."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import shutil
import stat
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import kafkactl as library
from kafkactl.bundle.api import gather
from kafkactl.bundle.parts import PartKind
from kafkactl.commands.demo.broker import SILENCE
from kafkactl.core.answer_kinds import answer_kinds
from kafkactl.core.errors import UnknownOutcomeError
from kafkactl.core.values import Role
from kafkactl.metadata.api.image import load_image
from kafkactl.migration.io.observation_writer import save_observation
from kafkactl.migration.io.saved_observation import load_observation
from tests.answers import check_answer
from tests.commands import test_secrets_hidden as planted
from tests.commands.storage.fleet_on_disk import FleetOnDisk
from tests.conftest import Run
from tests.kafka.command_cases import ENDS_WITHIN_S
from tests.kafka.command_process import run as run_command
from tests.kafka.feature_cluster import FakeCluster
from tests.kafka.feature_cluster import FakeCluster as FeatureCluster
from tests.secrets_scan import leaks
from tests.storage.fleet.fleets import FleetBuilder

HOSTILE_LINES = {
    "bundle": (
        "--out {new} -c {config} --log-dir {log} --include-log {saved} --tiered {text}",
        "--out {new}-live {controllers}",
    )
}

HOSTILE_PATHS = {
    "bundle": [
        ("--config", "--out {new} -c {}", (5, 6)),
        ("--log-dir", "--out {new} --log-dir {}", (6,), ("device", "fifo")),
        ("--log-dir", "--out {new} --log-dir {@00000000000000000000.log}", (6,), ("device", "fifo")),
        ("--inventory", "--out {new} --inventory {}"),
        ("--observation", "--out {new} --observation {@observation.json}", (6,)),
        ("--tiered", "--out {new} --tiered {}", (6,), ("device", "fifo")),
        ("--out", "--log-dir {log} --out {}", (3,)),
        ("--command-config", "--out {new} {connect} --command-config {}"),
    ],
}

NODE_PARTS = ["config-1", "storage.info-1", "storage.verify-1", "log-1", "log.verify", "versions"]


@pytest.fixture
def node(kafkactl: Callable[..., Run], tmp_path: Path) -> FleetOnDisk:
    """Return a formatted node of two directories, with a metadata log in which there is a secret of every kind."""
    fleet = FleetOnDisk(tmp_path, FleetBuilder(controllers=(1,), brokers=()))
    kafkactl("storage", "plan", fleet.inventory, "--out", fleet.plan)
    assert kafkactl("storage", "apply", fleet.plan, "--node", 1, "--yes").code == 0
    log = fleet.disk(1, "a") / "__cluster_metadata-0"
    shutil.rmtree(log, ignore_errors=True)
    shutil.copytree(planted.written_log(tmp_path / "made"), log)
    return fleet


def contents(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def made(kafkactl: Callable[..., Run], path: Path, *words: object) -> tuple[Run, dict[str, Any]]:
    run = kafkactl("bundle", "--out", path, "--kafka-version", "4.3", *words, "-o", "json")
    return run, run.json


def test_bundle_of_a_node_is_made(kafkactl: Callable[..., Run], node: FleetOnDisk, tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    run, answer = made(kafkactl, path, "-c", node.config(1))
    assert (run.code, answer["outcome"], answer["findings"]) == (0, "done", [])
    assert [part["name"] for part in answer["parts"]] == NODE_PARTS
    assert (answer["size"], answer["sha256"]) == (
        path.stat().st_size, hashlib.sha256(path.read_bytes()).hexdigest(),
    )  # fmt: skip
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    files = contents(path)
    manifest = json.loads(files["manifest.json"])
    check_answer(json.dumps(manifest))
    assert manifest["cluster_id"] == answer["cluster_id"] == json.loads(files["answers/log.verify.json"])["sources"][0][
        "cluster_id"
    ]  # fmt: skip
    assert {member["path"]: member["sha256"] for member in manifest["members"]} == {
        name: hashlib.sha256(data).hexdigest() for name, data in files.items() if name != "manifest.json"
    }
    assert not any(name.startswith("logs/") for name in files), "the log is not in it unless it is asked for"
    page = files["index.html"].decode()
    assert all(name in page for name in NODE_PARTS) and "complete" in page and "default-src" in page


def test_answers_in_a_bundle_are_those_of_the_commands(
    kafkactl: Callable[..., Run], node: FleetOnDisk, tmp_path: Path
) -> None:
    config = node.config(1)
    made(kafkactl, tmp_path / "a.zip", "-c", config)
    files = contents(tmp_path / "a.zip")
    log = str(node.disk(1, "a") / "__cluster_metadata-0")
    for name, words in {
        "storage.info-1": ("storage", "info", "-c", config, "--kafka-version", "4.3"),
        "storage.verify-1": ("storage", "verify", "-c", config, "--kafka-version", "4.3"),
        "log.lint-1": ("log", "lint", log),
        "log.verify": ("log", "verify", log),
    }.items():
        assert json.loads(files[f"answers/{name}.json"]) == kafkactl(*words, "-o", "json").json, name
    image = json.loads(files["answers/log.image-1.json"])
    full = kafkactl("log", "image", log, "-o", "json").json
    assert image["sha256"] != full["sha256"], "with all else known, it would be a way to try guesses of a secret"
    changed = {"features": full["image"]["features"], "sha256": image["sha256"]}
    assert image | {"image": full["image"]} == full | changed


def test_every_document_has_a_schema(kafkactl: Callable[..., Run], node: FleetOnDisk, tmp_path: Path) -> None:
    made(kafkactl, tmp_path / "a.zip", "-c", node.config(1))
    for name, data in contents(tmp_path / "a.zip").items():
        if name.endswith(".json"):
            assert json.loads(data)["kind"] in answer_kinds()
            check_answer(data.decode())


def test_equal_disks_give_equal_bundles(node: FleetOnDisk, tmp_path: Path) -> None:
    sources = library.bundle.Sources(configs=(str(node.config(1)),), kafka_version="4.3")
    for name in ("a.zip", "b.zip"):
        library.bundle.create_bundle(tmp_path / name, sources, include_log=True, created_ms=7)
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()


def test_part_that_fails_ends_nothing(kafkactl: Callable[..., Run], node: FleetOnDisk, tmp_path: Path) -> None:
    run, answer = made(kafkactl, tmp_path / "a.zip", "-c", node.config(1), "--log-dir", tmp_path / "no", "-c", "gone")
    assert (run.code, answer["outcome"]) == (5, "partial")
    failed = {part["name"]: part["error"]["id"] for part in answer["parts"] if part["error"]}
    assert failed == dict.fromkeys(
        ["config-2", "storage.info-2", "storage.verify-2", "log-2", "log-3"], "input-file-unreadable"
    )
    assert {finding["id"] for finding in answer["findings"]} == {"part-not-gathered"}
    page = contents(tmp_path / "a.zip")["index.html"].decode()
    assert "What could not be gathered" in page and "gone cannot be read" in page


def test_verification_without_a_log_has_the_reason_why_none_was_read(tmp_path: Path) -> None:
    cluster = FeatureCluster()
    cluster.denied = {"Fetch"}
    with cluster.client(Role.CONTROLLER) as client:
        found = library.bundle.create_bundle(tmp_path / "a.zip", library.bundle.Sources(client=client))
    (finding,) = [finding for finding in found.findings if finding.subject == "log.verify"]
    assert "ClusterAction on the cluster is missing" in finding.message
    assert "--operation ClusterAction --cluster" in finding.next_step


def test_bundle_with_nothing_in_it_is_not_a_success(kafkactl: Callable[..., Run], tmp_path: Path) -> None:
    run, answer = made(kafkactl, tmp_path / "a.zip", "--log-dir", tmp_path / "no")
    assert (run.code, answer["outcome"], answer["file"]) == (6, "unknown", None)
    assert not (tmp_path / "a.zip").exists()
    shown = kafkactl("bundle", "--out", tmp_path / "a.zip", "--log-dir", tmp_path / "no")
    assert "no file was written" in shown.stdout


def test_parts_of_a_cluster_without_an_answer_fail(
    kafkactl: Callable[..., Run], node: FleetOnDisk, tmp_path: Path
) -> None:
    run, answer = made(
        kafkactl, tmp_path / "a.zip", "-c", node.config(1), "--bootstrap-controller", "127.0.0.1:1", "--timeout", "1m"
    )
    failed = {part["name"] for part in answer["parts"] if part["error"]}
    assert run.code == 5 and failed == {"quorum.describe", "features.describe", "nodes.list", "log-2"}


def test_nothing_is_overwritten(kafkactl: Callable[..., Run], node: FleetOnDisk, tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    path.write_text("mine")
    run = kafkactl("bundle", "--out", path, "-c", node.config(1), "-o", "json")
    assert (run.code, run.error["id"], path.read_text()) == (3, "bundle-file-exists", "mine")
    assert made(kafkactl, path, "-c", node.config(1), "--force")[0].code == 0


@pytest.mark.parametrize("words", [("--inventory", "a", "--observation", "b")])
def test_wrong_usage_is_refused(kafkactl: Callable[..., Run], tmp_path: Path, words: tuple[str, ...]) -> None:
    assert kafkactl("bundle", "--out", tmp_path / "a.zip", *words).code == 2


def test_bundle_of_several_clusters_is_reported(kafkactl: Callable[..., Run], tmp_path: Path) -> None:
    for name, id in (("a", "q1Sh-9_ISia_zwGINzRvyQ"), ("b", "aaaaaaaaSia_zwGINzRvyQ")):
        planted.written_log(tmp_path / name)
        (tmp_path / name / "meta.properties").write_text(f"version=1\ncluster.id={id}\nnode.id=1\n")
    _, answer = made(kafkactl, tmp_path / "a.zip", "--log-dir", tmp_path / "a", "--log-dir", tmp_path / "b")
    assert answer["cluster_id"] is None
    assert "bundle-of-several-clusters" in {finding["id"] for finding in answer["findings"]}


def test_time_that_is_over_ends_the_rest_and_not_the_bundle(
    kafkactl: Callable[..., Run], node: FleetOnDisk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = {**gather._WAYS, PartKind.STORAGE_INFO: lambda *_: time.sleep(600)}
    monkeypatch.setattr(gather, "_WAYS", slow)
    run, answer = made(kafkactl, tmp_path / "a.zip", "-c", node.config(1), "--timeout", "3s")
    errors = {part["name"]: part["error"] and part["error"]["id"] for part in answer["parts"]}
    assert run.code == 5
    assert errors == dict.fromkeys(NODE_PARTS, "timed-out") | {"config-1": None, "versions": None}


def test_limit_that_met_a_starting_thread_ends_the_rest(
    kafkactl: Callable[..., Run], node: FleetOnDisk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails_at_the_limit(*_: object) -> int:
        try:
            raise UnknownOutcomeError("not finished", id="timed-out")
        except UnknownOutcomeError:
            raise KeyError("the thread")  # noqa: B904  as threading.Thread.start does

    monkeypatch.setattr(gather, "_WAYS", {**gather._WAYS, PartKind.STORAGE_INFO: fails_at_the_limit})
    _, answer = made(kafkactl, tmp_path / "a.zip", "-c", node.config(1))
    errors = {part["name"]: part["error"] and part["error"]["id"] for part in answer["parts"]}
    assert errors == dict.fromkeys(NODE_PARTS, "timed-out") | {"config-1": None, "versions": None}


def test_paused_node_costs_the_bundle_a_share_of_its_time(tmp_path: Path) -> None:
    cluster = FakeCluster()
    cluster.nodes[2].greeting = SILENCE
    with cluster.client(Role.CONTROLLER) as client:
        where = ",".join(map(str, client.bootstrap))
        line = ["bundle", "--out", str(tmp_path / "a.zip"), "--bootstrap-controller", where, "--timeout", "6s"]
        ended = run_command([*line, "-o", "json"], tmp_path)
    assert ended.own_seconds < 6 + ENDS_WITHIN_S
    assert ended.code in (0, 5) and ended.answer is not None
    parts = {part["name"]: part["error"] for part in ended.answer["parts"]}
    assert parts["quorum.describe"] is None
    assert "answers/quorum.describe.json" in contents(tmp_path / "a.zip")


def test_names_from_elsewhere_stay_text_in_the_page(kafkactl: Callable[..., Run], tmp_path: Path) -> None:
    evil = tmp_path / "<script>alert(1)</script>\x1b[2J\u202e\"'&"
    planted.written_log(tmp_path / "disk")
    made(kafkactl, tmp_path / "a.zip", "--log-dir", evil, "--log-dir", tmp_path / "disk")
    page = contents(tmp_path / "a.zip")["index.html"].decode()
    assert "<script" not in page and "&lt;script&gt;" in page
    assert "\x1b" not in page and "\u202e" not in page


@pytest.fixture
def everywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Return options that name something of every kind, all with secrets in it; more of them in contexts and
    environment."""
    disk = planted.written_log(tmp_path / "disk").parent
    (disk / "meta.properties").write_text("#hunter70\nversion=1\ncluster.id=q1Sh-9_ISia_zwGINzRvyQ\nnode.id=1\n")
    (disk / "__cluster_metadata-0/quorum-state").write_text("# hunter71\n{")
    damaged = planted.written_log(tmp_path / "damaged") / f"{0:020}.log"
    damaged.write_bytes(damaged.read_bytes()[:-40] + b"hunter72" * 5)
    config = tmp_path / "server.properties"
    config.write_text(
        planted.properties() + f"log.dirs={disk}\nlisteners=C://h:1\nprocess.roles=controller\n"
        "controller.quorum.voters=1@h:1\ncontroller.listener.names=C\n"
    )
    client = tmp_path / "client.properties"
    client.write_text(
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.jaas.config=org.apache.kafka.common.security.plain"
        '.PlainLoginModule required username="a" password="hunter60";\nmy.pwd=hunter61\n# hunter62\n'
    )
    client.chmod(0o600)
    save_observation(str(tmp_path / "seen"), planted.captured(tmp_path / "captured"), include_secrets=True)
    home = tmp_path / "home/kafkactl"
    home.mkdir(parents=True)
    (home / "config.toml").write_text(
        f'[contexts.prod]\nbootstrap_controller = "127.0.0.1:1"\ncommand_config = "{client}"\n# hunter63\n'
    )
    (home / "config.toml").chmod(0o600)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home.parent))
    monkeypatch.setenv("KAFKA_OPTS", "-Djava.security.auth.login.config=hunter64")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hunter65")
    return [
        "-c", config, "--log-dir", damaged.parent, "--observation", tmp_path / "seen", "--context", "prod",
        "--timeout", "1m",
    ]  # fmt: skip


@pytest.mark.parametrize("more", [[], ["--include-log"]], ids=["default", "include-log"])
def test_no_secret_is_in_a_bundle(
    kafkactl: Callable[..., Run], everywhere: list[object], tmp_path: Path, more: list[str]
) -> None:
    path = tmp_path / "a.zip"
    run, answer = made(kafkactl, path, *everywhere, *more)
    assert run.code == 5, "the cluster does not answer"
    files = contents(path)
    gathered = {part["name"] for part in answer["parts"] if part["error"] is None}
    assert {"config-1", "storage.verify-1", "log-1", "log-2", "log.verify", "migrate.observe"} <= gathered
    leaking = {name: found for name, data in files.items() if (found := leaks(planted_text(data)))}
    assert not leaking
    assert b"num.io.threads=17" in files["configs/1.properties"], "what is public is there"
    assert b"ssl.keystore.password=<redacted>" in files["configs/1.properties"]
    assert load_observation(str(tmp_path / "seen")).logs, "the source itself is not changed"


def planted_text(data: bytes) -> bytes:
    """Return a member as it is after unpacking."""
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


def test_log_in_a_bundle_names_the_replaced_values(
    kafkactl: Callable[..., Run], node: FleetOnDisk, tmp_path: Path
) -> None:
    _, answer = made(kafkactl, tmp_path / "a.zip", "-c", node.config(1), "--include-log")
    (log,) = answer["logs"]
    assert log["replaced"] == {"config_values": 35, "delegation_token_ids": 1, "scram_credentials": 1}
    with zipfile.ZipFile(tmp_path / "a.zip") as archive:
        archive.extractall(tmp_path / "out")
    before = node.disk(1, "a") / "__cluster_metadata-0"
    after = tmp_path / "out" / log["folder"]
    original, kept = load_image(before), load_image(after)
    assert original.position == kept.position and original.counts == kept.counts and not kept.findings
    verified = kafkactl("log", "verify", after, "-o", "json")
    assert verified.code == 0 and verified.json["sources"][0]["cluster_id"] == answer["cluster_id"]
    assert set(kept.image.delegation_tokens) == {"<redacted-1>"}
    state = kafkactl("log", "image", "--bundle", tmp_path / "a.zip", "-o", "json").json
    assert state["sha256"] == json.loads(contents(tmp_path / "a.zip")["answers/log.image-1.json"])["sha256"]
    assert not leaks(b"".join(path.read_bytes() for path in after.parent.rglob("*") if path.is_file()))


def test_archive_without_a_name_has_that_of_its_time(kafkactl, node, monkeypatch, tmp_path):
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    run = kafkactl("bundle", "-c", node.config(1), "-o", "json")
    (archive,) = folder.iterdir()
    assert run.json["file"] == archive.name
    assert re.fullmatch(r"kafkactl-bundle-\d{8}T\d{6}Z\.zip", archive.name)
