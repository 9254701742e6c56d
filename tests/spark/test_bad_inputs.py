"""Unusable logs and workers: each is an error of its own, and the rest of the answer is there."""

from __future__ import annotations

import os
import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kafkactl.bundle.api.create import create_bundle
from kafkactl.bundle.api.sources import Sources
from kafkactl.core.errors import InputError
from kafkactl.metadata.api import load_image
from kafkactl.spark.api import export_tables
from kafkactl.spark.disk import logs_on_disk
from kafkactl.spark.listing import planned_logs
from tests.dryrun.odd_logs import CASES, encoded
from tests.repository.tree import ROOT
from tests.spark.conftest import MOUNT
from tests.spark.logs import write_all_logs, write_log

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]  # a JVM starts, which takes minutes under load
spark = pytest.importorskip("kafkactl.spark")

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

BATCHES = CASES["ended"]
SEGMENT = f"{0:020d}.log"


@pytest.fixture
def fleet(root: Path, request: pytest.FixtureRequest) -> Path:
    """Return a folder of this test below the mounted one, with one good cluster."""
    folder = root / re.sub(r"\W", "-", request.node.name)  # without the brackets, which make a glob
    write_log(folder, "good", encoded(BATCHES))
    return folder


def mounted(folder: Path) -> str:
    return f"{MOUNT}/{folder.name}"


def errors_of(frame: DataFrame) -> dict[str, str | None]:
    """Return the id of the error by cluster; None for a cluster that was read."""
    rows = frame.select("cluster", "error").distinct().collect()
    return {row["cluster"]: None if row["error"] is None else row["error"].partition(":")[0] for row in rows}


def test_path_with_characters_of_a_glob_is_found(session: SparkSession, root: Path) -> None:
    names = ("a,b {c} [d]", "{a,b}", "a?*b", "a%20b#c+(ä)", "a\\b", "a[b", "a{b")
    logs = [
        write_log(root / name, "node", encoded(BATCHES), cluster_id=f"id-{place}") for place, name in enumerate(names)
    ]
    expected = {f"id-{place}": None for place in range(len(names))}
    for above in (str(root), MOUNT):
        places = [f"{above}/{name}" for name in names]
        for paths in (places, [f"{place}/node/__cluster_metadata-0/{SEGMENT}" for place in places]):
            assert errors_of(spark.state(session, paths, "topics")) == expected
        out = "/".join(("written", *names))
        export = export_tables(places, f"{above}/{out}", tables=["topics"], engine="spark")
        assert export.tables[0].files == len(names) and (root / out / "topics" / "_SUCCESS").exists()
        shutil.rmtree(root / "written")
    local = logs_on_disk([str(root / name) for name in names], None)
    assert {(log.cluster_id, log.path) for log in local} == {
        (f"id-{place}", f"file:{log}") for place, log in enumerate(logs)
    }


def test_globs_lead_to_the_same_logs_as_in_process(session: SparkSession, fleet: Path) -> None:
    for name in ("bad", "other [1]", "region/a/b/c/d/e/deep", "region/.hidden/h", "region/_tmp/x/t"):
        write_log((fleet / name).parent, Path(name).name, encoded(BATCHES))
    for name in ("quorum-state", f"{0:020d}.index"):
        (fleet / "good" / "__cluster_metadata-0" / name).touch()
    for glob, clusters in {
        "{good,bad}": 2,
        "[!g]*": 3,
        "other-?1?": 1,
        "{good,bad}/__cluster*": 2,
        "go?d/*/*.log": 1,
        "{good/__cluster_metadata-0,bad}": 2,
        "{good/__cluster_metadata-0,bad/__cluster*}/*.log": 2,
        "{good,nothing/bad}": 1,
        "?": 0,
        "good/../bad/.": 1,
        "good/__cluster_metadata-0/*": 1,
        "region": 1,
        "region/.hidden": 1,
    }.items():
        expected = {log.cluster_id for log in logs_on_disk([f"{fleet}/{glob}"], None) if not log.is_missing}
        assert len(expected) == clusters, glob
        for place in (str(fleet), mounted(fleet)):
            found = {log.cluster_id for log in planned_logs(session, f"{place}/{glob}", None) if not log.is_missing}
            assert found == expected, (place, glob)


