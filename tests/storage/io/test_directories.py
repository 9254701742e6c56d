"""Observing directories: any content becomes a value, and nothing is changed or waited for."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kafkactl.files.one_file import read_file
from kafkactl.storage.io import directories
from kafkactl.storage.io.directories import observe_directory, observe_node
from kafkactl.storage.model import DirectoryState
from tests.storage.nodes import a_config


def test_directory_is_observed_with_its_files_and_lock(tmp_path: Path) -> None:
    log = tmp_path / "__cluster_metadata-0"
    log.mkdir()
    (tmp_path / "meta.properties").write_bytes(b"version=1\n")
    (tmp_path / "bootstrap.checkpoint").write_bytes(b"b")
    (log / "00000000000000000000-0000000000.checkpoint").write_bytes(b"c")
    (log / "quorum-state").write_bytes(b"{}")
    (log / "00000000000000000000.log").write_bytes(b"not read")
    seen = observe_directory(str(tmp_path))
    assert seen.state is DirectoryState.DIRECTORY
    assert [(entry.name, entry.kind) for entry in seen.entries] == [
        ("__cluster_metadata-0", "directory"),
        ("bootstrap.checkpoint", "file"),
        ("meta.properties", "file"),
    ]
    assert seen.meta_properties is not None
    assert seen.meta_properties.content == b"version=1\n"
    assert seen.bootstrap_checkpoint is not None
    assert seen.metadata_log is not None
    assert len(seen.metadata_log) == 3
    assert sorted(seen.metadata_files) == ["00000000000000000000-0000000000.checkpoint", "quorum-state"]
    assert (seen.writable, seen.write_error, seen.locked_by_process) == (True, None, False)
    assert seen.free_bytes is not None


def test_looking_changes_nothing(tmp_path: Path) -> None:
    observe_directory(str(tmp_path))
    observe_directory(str(tmp_path / "missing" / "deeper"))
    assert list(tmp_path.iterdir()) == []


def test_missing_directory_is_described_by_where_it_would_be_made(tmp_path: Path) -> None:
    seen = observe_directory(str(tmp_path / "missing" / "deeper"))
    assert seen.state is DirectoryState.MISSING
    assert (seen.device, seen.parent_device) == (tmp_path.stat().st_dev, tmp_path.stat().st_dev)
    assert seen.writable


def test_file_in_the_place_of_a_directory_is_observed(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        seen = observe_directory(str(path))
        assert seen.state is DirectoryState.NOT_A_DIRECTORY
        assert seen.error == "Not a directory"
        assert not seen.writable


def test_link_is_followed_and_its_real_path_known(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    seen = observe_directory(str(tmp_path / "link"))
    assert (seen.state, seen.real_path) == (DirectoryState.DIRECTORY, str(tmp_path / "real"))


def test_link_that_leads_nowhere_is_no_missing_directory(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "gone")
    seen = observe_directory(str(tmp_path / "link"))
    assert seen.state is DirectoryState.NOT_A_DIRECTORY
    assert seen.error is not None
    assert str(tmp_path / "gone") in seen.error


def test_loop_of_links_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    assert observe_directory(str(tmp_path / "loop")).state is DirectoryState.UNREADABLE


def test_path_with_a_zero_byte_cannot_be_read() -> None:
    assert observe_directory("/data/\0").state is DirectoryState.UNREADABLE


def test_directory_in_place_of_a_file_has_no_content(tmp_path: Path) -> None:
    (tmp_path / "meta.properties").mkdir()
    seen = observe_directory(str(tmp_path))
    assert seen.meta_properties is not None
    assert (seen.meta_properties.content, seen.meta_properties.error) == (None, "Is a directory")
    os.mkfifo(tmp_path / "bootstrap.checkpoint")
    assert read_file(str(tmp_path / "bootstrap.checkpoint")).error == "a FIFO, expected was a regular file"
    assert read_file(str(tmp_path / "none")).error == "No such file or directory"


def test_file_that_is_far_too_large_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "f").open("wb") as file:
        file.truncate(33 << 20)
    found = read_file(str(tmp_path / "f"))
    assert found.content is None
    assert (found.error or "").startswith("34603008 bytes long, at most 33554432 are read")


def test_lock_of_a_running_node_is_seen_and_its_process_named(tmp_path: Path) -> None:
    (tmp_path / ".lock").touch()
    script = "import fcntl,sys; f=open(sys.argv[1],'r+'); fcntl.lockf(f,fcntl.LOCK_EX); print('x',flush=True); input()"
    command = [sys.executable, "-c", script, str(tmp_path / ".lock")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as node:
        assert node.stdout is not None
        node.stdout.readline()
        seen = observe_directory(str(tmp_path))
        assert (seen.locked_by_process, seen.lock_holder_pid) == (True, node.pid)
        node.communicate(b"\n")
    assert not observe_directory(str(tmp_path)).locked_by_process


def test_lock_can_be_asked_for_where_the_system_has_no_getlk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".lock").touch()
    monkeypatch.delattr(fcntl, "F_GETLK")
    assert not observe_directory(str(tmp_path)).locked_by_process
    script = "import fcntl,sys; f=open(sys.argv[1],'r+'); fcntl.lockf(f,fcntl.LOCK_EX); print('x',flush=True); input()"
    command = [sys.executable, "-c", script, str(tmp_path / ".lock")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as node:
        assert node.stdout is not None
        node.stdout.readline()
        seen = observe_directory(str(tmp_path))
        assert (seen.locked_by_process, seen.lock_holder_pid) == (True, None)
        node.communicate(b"\n")


def test_mount_point_is_the_highest_place_on_the_device(tmp_path: Path) -> None:
    mount = Path(observe_directory(str(tmp_path)).mount_point)
    assert mount == Path("/") or os.path.ismount(mount)


def test_node_is_its_directories_in_the_order_of_the_configuration(tmp_path: Path) -> None:
    config = a_config(log_dirs=(str(tmp_path / "d2"), str(tmp_path / "d1")), metadata_log_dir=str(tmp_path / "m"))
    seen = observe_node(config)
    assert [Path(directory.path).name for directory in seen.directories] == ["d2", "d1", "m"]
    assert seen.process_uid == os.geteuid()
    assert seen.directory(str(tmp_path / "m")).state is DirectoryState.MISSING


def test_metadata_directory_is_observed_after_the_data_directories(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A format publishes it last: data directories that are formatted then never appear with a blank one.
    paths = [str(tmp_path / name) for name in ("m", "d1", "d2")]
    observed: list[str] = []
    monkeypatch.setattr(
        directories, "observe_directory", lambda path: (observed.append(path), observe_directory(path))[1]
    )
    node = observe_node(a_config(log_dirs=tuple(paths), metadata_log_dir=paths[0]))
    assert observed == [*paths[1:], paths[0]]
    assert [directory.path for directory in node.directories] == paths


def test_name_that_is_removed_during_the_look_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("kept", "removed"):
        (tmp_path / name).touch()
    scandir = os.scandir

    @contextmanager
    def removing(path: str) -> Iterator[list[os.DirEntry[str]]]:
        with scandir(path) as listing:
            entries = list(listing)
        (tmp_path / "removed").unlink()
        yield entries

    monkeypatch.setattr(os, "scandir", removing)
    assert [entry.name for entry in observe_directory(str(tmp_path)).entries] == ["kept"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read and write everything")
def test_directory_of_another_user_is_not_writable(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir(mode=0o555)
    seen = observe_directory(str(tmp_path / "d"))
    assert (seen.writable, seen.write_error) == (False, "Permission denied")
    (tmp_path / "d").chmod(0o000)
    assert observe_directory(str(tmp_path / "d")).state is DirectoryState.UNREADABLE
    (tmp_path / "d").chmod(0o755)


def test_meta_properties_that_is_a_link_to_nothing_is_reported_with_its_target(tmp_path: Path) -> None:
    (tmp_path / "meta.properties").symlink_to("/mnt/gone/meta.properties")
    found = observe_directory(str(tmp_path)).meta_properties
    assert found is not None
    assert found.error == "a link to /mnt/gone/meta.properties, which leads to no file"
