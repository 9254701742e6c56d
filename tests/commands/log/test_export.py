"""`kafkactl log export`."""

from __future__ import annotations

import json
from pathlib import Path

from tests.dryrun.odd_logs import CASES, encoded
from tests.spark.logs import write_all_logs, write_log

HOSTILE_LINES = {"log export": ("{log} --out {new}", "{text} --out {new}")}

HOSTILE_PATHS = {
    "log export": [
        ("sources", "{} --out {new}", (2,), ("device", "fifo")),
        ("--out", "{log} --out {}", (1, 2, 3)),
    ],
}


def test_answer_names_tables_and_clusters(kafkactl, tmp_path: Path) -> None:
    write_all_logs(tmp_path / "fleet", releases=("4.4.0",), made=False)
    out = tmp_path / "out"
    run = kafkactl("log", "export", str(tmp_path / "fleet"), "--out", str(out), "--format", "jsonl", "-o", "json")
    assert run.code == 0
    tables = {table["name"]: table for table in run.json["tables"]}
    assert len(tables) == 11 and tables["partitions"]["path"] == str(out / "partitions")
    files = list((out / "partitions").rglob("*.jsonl"))
    assert sum(path.stat().st_size for path in files) == tables["partitions"]["bytes"]
    assert sum(len(path.read_text().splitlines()) for path in files) == tables["partitions"]["rows"]
    assert [cluster["name"] for cluster in run.json["clusters"]] == ["4.4.0"] and run.json["engine"] == "local"
    again = kafkactl("log", "export", str(tmp_path / "fleet"), "--out", str(out), "--format", "jsonl")
    assert again.code == 3 and "table-exists" in again.stderr


def test_cluster_that_cannot_be_read_ends_with_partly_done(kafkactl, tmp_path: Path) -> None:
    write_log(tmp_path / "fleet", "good", encoded(CASES["ended"]))
    broken = write_log(tmp_path / "fleet", "later", b"")
    (broken / f"{0:020d}.log").rename(broken / f"{50:020d}.log")
    run = kafkactl(
        "log", "export", str(tmp_path / "fleet"), "--out", str(tmp_path / "out"), "--format", "csv", "-o", "json"
    )
    assert run.code == 5
    unread = [cluster for cluster in run.json["clusters"] if cluster["as_of_offset"] is None]
    assert [cluster["name"] for cluster in unread] == ["id-later"]
    assert [finding["id"] for finding in run.json["findings"]] == ["offset-not-in-log"]
    shown = kafkactl("log", "export", str(tmp_path / "fleet"), "--out", str(tmp_path / "shown"), "--format", "csv")
    assert shown.code == 5 and shown.stdout.startswith("1 of 2 clusters exported")


def test_log_without_a_record_is_reported_as_such(kafkactl, tmp_path: Path) -> None:
    write_log(tmp_path, "text", b"[2026-11-28 03:00:00,000] INFO the log of an application\n" * 9)
    options = ("--out", str(tmp_path / "out"), "--format", "csv", "-o", "json")
    run = kafkactl("log", "export", str(tmp_path / "text"), *options)
    assert (run.code, json.loads(run.stderr)["id"]) == (6, "empty-metadata-log") and not (tmp_path / "out").exists()
    write_log(tmp_path, "good", encoded(CASES["ended"]))
    run = kafkactl("log", "export", str(tmp_path), *options)
    assert run.code == 5 and [found["id"] for found in run.json["findings"]] == ["empty-metadata-log"]
    assert not list((tmp_path / "out").rglob("*id-text*"))
