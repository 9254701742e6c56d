"""Commands that copy from a log directory: its owner may have put links there, to files that only root may read."""

from __future__ import annotations

import os
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Run
from tests.quorum.recover import worlds
from tests.tiered.logs import LogOf, Topic

Cli = Callable[..., Run]
SECRET = b"root:$6$secret-of-root:19000::::::\n"


@pytest.fixture
def shadow(tmp_path: Path) -> Path:
    file = tmp_path / "shadow"
    file.write_bytes(SECRET)
    return file


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    path = worlds.broker_disks(tmp_path / "disks", log=worlds.whole_log())[0]
    (path / worlds.LOG / "quorum-state").write_text("{}")
    return path


def copied(kafkactl: Cli, disk: Path, to: Path) -> tuple[dict, dict[str, bytes]]:
    run = kafkactl("quorum", "recover", "collect", disk, "--to", to, "-o", "json")
    assert run.code == 0, run.stderr
    with tarfile.open(to) as tar:
        files = {member.name: tar.extractfile(member) for member in tar.getmembers() if member.isfile()}
        return run.json, {name: file.read() for name, file in files.items() if file is not None}


LINKS = [
    f"{worlds.LOG}/extra",
    f"{worlds.LOG}/quorum-state",
    f"{worlds.LOG}/00000000000000000099.log",
    f"{worlds.LOG}/00000000000000000099-0000000001.checkpoint",
    "meta.properties",
    "log-start-offset-checkpoint",
    "orders-0/partition.metadata",
    "orders-0/leader-epoch-checkpoint",
]


@pytest.mark.parametrize("name", LINKS)
def test_link_in_a_log_directory_is_listed_and_not_copied(
    kafkactl: Cli, tmp_path: Path, disk: Path, shadow: Path, name: str
) -> None:
    whole = copied(kafkactl, disk, tmp_path / "whole.tar")[1]
    (disk / name).unlink(missing_ok=True)
    (disk / name).symlink_to(shadow)
    answer, files = copied(kafkactl, disk, tmp_path / "copy.tar")
    assert answer["left_out"] == [name]
    assert [finding["id"] for finding in answer["findings"]] == ["copy-left-out"]
    assert name in answer["findings"][0]["message"]
    assert set(files) == set(whole) - {name}
    assert not any(SECRET in content for content in files.values())


@pytest.mark.parametrize("name", [worlds.LOG, "orders-0"])
def test_link_in_place_of_a_folder_is_listed_and_not_copied(
    kafkactl: Cli, tmp_path: Path, disk: Path, name: str
) -> None:
    (disk / name).rename(tmp_path / "moved")
    (disk / name).symlink_to(tmp_path / "moved")
    answer, files = copied(kafkactl, disk, tmp_path / "copy.tar")
    assert answer["left_out"] == [name]
    assert not [found for found in files if found.startswith(f"{name}/")]


def test_file_that_kafka_does_not_write_is_listed_and_not_copied(kafkactl: Cli, tmp_path: Path, disk: Path) -> None:
    for name in ("note.txt", "00000000000000000000.log.old", "sub"):
        (disk / worlds.LOG / name).write_text("x")
    for name in ("00000000000000000000.index", "00000000000000000000.log.deleted"):
        (disk / worlds.LOG / name).write_text("x")
    answer, files = copied(kafkactl, disk, tmp_path / "copy.tar")
    assert answer["left_out"] == [
        f"{worlds.LOG}/{name}" for name in ("00000000000000000000.log.old", "note.txt", "sub")
    ]
    assert {name.rpartition("/")[2] for name in files if name.startswith(worlds.LOG)} == {
        worlds.SEGMENT,
        "quorum-state",
    }


def test_segment_of_a_partition_behind_a_link_is_an_error(
    kafkactl: Cli, tmp_path: Path, disk: Path, shadow: Path
) -> None:
    (segment,) = (disk / "orders-0").glob("*.log")
    segment.unlink()
    segment.symlink_to(shadow)
    run = kafkactl("quorum", "recover", "collect", disk, "--to", tmp_path / "copy.tar", "-o", "json")
    assert (run.code, run.error["id"]) == (2, "log-dir-unreadable")
    assert not (tmp_path / "copy.tar").exists()


@pytest.mark.parametrize("name", [f"{worlds.LOG}/quorum-state", f"{worlds.LOG}/{worlds.SEGMENT}", "meta.properties"])
def test_bundle_with_a_metadata_log_copies_nothing_through_a_link(
    kafkactl: Cli, tmp_path: Path, disk: Path, shadow: Path, name: str
) -> None:
    (disk / name).unlink()
    (disk / name).symlink_to(shadow)
    shown = ("--log-dir", disk, "--log-dir", disk.with_name("b12"))
    assert kafkactl("bundle", *shown, "--include-log", "--out", tmp_path / "b.zip").code == 5
    with zipfile.ZipFile(tmp_path / "b.zip") as archive:
        texts = [archive.read(found) for found in archive.namelist()]
    assert not any(b"secret-of-root" in text for text in texts)
    assert any(b"a symbolic link" in text for text in texts)


@pytest.mark.parametrize("name", ["00000000000000000000.log", "leader-epoch-checkpoint"])
def test_saved_observation_of_tiered_storage_copies_nothing_through_a_link(
    kafkactl: Cli, tmp_path: Path, shadow: Path, name: str
) -> None:
    folder = tmp_path / "d" / "__remote_log_metadata-0"
    LogOf(0).add(Topic("orders", 1).copied(0, "a", 0, 9)).save(tmp_path / "d")
    (folder / name).unlink(missing_ok=True)
    (folder / name).symlink_to(shadow)
    run = kafkactl("tiered", "observe", folder, "--out", tmp_path / "seen")
    assert run.code in (1, 2), run.stdout
    assert "a symbolic link" in run.stderr
    assert not (tmp_path / "seen").exists() and os.path.lexists(folder / name)
