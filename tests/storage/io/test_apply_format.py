"""Execution of a format plan: what is written, in which order, and what is reported if it fails."""

from __future__ import annotations

import errno
import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from kafkactl.core.findings import Outcome
from kafkactl.core.values import Uuid
from kafkactl.files.filesystem import OsFilesystem
from kafkactl.storage.io.apply_format import apply_plan, failure_finding
from kafkactl.storage.model import (
    KAFKACTL_LOCK,
    Action,
    FormatPlan,
    Owner,
    PlannedDirectory,
    PlannedFile,
    Progress,
    staged_name,
)

FIRST = "__cluster_metadata-0/00000000000000000000-0000000000.checkpoint"


def a_plan(*directories: PlannedDirectory, **changes: object) -> FormatPlan:
    plan = FormatPlan(
        outcome=Outcome.PLANNED,
        cluster_id="cluster",
        node_id=1,
        kafka_version="4.3",
        metadata_version_level=30,
        metadata_version_name="4.3-IV0",
        kraft_version=1,
        features={},
        voters=(),
        directories=directories,
        findings=(),
    )
    return replace(plan, **changes)  # type: ignore[arg-type]


def a_directory(path: Path, role: str = "data", action: Action = Action.FORMAT) -> PlannedDirectory:
    own = str(path.name).encode()
    files = [
        PlannedFile(name="bootstrap.checkpoint", content=b"bootstrap of " + own, mode=None),
        PlannedFile(name="meta.properties", content=b"properties of " + own, mode=None),
    ]
    if role == "metadata":
        files.insert(0, PlannedFile(name=FIRST, content=b"first checkpoint", mode=0o400))
    return PlannedDirectory(
        path=str(path), role=role, directory_id=Uuid(bytes(15) + b"\x65"), action=action, files=tuple(files)
    )


def path_of(descriptor: int) -> str:
    return str(Path(f"/proc/self/fd/{descriptor}").readlink())


class Recorder(OsFilesystem):
    """The real disk, with a list of what was done to it."""

    def __init__(self) -> None:
        self.done: list[str] = []

    def publish(self, source: str, target: str, *, at: int) -> None:
        self.done.append(f"rename {target}")
        super().publish(source, target, at=at)

    def fsync_directory(self, path: str, *, at: int | None = None) -> None:
        self.done.append(f"sync {path}")
        super().fsync_directory(path, at=at)

    def mkdir(self, path: str, *, at: int | None = None) -> None:
        self.done.append(f"mkdir {path}")
        super().mkdir(path, at=at)


def tree(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def test_writes_all_files_and_leaves_nothing_else(tmp_path: Path) -> None:
    plan = a_plan(a_directory(tmp_path / "m", "metadata"), a_directory(tmp_path / "deep" / "d"))
    applied = apply_plan(plan, OsFilesystem())
    assert applied.outcome is Outcome.DONE
    assert set(applied.progress.values()) == {Progress.DONE}
    assert tree(tmp_path) == {
        f"m/{FIRST}": b"first checkpoint",
        "m/bootstrap.checkpoint": b"bootstrap of m",
        "m/meta.properties": b"properties of m",
        "deep/d/bootstrap.checkpoint": b"bootstrap of d",
        "deep/d/meta.properties": b"properties of d",
    }


def test_modes_are_those_of_the_plan_or_of_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        apply_plan(a_plan(a_directory(tmp_path / "m", "metadata")), OsFilesystem())
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "m" / FIRST).stat().st_mode) == 0o400
    assert stat.S_IMODE((tmp_path / "m/meta.properties").stat().st_mode) == 0o640
    assert stat.S_IMODE((tmp_path / "m").stat().st_mode) == 0o750


def test_publishes_data_directories_first_and_meta_properties_last_with_a_sync_after_each(tmp_path: Path) -> None:
    m, d = tmp_path / "m", tmp_path / "d"
    files = Recorder()
    apply_plan(a_plan(a_directory(m, "metadata"), a_directory(d)), files)
    first_rename = next(number for number, line in enumerate(files.done) if line.startswith("rename"))
    assert files.done[first_rename:] == [
        f"rename {d}/bootstrap.checkpoint", f"sync {d}",
        f"rename {d}/meta.properties", f"sync {d}",
        f"rename {m}/{FIRST}", f"sync {m}/__cluster_metadata-0",
        f"rename {m}/bootstrap.checkpoint", f"sync {m}",
        f"rename {m}/meta.properties", f"sync {m}",
    ]  # fmt: skip
    # Parents of new directories are synced before anything is published in them.
    found = [f"sync {tmp_path.parent}"]  # the deepest folder that was there: a run that was killed may have made it
    made = [f"mkdir {d}", f"sync {tmp_path}", f"mkdir {m}", f"sync {tmp_path}"]
    assert files.done[:5] == found + made


