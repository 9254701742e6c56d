"""Bundles on disk: written whole or not at all, equal for equal members, and read with a bound on everything."""

from __future__ import annotations

import io
import os
import signal
import stat
import struct
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import pytest

from kafkactl.bundle.io import writing
from kafkactl.bundle.io.reading import open_bundle
from kafkactl.bundle.io.writing import StagedMembers, write_bundle
from kafkactl.bundle.manifest import Manifest, PartResult, render_manifest
from kafkactl.bundle.members import FREE_BYTES
from kafkactl.core.errors import FailedError, InputError, KafkactlError, RefusedError
from kafkactl.files import whole_file
from kafkactl.files.filesystem import OsFilesystem
from tests.sampling import one_in

MANIFEST = Manifest(kafkactl_version="1", created_ms=5, cluster_id=None, parts=(PartResult(name="a", about="b"),))
FILES = {"index.html": b"<html>", "answers/a.json": b'{"kind": "a"}', "logs/1/x.log": bytes(range(256)) * 9000}
KILLED = """
import os, signal, sys
sys.path.insert(0, os.getcwd())
from pathlib import Path
from tests.bundle.io import test_archives as tests
name, calls = sys.argv[2], [int(sys.argv[3])]
real = getattr(os, name)
def killing(*arguments, **more):
    if not calls[0]:
        os.kill(os.getpid(), signal.SIGKILL)
    calls[0] -= 1
    return real(*arguments, **more)
setattr(os, name, killing)
tests.written(Path(sys.argv[1]), force=True)
"""


def written(path: Path, files: dict[str, bytes] = FILES, *, force: bool = False) -> Path:
    with closing(StagedMembers()) as staged:
        for name, data in files.items():
            staged.add(name, (data[:1000], data[1000:]))
        write_bundle(path, staged, MANIFEST, force=force)
    return path


def read(path: Path) -> dict[str, bytes]:
    with open_bundle(str(path)) as bundle:
        return {member.path: b"".join(bundle.pieces(member.path)) for member in bundle.manifest.members}


def test_written_archive_is_read_again(tmp_path: Path) -> None:
    path = written(tmp_path / "a.zip")
    assert read(path) == FILES
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with zipfile.ZipFile(path) as archive:
        assert archive.namelist() == ["manifest.json", "index.html", "answers/a.json", "logs/1/x.log"]
        assert archive.testzip() is None


@pytest.mark.parametrize("around", ["", "support-2026/", "./", "cases/4711/"])
def test_bundle_that_a_person_packed_again_is_read(tmp_path: Path, around: str) -> None:
    # File managers add folders and files of their own, and often pack the folder itself.
    again = tmp_path / "again.zip"
    with (
        zipfile.ZipFile(written(tmp_path / "a.zip")) as first,
        zipfile.ZipFile(again, "w", zipfile.ZIP_DEFLATED) as made,
    ):
        names = [entry.filename for entry in first.filelist]
        folders = {f"{around}{name.rpartition('/')[0]}/" for name in names if "/" in name} | ({around} - {""})
        for folder in sorted(folders):
            made.writestr(folder, b"")
        for name in reversed(names):
            made.writestr(f"{around}{name}", first.read(name))
        for name in (".DS_Store", f"__MACOSX/{around}._manifest.json", f"{around}Thumbs.db"):
            made.writestr(name, b"added")
    assert read(again) == read(tmp_path / "a.zip")


def test_bundle_with_backslashes_in_its_names_is_read(tmp_path: Path) -> None:
    again = tmp_path / "again.zip"
    with zipfile.ZipFile(written(tmp_path / "a.zip")) as first, zipfile.ZipFile(again, "w") as made:
        for name in first.namelist():
            made.writestr(f"support\\{name}".replace("/", "\\"), first.read(name))
    assert read(again) == FILES


