"""Reading a metadata log from disk: segments in order, the newest snapshot, what cannot be read."""

from __future__ import annotations

import errno
import tracemalloc
from pathlib import Path

import pytest

from kafkactl.metadata.io import metadata_log
from kafkactl.metadata.io.metadata_log import scan_metadata_log
from kafkactl.metadata.log.checkpoint import encode_first_checkpoint
from kafkactl.protocol.log.frame import encode_record
from kafkactl.protocol.record_batch import encode_batch
from kafkactl.protocol.schema.definitions import metadata_record
from tests.storage.verify.nodes import write_log


@pytest.fixture
def folder(tmp_path):
    write_log(tmp_path, {"metadata.version": 30, "group.version": 1}, batches=5)
    return tmp_path / "__cluster_metadata-0"


def noop(offset):
    return encode_batch([(None, encode_record(metadata_record(20), 0, {}))], base_offset=offset, timestamp_ms=1)


def segment(folder, base, content):
    (folder / f"{base:020}.log").write_bytes(content)


def test_one_segment_is_scanned(tmp_path, folder):
    facts = scan_metadata_log(str(tmp_path))
    assert (facts.state, facts.start_offset, facts.end_offset) == ("directory", 0, 6)
    assert facts.contents.levels == {"metadata.version": 30, "group.version": 1}
    assert facts.damaged_segment is None and facts.unreadable == ()


def test_segments_after_damage_are_not_read(tmp_path, folder):
    segment(folder, 6, noop(6) + b"broken")
    segment(folder, 7, noop(7))
    facts = scan_metadata_log(str(tmp_path))
    assert [file.name for file in facts.segments][-1] == f"{6:020}.log"
    assert facts.damaged_segment.base_offset == 6
    assert (facts.dropped_segments, facts.end_offset) == ((f"{7:020}.log",), 7)


def test_files_of_a_readable_folder_are_reported_as_unreadable(tmp_path, folder, monkeypatch):
    # Mode 0744 and another user: no file can be examined, and the answer says so of each.
    def denied(path):
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(Path, "is_file", denied)
    facts = scan_metadata_log(str(tmp_path))
    assert (f"{0:020}.log", "Permission denied") in facts.unreadable
    assert facts.is_hidden


def test_empty_last_segment_is_accepted(tmp_path, folder):
    segment(folder, 6, b"")
    assert scan_metadata_log(str(tmp_path)).end_offset == 6


def taken_out(monkeypatch, *names, suffix):
    """Rename these files as a node does, or without a suffix delete them, after the folder was listed."""
    scan = metadata_log._scan

    def listed(path, *rest):
        for name in names:
            file = Path(path, name)
            file.rename(f"{file}{suffix}") if suffix else file.unlink()
        return scan(path, *rest)

    monkeypatch.setattr(metadata_log, "_scan", listed)


@pytest.mark.parametrize("suffix", [".deleted", None])
def test_files_that_a_running_node_deletes_are_not_damage(tmp_path, folder, monkeypatch, suffix):
    segment(folder, 6, noop(6))
    first_checkpoint = f"{0:020}-{0:010}.checkpoint"
    (folder / first_checkpoint).write_bytes(encode_first_checkpoint(now_ms=1))
    taken_out(monkeypatch, f"{0:020}.log", first_checkpoint, suffix=suffix)
    facts = scan_metadata_log(str(tmp_path))
    assert [file.base_offset for file in facts.segments] == ([0, 6] if suffix else [6])
    assert [file.error for file in facts.snapshots] == ([None] if suffix else [])
    assert (facts.end_offset, facts.damaged_segment, [file.gaps for file in facts.segments if file.gaps]) == (
        7,
        None,
        [],
    )


def test_offsets_out_of_range_are_reported(tmp_path, folder):
    segment(folder, 9, noop(4))
    facts = scan_metadata_log(str(tmp_path))
    assert (facts.segments[-1].out_of_range, facts.mixed_offsets) == (4, True)


def test_only_the_first_and_the_newest_snapshot_are_read(tmp_path, folder):
    names = [f"{offset:020}-{epoch:010}.checkpoint" for offset, epoch in ((0, 0), (2, 1), (4, 1))]
    for name in names:
        (folder / name).write_bytes(encode_first_checkpoint(now_ms=1))
    (folder / f"{9:020}-{1:010}.checkpoint.part").write_bytes(b"")
    facts = scan_metadata_log(str(tmp_path))
    assert [(snapshot.name, snapshot.contents is not None) for snapshot in facts.snapshots] == list(
        zip(names, (True, False, True), strict=True)
    )
    assert facts.latest_snapshot.offset == 4 and facts.first_checkpoint.is_first


def test_missing_log_is_distinguished_from_an_unreadable_folder(tmp_path):
    assert scan_metadata_log(str(tmp_path)).state == "missing"
    assert scan_metadata_log("/nowhere/at/all").state == "missing"
    assert scan_metadata_log("a\0b").state == "unreadable"
    (tmp_path / "__cluster_metadata-0").write_text("x")
    assert scan_metadata_log(str(tmp_path)).state == "not-a-directory"


def test_folder_in_place_of_a_snapshot_is_reported(tmp_path, folder):
    (folder / f"{0:020}-{0:010}.checkpoint").mkdir()
    assert scan_metadata_log(str(tmp_path)).first_checkpoint.error == "Is a directory"


@pytest.mark.slow
def test_memory_is_bounded_by_a_piece(tmp_path, folder, monkeypatch):
    monkeypatch.setattr(metadata_log, "PIECE_BYTES", 64 * 1024)
    batches = b"".join(noop(6 + index) for index in range(1000))
    with (folder / f"{6:020}.log").open("wb") as file:
        for round in range(60):
            file.write(b"".join(noop(6 + round * 1000 + index) for index in range(1000)) if round else batches)
    tracemalloc.start()
    facts = scan_metadata_log(str(tmp_path))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert facts.end_offset == 60_006
    assert peak < 2 * 1024 * 1024  # the segment has 4.4 MB


def test_snapshot_that_is_a_link_to_nothing_is_reported_with_its_target(tmp_path, folder):
    (folder / f"{200:020}-{2:010}.checkpoint").symlink_to("/mnt/gone/snapshot")
    (snapshot,) = scan_metadata_log(str(tmp_path)).snapshots
    assert snapshot.error == "a link to /mnt/gone/snapshot, which leads to no file"
