"""Refusals before any work because of the output folder, and leftovers of killed runs in it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kafkactl.bundle.io.writing import check_bundle_target
from kafkactl.core.errors import KafkactlError
from kafkactl.dryrun.io.detail_files import check_details_target
from kafkactl.files import whole_file
from kafkactl.files.plan_files import check_plan_target
from kafkactl.files.report_files import check_report_target
from kafkactl.quorum.io.recover.collect import collect
from kafkactl.quorum.io.recover.target import look_at
from kafkactl.tiered.api.verbs import check_keys_target
from kafkactl.tiered.io.observation import check_observation_target

CHECKS = {
    "plan-file-not-written": lambda path: check_plan_target(path, overwrite=False),
    "report-not-written": lambda path: check_report_target(path, "mark"),
    "bundle-not-written": lambda path: check_bundle_target(path, force=False),
    "details-not-written": check_details_target,
    "copy-not-written": lambda path: collect("/nothing/is/read", str(path)),
    "recovery-target-unusable": lambda path: look_at(str(path)),
    "observation-not-written": lambda path: check_observation_target(str(path)),
    "output-file-not-written": lambda path: check_keys_target(str(path)),
}
HELD = """
import sys, time
from pathlib import Path
from kafkactl.files.whole_file import whole_file, whole_folder
place = Path(sys.argv[2])
if sys.argv[1] == "file":
    with whole_file(place, mode=0o640, exclusive=True) as file:
        file.write(b"half"), file.flush(), print("held", flush=True), time.sleep(60)
else:
    with whole_folder(place) as work:
        (work / "a").mkdir(), (work / "a" / "b").write_bytes(b"half"), print("held", flush=True), time.sleep(60)