def test_applying_the_same_plan_again_changes_nothing(tmp_path: Path) -> None:
    plan = a_plan(a_directory(tmp_path / "m", "metadata"), a_directory(tmp_path / "d"))
    apply_plan(plan, OsFilesystem())
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()}
    applied = apply_plan(plan, OsFilesystem())
    assert applied.outcome is Outcome.NOTHING_TO_DO
    assert set(applied.progress.values()) == {Progress.UNCHANGED}
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()} == before


def test_goes_on_where_the_same_plan_was_interrupted(tmp_path: Path) -> None:
    plan = a_plan(a_directory(tmp_path / "m", "metadata"), a_directory(tmp_path / "d"))
    apply_plan(a_plan(a_directory(tmp_path / "d")), OsFilesystem())
    applied = apply_plan(plan, OsFilesystem())
    assert applied.outcome is Outcome.DONE
    assert applied.progress == {str(tmp_path / "m"): Progress.DONE, str(tmp_path / "d"): Progress.UNCHANGED}


def test_refuses_a_directory_that_was_formatted_after_planning(tmp_path: Path) -> None:
    (tmp_path / "m").mkdir()
    (tmp_path / "m/meta.properties").write_text("somebody else's")
    plan = a_plan(a_directory(tmp_path / "new"), a_directory(tmp_path / "m", "metadata"))
    applied = apply_plan(plan, OsFilesystem())
    assert applied.outcome is Outcome.REFUSED
    assert [finding.id for finding in applied.findings] == ["formatted-meanwhile"]
    assert tree(tmp_path) == {"m/meta.properties": b"somebody else's"}
    assert not (tmp_path / "new").exists()


def test_refuses_while_another_kafkactl_is_writing(tmp_path: Path) -> None:
    m, d = tmp_path / "m", tmp_path / "d"
    m.mkdir()
    other = OsFilesystem()
    held = other.lock(str(m / KAFKACTL_LOCK))
    plan = a_plan(a_directory(d), a_directory(m, "metadata"))
    applied = apply_plan(plan, OsFilesystem())
    assert applied.outcome is Outcome.REFUSED
    assert [finding.id for finding in applied.findings] == ["another-kafkactl-is-writing"]
    assert set(applied.progress.values()) == {Progress.NOT_STARTED}
    assert not d.exists()
    other.close(held)
    # The abandoned lock file is taken over, and is gone afterwards.
    assert apply_plan(plan, OsFilesystem()).outcome is Outcome.DONE
    assert not (m / KAFKACTL_LOCK).exists()


def test_takes_over_its_own_leftovers_and_leaves_those_of_others(tmp_path: Path) -> None:
    m = tmp_path / "m"
    (m / "__cluster_metadata-0").mkdir(parents=True)
    for name in ("meta.properties", "bootstrap.checkpoint"):
        (m / staged_name(name)).write_bytes(b"half")
    part = m / staged_name(FIRST)
    part.write_bytes(b"half")
    (m / "meta.properties.tmp").write_bytes(b"Kafka's")
    applied = apply_plan(a_plan(a_directory(m, "metadata")), OsFilesystem())
    assert applied.outcome is Outcome.DONE
    assert set(tree(m)) == {FIRST, "bootstrap.checkpoint", "meta.properties", "meta.properties.tmp"}


def test_does_not_write_through_a_link_in_the_place_of_a_temporary_file(tmp_path: Path) -> None:
    m = tmp_path / "m"
    m.mkdir()
    target = tmp_path / "precious"
    target.write_text("precious")

    class Racer(OsFilesystem):
        def create(self, path: str, mode: int, *, at: int | None = None) -> int:
            if not os.path.lexists(path):
                Path(path).symlink_to(target)
            return super().create(path, mode, at=at)

    applied = apply_plan(a_plan(a_directory(m)), Racer())
    assert applied.outcome is Outcome.FAILED
    assert target.read_text() == "precious"


class Failing(OsFilesystem):
    """Fails one kind of operation on paths that end in a given name."""

    def __init__(self, operation: str, ending: str, number: int) -> None:
        self.operation, self.ending, self.number = operation, ending, number

    def _check(self, operation: str, path: str) -> None:
        if operation == self.operation and path.endswith(self.ending):
            raise OSError(self.number, os.strerror(self.number), path)

    def create(self, path: str, mode: int, *, at: int | None = None) -> int:
        self._check("create", path)
        return super().create(path, mode, at=at)

    def publish(self, source: str, target: str, *, at: int) -> None:
        self._check("rename", target)
        super().publish(source, target, at=at)

    def chown(self, descriptor: int, uid: int, gid: int) -> None:
        self._check("chown", path_of(descriptor))


