"""Formatting while another user is at work in the same directories: a process of its own that swaps what it can."""

from __future__ import annotations

import os
import select
import signal
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from kafkactl.core.findings import Outcome
from kafkactl.files.filesystem import OsFilesystem
from kafkactl.protocol.catalog.releases import find_release
from kafkactl.storage.format.plan import plan_format
from kafkactl.storage.format.unformat import plan_unformat
from kafkactl.storage.io.apply_format import apply_plan
from kafkactl.storage.io.apply_unformat import apply_unformat
from kafkactl.storage.io.directories import observe_node
from kafkactl.storage.model import (
    FormatPlan,
    FormatRequest,
    GuardOverrides,
    Owner,
    VoterMode,
)
from tests.storage.nodes import CLUSTER_ID, FixedSource, a_config

OTHER_UID = 65534
OWNER = Owner(text="nobody", uid=OTHER_UID, gid=OTHER_UID)
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away, and has something to lose")


def planned(path: Path, owner: Owner | None = None, *, allow: bool = False) -> FormatPlan:
    config = a_config("4.3", log_dirs=(str(path),))
    request = FormatRequest(
        cluster_id=CLUSTER_ID,
        voter_mode=VoterMode.STANDALONE,
        overrides=GuardOverrides(allow_not_blank=frozenset({str(path)} if allow else ())),
        owner=owner,
    )
    return plan_format(request, config, observe_node(config), find_release("4.3"), FixedSource())


@contextmanager
def another_process(work: Callable[[], None], uid: int | None = None) -> Iterator[None]:
    """Run `work` again and again, in a process of another user, for as long as the block takes."""
    pid = next(found for found in (_forked(work, uid) for _ in range(20)) if found is not None)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def _forked(work: Callable[[], None], uid: int | None) -> int | None:
    """Return the process, after it has done its work for the first time; None if a lock of another thread holds
    it."""
    heard, says = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            if uid is not None:
                os.setgroups([])
                os.setgid(uid)
                os.setuid(uid)
            while True:
                with suppress(OSError):
                    work()
                if says >= 0:
                    os.write(says, b"x")
                    os.close(says)
                    says = -1
        finally:
            os._exit(0)
    os.close(says)
    is_at_work = bool(select.select([heard], [], [], 3)[0])
    os.close(heard)
    if is_at_work:
        return pid
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return None


class Slow(OsFilesystem):
    """A disk that takes its time, so that a racing process wins wherever it can."""

    def open_folder(self, path: str, *, at: int | None = None) -> int:
        time.sleep(0.002)
        return super().open_folder(path, at=at)

    def create(self, path: str, mode: int, *, at: int | None = None) -> int:
        descriptor = super().create(path, mode, at=at)
        time.sleep(0.002)
        return descriptor

    def publish(self, source: str, target: str, *, at: int) -> None:
        time.sleep(0.004)
        super().publish(source, target, at=at)

    def fsync_directory(self, path: str, *, at: int | None = None) -> None:
        super().fsync_directory(path, at=at)
        time.sleep(0.002)


@pytest.fixture
def disks() -> Iterator[Path]:
    """Yield a folder that every user can write to, next to a folder and a file that only root can."""
    with tempfile.TemporaryDirectory(prefix="kafkactl-races-") as folder:
        found = Path(folder)
        found.chmod(0o755)
        (found / "secret").mkdir(mode=0o700)
        (found / "precious").write_text("root's")
        (found / "precious").chmod(0o644)
        yield found


def untouched(disks: Path) -> None:
    assert list((disks / "secret").iterdir()) == []
    assert (disks / "secret").stat().st_uid == 0
    found = (disks / "precious").stat()
    assert (found.st_uid, stat.S_IMODE(found.st_mode)) == (0, 0o644)
    assert (disks / "precious").read_text() == "root's"


@pytest.mark.slow
@as_root
@pytest.mark.parametrize("victim", ["__cluster_metadata-0", "*.part", "*.tmp", "meta.properties", ".kafkactl.lock"])
def test_another_user_who_swaps_names_for_links_gains_nothing(disks: Path, victim: str) -> None:
    # The directory is the other user's from the beginning: nothing keeps the names in it from being swapped.
    log_dir = disks / "d1"

    def swap() -> None:
        for path in (*log_dir.glob(victim), *log_dir.glob(f"*/{victim}")):
            if not path.is_symlink():
                path.rename(log_dir / f"moved-{time.monotonic_ns()}")
                path.symlink_to(disks / ("secret" if victim.startswith("__") else "precious"))

    for _ in range(12):
        log_dir.mkdir()
        os.chown(log_dir, OTHER_UID, OTHER_UID)
        with another_process(swap, OTHER_UID):
            applied = apply_plan(planned(log_dir, OWNER), Slow())
        untouched(disks)
        if applied.outcome is Outcome.DONE:
            assert not (log_dir / "meta.properties").is_symlink() or victim == "meta.properties"
        log_dir.rename(disks / f"old-{time.monotonic_ns()}")


