"""Sources by URI."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bench.log_generator import Shape
from bench.make_metadata_log import write_log
from kafkactl.metadata.log.fetched_folder import fetched_folder, within_fetched
from tests.conftest import Run
from tests.lab.harness.services.object_store import STORE_SECRET, object_store

Kafkactl = Callable[..., Run]


def test_file_uri_is_read_by_the_local_engine(kafkactl: Kafkactl, tmp_path: Path) -> None:
    write_log(tmp_path / "a%20log", Shape(records=500, partitions=30))
    uri = f"file://{tmp_path}/a%20log"
    answer = kafkactl("dryrun", "replay", uri, "-o", "json").json
    assert answer["source"]["paths"] == [uri]
    assert answer["effects"] == kafkactl("dryrun", "replay", tmp_path / "a%20log", "-o", "json").json["effects"]


@pytest.mark.parametrize("options", [[], ["--engine", "local"]])
def test_another_file_system_needs_spark(kafkactl: Kafkactl, options: list[str]) -> None:
    run = kafkactl("dryrun", "replay", "hdfs://name:8020/logs/prod", *options, "-o", "json")
    assert (run.code, run.error["id"]) == (2, "path-needs-spark")
    assert "--engine spark" in run.error["next_step"]


def test_folder_of_a_fetched_log_is_recognised() -> None:
    assert within_fetched("/tmp/log/x") is None
    assert fetched_folder("/tmp/log/x") is None
    path = "/tmp/kafkactl-fetched-a/0/__cluster_metadata-0/x.log"
    assert within_fetched(path) == "kafkactl-fetched-a/0/__cluster_metadata-0/x.log"
    assert fetched_folder(path) == "/tmp/kafkactl-fetched-a"


def asked(settings: Path, *words: str, command: str = "dryrun replay") -> subprocess.CompletedProcess[str]:
    """Ask in a process of its own: a JVM reads Spark's settings once."""
    asked = [*command.split(), *words, "--master", "local[1]", "-o", "json"]
    environment = {**os.environ, "SPARK_CONF_DIR": str(settings)}
    here = Path(__file__).parents[3]
    line = [sys.executable, "-m", "kafkactl", *asked]
    return subprocess.run(line, capture_output=True, text=True, cwd=here, env=environment, check=False)


def node_with_log(folder: Path) -> Path:
    write_log(folder, Shape(records=2_000, partitions=100, segment_bytes=40_000))
    (folder / "meta.properties").write_text("version=1\ncluster.id=MkU3OEVBNTcwNTJENDM2Qg\nnode.id=1\n")
    return folder


@pytest.mark.lab
@pytest.mark.campaign
@pytest.mark.timeout(600)
def test_logs_are_read_through_hadoop(kafkactl: Kafkactl, tmp_path: Path) -> None:
    # By Hadoop's own view file system, which has a scheme of its own and needs no server.
    node = node_with_log(tmp_path / "node")
    (tmp_path / "spark-defaults.conf").write_text(
        f"spark.hadoop.fs.viewfs.mounttable.demo.link./logs file://{tmp_path}\nspark.driver.memory 512m\n"
    )
    uri = "viewfs://demo/logs/node"
    answer = json.loads(asked(tmp_path, uri, f"{uri}/__cluster_metadata-0").stdout)
    expected = kafkactl("dryrun", "replay", node, "-o", "json").json
    assert answer["effects"] == expected["effects"]
    assert answer["source"]["cluster_id"] == "MkU3OEVBNTcwNTJENDM2Qg"
    assert answer["source"]["paths"] == [uri]
    missing, unknown = asked(tmp_path, "viewfs://demo/logs/nobody"), asked(tmp_path, "gopher://demo/logs")
    assert (missing.returncode, '"remote-log-not-found"' in missing.stderr) == (2, True)
    assert (unknown.returncode, '"remote-log-not-read"' in unknown.stderr) == (1, True)


@pytest.mark.lab
@pytest.mark.campaign
@pytest.mark.timeout(900)
def test_logs_are_read_from_an_object_store(kafkactl: Kafkactl, tmp_path: Path) -> None:
    node = node_with_log(tmp_path / "node")
    with object_store(tmp_path) as store:
        store.put("logs")
        store.put_folder("logs", node)
        (tmp_path / "spark-defaults.conf").write_text(f"{store.settings()}spark.driver.memory 512m\n")
        uri = "s3a://logs/node"
        run = asked(tmp_path, uri, "--details", "s3a://logs/tables")
        export = ("s3a://logs/node", "--out", "s3a://logs/lake", "--table", "topics")
        exports = [asked(tmp_path, *export, command="log export") for _ in range(2)]
        names = store.names("logs")
        missing, no_bucket = asked(tmp_path, "s3a://logs/nobody"), asked(tmp_path, "s3a://elsewhere/node")
    answer = json.loads(run.stdout)
    expected = kafkactl("dryrun", "replay", node, "-o", "json").json
    assert answer["effects"] == expected["effects"]
    assert (answer["source"]["cluster_id"], answer["source"]["paths"]) == ("MkU3OEVBNTcwNTJENDM2Qg", [uri])
    assert [export.returncode for export in exports] == [0, 3], exports
    for table in ("tables/topics", "tables/partitions", "lake/topics"):
        written = [name for name in names if name.startswith(f"{table}/cluster=MkU3OEVBNTcwNTJENDM2Qg/date=")]
        assert len(written) == 1 and written[0].endswith(".parquet") and f"{table}/_SUCCESS" in names, names
    assert not [name for name in names if ".kafkactl-export" in name]
    assert (missing.returncode, '"remote-log-not-found"' in missing.stderr) == (2, True)
    assert (no_bucket.returncode, '"remote-log-not-' in no_bucket.stderr) in ((1, True), (2, True))
    assert STORE_SECRET not in run.stdout + run.stderr + missing.stderr + no_bucket.stderr
