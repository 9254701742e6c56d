"""`--details DIR`: whole tables as Parquet, or nothing."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

from bench.log_generator import Expected, Shape
from bench.make_metadata_log import write_log
from kafkactl.dryrun.engine.local import load
from kafkactl.dryrun.io import detail_files
from kafkactl.files import whole_file
from kafkactl.metadata.image.json import image_json
from kafkactl.metadata.io.source import open_source
from tests.conftest import Run

Kafkactl = Callable[..., Run]


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Expected]:
    folder = tmp_path_factory.mktemp("generated") / "log"
    return folder / "__cluster_metadata-0", write_log(folder, Shape(records=9_000, partitions=2_500, brokers=5))


def rows(folder: Path, name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = parquet.read_table(folder / f"{name}.parquet").to_pylist()
    return found


@pytest.mark.slow
def test_state_is_that_of_the_image(kafkactl: Kafkactl, generated: tuple[Path, Expected], tmp_path: Path) -> None:
    log, expected = generated
    run = kafkactl("dryrun", "replay", log, "--details", tmp_path / "out", "-o", "json")
    assert (run.code, run.json["details"]) == (0, str(tmp_path / "out"))
    source = open_source(str(log))
    image = image_json(load(source.segments, source.checkpoints).image)
    partitions = rows(tmp_path / "out", "partitions")
    there = [(topic, partition) for topic in image["topics"] for partition in topic["partitions"]]
    assert len(partitions) == len(there) == expected.state["partition_count"]
    for row, (topic, partition) in zip(partitions, there, strict=True):
        assert [row["topic"], row["topic_id"]] == [topic["name"], topic["topicId"]]
        fields = (row["partition"], row["replicas"], row["isr"], row["leader"], row["partition_epoch"], row["elr"])
        names = ("partitionId", "replicas", "isr", "leader", "partitionEpoch", "eligibleLeaderReplicas")
        assert fields == tuple(partition[name] for name in names)
        assert row["directories"] == partition["directories"]
    for part, key in (("brokers", "brokerId"), ("controllers", "controllerId"), ("acls", "id"), ("scram", "name")):
        column = {"brokerId": "broker_id", "controllerId": "controller_id", "id": "id", "name": "name"}[key]
        assert [row[column] for row in rows(tmp_path / "out", part)] == [entry[key] for entry in image[part]]
    assert {row["type"]: row["count"] for row in rows(tmp_path / "out", "counts")} == expected.by_type
    state = {row["name"]: row["value"] for row in rows(tmp_path / "out", "state")}
    assert state["image_sha256"] == run.json["effects"]["image_sha256"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]


def test_no_secret_is_in_a_table(kafkactl: Kafkactl, generated: tuple[Path, Expected], tmp_path: Path) -> None:
    kafkactl("dryrun", "replay", generated[0], "--details", tmp_path / "out")
    names = parquet.read_schema(tmp_path / "out" / "scram.parquet").names
    assert rows(tmp_path / "out", "scram") and names == ["name", "mechanism", "iterations"]
    hidden = kafkactl(
        "dryrun", "alter-config", generated[0], "--entity", "cluster", "--set", "ssl.key.password=geheim",
        "--details", tmp_path / "change",
    )  # fmt: skip
    assert hidden.code == 0
    assert "geheim" not in rows(tmp_path / "change", "records")[0]["data"]


@pytest.mark.slow
def test_all_changes_and_all_records_are_written(
    kafkactl: Kafkactl, generated: tuple[Path, Expected], tmp_path: Path
) -> None:
    asked = ["broker-loss", generated[0], "--brokers", "1,2", "--records", "--details", tmp_path / "out", "-o", "json"]
    run = kafkactl("dryrun", *asked)
    effects = run.json["effects"]
    changes, records = rows(tmp_path / "out", "changes"), rows(tmp_path / "out", "records")
    assert len(changes) == effects["changes_total"] > len(effects["changes"]) == 1_000
    assert [(change["topic"], change["partition"]) for change in changes] == sorted(
        (change["topic"], change["partition"]) for change in changes
    )
    by_name = {(change["topic"], change["partition"]): change for change in changes}
    for change in effects["changes"]:
        row = by_name[change["topic"], change["partition"]]
        assert {name: row[name] for name in change} == change
    assert [{**record, "data": json.loads(record["data"])} for record in records] == [
        {name: value for name, value in record.items() if name != "kind"}
        for record in effects["records_appended"]["records"]
    ]
    # A second run into the same folder writes the same bytes.
    before = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    assert kafkactl("dryrun", *asked).code == run.code
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == before


@pytest.mark.slow
def test_report_has_a_folder_for_each_scenario(kafkactl: Kafkactl, tmp_path: Path) -> None:
    write_log(tmp_path / "log", Shape(records=900, partitions=250, brokers=5))
    log = tmp_path / "log" / "__cluster_metadata-0"
    run = kafkactl("dryrun", "report", log, "--details", tmp_path / "out", "-o", "json")
    folders = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert folders == [
        f"{at}-{prediction['scenario']}" for at, prediction in enumerate(run.json["predictions"], start=1)
    ]
    assert rows(tmp_path / "out" / "1-replay", "topics")
    assert kafkactl("dryrun", "report", log, "--details", tmp_path / "out").code == run.code


@pytest.mark.slow
def test_each_cluster_has_its_folder(kafkactl: Kafkactl, generated: tuple[Path, Expected], tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).mkdir()
        (tmp_path / name / "log").symlink_to(generated[0])
        os.link(generated[0] / f"{0:020d}.log", tmp_path / name / f"{0:020d}.log")
    asked = ["replay", tmp_path / "a", tmp_path / "b", "--cluster-of", "/([ab])$", "--details", tmp_path / "out"]
    for _ in range(2):
        assert kafkactl("dryrun", *asked).code == 0
        assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["a", "b"]


def test_details_in_a_folder_with_other_files_are_refused(
    kafkactl: Kafkactl, generated: tuple[Path, Expected], tmp_path: Path
) -> None:
    (tmp_path / "thesis.doc").touch()
    (tmp_path / "sales").mkdir()
    (tmp_path / "sales" / "2026.parquet").touch()
    for place in (tmp_path, tmp_path / "sales"):
        run = kafkactl("dryrun", "replay", generated[0], "--details", place, "-o", "json")
        assert (run.code, run.error["id"]) == (3, "details-folder-not-ours")
    for place in (tmp_path / "thesis.doc", tmp_path / "no" / "where"):
        run = kafkactl("dryrun", "replay", generated[0], "--details", place, "-o", "json")
        assert (run.code, run.error["id"]) == (1, "details-not-written")


def test_current_directory_is_not_replaced(
    kafkactl: Kafkactl, generated: tuple[Path, Expected], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # which is empty; an unset variable gives an empty path
    for place in ("", ".", tmp_path):
        run = kafkactl("dryrun", "replay", generated[0], "--details", place, "-o", "json")
        assert (run.code, run.error["id"]) == (3, "details-folder-not-ours")
    assert Path.cwd() == tmp_path and not list(tmp_path.iterdir())


def test_full_disk_leaves_nothing_half(
    kafkactl: Kafkactl, generated: tuple[Path, Expected], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "topics.parquet").write_bytes(b"PAR1")
    syncs = []

    def fsync(descriptor: int) -> None:
        syncs.append(descriptor)
        if len(syncs) == 4:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(detail_files.os, "fsync", fsync)
    run = kafkactl("dryrun", "replay", generated[0], "--details", tmp_path / "out", "-o", "json")
    assert (run.code, run.error["id"], run.stdout) == (1, "details-not-written", "")
    assert "No space left" in run.error["message"]
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["topics.parquet"]


@pytest.mark.slow
def test_tables_are_complete_at_every_moment(
    kafkactl: Kafkactl, generated: tuple[Path, Expected], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A run that is killed between two operations leaves the tables of before or its own.
    out = tmp_path / "out"
    words = ("dryrun", "broker-loss", generated[0], "--brokers", "1", "--details", out)
    assert kafkactl(*words).code in (0, 7)
    monkeypatch.setattr(Path, "rename", lambda *_: pytest.fail("the tables were away for a moment"))
    before = out.stat().st_ino
    assert kafkactl(*words).code in (0, 7)
    assert out.stat().st_ino != before
    assert list(tmp_path.iterdir()) == [out]
    monkeypatch.undo()
    monkeypatch.setattr(whole_file, "exchanged", lambda *_: False)  # as on a file system that cannot
    assert kafkactl(*words).code in (0, 7)
    assert list(tmp_path.iterdir()) == [out]


def test_details_are_refused_without_pyarrow(
    kafkactl: Kafkactl, generated: tuple[Path, Expected], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(detail_files, "find_spec", lambda name: None)
    run = kafkactl("dryrun", "replay", generated[0], "--details", tmp_path / "out", "-o", "json")
    assert (run.code, run.error["id"]) == (2, "details-need-extra")
    assert "-py3-none-any.whl[spark]'" in run.error["next_step"]


def test_uri_has_the_layout_of_an_export(kafkactl: Kafkactl, tmp_path: Path) -> None:
    # Check that the layout of a URI is the one of `log export` (docs/spark.md), not a file for each table.
    write_log(tmp_path / "log", Shape(records=90, partitions=25, brokers=5))
    asked = [tmp_path / "log" / "__cluster_metadata-0", "-o", "json", "--details"]
    uri = f"file://{tmp_path}/a%20b"
    for scenario, table in (("replay", "topics"), ("report", "1-replay/topics")):
        run = kafkactl("dryrun", scenario, *asked, uri)
        assert run.json["details"] == uri
        (day,) = (tmp_path / "a%20b" / table).glob("cluster=log/date=*")
        assert parquet.ParquetFile(day / "part-00000.parquet").read().num_rows > 0
        assert (tmp_path / "a%20b" / table / "_SUCCESS").exists()
    refused = kafkactl("dryrun", "replay", *asked, "s3a://bucket/out")
    assert (refused.code, refused.error["id"]) == (2, "path-needs-spark")


def test_two_clusters_of_one_name_are_refused_for_uri(kafkactl: Kafkactl, tmp_path: Path) -> None:
    logs = [tmp_path / place / "prod" for place in "ab"]
    for log in logs:
        write_log(log, Shape(records=90, partitions=25, brokers=5))
    run = kafkactl("dryrun", "replay", *logs, "--details", (tmp_path / "out").as_uri(), "-o", "json")
    assert (run.code, run.error["id"]) == (2, "several-clusters")
    assert not (tmp_path / "out").exists()
