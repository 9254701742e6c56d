"""Files and folders that are there whole or not at all: what is synced, and before what."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kafkactl.files.whole_file import make_folders, whole_folder


def test_folder_is_synced_with_all_that_is_in_it_before_it_has_its_name(tmp_path: Path, synced: list[str]) -> None:
    place = tmp_path / "saved"
    with whole_folder(place) as held:
        work = held.resolve()  # `held` leads there by a descriptor
        (work / "inner").mkdir()
        (work / "inner" / "a").write_bytes(b"a")
        (work / "b").write_bytes(b"b")
    assert synced == [f"{work}/inner/a", f"{work}/inner", f"{work}/b", str(work), str(tmp_path)]
    assert {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")} == {
        "saved", "saved/b", "saved/inner", "saved/inner/a"
    }  # fmt: skip
    assert [path.stat().st_mode & 0o777 for path in (place, place / "inner")] == [0o700, 0o700]


def test_folder_that_fails_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), whole_folder(tmp_path / "saved") as work:
        (work / "b").write_bytes(b"b")
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []


def test_empty_folder_is_replaced_at_once_and_another_one_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "saved"
    place.mkdir()
    monkeypatch.setattr(os, "rmdir", lambda *_, **__: pytest.fail("the folder was away for a moment"))
    with whole_folder(place) as work:
        (work / "b").write_bytes(b"b")
    monkeypatch.undo()
    with pytest.raises(OSError, match="not empty"), whole_folder(place):
        pass
    assert [path.name for path in place.iterdir()] == ["b"]


def test_names_of_new_folders_are_synced(tmp_path: Path, synced: list[str]) -> None:
    (tmp_path / "a").mkdir()
    make_folders(tmp_path / "a" / "b" / "c", mode=0o700)
    assert synced == [str(tmp_path), f"{tmp_path}/a", f"{tmp_path}/a/b"]
    assert (tmp_path / "a" / "b" / "c").stat().st_mode & 0o777 == 0o700
    make_folders(tmp_path / "a" / "b" / "c")
    assert synced[3:] == [f"{tmp_path}/a/b"]  # found, and nothing made