def test_links_and_empty_folders_of_another_file_system_are_those_on_disk(session: SparkSession, fleet: Path) -> None:
    (fleet / "link").symlink_to(fleet / "good")
    for name in ("empty", "closed/_tmp"):
        (fleet / name / "__cluster_metadata-0").mkdir(parents=True)
    (fleet / "other" / "__cluster_metadata-0").mkdir(parents=True)
    (fleet / "other" / "__cluster_metadata-0" / "quorum-state").touch()
    local = logs_on_disk([str(fleet)], None)
    shown = {(log.path.removeprefix(f"file:{fleet}"), log.is_missing, log.unlisted) for log in local}
    assert {path for path, is_missing, _ in shown if is_missing} == {
        f"/{name}/__cluster_metadata-0" for name in ("empty", "other")
    }
    found = planned_logs(session, mounted(fleet), None)
    assert {(log.path.removeprefix(mounted(fleet)), log.is_missing, log.unlisted) for log in found} == shown
    assert errors_of(spark.state(session, mounted(fleet), "topics")) == {
        "id-good": None, "empty": "no-metadata-log", "other": "no-metadata-log",
    }  # fmt: skip


def test_folders_that_are_too_deep_are_an_error_of_their_path(session: SparkSession, fleet: Path) -> None:
    above = fleet / "a" / "b" / "c" / "d" / "e"
    write_log(above, "found", encoded(BATCHES))
    assert errors_of(spark.state(session, mounted(fleet), "topics")) == {"id-good": None, "id-found": None}
    write_log(above / "f", "deep", encoded(BATCHES))
    found = errors_of(spark.state(session, mounted(fleet), "topics"))
    assert found == {"id-good": None, "id-found": None, fleet.name: "remote-log-not-read"}
    (row,) = spark.errors(session, mounted(fleet)).collect()
    assert "folders more than 6 below it are not searched" in row["error"]
    everywhere = {"id-good": None, "id-found": None, "id-deep": None}
    assert errors_of(spark.state(session, [mounted(fleet) + "/good", mounted(fleet) + "/a"], "topics")) == everywhere
    assert errors_of(spark.state(session, str(fleet), "topics")) == everywhere


def test_name_of_two_clusters_is_refused(session: SparkSession, fleet: Path) -> None:
    write_log(fleet, "other", encoded(BATCHES))
    for place in (str(fleet), mounted(fleet)):
        with pytest.raises(InputError) as refused:
            spark.state(session, place, "topics", cluster_of="test_name_of")
        assert refused.value.id == "several-clusters"


def test_two_copies_of_one_node_speak_once(session: SparkSession, fleet: Path) -> None:
    shutil.copytree(fleet / "good", fleet / "good-copy")
    log = fleet / "good" / "__cluster_metadata-0"
    for place in (str(fleet), mounted(fleet)):
        assert spark.state(session, place, "partitions").count() == load_image(log).image.partition_count()
        assert spark.changes(session, place).count() == spark.changes(session, str(log)).count()
        counts = [spark.records(session, path).count() for path in (str(log), place)]
        assert counts[1] == 2 * counts[0] > 0


def test_log_of_a_bundle_has_the_rows_of_the_log(session: SparkSession, fleet: Path) -> None:
    log = fleet / "good" / "__cluster_metadata-0"
    create_bundle(fleet / "support.zip", Sources(logs=(str(log.parent),)), include_log=True)
    expected = sorted(str(row) for row in spark.changes(session, log).collect())
    records = spark.records(session, log).select("offset", "data").collect()
    for place in (str(fleet), mounted(fleet)):
        bundle = f"{place}/support.zip"
        assert sorted(str(row) for row in spark.changes(session, bundle).collect()) == expected
        rows = spark.records(session, bundle).collect()
        assert [(row["offset"], row["data"]) for row in rows] == [tuple(row) for row in records]
        assert {row["file"] for row in rows} == {f"{bundle}:logs/1/__cluster_metadata-0/{SEGMENT}"}
        assert {(row["cluster_id"], row["error"]) for row in rows} == {("id-good", None)}