@pytest.mark.parametrize(
    ("number", "id_"),
    [
        (errno.ENOSPC, "no-space-left"),
        (errno.EDQUOT, "no-space-left"),
        (errno.EACCES, "write-not-permitted"),
        (errno.EROFS, "read-only-filesystem"),
        (errno.EIO, "disk-io-error"),
        (errno.ENFILE, "write-failed"),
    ],
)
def test_failure_before_anything_is_visible_takes_everything_back(tmp_path: Path, number: int, id_: str) -> None:
    plan = a_plan(a_directory(tmp_path / "m", "metadata"), a_directory(tmp_path / "d"))
    applied = apply_plan(plan, Failing("create", ".checkpoint.part", number))
    assert applied.outcome is Outcome.FAILED
    assert [finding.id for finding in applied.findings] == [id_, "format-not-begun"]
    assert os.strerror(number) in applied.findings[0].message
    assert applied.findings[0].advice
    assert list(tmp_path.iterdir()) == []


def test_failure_between_directories_is_partial_and_names_the_written_ones(tmp_path: Path) -> None:
    m, d = tmp_path / "m", tmp_path / "d"
    plan = a_plan(a_directory(m, "metadata"), a_directory(d))
    applied = apply_plan(plan, Failing("rename", f"m/{FIRST}", errno.EIO))
    assert applied.outcome is Outcome.PARTIAL
    assert applied.outcome.exit_code == 5
    assert [finding.id for finding in applied.findings] == ["disk-io-error", "format-partly-done"]
    assert applied.progress == {str(m): Progress.HALF_DONE, str(d): Progress.UNKNOWN}
    assert "--ignore-formatted" in applied.findings[1].advice
    # The traces of the half-done metadata directory stay: they tell it from a disk that lost its content.
    assert (m / staged_name("meta.properties")).exists()


def test_rename_over_a_mount_is_an_error_and_never_a_copy(tmp_path: Path) -> None:
    plan = a_plan(a_directory(tmp_path / "m", "metadata"))
    applied = apply_plan(plan, Failing("rename", FIRST, errno.EXDEV))
    assert applied.outcome is Outcome.FAILED
    assert [finding.id for finding in applied.findings] == ["rename-across-filesystems", "format-half-done"]
    assert not (tmp_path / "m" / FIRST).exists()


def test_disk_that_returns_other_bytes_is_noticed(tmp_path: Path) -> None:
    class Liar(OsFilesystem):
        def write(self, descriptor: int, data: bytes) -> int:
            return super().write(descriptor, data.replace(b"properties", b"propertiez"))

    applied = apply_plan(a_plan(a_directory(tmp_path / "d")), Liar())
    assert applied.outcome is Outcome.PARTIAL
    assert [finding.id for finding in applied.findings] == ["written-bytes-differ", "format-not-confirmed"]


def test_disk_that_takes_nothing_is_an_error_and_no_endless_loop(tmp_path: Path) -> None:
    class Full(OsFilesystem):
        def write(self, descriptor: int, data: bytes) -> int:
            return 0

    applied = apply_plan(a_plan(a_directory(tmp_path / "d")), Full())
    assert applied.outcome is Outcome.FAILED
    assert applied.findings[0].id == "disk-io-error"


def test_short_writes_are_continued(tmp_path: Path) -> None:
    class Slow(OsFilesystem):
        def write(self, descriptor: int, data: bytes) -> int:
            return super().write(descriptor, data[:3])

    assert apply_plan(a_plan(a_directory(tmp_path / "d")), Slow()).outcome is Outcome.DONE
    assert (tmp_path / "d/meta.properties").read_bytes() == b"properties of d"


def test_file_in_the_place_of_a_directory_is_named(tmp_path: Path) -> None:
    (tmp_path / "d").write_text("a file")
    applied = apply_plan(a_plan(a_directory(tmp_path / "d")), OsFilesystem())
    assert applied.outcome is Outcome.FAILED
    assert applied.findings[0].id == "path-is-not-a-directory"
    assert (tmp_path / "d").read_text() == "a file"


def test_everything_that_is_written_goes_to_the_owner(tmp_path: Path) -> None:
    given: list[str] = []

    class Chowns(OsFilesystem):
        def chown(self, descriptor: int, uid: int, gid: int) -> None:
            assert (uid, gid) == (12345, 54321)
            given.append(path_of(descriptor))

    m = tmp_path / "new" / "m"
    plan = a_plan(a_directory(m, "metadata"), owner=Owner(text="kafka:kafka", uid=12345, gid=54321))
    assert apply_plan(plan, Chowns()).outcome is Outcome.DONE
    staged = [str((m / name).with_name(staged_name(Path(name).name))) for name in (FIRST, "bootstrap.checkpoint")]
    assert set(given) >= {str(tmp_path / "new"), str(m), str(m / "__cluster_metadata-0"), *staged}