@pytest.mark.parametrize("packer", ["w", "w:gz", "w:xz", "w:bz2", None])
def test_bundle_in_another_form_than_zip_is_refused_with_the_way_to_a_bundle(tmp_path: Path, packer: str) -> None:
    folder = tmp_path / "unpacked"
    with zipfile.ZipFile(written(tmp_path / "a.zip")) as first:
        first.extractall(folder)
    again = tmp_path / "again.tar" if packer else folder
    if packer:
        with tarfile.open(again, packer) as made:
            made.add(folder, arcname=".")
    with pytest.raises(InputError) as caught:
        read(again)
    assert caught.value.id == "not-a-bundle"
    assert "zip -r bundle.zip ." in (caught.value.next_step or "")


@pytest.mark.parametrize("method, name", [(zipfile.ZIP_BZIP2, "bzip2"), (zipfile.ZIP_LZMA, "LZMA")])
def test_bundle_with_members_of_a_newer_compression_is_refused_by_its_name(
    tmp_path: Path, method: int, name: str
) -> None:
    again = tmp_path / "again.zip"
    with zipfile.ZipFile(written(tmp_path / "a.zip")) as first, zipfile.ZipFile(again, "w", method) as made:
        for member in first.namelist():
            made.writestr(member, first.read(member))
    with pytest.raises(InputError, match=f"compressed by {name}") as caught:
        read(again)
    assert caught.value.id == "not-a-bundle"
    assert "zip -r bundle.zip ." in (caught.value.next_step or "")


@pytest.mark.parametrize("name", ["a.zip", "case/bundle.tar.zst"])
def test_bundle_inside_of_another_archive_is_refused_with_its_name(tmp_path: Path, name: str) -> None:
    outer = tmp_path / "outer.zip"
    with zipfile.ZipFile(outer, "w") as made:
        made.writestr(name, written(tmp_path / "a.zip").read_bytes())
    with pytest.raises(InputError, match="has the archive") as caught:
        read(outer)
    assert name.rpartition("/")[2] in (caught.value.next_step or "")


@pytest.mark.parametrize(
    "head, name", [(b"7z\xbc\xaf'\x1c", "7z"), (b"\x28\xb5\x2f\xfd", "Zstandard"), (b"Rar!", "RAR")]
)
def test_bundle_of_another_packer_is_refused_by_its_name(tmp_path: Path, head: bytes, name: str) -> None:
    path = tmp_path / "again"
    path.write_bytes(head + bytes(400))
    with pytest.raises(InputError, match=f"packed again, as {name}") as caught:
        read(path)
    assert caught.value.id == "not-a-bundle"


def test_member_that_was_left_out_when_packed_again_is_named(tmp_path: Path) -> None:
    again = tmp_path / "again.zip"
    with zipfile.ZipFile(written(tmp_path / "a.zip")) as first, zipfile.ZipFile(again, "w") as made:
        names = [entry.filename for entry in first.filelist]
        left_out = next(name for name in names if name != "manifest.json")
        for name in names:
            if name != left_out:
                made.writestr(f"x/{name}", first.read(name))
    with pytest.raises(InputError, match=left_out) as caught:
        read(again)
    assert caught.value.id == "damaged-bundle"


def test_equal_members_give_equal_bytes(tmp_path: Path) -> None:
    backwards = dict(reversed(FILES.items()))
    assert written(tmp_path / "a.zip").read_bytes() == written(tmp_path / "b.zip", backwards).read_bytes()


def test_member_that_fails_half_way_is_not_there(tmp_path: Path) -> None:
    def failing() -> object:
        yield b"half"
        raise OSError("the disk is bad")

    with closing(StagedMembers()) as staged:
        staged.add("a", (b"1",))
        with pytest.raises(OSError, match="bad"):
            staged.add("b", failing())  # type: ignore[arg-type]
        staged.add("c", (b"2",))
        staged.drop(["a"])
        write_bundle(tmp_path / "a.zip", staged, MANIFEST)
    assert read(tmp_path / "a.zip") == {"c": b"2"}


