"""Tables of metadata logs as files, made in process."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kafkactl.core.errors import InputError, RefusedError
from kafkactl.dryrun.detail_tables import TEXT, Table
from kafkactl.metadata.api import dump_records, image_to_dict, load_image
from kafkactl.spark.api import EXPORTED, LogExport, export_tables, write_details_to
from kafkactl.spark.export import local_files
from tests.dryrun.odd_logs import CASES, encoded
from tests.repository.tree import ROOT
from tests.spark.logs import write_all_logs, write_log

pa = pytest.importorskip("pyarrow")


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    write_all_logs(tmp_path / "fleet", releases=("4.3.1", "4.4.0"), made=False)
    return tmp_path / "fleet"


def read(out: Path, table: str) -> list[dict[str, Any]]:
    from pyarrow import dataset

    found = dataset.dataset(out / table, format="parquet", partitioning="hive", exclude_invalid_files=True)
    rows: list[dict[str, Any]] = found.to_table().to_pylist()
    return rows


def exported(found: LogExport, table: str) -> int:
    return next(entry.rows for entry in found.tables if entry.name == table)


def test_tables_are_laid_out_by_cluster_and_day(fleet: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    found = export_tables([str(fleet)], out, tables=EXPORTED)
    assert sorted(path.name for path in out.iterdir()) == sorted(EXPORTED)
    rows = read(out, "partitions")
    images = {name: load_image(fleet / name / "__cluster_metadata-0") for name in ("4.3.1", "4.4.0")}
    assert {(row["cluster"], row["as_of_offset"]) for row in rows} == {
        (name, image.provenance.offset) for name, image in images.items()
    }
    assert len(rows) == exported(found, "partitions") == sum(each.image.partition_count() for each in images.values())
    assert {str(row["date"]) for row in rows} == {"2026-11-21"}
    dumped = [record for name in images for record in dump_records(fleet / name / "__cluster_metadata-0").records()]
    assert exported(found, "records") == len(dumped) == len(read(out, "records"))
    assert all((out / table / "_SUCCESS").exists() for table in EXPORTED)
    answer = found.to_dict()
    assert answer["engine"] == "local" and {cluster.name for cluster in found.clusters} == set(images)


def test_formats_for_people_have_the_same_rows(fleet: Path, tmp_path: Path) -> None:
    for form in ("parquet", "jsonl", "csv"):
        export_tables([str(fleet)], tmp_path / form, tables=["brokers"], form=form)
    expected = {row["incarnation_id"]: row for row in read(tmp_path / "parquet", "brokers")}
    lines = [line for path in (tmp_path / "jsonl").rglob("*.jsonl") for line in path.read_text().splitlines()]
    texts = [path.read_text() for path in (tmp_path / "csv").rglob("*.csv")]
    cells = [row for text in texts for row in csv.DictReader(text.splitlines())]
    assert len(lines) == len(cells) == len(expected) == 2
    for line, row in zip(map(json.loads, lines), cells, strict=True):
        same = expected[line["incarnation_id"]]
        assert line["endpoints"] == same["endpoints"] and line["as_of_time"].startswith("2026-11-21T")
        assert json.loads(row["directories"]) == expected[row["incarnation_id"]]["directories"]


def test_existing_table_is_refused_and_left_unchanged(fleet: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    export_tables([str(fleet / "4.3.1")], out, tables=["topics"])
    before = read(out, "topics")
    with pytest.raises(RefusedError) as refused:
        export_tables([str(fleet)], out, tables=["topics", "brokers"])
    assert refused.value.id == "table-exists" and read(out, "topics") == before
    assert [path.name for path in out.iterdir()] == ["topics"]


def test_append_replaces_a_day_of_a_cluster_and_keeps_the_others(fleet: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    export_tables([str(fleet)], out, tables=["topics"])
    whole = sorted(map(str, read(out, "topics")))
    export_tables([str(fleet / "4.3.1")], out, tables=["topics"], mode="append")
    assert sorted(map(str, read(out, "topics"))) == whole
    export_tables([str(fleet / "4.3.1")], out, tables=["topics"], mode="overwrite")
    assert {row["cluster"] for row in read(out, "topics")} == {"4.3.1"}


def test_log_that_cannot_be_read_is_a_finding_among_others(fleet: Path, tmp_path: Path) -> None:
    broken = write_log(fleet, "broken", encoded(CASES["ended"], first=50))
    found = export_tables([str(fleet)], tmp_path / "out", tables=["topics"])
    failed = next(cluster for cluster in found.clusters if cluster.name == "id-broken")
    assert found.is_partial is (failed.as_of_offset is None)
    with pytest.raises(InputError) as refused:
        export_tables([str(tmp_path / "none")], tmp_path / "other", tables=["topics"])
    assert refused.value.id == "no-metadata-log" and not (tmp_path / "other").exists()
    assert broken.exists()


def test_unknown_names_are_refused(fleet: Path, tmp_path: Path) -> None:
    remote = {"out": "s3a://bucket/x", "engine": "local"}
    for arguments, id in (({"tables": ["topic"]}, "unknown-table"), (remote, "path-needs-spark")):
        with pytest.raises(InputError) as refused:
            export_tables([str(fleet)], **{"out": tmp_path / "out", **arguments})
        assert refused.value.id == id
    with pytest.raises(ValueError, match="xml"):
        export_tables([str(fleet)], tmp_path / "out", form="xml")


def test_staging_folder_of_a_killed_export_is_removed_by_the_next_one(fleet: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    program = f"""
import os, signal
from kafkactl.spark.export import local_files as writing
from kafkactl.spark.api import export_tables
writing.Export.finish = lambda self: os.kill(os.getpid(), signal.SIGKILL)
export_tables([{str(fleet)!r}], {str(out)!r}, tables=["topics"])
"""
    killed = subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=False)
    assert killed.returncode == -signal.SIGKILL
    (left,) = out.iterdir()
    assert left.name.startswith(".kafkactl-export.")
    export_tables([str(fleet)], out, tables=["topics"])
    assert [path.name for path in out.iterdir()] == ["topics"]


def test_voters_of_a_dynamic_quorum_are_a_table(tmp_path: Path) -> None:
    segment = ROOT / "tests" / "golden" / "segment-4.4.0-standalone.log.bin"
    write_log(tmp_path, "quorum", segment.read_bytes())
    export_tables([str(tmp_path / "quorum")], tmp_path / "out", tables=["voters"], form="jsonl")
    (path,) = (tmp_path / "out" / "voters").rglob("*.jsonl")
    row = json.loads(path.read_text())
    (voter,) = image_to_dict(load_image(tmp_path / "quorum").image)["voters"]
    assert (row["voter_id"], row["directory_id"]) == (voter["voterId"], voter["voterDirectoryId"])
    assert [(each["name"], each["host"], each["port"]) for each in row["endpoints"]] == [
        (each["name"], each["host"], each["port"]) for each in voter["endpoints"]
    ]
    assert row["kraft_version"] == {"min": 0, "max": 1}


def test_table_in_another_format_is_refused_by_append(fleet: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    export_tables([str(fleet)], out, tables=["topics"])
    with pytest.raises(RefusedError, match="as parquet, and csv") as refused:
        export_tables([str(fleet)], out, tables=["topics"], form="csv", mode="append")
    assert refused.value.id == "table-exists" and "format of the table" in str(refused.value.next_step)


def test_two_clusters_with_one_name_are_refused(tmp_path: Path) -> None:
    # Without ids both have the name of the folder above the log, and one would replace the other.
    for place in "ab":
        log = write_log(tmp_path / place, "data", encoded(CASES["ended"]))
        (log.parent / "meta.properties").unlink()
    with pytest.raises(InputError, match="as the cluster data") as refused:
        export_tables([str(tmp_path)], tmp_path / "out", tables=["topics"])
    assert refused.value.id == "several-clusters" and not (tmp_path / "out").exists()


def test_files_of_one_folder_and_repeated_paths_are_one_log(tmp_path: Path) -> None:
    log = write_log(tmp_path, "parted", encoded(CASES["ended"][:1]))
    later = log / f"{4:020d}.log"
    later.write_bytes(encoded(CASES["ended"][1:], first=4))
    whole, *others = (
        export_tables(list(map(str, paths)), tmp_path / str(number), tables=["records", "partitions"]).tables
        for number, paths in enumerate(([log], [later, log / f"{0:020d}.log"], [log, log.parent]))
    )
    assert [[table.rows for table in tables] for tables in others] == [[table.rows for table in whole]] * 2


def test_folder_that_cannot_be_listed_is_a_finding(
    fleet: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed, scandir = fleet / "closed", os.scandir
    closed.mkdir()

    def refused(path: Any) -> Any:
        if path == str(closed):
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refused)
    found = export_tables([str(fleet)], tmp_path / "out", tables=["topics"])
    assert found.is_partial and exported(found, "topics") > 0
    assert [finding.id for finding in found.findings] == ["input-file-unreadable"]
    assert f"{closed} cannot be listed: Permission denied" in found.findings[0].message


def test_overwritten_table_has_the_new_clusters_alone(fleet: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    export_tables([str(fleet)], out, tables=["topics"])
    export_tables([str(fleet / "4.4.0")], out, tables=["topics"], mode="overwrite")
    assert {row["cluster"] for row in read(out, "topics")} == {"4.4.0"}
    assert sorted(path.name for path in (out / "topics").iterdir()) == ["_SUCCESS", "cluster=4.4.0"]
    assert [path.name for path in out.iterdir()] == ["topics"]


def test_folder_with_other_files_is_never_replaced(fleet: Path, tmp_path: Path) -> None:
    # The names of tables are common: `configs` may be a folder of anything.
    notes = tmp_path / "topics" / "notes.txt"
    notes.parent.mkdir()
    notes.touch()
    (tmp_path / "configs").touch()
    for mode in ("append", "overwrite"):
        for table, name in (("topics", "notes.txt"), ("configs", "configs")):
            with pytest.raises(RefusedError, match=f"contains {name}, which no export has written") as refused:
                export_tables([str(fleet)], tmp_path, tables=["brokers", table], mode=mode)
            assert refused.value.id == "table-exists" and refused.value.exit_code == 3
    assert notes.exists() and sorted(path.name for path in tmp_path.iterdir()) == ["configs", "fleet", "topics"]


@pytest.mark.parametrize("name", ["notes.txt", "date=2020-01-01/notes.txt", "link"])
def test_file_of_others_below_a_cluster_is_not_removed(fleet: Path, tmp_path: Path, name: str) -> None:
    out = tmp_path / "out"
    export_tables([str(fleet)], out, tables=["topics"])
    foreign = out / "topics" / "cluster=4.4.0" / name
    foreign.parent.mkdir(exist_ok=True)
    if name == "link":
        foreign.symlink_to(tmp_path)
    else:
        foreign.touch()
    with pytest.raises(RefusedError, match=f"contains cluster=4.4.0/{name}, which no export has written"):
        export_tables([str(fleet)], out, tables=["topics"], mode="overwrite")
    assert foreign.exists()


def test_appended_day_with_file_of_others_is_left_unchanged(fleet: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    export_tables([str(fleet)], out, tables=["brokers", "topics"])
    before = read(out, "topics")
    other = out / "topics" / "cluster=4.4.0" / "date=2020-01-01" / "notes.txt"
    other.parent.mkdir()
    other.touch()
    export_tables([str(fleet)], out, tables=["brokers", "topics"], mode="append")  # nothing is removed of that day
    notes = out / "topics" / "cluster=4.4.0" / "date=2026-11-21" / "part-of-the-runbook.md"
    notes.touch()
    parts = {path: path.stat().st_ino for path in out.rglob("part-*")}
    with pytest.raises(RefusedError, match=r"date=2026-11-21/part-of-the-runbook.*which no export"):
        export_tables([str(fleet)], out, tables=["brokers", "topics"], mode="append")
    assert {path: path.stat().st_ino for path in out.rglob("part-*")} == parts
    assert other.exists() and notes.exists() and read(out, "topics") == before
    assert (out / "topics" / "_SUCCESS").exists()


def test_table_that_appears_during_an_export_is_refused(
    fleet: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, write = tmp_path / "out", local_files.Export.write

    def slow(self: local_files.Export, *arguments: Any) -> Any:
        (out / "topics").mkdir(exist_ok=True)
        return write(self, *arguments)

    monkeypatch.setattr(local_files.Export, "write", slow)
    with pytest.raises(RefusedError, match="contains the table topics already") as refused:
        export_tables([str(fleet)], out, tables=["topics"])
    assert refused.value.id == "table-exists" and [*out.rglob("*")] == [out / "topics"]


@pytest.mark.parametrize("name", ["file of others", "table of another format"])
def test_details_never_replace_what_no_dry_run_has_written(fleet: Path, tmp_path: Path, name: str) -> None:
    out = tmp_path / "out"
    source: Any = {"paths": [str(fleet / "4.4.0")], "cluster": "a", "cluster_id": None}
    table = Table("topics", (("topic", TEXT),), [("t",)])
    write_details_to(out.as_uri(), [table], source, as_of_ms=0, master=None, name="dryrun")
    day = out / "topics" / "cluster=a" / "date=1970-01-01"
    written = [path.name for path in day.iterdir()]
    foreign = day / "notes.txt" if name == "file of others" else day / "part-00000.csv"
    if name == "table of another format":
        (day / written[0]).rename(foreign)
    foreign.touch()
    with pytest.raises(RefusedError) as refused:
        write_details_to(out.as_uri(), [table], source, as_of_ms=0, master=None, name="dryrun")
    assert refused.value.id == "table-exists" and foreign.exists()


def test_empty_target_is_refused(fleet: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # As an unset variable gives it; the current directory is not meant.
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.iterdir())
    with pytest.raises(InputError, match="path of the tables is empty"):
        export_tables([str(fleet)], "", tables=["topics"], mode="overwrite")
    assert sorted(tmp_path.iterdir()) == before


def test_log_that_cannot_be_opened_has_the_id_of_its_cluster(tmp_path: Path) -> None:
    # As on Spark: the meta.properties says it, whatever is wrong with a segment.
    write_log(tmp_path / "fleet", "good", encoded(CASES["ended"]))
    for name, spoil in (("folder", Path.mkdir), ("lost", lambda path: path.symlink_to("/nowhere"))):
        spoil(write_log(tmp_path / "fleet", name, encoded(CASES["ended"])) / f"{99:020d}.log")
    files = str(tmp_path / "fleet" / "*" / "__cluster_metadata-0" / f"{0:020d}.log")
    for source, failed in ((str(tmp_path / "fleet"), {"id-folder", "id-lost"}), (files, set())):
        found = export_tables([source], tmp_path / "out", tables=["topics"], mode="overwrite")
        assert {cluster.name for cluster in found.clusters} == {"id-good", "id-folder", "id-lost"}
        assert {cluster.name for cluster in found.clusters if cluster.as_of_offset is None} == failed
        assert all(cluster.cluster_id == cluster.name for cluster in found.clusters)


@pytest.mark.parametrize("form", ["parquet", "jsonl", "csv"])
def test_name_that_is_not_utf8_is_written(tmp_path: Path, form: str) -> None:
    log = write_log(tmp_path / "fleet", os.fsdecode(b"caf\xe9"), encoded(CASES["ended"]), cluster_id="one")
    (log.parent / "meta.properties").unlink()
    export_tables([str(tmp_path / "fleet")], tmp_path / "out", tables=["topics"], form=form)
    (path,) = (tmp_path / "out" / "topics").rglob(f"*.{form}")
    assert os.fsencode(path.parent.parent.name) == b"cluster=caf\xe9" and path.stat().st_size > 0
