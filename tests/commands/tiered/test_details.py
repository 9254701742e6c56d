"""`--details DIR`: segments, partitions, findings and objects as Parquet tables."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from pyarrow import parquet

from tests.conftest import Run
from tests.tiered.logs import TIERED, LogOf, Topic, observed, partition_seen, save_observation, segment_uuid

TOPIC = Topic("orders", 1)


@pytest.fixture
def saved(tmp_path: Path) -> str:
    log = LogOf(0).add(TOPIC.copied(0, "a", 0, 9, epochs={1: 0, 2: 5}), TOPIC.copied(0, "b", 10, 19))
    log.add(TOPIC.copied(1, "c", 0, 9), TOPIC.deleted(1, "c"))
    seen = [partition_seen(number, earliest=0, local=0, latest=40) for number in (0, 1)]
    return str(save_observation(tmp_path / "seen", observed([(TOPIC, TIERED, seen)]), log))


def test_tables_of_an_audit_are_written(kafkactl: Callable[..., Run], saved: str, tmp_path: Path) -> None:
    listing = tmp_path / "listing.txt"
    place = f"orders-0-{TOPIC.id}/{0:020}-{segment_uuid('a')}"
    listing.write_text(f"{place}.log 1000 1700000000000\n{place}.index 10\nother 7\n")
    run = kafkactl(
        "tiered", "audit", "--observation", saved, "--bucket", listing, "--details", tmp_path / "out", "-o", "json"
    )
    assert (run.code, run.json["details"], run.json["engine"]) == (7, str(tmp_path / "out"), "local")
    tables = {file.stem: parquet.read_table(file).to_pylist() for file in (tmp_path / "out").glob("*.parquet")}
    assert [row["segment_id"] for row in tables["segments"]] == [str(segment_uuid(name)) for name in "ab"]
    assert json.loads(tables["segments"][0]["leader_epochs"]) == [
        {"leader_epoch": 1, "start_offset": 0},
        {"leader_epoch": 2, "start_offset": 5},
    ]
    assert [(row["partition"], row["segments"]) for row in tables["partitions"]] == [(0, 2), (1, 0)]
    assert [row["id"] for row in tables["findings"]] == [finding["id"] for finding in run.json["findings"]]
    assert [(row["key"], row["suffix"], row["partition"], row["state"]) for row in tables["objects"]] == [
        (f"{place}.index", "index", 0, "COPY_SEGMENT_FINISHED"),
        (f"{place}.log", "log", 0, "COPY_SEGMENT_FINISHED"),
        ("other", None, None, None),
    ]


def test_segments_have_the_filters(kafkactl: Callable[..., Run], saved: str, tmp_path: Path) -> None:
    asked = (
        "tiered", "segments", "--observation", saved, "--all", "--state", "DELETE_SEGMENT_FINISHED",
        "--details", tmp_path / "out", "-o", "json",
    )  # fmt: skip
    run = kafkactl(*asked)
    assert (run.code, run.json["details"]) == (0, str(tmp_path / "out"))
    assert {path.stem for path in (tmp_path / "out").iterdir()} == {"segments", "partitions", "findings", "objects"}
    assert kafkactl("tiered", "audit", "--observation", saved, "--details", tmp_path / "out").code != 3
    assert kafkactl(*asked).code == 0
    rows = parquet.read_table(tmp_path / "out" / "segments.parquet").to_pylist()
    assert [(row["segment_id"], row["state"]) for row in rows] == [
        (str(segment_uuid("c")), "DELETE_SEGMENT_FINISHED")
    ]  # fmt: skip


def test_folder_with_other_files_is_refused_before_anything_is_read(
    kafkactl: Callable[..., Run], tmp_path: Path
) -> None:
    (tmp_path / "mine.txt").write_text("")
    run = kafkactl("tiered", "audit", "nothing-there", "--details", tmp_path, "-o", "json")
    assert (run.code, run.error["id"]) == (3, "details-folder-not-ours")


def test_master_needs_spark(kafkactl: Callable[..., Run], saved: str) -> None:
    run = kafkactl("tiered", "audit", "--observation", saved, "--engine", "local", "--master", "local[2]", "-o", "json")
    assert run.code == 2