def test_log_that_grows_is_read_as_it_is(session: SparkSession, fleet: Path) -> None:
    segment = fleet / "good" / "__cluster_metadata-0" / SEGMENT
    whole = encoded(BATCHES)
    segment.write_bytes(encoded(BATCHES[:1]))
    frames = [spark.state(session, place, "partitions") for place in (str(fleet), mounted(fleet))]
    segment.write_bytes(whole[: len(whole) - 7])  # while the last batch is being written
    expected = load_image(segment.parent).provenance.offset
    for frame in frames:
        rows = frame.collect()
        assert {(row["as_of_offset"], row["error"]) for row in rows} == {(expected, None)}


def test_segment_above_the_limit_is_an_error_of_its_log(
    session: SparkSession, fleet: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_log(fleet, "large", encoded(BATCHES) * 2)
    monkeypatch.setattr("kafkactl.spark.logs.MOST_SEGMENT_BYTES", len(encoded(BATCHES)) + 1)
    assert errors_of(spark.state(session, mounted(fleet), "topics")) == {
        "id-good": None, "id-large": "segment-too-large",
    }  # fmt: skip
    assert errors_of(spark.state(session, str(fleet), "topics")) == {"id-good": None, "id-large": None}
    monkeypatch.undo()
    setting = "spark.sql.sources.binaryFile.maxLength"  # Spark would end the query
    session.conf.set(setting, len(encoded(BATCHES)) + 1)
    limited = spark.state(session, mounted(fleet), "topics")
    assert errors_of(limited) == {"id-good": None, "id-large": "segment-too-large"}
    session.conf.unset(setting)


@pytest.mark.parametrize("others", [[], [f"{99:020d}.log"]])
def test_unreadable_object_is_an_error_of_its_log(session: SparkSession, fleet: Path, others: list[str]) -> None:
    # Hadoop refuses a file whose checksum is another one.
    log = write_log(fleet, "bad", encoded(BATCHES))
    for other in others:
        (log / other).write_bytes(b"")
    (log / f".{SEGMENT}.crc").write_bytes(b"crc\0" + struct.pack(">i", 512) + b"\1\2\3\4" * 64)
    for frame in (spark.state(session, mounted(fleet), "topics"), spark.findings(session, mounted(fleet))):
        found = errors_of(frame)
        assert found["id-bad"] == "remote-log-not-read" and found.get("id-good") is None
    assert errors_of(spark.errors(session, mounted(fleet))) == {"id-bad": "remote-log-not-read"}


def test_path_that_cannot_be_listed_is_an_error_of_its_own(session: SparkSession, fleet: Path) -> None:
    frame = spark.state(session, [str(fleet), "gopher://demo/logs"], "topics")
    assert errors_of(frame) == {"id-good": None, "logs": "remote-log-not-read"}
    (row,) = spark.errors(session, "gopher://demo/logs").collect()
    assert 'No FileSystem for scheme "gopher"' in row["error"]


def test_segment_that_is_removed_meanwhile_is_an_error_of_its_log(session: SparkSession, fleet: Path) -> None:
    log = write_log(fleet, "gone", encoded(BATCHES))
    frames = [spark.state(session, place, "topics") for place in (mounted(fleet), str(fleet))]
    (log / SEGMENT).unlink()
    assert errors_of(frames[0]) == {"id-good": None, "id-gone": "remote-log-not-read"}
    found = errors_of(frames[1])
    assert found.pop("id-good") is None and list(found.values()) not in ([None], [])


def test_workers_without_modules_end_an_export_without_a_trace(tmp_path: Path) -> None:
    write_all_logs(tmp_path / "logs", releases=("4.4.0",), made=False)
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -S -P "$@"\n')
    python.chmod(0o755)
    environment: dict[str, Any] = {**os.environ, "PYSPARK_PYTHON": str(python), "SPARK_DRIVER_MEMORY": "512m"}
    command = [
        sys.executable, "-m", "kafkactl", "log", "export", str(tmp_path / "logs"), "--out", str(tmp_path / "out"),
        "--engine", "spark", "--master", "local[1]",
    ]  # fmt: skip
    run = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment, check=False)
    assert run.returncode == 1 and "spark-failed" in run.stderr, run.stderr
    assert "numpy and pyarrow" in run.stderr or "minor version of Python" in run.stderr, run.stderr
    assert not (tmp_path / "out").exists()