def test_folder_that_an_interrupted_run_left_goes_to_the_owner_too(tmp_path: Path) -> None:
    given: list[str] = []

    class Chowns(OsFilesystem):
        def chown(self, descriptor: int, uid: int, gid: int) -> None:
            given.append(path_of(descriptor))

    (tmp_path / "m" / "__cluster_metadata-0").mkdir(parents=True)
    plan = a_plan(a_directory(tmp_path / "m", "metadata"), owner=Owner(text="kafka", uid=12345, gid=-1))
    assert apply_plan(plan, Chowns()).outcome is Outcome.DONE
    assert str(tmp_path / "m" / "__cluster_metadata-0") in given


def test_owner_that_may_not_be_set_is_a_failure(tmp_path: Path) -> None:
    plan = a_plan(a_directory(tmp_path / "d"), owner=Owner(text="x", uid=12345, gid=-1))
    applied = apply_plan(plan, Failing("chown", ".tmp", errno.EPERM))
    assert applied.outcome is Outcome.FAILED
    assert applied.findings[0].id == "write-not-permitted"
    assert not (tmp_path / "d").exists()


def test_directory_that_may_not_be_given_away_is_not_formatted(tmp_path: Path) -> None:
    plan = a_plan(a_directory(tmp_path / "d"), owner=Owner(text="x", uid=12345, gid=-1))

    class Chowns(Failing):
        def chown(self, descriptor: int, uid: int, gid: int) -> None:
            self._check("chown", path_of(descriptor))

    applied = apply_plan(plan, Chowns("chown", "/d", errno.EPERM))
    assert applied.outcome is Outcome.FAILED
    assert [finding.id for finding in applied.findings] == ["write-not-permitted", "format-half-done"]
    assert not (tmp_path / "d" / "meta.properties").exists()
    assert apply_plan(plan, Chowns("chown", "nothing", 0)).outcome is Outcome.DONE


@pytest.mark.parametrize("outcome", [Outcome.REFUSED, Outcome.NOTHING_TO_DO])
def test_only_a_plan_that_stands_is_carried_out(tmp_path: Path, outcome: Outcome) -> None:
    applied = apply_plan(a_plan(a_directory(tmp_path / "d"), outcome=outcome), OsFilesystem())
    assert applied.outcome is outcome
    assert list(tmp_path.iterdir()) == []


def test_directories_to_keep_or_skip_are_not_touched(tmp_path: Path) -> None:
    kept = a_directory(tmp_path / "kept", action=Action.KEEP)
    skipped = a_directory(tmp_path / "skipped", action=Action.SKIP)
    applied = apply_plan(a_plan(kept, skipped, a_directory(tmp_path / "d")), OsFilesystem())
    assert applied.outcome is Outcome.DONE
    assert list(tmp_path.iterdir()) == [tmp_path / "d"]


def test_failure_in_an_open_directory_names_the_whole_path() -> None:
    error = OSError(errno.ENOENT, "No such file or directory", "x.checkpoint.part")
    found = failure_finding(error, "/d1/__cluster_metadata-0/x.checkpoint")
    assert found.message == "/d1/__cluster_metadata-0/x.checkpoint.part: No such file or directory"
    assert failure_finding(OSError(errno.EIO, "bad", "/d2/y"), "/d1/x").evidence["path"] == "/d2/y"


def test_leftover_that_was_replaced_since_it_was_looked_at_is_kept(tmp_path: Path) -> None:
    # Only the very file of the interrupted format is removed, not another one of its name.
    m = tmp_path / "m"
    (m / "__cluster_metadata-0").mkdir(parents=True)
    leftover = m / FIRST
    leftover.write_bytes(b"of the interrupted format")

    class Replacing(OsFilesystem):
        def create(self, path: str, mode: int, *, at: int | None = None) -> int:
            if path.endswith(staged_name("meta.properties")):
                (tmp_path / "other").write_bytes(b"of another program")
                (tmp_path / "other").rename(leftover)
            return super().create(path, mode, at=at)

    applied = apply_plan(a_plan(a_directory(m, "metadata")), Replacing())
    assert leftover.read_bytes() == b"of another program"
    assert "appeared-meanwhile" in [finding.id for finding in applied.findings]
    assert not (m / "meta.properties").exists()
