"""Meaning of a path: a metadata log, or one of the things that are mistaken for it."""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kafkactl.core.errors import KafkactlError
from kafkactl.metadata.io import source as log_source
from kafkactl.metadata.io.image import without_needless
from kafkactl.metadata.io.metadata_log import scan_log_folder
from kafkactl.metadata.io.source import CHECKPOINT, SEGMENT, LogFile, open_source, read_pieces
from kafkactl.protocol.record_batch import encode_batch
from tests.metadata.goldens import GOLDEN, golden

SEGMENT_BYTES = golden("segment-4.4.0-standalone.log.bin")
SNAPSHOT_BYTES = golden("snapshot-4.4.0-standalone.checkpoint.bin")
USER_BYTES = encode_batch([(b"key", b"value")], base_offset=0, timestamp_ms=1)


def refusal(path: Path) -> str:
    with pytest.raises(KafkactlError) as caught:
        open_source(str(path))
    assert str(path) in caught.value.message
    assert caught.value.advice
    return caught.value.id


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    log = tmp_path / "disk" / "__cluster_metadata-0"
    log.mkdir(parents=True)
    (tmp_path / "disk/meta.properties").write_text("version=1\ncluster.id=abc\nnode.id=1\n")
    (log / "00000000000000000100.log").write_bytes(b"")
    (log / "00000000000000000000.log").write_bytes(SEGMENT_BYTES)
    (log / "00000000000000000000.index").write_bytes(b"x")
    (log / "00000000000000000025-0000000001.checkpoint").write_bytes(SNAPSHOT_BYTES)
    (log / "00000000000000000025-0000000001.checkpoint.deleted").write_bytes(b"x")
    (log / "partition.metadata").write_text("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ")
    (log / "quorum-state").write_text("{}")
    return log


def test_folder_is_opened_from_the_log_directory_around_it(folder: Path):
    found = open_source(str(folder))
    assert [(log_file.kind, log_file.base_offset, log_file.epoch) for log_file in found.files(checkpoints=True)] == [
        (CHECKPOINT, 25, 1), (SEGMENT, 0, None), (SEGMENT, 100, None),
    ]  # fmt: skip
    assert [log_file.kind for log_file in found.files(checkpoints=False)] == [SEGMENT, SEGMENT]
    assert found.cluster_id == "abc"
    around = open_source(str(folder.parent))
    assert around.segments[0].name == found.segments[0].name == str(folder / "00000000000000000000.log")
    assert b"".join(found.segments[0].pieces()) == SEGMENT_BYTES


@pytest.mark.parametrize("name", ["00000000000000000050.log", "00000000000000000090-0000000001.checkpoint"])
@pytest.mark.parametrize(
    ("make", "words"),
    [
        (os.mkfifo, "a FIFO"),
        (Path.mkdir, "a directory"),
        (lambda path: path.symlink_to("/dev/zero"), "a device"),
        (lambda path: path.symlink_to("nowhere"), "a link that leads to no file"),
        (lambda path: path.symlink_to(path.name), "a link that leads to no file"),
    ],
)
def test_invalid_file_with_the_name_of_a_log_file_is_refused(
    make: Callable[[Path], None], words: str, name: str, folder: Path
):
    make(folder / name)
    with pytest.raises(KafkactlError, match=words) as caught:
        open_source(str(folder))
    assert (caught.value.id, bool(caught.value.advice)) == ("log-file-not-regular", True)
    assert str(folder / name) in caught.value.message
    if name.endswith(".log"):
        assert scan_log_folder(str(folder)).passed_over == ((name, words),)


def test_link_to_a_file_is_one(folder: Path):
    (folder / "00000000000000000050.log").symlink_to("00000000000000000000.log")
    assert len(open_source(str(folder)).segments) == 3
    assert scan_log_folder(str(folder)).passed_over == ()


def test_renamed_copy_is_opened(folder: Path, tmp_path: Path):
    folder.rename(tmp_path / "copy")
    assert len(open_source(str(tmp_path / "copy")).segments) == 2


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("00000000000000000000.log", SEGMENT_BYTES, SEGMENT),
        ("00000000000000000000.log", b"", SEGMENT),
        ("00000000000000000000.log", bytes(100), SEGMENT),
        ("00000000000000000025-0000000001.checkpoint", SNAPSHOT_BYTES, CHECKPOINT),
        ("00000000000000000025-0000000001.checkpoint.deleted", SNAPSHOT_BYTES, CHECKPOINT),
        ("00000000000000000025-0000000001-12345.checkpoint.part", SNAPSHOT_BYTES, CHECKPOINT),
        ("bootstrap.checkpoint", b"", CHECKPOINT),
        ("any", SEGMENT_BYTES, SEGMENT),
        ("any", SNAPSHOT_BYTES, CHECKPOINT),
    ],
)
def test_single_file_is_opened(tmp_path: Path, name: str, content: bytes, kind: str):
    path = tmp_path / name
    path.write_bytes(content)
    (file,) = open_source(str(path)).files(checkpoints=False)
    assert (file.kind, file.name) == (kind, str(path))
    assert b"".join(file.pieces()) == content