def test_nothing_is_overwritten_unless_it_is_forced(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    path.write_bytes(b"mine")
    with pytest.raises(RefusedError) as error:
        written(path)
    assert error.value.id == "bundle-file-exists" and path.read_bytes() == b"mine"
    assert read(written(path, force=True)) == FILES
    link = tmp_path / "link"
    link.symlink_to(path)
    with pytest.raises(RefusedError):
        written(link, force=True)
    with pytest.raises(FailedError) as failed:
        written(tmp_path / "no" / "a.zip")
    assert failed.value.id == "bundle-not-written"


@pytest.mark.parametrize("name", ["fsync", "fchmod", "replace", "publish"])
@pytest.mark.parametrize("force", [True, False])
def test_operation_that_fails_leaves_the_old_file_or_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, force: bool
) -> None:
    path = tmp_path / "a.zip"
    if force:
        path.write_bytes(b"mine")

    def fail(*_arguments: object, **_more: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        place = {"replace": Path, "publish": OsFilesystem}.get(name, os)
        patch.setattr(place, name, fail)
        is_asked = name != ("publish" if force else "replace")
        if is_asked:
            with pytest.raises(FailedError) as error:
                written(path, force=force)
            assert error.value.id == "bundle-not-written"
        else:
            written(path, force=force)
    if is_asked:
        assert [path.read_bytes() for path in tmp_path.iterdir()] == ([b"mine"] if force else [])


@pytest.mark.parametrize(("name", "calls"), one_in(2, [("fchmod", 0), ("fdopen", 0), ("fsync", 1), ("fsync", 0)]))
def test_process_that_is_killed_leaves_no_half_archive(tmp_path: Path, name: str, calls: int) -> None:
    path = tmp_path / "a.zip"
    path.write_bytes(b"mine")
    done = subprocess.run([sys.executable, "-c", KILLED, str(path), name, str(calls)], check=False, timeout=120)
    assert done.returncode == -signal.SIGKILL
    assert path.read_bytes() == b"mine" or read(path) == FILES


@pytest.mark.slow
def test_bundle_that_readers_refuse_is_not_written(tmp_path: Path) -> None:
    with closing(StagedMembers()) as staged:
        staged.add("zeros", (bytes(1024 * 1024) for _ in range(FREE_BYTES // 1024**2 + 1)))
        with pytest.raises(FailedError) as error:
            write_bundle(tmp_path / "a.zip", staged, MANIFEST)
    assert error.value.id == "bundle-too-large" and not list(tmp_path.iterdir())


def test_newest_members_are_those_added_since_a_part_began() -> None:
    with closing(StagedMembers()) as staged:
        for name in ("c", "b", "dropped", "a"):
            staged.add(name, (b"x",))
        staged.drop(["dropped"])
        assert (len(staged), staged.newest(2), staged.newest(0)) == (3, ["a", "b"], [])


def test_full_temporary_folder_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(io.BytesIO):
        def write(self, _data: object) -> int:
            raise OSError(28, "No space left on device")

        def close(self) -> None:  # of a file with a buffer, which is written now
            super().close()
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(writing.tempfile, "TemporaryFile", Full)
    with pytest.raises(FailedError) as error, closing(StagedMembers()) as staged:
        staged.add("a", (b"x",))
    assert error.value.id == "bundle-not-staged"


def archive(path: Path, *members: tuple[zipfile.ZipInfo | str, bytes], manifest: bytes | None = None) -> Path:
    """Return a ZIP file with any content, valid or not."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("manifest.json", render_manifest(MANIFEST) if manifest is None else manifest)
        for name, data in members:
            made.writestr(name, data)
    return path


def link(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name)
    entry.create_system = 3
    entry.external_attr = (stat.S_IFLNK | 0o777) << 16
    return entry


def named(name: str) -> zipfile.ZipInfo:
    """Return entries with their names as they are: the library cuts and turns names."""
    entry = zipfile.ZipInfo("x")
    entry.filename = name
    return entry


def bzipped(path: Path) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_BZIP2) as made:
        made.writestr("manifest.json", render_manifest(MANIFEST))
    return path


def patched(path: Path, at: int, data: bytes) -> Path:
    """Return a sound bundle with other bytes at a place from its end."""
    whole = bytearray(written(path).read_bytes())
    whole[at : at + len(data) or None] = data
    path.write_bytes(bytes(whole))
    return path


def damaged(path: Path) -> Path:
    written(path)
    data = path.read_bytes()
    at = data.index(b"logs/1/x.log") + 40
    path.write_bytes(data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :])
    return path


def exchanged(path: Path) -> Path:
    """Exchange a member for another than the manifest says, with every CRC right."""
    with zipfile.ZipFile(written(path)) as sound:
        files = {name: sound.read(name) for name in sound.namelist()}
    manifest = files.pop("manifest.json")
    return archive(path, *(files | {"answers/a.json": b'{"kind": "b"}'}).items(), manifest=manifest)


def bomb(path: Path) -> Path:
    return archive(path, ("zeros", bytes(FREE_BYTES + 1)))


def many(path: Path) -> Path:
    """Return an end that names more entries than are read; the directory need not even be there."""
    path.write_bytes(struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 65_000, 65_000, 0, 0, 0))
    return path


def twice(path: Path) -> Path:
    with pytest.warns(UserWarning, match="Duplicate"):
        return archive(path, ("a", b"1"), ("a", b"2"))


def _plain(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def _without_manifest(path: Path) -> Path:
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("a", b"1")
    return path


HOSTILE: dict[str, tuple[Callable[[Path], Path], str]] = {
    "empty": (lambda path: _plain(path, b""), "not-a-bundle"),
    "text": (lambda path: _plain(path, b"no archive" * 100), "not-a-bundle"),
    "truncated": (lambda path: _plain(path, written(path).read_bytes()[:-30]), "not-a-bundle"),
    "half": (lambda path: _plain(path, written(path).read_bytes()[:5000]), "not-a-bundle"),
    "with a comment": (lambda path: _plain(path, written(path).read_bytes()[:-2] + b"\1\0x"), "not-a-bundle"),
    "behind something": (lambda path: _plain(path, written(path).read_bytes() + b"more"), "not-a-bundle"),
    "gzip": (lambda path: _plain(path, b"\x1f\x8b" + bytes(100)), "not-a-bundle"),
    "without manifest": (_without_manifest, "not-a-bundle"),
    "absolute path": (lambda path: archive(path, (named("/etc/cron.d/x"), b"1")), "hostile-bundle"),
    "parent folder": (lambda path: archive(path, (named("../../x"), b"1")), "hostile-bundle"),
    "backslashes": (lambda path: archive(path, (named("..\\x"), b"1")), "hostile-bundle"),
    "a link": (lambda path: archive(path, (link("logs"), b"/etc")), "hostile-bundle"),
    "bzip2": (bzipped, "not-a-bundle"),
    "a bomb": (bomb, "hostile-bundle"),
    "many entries": (many, "hostile-bundle"),
    "the same name twice": (twice, "hostile-bundle"),
    "manifest of another kind": (lambda path: archive(path, manifest=b'{"kind": "x"}'), "invalid-bundle"),
    "manifest that is no JSON": (lambda path: archive(path, manifest=b"{"), "invalid-bundle"),
    "a newer version": (
        lambda path: archive(path, manifest=b'{"kind": "bundle.manifest", "schema_version": 9}'), "bundle-too-new",
    ),
    "a member that is not named": (lambda path: archive(path, ("a", b"1")), "damaged-bundle"),
    "a byte that changed": (damaged, "damaged-bundle"),
    "a member that was exchanged": (exchanged, "damaged-bundle"),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_stranger_s_archive_is_a_typed_error(tmp_path: Path, name: str) -> None:
    make, id = HOSTILE[name]
    path = make(tmp_path / "a.zip")
    with pytest.raises(InputError) as error:
        read(path)
    assert (error.value.id, error.value.exit_code) == (id, 2)
    assert str(path) in error.value.message and error.value.advice


@pytest.mark.parametrize("cut", one_in(5, range(0, 800, 7)))
def test_no_cut_is_anything_but_a_typed_error(tmp_path: Path, cut: int) -> None:
    whole = written(tmp_path / "a.zip", {"a": b"1" * 50}).read_bytes()
    (tmp_path / "a.zip").write_bytes(whole[: min(cut, len(whole) - 1)])
    with pytest.raises(InputError):
        read(tmp_path / "a.zip")


@pytest.mark.parametrize("seed", one_in(5, range(120)))
def test_no_damage_is_anything_but_an_answer_or_a_typed_error(tmp_path: Path, seed: int) -> None:
    import random

    rng = random.Random(seed)
    files = {"a": b"1" * 50, "b/c": b"xyz"}
    data = bytearray(written(tmp_path / "a.zip", files).read_bytes())
    for _ in range(rng.randint(1, 4)):
        data[rng.randrange(len(data))] = rng.randrange(256)
    (tmp_path / "a.zip").write_bytes(data)
    try:
        found = read(tmp_path / "a.zip")
    except InputError as error:
        assert error.id in {"not-a-bundle", "hostile-bundle", "invalid-bundle", "damaged-bundle", "bundle-too-new"}
    else:
        assert found == files


def test_nothing_is_unpacked_elsewhere(tmp_path: Path) -> None:
    written(tmp_path / "a.zip")
    with open_bundle(str(tmp_path / "a.zip")) as bundle:
        folder = bundle.extract("logs/1", tmp_path / "out")
    found = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert found == [folder / "x.log"] and folder == tmp_path / "out/logs/1"
    assert stat.S_IMODE(found[0].stat().st_mode) == 0o600


def test_no_temporary_file_is_left(tmp_path: Path) -> None:
    written(tmp_path / "a.zip")
    assert [path.name for path in tmp_path.iterdir()] == ["a.zip"]
    assert whole_file.sync_folder(tmp_path) is None


# The fields of the headers of an archive: offset, bytes, name (APPNOTE.TXT 4.3.7, 4.3.12, 4.3.16).
_LOCAL = {"version": (4, 2), "flags": (6, 2), "method": (8, 2), "time": (10, 2), "date": (12, 2), "crc": (14, 4),
          "packed": (18, 4), "size": (22, 4), "name length": (26, 2), "extra length": (28, 2),
          "name": (30, 4)}  # fmt: skip
_CENTRAL = {"made by": (4, 2), "version": (6, 2), "flags": (8, 2), "method": (10, 2), "time": (12, 2), "date": (14, 2),
            "crc": (16, 4), "packed": (20, 4), "size": (24, 4), "name length": (28, 2), "extra length": (30, 2),
            "comment length": (32, 2), "disk": (34, 2), "internal": (36, 2), "external": (38, 4), "offset": (42, 4),
            "name": (46, 4)}  # fmt: skip
_END = {"disk": (4, 2), "directory disk": (6, 2), "entries here": (8, 2), "entries": (10, 2), "directory size": (12, 4),
        "directory offset": (16, 4), "comment length": (20, 2)}  # fmt: skip
_HEADERS = [(b"PK\3\4", _LOCAL), (b"PK\1\2", _CENTRAL), (b"PK\5\6", _END)]
_FIELDS = [(mark, name, *place) for mark, fields in _HEADERS for name, place in fields.items()]


@pytest.mark.parametrize(("mark", "name", "at", "size"), _FIELDS, ids=lambda found: str(found).strip("b'"))
def test_header_with_another_value_in_one_field_is_a_typed_error(
    tmp_path: Path, mark: bytes, name: str, at: int, size: int
) -> None:
    good = written(tmp_path / "a.zip").read_bytes()
    values = {bytes(size), b"\xff" * size, *(bit.to_bytes(size, "little") for bit in (1, 8, 64, 0x800, 0x2000, 0x7FFF))}
    starts = [start for start in range(len(good)) if good.startswith(mark, start)]
    for start in {starts[0], starts[-1]}:
        for value in values:
            path = tmp_path / "bad.zip"
            path.write_bytes(good[: start + at] + value + good[start + at + size :])
            with suppress(KafkactlError):
                assert read(path) == FILES, name


def test_name_that_is_not_utf8_is_a_damaged_bundle(tmp_path: Path) -> None:
    good = written(tmp_path / "a.zip").read_bytes()
    for start in [start for start in range(len(good)) if good.startswith(b"PK\3\4", start)]:
        path = tmp_path / "bad.zip"
        path.write_bytes(good[: start + 6] + b"\0\x08" + good[start + 8 : start + 30] + b"\xff" + good[start + 31 :])
        with pytest.raises(InputError) as caught:
            read(path)
        assert caught.value.id == "damaged-bundle"
