"""A support bundle of a running cluster, read back by each command, and its log by Kafka's own tool."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kafkactl.core.values import Role
from tests.commands import test_secrets_hidden as planted
from tests.conftest import Run
from tests.lab.harness import releases
from tests.lab.harness.cluster import KafkaCluster
from tests.lab.harness.cluster_fixtures import ClusterOf
from tests.lab.harness.storage_tool import StorageToolServer
from tests.lab.metadata.test_log_dump_equality import compare
from tests.secrets_scan import leaks

BROKER, SET = 4, 0
Kafkactl = Callable[..., Run]


@pytest.fixture
def cluster(new_cluster: ClusterOf) -> Iterator[KafkaCluster]:
    """Start three controllers and a broker of 4.3.1; the broker has a secret in its configuration."""
    cluster = new_cluster("4.3.1", controllers=3, brokers=1).start()
    with cluster.client(Role.CONTROLLER) as client:
        config = {"Name": "my.plugin.password", "ConfigOperation": SET, "Value": "hunter99"}
        body = {
            "Resources": [{"ResourceType": BROKER, "ResourceName": "11", "Configs": [config]}],
            "ValidateOnly": False,
        }
        leader = cluster.controller_address(cluster.leader())
        answer = client.ask_node(leader, "IncrementalAlterConfigs", body, changes=True).body
        assert [row["ErrorCode"] for row in answer["Responses"]] == [0]
    yield cluster


def unpacked(path: Path, folder: Path) -> dict[str, Path]:
    with zipfile.ZipFile(path) as archive:
        archive.extractall(folder)
        return {name: folder / name for name in archive.namelist()}


def by_kafka(kafkactl: Kafkactl, storage_tool: StorageToolServer, file: Path) -> int:
    """Return how many records Kafka's tool finds in a file, all of whose batches are valid and say what kafkactl
    says."""
    printed = storage_tool.dump(releases.NEWEST_WITH_TOOLS, ["--cluster-metadata-decoder", "--files", file])
    assert "isvalid: true" in printed.stdout and "isvalid: false" not in printed.stdout
    return compare(kafkactl, storage_tool, file)


def image_level(run: Run) -> int:
    """Return the level of metadata.version in a state."""
    level: int = run.json["image"]["features"]["metadata.version"]
    return level


def test_bundle_of_a_live_cluster_is_complete(
    kafkactl: Kafkactl, cluster: KafkaCluster, storage_tool: StorageToolServer, tmp_path: Path
) -> None:
    path = tmp_path / "live.zip"
    address = ["--bootstrap-controller", cluster.bootstrap_controller]
    leader = cluster.leader()
    made = kafkactl("bundle", "--out", path, *address, "-c", cluster.config_file(leader), "--kafka-version", "4.3.1",
                    "--include-log", "-o", "json")  # fmt: skip
    assert (made.code, made.json["outcome"]) == (0, "done"), made.stdout
    assert made.json["cluster_id"] == cluster.cluster_id
    assert [log["replaced"]["config_values"] >= 1 for log in made.json["logs"]] == [True, True]
    files = unpacked(path, tmp_path / "out")
    assert not [name for name, file in files.items() if leaks(file.read_bytes())]
    versions: dict[str, Any] = json.loads(files["answers/versions.json"].read_text())
    assert versions["kafka_releases"] == ["4.3"]

    def asked(*words: object) -> Any:
        run = kafkactl(*words, "--bundle", path, "-o", "json")
        assert run.code in (0, 7), run.stderr
        return run.json

    quorum = asked("quorum", "describe")
    assert (quorum["leader_id"], len(quorum["voters"]), quorum["cluster_id"]) == (leader, 3, cluster.cluster_id)
    nodes, features = asked("nodes", "list"), asked("features", "describe")
    assert [node["id"] for node in nodes["nodes"]] == [1, 2, 3, 11]
    (level,) = [feature for feature in features["features"] if feature["name"] == "metadata.version"]
    assert level["finalized"] == image_level(live := kafkactl("log", "image", "--from-cluster", *address, "-o", "json"))
    verified = asked("log", "verify")
    assert len(verified["sources"]) == 2 and not verified["divergences"]
    image = asked("log", "image")
    assert image["image"]["brokers"] == live.json["image"]["brokers"]
    assert image["counts"] == live.json["counts"]
    assert asked("log", "lint")["records"] and asked("log", "browse")["names"]
    assert asked("log", "history", "--broker", "11")["records"][0]["type"] == "RegisterBrokerRecord"
    assert asked("dryrun", "replay")["verdict"] == "ok"
    loss = kafkactl("dryrun", "broker-loss", "--brokers", "11", "--from-cluster", *address, "-o", "json")
    assert asked("dryrun", "broker-loss", "--brokers", "11")["verdict"] == loss.json["verdict"]
    segments = [file for name, file in files.items() if name.endswith(".log")]
    assert sum(by_kafka(kafkactl, storage_tool, segment) for segment in segments) > 20


def test_kafka_reads_a_log_without_secrets(kafkactl: Kafkactl, storage_tool: StorageToolServer, tmp_path: Path) -> None:
    # Of SCRAM credentials, delegation tokens and thirty secret settings.
    log = planted.written_log(tmp_path / "disk")
    kafkactl("bundle", "--out", tmp_path / "a.zip", "--log-dir", log, "--include-log")
    files = unpacked(tmp_path / "a.zip", tmp_path / "out")
    (segment,) = [file for name, file in files.items() if name.endswith(".log")]
    assert by_kafka(kafkactl, storage_tool, segment) == by_kafka(kafkactl, storage_tool, log / segment.name)