"""


@pytest.mark.parametrize("id", CHECKS)
def test_missing_folder_is_found_before_anything_is_read(tmp_path: Path, id: str) -> None:
    if id == "details-not-written":
        pytest.importorskip("pyarrow")
    with pytest.raises(KafkactlError) as caught:
        CHECKS[id](tmp_path / "missing" / "x")
    assert caught.value.id == id
    assert f"the folder {tmp_path / 'missing'} does not exist" in caught.value.message


@pytest.mark.parametrize("id", CHECKS)
def test_folder_that_may_not_be_written_to_is_found_before_anything_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, id: str
) -> None:
    if id == "details-not-written":
        pytest.importorskip("pyarrow")
    monkeypatch.setattr(whole_file.os, "access", lambda *_, **__: False)
    with pytest.raises(KafkactlError) as caught:
        CHECKS[id](tmp_path / "x")
    assert caught.value.id == id
    assert f"this user may not make files in {tmp_path}" in caught.value.message


def test_file_in_place_of_the_folder_is_found(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError, match="is not a folder"):
        whole_file.check_place(tmp_path / "file" / "x")


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_leftovers_of_killed_processes_only_are_removed(tmp_path: Path, kind: str) -> None:
    with (
        subprocess.Popen([sys.executable, "-c", HELD, kind, str(tmp_path / "x")], stdout=subprocess.PIPE) as killed,
        subprocess.Popen([sys.executable, "-c", HELD, kind, str(tmp_path / "x")], stdout=subprocess.PIPE) as living,
    ):
        for process in (killed, living):
            assert process.stdout is not None
            process.stdout.readline()
        before = _names(tmp_path)
        assert len(before) == 2, "neither has removed what the other writes"
        killed.send_signal(signal.SIGKILL)
        killed.wait()
        _write(tmp_path / "y", kind)
        assert _names(tmp_path) == before | {"y"}, "of another name"
        _write(tmp_path / "x", kind)
        (left,) = _names(tmp_path) - {"x", "y"}
        living.send_signal(signal.SIGKILL)
        living.wait()
        assert left in before and (tmp_path / left).exists()


def _names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def _write(place: Path, kind: str) -> None:
    if kind == "file":
        whole_file.write_whole(place, b"whole", mode=0o640)
    else:
        with whole_file.whole_folder(place) as work:
            (work / "a").touch()


def test_only_what_looks_like_an_own_leftover_is_removed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.touch(mode=0o600)
    strange = {
        ".x.1234567.tmp": 0o600,  # no such name is drawn
        ".x.12345678.tmp.gz": 0o600,
        "x.12345678.tmp": 0o600,
        ".x.abcdefgh.tmp": 0o666,  # another mode
    }
    for name, mode in strange.items():
        (tmp_path / name).touch()
        (tmp_path / name).chmod(mode)
    (tmp_path / ".x.aaaaaaaa.tmp").symlink_to(outside)
    (tmp_path / ".x.bbbbbbbb.tmp").mkdir(mode=0o700)
    os.mkfifo(tmp_path / ".x.cccccccc.tmp", mode=0o600)
    (tmp_path / ".x.dddddddd.tmp").touch(mode=0o600)
    before = _names(tmp_path)
    whole_file.write_whole(tmp_path / "x", b"", mode=0o640)
    assert _names(tmp_path) == (before | {"x"}) - {".x.dddddddd.tmp"}


def test_leftover_of_another_user_is_not_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".x.dddddddd.tmp").touch(mode=0o600)
    monkeypatch.setattr(whole_file.os, "geteuid", lambda: os.getuid() + 1)
    whole_file.write_whole(tmp_path / "x", b"", mode=0o640)
    assert (tmp_path / ".x.dddddddd.tmp").exists()


def test_file_that_was_removed_before_it_was_locked_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock, removed = whole_file.fcntl.flock, []

    def flock(descriptor: int, how: int) -> None:
        if not removed:
            (found,) = tmp_path.iterdir()
            found.unlink()
            removed.append(found)
        lock(descriptor, how)

    monkeypatch.setattr(whole_file.fcntl, "flock", flock)
    whole_file.write_whole(tmp_path / "x", b"whole", mode=0o640)
    assert [path.name for path in tmp_path.iterdir()] == ["x"]
    assert removed[0].name != "x" and (tmp_path / "x").read_bytes() == b"whole"


def test_file_system_without_locks_can_be_written_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def flock(descriptor: int, how: int) -> None:
        raise OSError(37, "No locks available")

    monkeypatch.setattr(whole_file.fcntl, "flock", flock)
    (tmp_path / ".x.dddddddd.tmp").touch(mode=0o600)
    begun = time.monotonic()
    whole_file.write_whole(tmp_path / "x", b"whole", mode=0o640)
    assert time.monotonic() - begun < 60
    assert (tmp_path / ".x.dddddddd.tmp").exists(), "whether it is written to cannot be seen"


@pytest.mark.parametrize("command", ["bundle", "collect"])
def test_leftover_of_a_killed_run_is_removed_by_a_run_that_is_refused(tmp_path: Path, command: str) -> None:
    (tmp_path / "x").write_bytes(b"whole")
    (tmp_path / ".x.abcdefgh.tmp").touch(mode=0o600)
    (tmp_path / "x").chmod(0o600)
    with pytest.raises(KafkactlError) as caught:
        if command == "bundle":
            check_bundle_target(tmp_path / "x", force=False)
        else:
            collect("/nothing/is/read", str(tmp_path / "x"))
    assert caught.value.id in ("bundle-file-exists", "collected-file-exists")
    assert _names(tmp_path) == {"x"}


def test_exclusive_file_has_one_name_at_every_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "link", lambda *_, **__: pytest.fail("a second name"))
    whole_file.write_whole(tmp_path / "x", b"whole", mode=0o640, exclusive=True)
    assert (tmp_path / "x").read_bytes() == b"whole" and _names(tmp_path) == {"x"}
    with pytest.raises(FileExistsError):
        whole_file.write_whole(tmp_path / "x", b"other", mode=0o640, exclusive=True)
    assert (tmp_path / "x").read_bytes() == b"whole" and _names(tmp_path) == {"x"}