def test_empty_path_is_not_the_current_directory(folder: Path, monkeypatch: pytest.MonkeyPatch):
    # `kafkactl log verify "$DIR"` if the variable is not set.
    monkeypatch.chdir(folder)
    with pytest.raises(KafkactlError, match="is empty") as caught:
        open_source("")
    assert "not be set" in caught.value.advice


def test_foreign_files_are_refused(tmp_path: Path):
    assert refusal(tmp_path / "missing") == "input-file-unreadable"
    text = tmp_path / "notes.txt"
    text.write_text("not a log")
    assert refusal(text) == "not-a-log-file"
    user = tmp_path / "00000000000000000000.log"
    user.write_bytes(USER_BYTES)
    assert refusal(user) == "not-a-metadata-log"


def test_foreign_folders_are_refused(tmp_path: Path, folder: Path):
    empty = tmp_path / "empty"
    empty.mkdir()
    assert refusal(empty) == "empty-folder"
    (empty / "notes.txt").write_text("x")
    assert refusal(empty) == "no-metadata-log"
    broker = tmp_path / "broker"
    (broker / "orders-0").mkdir(parents=True)
    assert refusal(broker) == "no-metadata-log"
    (broker / "orders-0/00000000000000000000.log").write_bytes(USER_BYTES)
    assert refusal(broker / "orders-0") == "not-a-metadata-log"
    (folder / "partition.metadata").write_text("version: 0\ntopic_id: Zr_hfrzTQXS4yN7fJKJL6A")
    assert refusal(folder) == "not-a-metadata-log"


def test_log_of_another_topic_is_refused(tmp_path: Path):
    data = bytearray(USER_BYTES)
    data[43:51] = (7).to_bytes(8, "big")
    user = tmp_path / "00000000000000000000.log"
    user.write_bytes(bytes(data))
    assert refusal(user) == "not-a-metadata-log"


def test_reading_ends_at_the_size_that_was_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(log_source, "PIECE_BYTES", 10)
    path = tmp_path / "growing"
    path.write_bytes(b"a" * 25)
    pieces = read_pieces(str(path))
    first = next(pieces)
    with path.open("ab") as file:
        file.write(b"b" * 100)
    assert first + b"".join(pieces) == b"a" * 25


def test_pieces_are_short_at_first_and_grow_with_what_was_read():
    at, sizes = 0, []
    while at < 64 << 20:
        sizes.append(log_source.piece_bytes(at))
        at += sizes[-1]
    assert sizes == sorted(sizes)
    assert all(size <= max(sizes[0], at // 8) for at, size in zip(itertools.accumulate(sizes), sizes[1:], strict=False))
    assert sizes[-1] == log_source.PIECE_BYTES


def test_piece_is_its_readers_alone(tmp_path: Path):
    # Or else it would stay in memory while the next one is read.
    path = tmp_path / "log"
    path.write_bytes(bytes(5 << 20))
    pieces = read_pieces(str(path))
    piece = next(pieces)
    assert sys.getrefcount(piece) == 2  # the name here, and the argument
    pieces.close()


def test_file_renamed_by_a_running_node_is_read_to_its_end(folder: Path):
    # It is renamed, and deleted a minute later.
    source = open_source(str(folder))
    for file in (*source.segments, *source.checkpoints):
        Path(file.name).rename(f"{file.name}.deleted")
    assert b"".join(source.segments[0].pieces()) == SEGMENT_BYTES
    assert b"".join(source.checkpoints[0].pieces()) == SNAPSHOT_BYTES


def test_file_removed_after_the_listing_is_reported(folder: Path):
    source = open_source(str(folder))
    (folder / "00000000000000000000.log").unlink()
    with pytest.raises(KafkactlError, match="was removed after the folder was listed") as caught:
        list(source.segments[0].pieces())
    assert caught.value.id == "input-file-unreadable"
    assert "run the command again" in str(caught.value.next_step)


def test_every_golden_is_taken_for_what_it_is():
    for path in GOLDEN.glob("*.log.bin"):
        assert open_source(str(path)).segments
    for path in GOLDEN.glob("*.checkpoint.bin"):
        assert open_source(str(path)).checkpoints


@pytest.mark.parametrize(
    ("begins", "left"), [(0, ["segment"]), (1, ["segment"]), (7, ["checkpoint", "segment"]), (None, ["checkpoint"])]
)
def test_live_log_needs_its_snapshot_only_where_its_beginning_is_gone(begins: int | None, left: list[str]) -> None:
    def file(kind: str, offset: int) -> LogFile:
        return LogFile(name="f", kind=kind, base_offset=offset, pieces=list)

    files = [file(CHECKPOINT, 40), *([] if begins is None else [file(SEGMENT, begins)])]
    assert [log_file.kind for log_file in without_needless(files)] == left


def test_pieces_grow_with_what_was_read():
    mib = 1024 * 1024
    assert [log_source.piece_bytes(at * mib) for at in (0, 16, 32, 48, 4_096)] == [
        size * mib for size in (1, 2, 4, 6, 6)
    ]