@pytest.mark.slow
@as_root
def test_another_user_who_swaps_the_log_directory_gains_nothing(disks: Path) -> None:
    # The folder above is the other user's: the log directory itself is swapped for a link to one of root's.
    data = disks / "data"
    data.mkdir()
    os.chown(data, OTHER_UID, OTHER_UID)
    log_dir = data / "d1"

    def swap() -> None:
        if log_dir.is_symlink():
            log_dir.unlink()
            (data / "real").rename(log_dir)
        else:
            log_dir.rename(data / "real")
            log_dir.symlink_to(disks / "secret")

    for _ in range(12):
        log_dir.mkdir()
        plan = planned(log_dir, OWNER)
        with another_process(swap, OTHER_UID):
            apply_plan(plan, Slow())
        untouched(disks)
        for path in list(data.iterdir()):
            path.rename(disks / f"old-{time.monotonic_ns()}")


@as_root
def test_directory_is_given_away_when_nothing_is_left_to_be_made_in_it(disks: Path) -> None:
    seen: list[tuple[str, int]] = []

    class Watching(OsFilesystem):
        def create(self, path: str, mode: int, *, at: int | None = None) -> int:
            seen.append((path, Path(path).parent.stat().st_uid))
            return super().create(path, mode, at=at)

        def mkdir(self, path: str, *, at: int | None = None) -> None:
            seen.append((path, Path(path).parent.stat().st_uid))
            super().mkdir(path, at=at)

    plan = planned(disks / "new" / "d1", OWNER)
    assert apply_plan(plan, Watching()).outcome is Outcome.DONE
    assert seen and {uid for _, uid in seen} == {0}
    every = [disks / "new", *(disks / "new").rglob("*")]
    assert {path.stat().st_uid for path in every} == {OTHER_UID}


@as_root
def test_real_directory_behind_a_link_gets_the_owner(disks: Path) -> None:
    real = disks / "disk" / "kafka"
    real.mkdir(parents=True)
    (disks / "d1").symlink_to(real)
    assert apply_plan(planned(disks / "d1", OWNER), OsFilesystem()).outcome is Outcome.DONE
    assert (real.stat().st_uid, real.stat().st_gid) == (OTHER_UID, OTHER_UID)
    assert (disks / "d1").lstat().st_uid == 0  # the link stays whose it was
    assert {path.stat().st_uid for path in real.rglob("*")} == {OTHER_UID}


@pytest.mark.parametrize(
    "name",
    ["meta.properties", "bootstrap.checkpoint", "__cluster_metadata-0/00000000000000000000-0000000000.checkpoint"],
)
def test_file_that_appears_before_its_rename_is_not_replaced(tmp_path: Path, name: str) -> None:
    class Waiting(OsFilesystem):
        def publish(self, source: str, target: str, *, at: int) -> None:
            until = time.monotonic() + 10
            while target.endswith(name) and not os.path.lexists(target) and time.monotonic() < until:
                time.sleep(0.001)
            super().publish(source, target, at=at)

    path = tmp_path / "d1" / name

    def appear() -> None:
        if list(path.parent.glob("*.tmp")) or list(path.parent.glob("*.part")):
            os.link(whole, path)

    plan = planned(tmp_path / "d1")
    whole = tmp_path / "whole"  # a file that is opened and then written could be ended between the two
    whole.write_text("of another cluster")
    with another_process(appear):
        applied = apply_plan(plan, Waiting())
    assert applied.outcome in (Outcome.FAILED, Outcome.PARTIAL)
    assert "appeared-meanwhile" in [finding.id for finding in applied.findings]
    assert path.read_text() == "of another cluster"


@pytest.mark.parametrize("name", ["orders-0", "notes.txt"])
def test_data_that_appears_before_anything_is_visible_stops_all(tmp_path: Path, name: str) -> None:
    log_dir = tmp_path / "d1"

    class Mounting(OsFilesystem):
        def create(self, path: str, mode: int, *, at: int | None = None) -> int:
            (log_dir / name).mkdir(exist_ok=True)
            return super().create(path, mode, at=at)

    applied = apply_plan(planned(log_dir), Mounting())
    assert applied.outcome is Outcome.REFUSED
    assert [finding.id for finding in applied.findings][-1] == "changed-meanwhile"
    assert [path.name for path in log_dir.iterdir()] == [name]


