"""`kafkactl log verify` of a log whose last segment lost what it held, and of files under other names."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Run
from tests.metadata.goldens import golden
from tests.quorum.recover import worlds
from tests.quorum.recover.worlds import disk, whole_log

Kafkactl = Callable[..., Run]
SNAPSHOT = golden("snapshot-4.4.0-standalone.checkpoint.bin")
SNAPSHOT_NAME = "00000000000000000025-0000000001.checkpoint"
SEGMENT = golden("segment-4.4.0-standalone.log.bin")
SECOND = f"{30:020}.log"


def log_dir(path: Path, files: dict[str, bytes]) -> Path:
    path.mkdir()
    for name, data in files.items():
        (path / name).write_bytes(data)
    return path


def verified(kafkactl: Kafkactl, path: Path) -> tuple[int, dict[str, dict]]:
    run = kafkactl("log", "verify", path, "-o", "json")
    return run.code, {finding["id"]: finding for finding in run.json["findings"]}


@pytest.mark.parametrize(
    ("files", "known"),
    [
        ({worlds.SEGMENT: bytes(len(SEGMENT)), SNAPSHOT_NAME: SNAPSHOT}, 25),
        ({worlds.SEGMENT: SEGMENT, SECOND: bytes(4096)}, 30),
        ({worlds.SEGMENT: SEGMENT, f"{30:020}.index": b"", f"{30:020}.timeindex": b""}, 30),
        ({SNAPSHOT_NAME: SNAPSHOT, f"{0:020}.index": b"", f"{0:020}.timeindex": b""}, 25),
    ],
    ids=["zeros behind a snapshot", "zeros behind a segment", "last segment missing", "only segment missing"],
)
def test_segment_that_lost_its_batches_is_damage(
    kafkactl: Kafkactl, tmp_path: Path, files: dict[str, bytes], known: int
) -> None:
    log = log_dir(tmp_path / "log", files)
    code, found = verified(kafkactl, log)
    assert code == 7
    assert found["metadata-log-damaged"]["severity"] == "blocker"
    assert f"from offset {known} on" in found["metadata-log-damaged"]["message"]
    shown = kafkactl("log", "verify", log).stdout
    assert shown.startswith("The log is not sound")
    assert "hold nothing" not in shown


def test_zeros_behind_batches_and_the_index_of_a_deleted_segment_are_not_damage(
    kafkactl: Kafkactl, tmp_path: Path
) -> None:
    log = log_dir(tmp_path / "a", {worlds.SEGMENT: SEGMENT + bytes(4096)})
    assert verified(kafkactl, log)[0] == 0
    late = {SECOND: b"", f"{0:020}.index": b"", "00000000000000000030-0000000001.checkpoint": SNAPSHOT}
    assert "metadata-log-damaged" not in verified(kafkactl, log_dir(tmp_path / "b", late))[1]


def test_recovery_from_a_log_without_its_last_segment_names_the_damage(kafkactl: Kafkactl, tmp_path: Path) -> None:
    made = disk(tmp_path / "c1", 1, bytes(4096))
    worlds.snapshot(made, worlds.AFTER, whole_log().end, 1)
    words = ("--lost", "2,3", "--without-broker-disks", "--out", tmp_path / "new", "--plan", "-o", "json")
    run = kafkactl("quorum", "recover", "--log-dir", made, "--node-id", 1, *words)
    (reported,) = [each for each in run.json["findings"] if each["id"] == "source-damaged"]
    assert "zeros are in place of the segment" in reported["message"]


@pytest.mark.parametrize("name", ["copy.bak", "snapshot.checkpoint", f"{SNAPSHOT_NAME}.old"])
def test_renamed_snapshot_is_read_as_one(kafkactl: Kafkactl, tmp_path: Path, name: str) -> None:
    log_dir(tmp_path / "files", {name: SNAPSHOT})
    shown = kafkactl("log", "image", tmp_path / "files" / name)
    assert shown.code == 0
    assert "The log is empty" not in shown.stdout
    assert kafkactl("log", "verify", tmp_path / "files" / name).code == 0


@pytest.mark.parametrize("verb", ["verify", "image", "dump", "lint"])
@pytest.mark.parametrize("name", [f"{SNAPSHOT_NAME}.gz", "snapshot", f"{worlds.SEGMENT}"])
def test_compressed_file_is_named_as_one(kafkactl: Kafkactl, tmp_path: Path, verb: str, name: str) -> None:
    file = tmp_path / name
    file.write_bytes(gzip.compress(SNAPSHOT))
    run = kafkactl("log", verb, file, "-o", "json")
    assert (run.code, run.error["id"]) == (2, "compressed-log-file")
    assert "gunzip" in run.error["next_step"]
