"""Folders of another user, who exchanges names while root writes: what is written goes to no other place."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kafkactl.core.errors import FailedError
from kafkactl.dryrun.detail_tables import INT, Table
from kafkactl.dryrun.io.detail_files import write_details
from kafkactl.files import whole_file as whole_files
from kafkactl.files import word_cache
from kafkactl.files.held_folder import held_folder, is_others
from kafkactl.files.whole_file import put_in_place, staging_folder, whole_file, whole_folder, write_whole
from kafkactl.migration.io import rendered_files
from kafkactl.spark.export.local_files import export_to

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="gives folders to another user")
OTHER_USER = 65_534


@pytest.fixture
def victim(tmp_path: Path) -> Iterator[Path]:
    """Yield a folder with a file that must stay as it is."""
    folder = tmp_path / "victim"
    folder.mkdir()
    (folder / "secret").write_text("keep")
    yield folder
    assert {file.name: file.read_text() for file in folder.iterdir()} == {"secret": "keep"}


def exchange(folder: Path, victim: Path) -> Path:
    """Move a folder aside and leave a link to another one in its place, as the owner of the folder above may do."""
    aside = folder.with_name(f"{folder.name}-aside")
    folder.rename(aside)
    folder.symlink_to(victim)
    return aside


def temporary_in(folder: Path) -> Path:
    (found,) = (path for path in folder.iterdir() if path.name.endswith(".tmp"))
    return found


def test_file_goes_to_the_folder_that_was_opened(tmp_path: Path, victim: Path) -> None:
    place = tmp_path / "out"
    place.mkdir()
    with whole_file(place / "secret", mode=0o600) as file:
        file.write(b"mine")
        aside = exchange(place, victim)
    assert (aside / "secret").read_bytes() == b"mine"


def test_folder_is_filled_and_moved_where_it_was_begun(tmp_path: Path, victim: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    with whole_folder(out / "saved") as work:
        aside = exchange(out, victim)
        (work / "secret").write_text("mine")
    assert (aside / "saved" / "secret").read_text() == "mine"


def test_folder_whose_temporary_name_was_taken_is_not_published(tmp_path: Path, victim: Path) -> None:
    with pytest.raises(OSError, match="another folder has taken the place"), whole_folder(tmp_path / "saved") as work:
        exchange(temporary_in(tmp_path), victim)
        (work / "secret").write_text("mine")
    assert not (tmp_path / "saved").exists()


def test_folder_that_was_put_in_place_of_the_temporary_one_is_not_removed(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    (kept / "inside").mkdir(parents=True)
    with staging_folder(tmp_path, ".x.") as work:
        (work / "a").mkdir()
        (work / "b").write_text("mine")
        found = temporary_in(tmp_path)
        found.rename(tmp_path / "aside")
        kept.rename(found)
    assert (found / "inside").is_dir()
    assert not list((tmp_path / "aside").iterdir())


def test_earlier_folder_alone_is_removed_where_folders_cannot_be_exchanged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    new, place, old, other = (tmp_path / name for name in ("new", "place", ".place.old", "other"))
    for folder in (new, place, other):
        (folder / "inside").mkdir(parents=True)
        (folder / folder.name).touch()
    monkeypatch.setattr(whole_files, "exchanged", lambda *_: False)
    rename = Path.rename

    def swapped(self: Path, target: Path) -> Path:
        if self == new:  # the earlier folder has its other name by now
            rename(old, tmp_path / "aside")
            rename(other, old)
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", swapped)
    put_in_place(new, place, old)
    assert sorted(path.name for path in place.iterdir()) == ["inside", "new"]
    assert sorted(path.name for path in old.iterdir()) == ["inside", "other"]
    assert not list((tmp_path / "aside").iterdir())


def test_tables_are_not_written_through_a_planted_link(tmp_path: Path, victim: Path) -> None:
    pytest.importorskip("pyarrow")
    out = tmp_path / "out"
    out.mkdir()

    def rows() -> Iterator[tuple[int]]:
        planted = temporary_in(out)
        planted.rename(out / "aside")
        (planted / "new").mkdir(parents=True)
        (planted / "new" / "t.parquet").symlink_to(victim / "secret")
        yield (1,)

    write_details(out / "tables", [Table(name="t", columns=(("n", INT),), rows=rows())])
    assert (out / "tables" / "t.parquet").stat().st_size > 0


def test_rendered_files_stay_in_their_folder(tmp_path: Path, victim: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "rendered"
    real: Callable[..., None] = rendered_files.write_whole
    moved: list[Path] = []

    def write(path: Path, data: bytes, *, mode: int) -> None:
        if not moved:
            moved.append(exchange(place, victim))
        real(path, data, mode=mode)

    monkeypatch.setattr(rendered_files, "write_whole", write)
    rendered_files.write_rendered(place, [], [], withheld=frozenset())
    assert (moved[0] / rendered_files.MANIFEST).is_file()


@needs_root
def test_link_of_another_user_is_not_followed(tmp_path: Path, victim: Path) -> None:
    link = tmp_path / "out"
    link.symlink_to(victim)
    os.lchown(link, OTHER_USER, -1)
    with pytest.raises(OSError, match="a link of another user"), whole_file(link / "a", mode=0o600):
        pass
    with pytest.raises(FailedError, match="a link of another user"), export_to(link, ["t"], "jsonl", "overwrite"):
        pass


@needs_root
def test_leftover_folder_in_the_folder_of_another_user_stays(tmp_path: Path) -> None:
    # Its owner may have moved a folder of root's to that name.
    theirs = tmp_path / "theirs"
    for folder, is_removed in ((tmp_path, True), (theirs, False)):
        kept = folder / ".x.abcdefgh.tmp"
        kept.mkdir(mode=0o700, parents=True)
        (kept / "file").write_text("root's")
        os.chown(folder, 0 if is_removed else OTHER_USER, -1)
        with staging_folder(folder, ".x."):
            pass
        assert kept.exists() is not is_removed


def test_folder_with_open_mode_is_recognized(tmp_path: Path) -> None:
    assert not is_others(tmp_path)
    for mode, expected in ((0o777, True), (0o1777, False), (0o770, True), (0o755, False)):
        tmp_path.chmod(mode)
        assert is_others(tmp_path) is expected
    tmp_path.chmod(0o700)


def test_lock_of_the_cache_is_not_made_through_a_link(tmp_path: Path) -> None:
    target, cache = tmp_path / "nologin", tmp_path / "words.json"
    cache.with_suffix(".lock").symlink_to(target)
    with pytest.raises(OSError, match="symbolic links"), word_cache._only_once(cache):
        pass
    assert not target.exists()


def test_link_is_not_followed_if_that_was_asked_for(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    with held_folder(tmp_path / "link") as held:
        write_whole(held / "a", b"1", mode=0o600)
    assert (tmp_path / "a").read_bytes() == b"1"
    with pytest.raises(NotADirectoryError), held_folder(tmp_path / "link", follow=False):
        pass


def test_own_link_that_is_replaced_while_it_is_read_is_refused(
    tmp_path: Path, victim: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "wanted").mkdir()
    link, aside = tmp_path / "link", tmp_path / "aside"
    link.symlink_to(tmp_path / "wanted")
    read = Path.readlink

    def read_planted(path: Path) -> Path:
        link.rename(aside)
        link.symlink_to(victim)
        target = read(path)
        link.unlink()
        aside.rename(link)  # the link is as before, but for the time of its change
        return target

    monkeypatch.setattr(Path, "readlink", read_planted)
    with pytest.raises(OSError, match="another process replaces"), held_folder(link):
        pass
    monkeypatch.undo()
    with held_folder(link) as held:
        assert held.samefile(tmp_path / "wanted")