def test_data_that_was_allowed_by_name_does_not_stop_a_format(tmp_path: Path) -> None:
    (tmp_path / "d1").mkdir()
    (tmp_path / "d1" / "notes.txt").touch()
    assert apply_plan(planned(tmp_path / "d1", allow=True), OsFilesystem()).outcome is Outcome.DONE


def test_another_directory_at_the_same_path_is_refused(tmp_path: Path) -> None:
    (tmp_path / "d1").mkdir()
    plan = planned(tmp_path / "d1")
    (tmp_path / "d1").rename(tmp_path / "old")
    (tmp_path / "other").mkdir()
    (tmp_path / "d1").symlink_to(tmp_path / "other")
    applied = apply_plan(plan, OsFilesystem())
    assert (applied.outcome, applied.findings[-1].id) == (Outcome.REFUSED, "changed-meanwhile")
    assert list((tmp_path / "other").iterdir()) == []


def test_link_where_there_was_nothing_is_refused(tmp_path: Path) -> None:
    plan = planned(tmp_path / "d1")
    (tmp_path / "other").mkdir()
    (tmp_path / "d1").symlink_to(tmp_path / "other")
    assert apply_plan(plan, OsFilesystem()).outcome is Outcome.REFUSED
    assert list((tmp_path / "other").iterdir()) == []


@pytest.mark.parametrize("name", ["__cluster_metadata-0", "bootstrap.checkpoint"])
def test_link_below_a_log_directory_is_refused_whatever_is_allowed(tmp_path: Path, name: str) -> None:
    (tmp_path / "d1").mkdir()
    (tmp_path / "other").mkdir()
    checkpoint = tmp_path / "other" / "00000000000000000000-0000000000.checkpoint"
    checkpoint.write_text("another node's")
    (tmp_path / "d1" / name).symlink_to(tmp_path / "other" if name.startswith("__") else checkpoint)
    plan = planned(tmp_path / "d1", allow=True)
    assert plan.outcome is Outcome.REFUSED
    assert "link-below-log-directory" in [finding.id for finding in plan.findings]
    assert checkpoint.read_text() == "another node's"


def test_link_that_is_put_below_a_log_directory_meanwhile_is_refused(tmp_path: Path) -> None:
    (tmp_path / "d1").mkdir()
    (tmp_path / "other").mkdir()
    plan = planned(tmp_path / "d1")
    (tmp_path / "d1" / "__cluster_metadata-0").symlink_to(tmp_path / "other")
    applied = apply_plan(plan, OsFilesystem())
    assert (applied.outcome, applied.findings[-1].id) == (Outcome.REFUSED, "changed-meanwhile")
    assert list((tmp_path / "other").iterdir()) == []
    assert [path.name for path in (tmp_path / "d1").iterdir()] == ["__cluster_metadata-0"]


@pytest.mark.slow
@as_root
def test_unformat_removes_nothing_behind_a_link(disks: Path) -> None:
    data = disks / "data"
    data.mkdir()
    os.chown(data, OTHER_UID, OTHER_UID)
    log_dir = data / "d1"
    other = disks / "other"
    assert apply_plan(planned(other), OsFilesystem()).outcome is Outcome.DONE
    before = sorted(str(path) for path in other.rglob("*"))
    config = a_config("4.3", log_dirs=(str(log_dir),))

    def swap() -> None:
        inside = log_dir / "__cluster_metadata-0"
        inside.rename(log_dir / f"moved-{time.monotonic_ns()}")
        inside.symlink_to(other / "__cluster_metadata-0")

    for _ in range(6):
        assert apply_plan(planned(log_dir, OWNER), OsFilesystem()).outcome is Outcome.DONE
        plan = plan_unformat(config, observe_node(config))
        with another_process(swap, OTHER_UID):
            apply_unformat(plan, Slow())
        assert sorted(str(path) for path in other.rglob("*")) == before
        log_dir.rename(disks / f"old-{time.monotonic_ns()}")


def test_system_that_cannot_rename_without_replacing_makes_a_second_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kafkactl.files import filesystem

    monkeypatch.setattr(filesystem, "_renamed", lambda *_: False)
    assert apply_plan(planned(tmp_path / "d1"), OsFilesystem()).outcome is Outcome.DONE
    assert not list((tmp_path / "d1").rglob("*.tmp")) and not list((tmp_path / "d1").rglob("*.part"))
    at = os.open(tmp_path, os.O_RDONLY)
    for name in ("a", "b"):
        (tmp_path / name).write_text(name)
    with pytest.raises(FileExistsError):
        OsFilesystem().publish(str(tmp_path / "a"), str(tmp_path / "b"), at=at)
    os.close(at)
    assert (tmp_path / "b").read_text() == "b"
