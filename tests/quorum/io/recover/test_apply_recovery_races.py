"""Writing a recovery while others are at work in the same place: a user who swaps names, and a second recovery."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kafkactl.core.errors import InputError, RefusedError
from kafkactl.core.findings import Outcome
from kafkactl.core.frozen import changed
from kafkactl.files.filesystem import OsFilesystem, exchanged
from kafkactl.quorum.api.recover.plan import (
    PlannedRecovery,
    RecoveryRequest,
    apply_recovery,
    plan_recovery,
    recovery_lock,
)
from kafkactl.quorum.recover.observed_disks import RecoveryTarget
from tests.quorum.recover import worlds

OTHER_UID = 65534
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away, and has something to lose")


@pytest.fixture
def root() -> Iterator[Path]:
    """Yield disks of the service user, a folder of the service user, and a folder that only root can use."""
    with tempfile.TemporaryDirectory(prefix="kafkactl-races-") as folder:
        found = Path(folder)
        found.chmod(0o755)
        log = worlds.whole_log()
        worlds.disk(found / "sources" / "c2", 2, log)
        worlds.broker_disks(found / "sources", log=log)
        (found / "srv").mkdir()
        (found / "victim").mkdir(mode=0o700)
        if os.geteuid() == 0:
            for path in (found / "srv", *(found / "sources").rglob("*")):
                os.chown(path, OTHER_UID, OTHER_UID)
        yield found


def request(root: Path, **more: int) -> RecoveryRequest:
    return RecoveryRequest(
        log_dirs=tuple(str(root / "sources" / name) for name in ("c2", "b11", "b12")),
        target=RecoveryTarget(directory=str(root / "srv" / "new")),
        lost=(1, 3),
        **more,
    )


def planned(root: Path, **more: int) -> PlannedRecovery:
    return plan_recovery(request(root, **more), now_ms=1_700_000_000_000, probe=lambda _: ())


def untouched(root: Path) -> None:
    found = (root / "victim").stat()
    assert (found.st_uid, stat.S_IMODE(found.st_mode)) == (os.geteuid(), 0o700)
    assert list((root / "victim").iterdir()) == []


class Watching(OsFilesystem):
    """Calls `before` ahead of every operation that changes something, with its number."""

    def __init__(self, before: Callable[[int, str], None]) -> None:
        self.count = 0
        self._before = before

    def _step(self, path: str) -> None:
        self.count += 1
        self._before(self.count, path)

    def open_folder(self, path: str, *, at: int | None = None) -> int:
        self._step(path)
        return super().open_folder(path, at=at)

    def create(self, path: str, mode: int, *, at: int | None = None) -> int:
        self._step(path)
        return super().create(path, mode, at=at)

    def mkdir(self, path: str, *, at: int | None = None) -> None:
        self._step(path)
        super().mkdir(path, at=at)

    def publish(self, source: str, target: str, *, at: int) -> None:
        self._step(target)
        super().publish(source, target, at=at)

    def chown(self, descriptor: int, uid: int, gid: int) -> None:
        self._step("")
        super().chown(descriptor, uid, gid)

    def unlink(self, path: str, *, at: int | None = None) -> None:
        self._step(path)
        super().unlink(path, at=at)

    def fsync_directory(self, path: str, *, at: int | None = None) -> None:
        self._step(path)
        super().fsync_directory(path, at=at)


@as_root
@pytest.mark.slow
def test_user_who_swaps_the_directory_at_any_moment_gains_nothing(root: Path) -> None:
    new, evil = root / "srv" / "new", root / "srv" / "evil"

    def run(moment: int, *, is_there: bool) -> int:
        shutil.rmtree(root / "srv")
        evil.mkdir(parents=True)
        (evil / "__cluster_metadata-0").symlink_to(root / "victim")
        if is_there:
            new.mkdir()
            os.chown(new, OTHER_UID, OTHER_UID)

        def swap(number: int, _path: str) -> None:
            if number == moment:
                _ = exchanged(evil, new) if new.exists() else evil.rename(new)

        files = Watching(swap)
        apply_recovery(planned(root), files)
        untouched(root)
        return files.count

    for is_there in (False, True):
        count = run(-1, is_there=is_there)
        assert count > 15
        for moment in range(1, count + 1):
            run(moment, is_there=is_there)


@as_root
def test_user_who_swaps_the_folder_around_it_gains_nothing(root: Path) -> None:
    plan = planned(root)
    (root / "srv").rename(root / "moved")
    (root / "srv").symlink_to(root / "victim")
    written = apply_recovery(plan)
    assert (written.outcome, written.findings[0].id) == (Outcome.REFUSED, "recovery-target-changed")
    untouched(root)


@pytest.mark.parametrize("name", ["__cluster_metadata-0", "meta.properties.kafkactl.tmp"])
def test_link_that_is_put_into_an_empty_directory_meanwhile_is_refused(root: Path, name: str) -> None:
    (root / "srv" / "new").mkdir()
    plan = planned(root)
    (root / "srv" / "new" / name).symlink_to(root / "victim")
    written = apply_recovery(plan)
    assert (written.outcome, written.findings[0].id) == (Outcome.REFUSED, "recovery-target-changed")
    untouched(root)
    assert sorted(path.name for path in (root / "srv").rglob("*")) == [name, "new"]


def test_link_in_place_of_the_new_directory_is_refused(root: Path) -> None:
    (root / "srv" / "new").symlink_to(root / "victim")
    with pytest.raises(InputError, match="is a symbolic link") as caught:
        planned(root)
    assert caught.value.id == "recovery-target-unusable"


@as_root
def test_directory_is_given_away_when_nothing_is_left_to_be_made_in_it(root: Path) -> None:
    owners: set[int] = set()

    def look(_number: int, path: str) -> None:
        if "/new/" in path and not path.endswith("/meta.properties"):
            owners.add(Path(path).parent.stat().st_uid)

    assert apply_recovery(planned(root), Watching(look)).outcome is Outcome.DONE
    assert owners == {0}
    new = root / "srv" / "new"
    assert {path.stat().st_uid for path in (new, *new.rglob("*"), Path(f"{new}.recovery.json"))} == {OTHER_UID}


@pytest.mark.parametrize("started", [False, True])
def test_recovery_that_waited_leaves_the_one_that_is_done(root: Path, started: bool) -> None:
    waiting, first = planned(root), planned(root)
    assert apply_recovery(first).outcome is Outcome.DONE
    if started:
        (root / "srv" / "new" / "__cluster_metadata-0" / "quorum-state").write_text("{}")
    before = worlds.tree(root / "srv")
    written = apply_recovery(waiting)
    assert written.outcome is Outcome.REFUSED
    (finding,) = written.findings
    assert finding.id == "recovery-target-changed"
    ids = [str(plan.plan.request.directory_id) for plan in (first, waiting)]
    assert all(id in finding.message for id in ids)
    assert worlds.tree(root / "srv") == before


def test_recovery_that_waited_leaves_one_whose_plan_was_moved(root: Path) -> None:
    waiting = planned(root)
    assert apply_recovery(planned(root)).outcome is Outcome.DONE
    Path(f"{root}/srv/new.recovery.json").rename(root / "kept.json")
    before = worlds.tree(root / "srv")
    assert apply_recovery(waiting).outcome is Outcome.REFUSED
    assert worlds.tree(root / "srv") == before


def test_plan_of_another_recovery_is_never_replaced(root: Path) -> None:
    first = planned(root)
    file = root / "srv" / "new.recovery.json"
    assert apply_recovery(first).outcome is Outcome.DONE
    shutil.rmtree(root / "srv" / "new")
    before = file.read_bytes()
    other = planned(root, raise_epoch=7)
    assert [finding.id for finding in other.plan.findings if finding.severity.value == "blocker"] == [
        "recovery-plan-exists"
    ]
    file.rename(root / "kept.json")
    other = planned(root, raise_epoch=7)
    (root / "kept.json").rename(file)
    written = apply_recovery(other)
    assert (written.outcome, written.findings[0].id) == (Outcome.REFUSED, "recovery-target-changed")
    assert file.read_bytes() == before and [path.name for path in (root / "srv").iterdir()] == [file.name]


def test_plan_that_appears_at_its_rename_is_not_replaced(root: Path) -> None:
    file = root / "srv" / "new.recovery.json"

    def appear(_number: int, path: str) -> None:
        if path == str(file) and not file.exists():
            file.write_text("of another program")

    assert apply_recovery(planned(root), Watching(appear)).outcome is Outcome.REFUSED
    assert file.read_text() == "of another program" and [path.name for path in (root / "srv").iterdir()] == [file.name]


@pytest.mark.parametrize("name", ["meta.properties", "__cluster_metadata-0/*"])
def test_file_that_appears_at_its_rename_is_not_replaced(root: Path, name: str) -> None:
    new = root / "srv" / "new"
    appeared: list[Path] = []

    def appear(_number: int, path: str) -> None:
        if Path(path).match(f"new/{name}") and not path.endswith((".part", ".tmp")) and not appeared:
            appeared.append(Path(path))
            Path(path).write_text("version=1\ncluster.id=x\ndirectory.id=AAAAAAAAAAAAAAAAq80AAQ\nnode.id=9\n")

    plan = planned(root)
    written = apply_recovery(plan, Watching(appear))
    assert appeared and appeared[0].read_text().startswith("version=1")
    assert written.findings[0].id == "appeared-meanwhile"
    assert written.outcome is (Outcome.PARTIAL if name == "meta.properties" else Outcome.FAILED)
    if name == "meta.properties":
        text = written.findings[1].message
        assert "AAAAAAAAAAAAAAAAq80AAQ" in text and str(plan.plan.request.directory_id) in text
        assert "Start no node from it" in written.findings[1].next_step
    assert new.exists()


def test_second_recovery_is_refused_while_the_first_one_holds_the_lock(root: Path) -> None:
    plan = planned(root)
    with recovery_lock(request(root)):
        with pytest.raises(RefusedError, match="another kafkactl is writing"), recovery_lock(request(root)):
            raise AssertionError
        written = apply_recovery(plan)
        assert (written.outcome, written.findings[0].id) == (Outcome.REFUSED, "another-kafkactl-is-writing")
        assert apply_recovery(plan, is_locked=True).outcome is Outcome.DONE
    assert sorted(path.name for path in (root / "srv").iterdir()) == ["new", "new.recovery.json"]


@pytest.mark.parametrize("at", ["new.recovery.json.tmp", ".part", "meta.properties.kafkactl.tmp"])
def test_full_disk_leaves_nothing_that_only_a_plan_explains(root: Path, at: str) -> None:
    class Full(OsFilesystem):
        def create(self, path: str, mode: int, *, at: int | None = None, name: str = at) -> int:
            if path.endswith(name):
                os.close(super().create(path, mode, at=at))
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return super().create(path, mode, at=at)

    written = apply_recovery(planned(root), Full())
    assert written.findings[0].id == "no-space-left"
    left = sorted(path.name for path in (root / "srv").rglob("*") if path.is_file())
    assert (written.outcome, left) == ((Outcome.PARTIAL, [*left]) if at.startswith("meta") else (Outcome.FAILED, []))
    assert apply_recovery(planned(root)).outcome is Outcome.DONE


def test_leftovers_next_to_a_meta_properties_are_never_removed(root: Path) -> None:
    # A node of another recovery may have started from them while this one waited.
    plan = planned(root)
    assert apply_recovery(plan).outcome is Outcome.DONE
    (root / "srv" / "new" / "meta.properties").rename(root / "kept")
    again = planned(root)
    assert again.plan.result is not None and again.outcome is Outcome.PLANNED
    (root / "kept").rename(root / "srv" / "new" / "meta.properties")
    before = worlds.tree(root / "srv")
    assert apply_recovery(again).outcome is Outcome.REFUSED
    assert worlds.tree(root / "srv") == before


def test_leftovers_behind_a_link_are_not_removed(root: Path) -> None:
    plan = planned(root)
    assert apply_recovery(plan).outcome is Outcome.DONE
    new = root / "srv" / "new"
    (new / "meta.properties").unlink()
    (new / "__cluster_metadata-0").rename(root / "moved")
    (new / "__cluster_metadata-0").symlink_to(root / "moved")
    held = worlds.tree(root / "moved")
    again = planned(root)
    assert again.outcome is Outcome.REFUSED
    assert apply_recovery(changed(plan, look=again.look)).outcome is Outcome.REFUSED
    assert worlds.tree(root / "moved") == held


@pytest.mark.parametrize("refused", [False, True])
def test_staged_plan_of_a_killed_run_is_removed_by_the_next_run(root: Path, refused: bool) -> None:
    (root / "srv" / "new.recovery.json.tmp").write_text("half")
    if refused:
        (root / "srv" / "new").mkdir()
        (root / "srv" / "new" / "something").touch()
    with recovery_lock(request(root)):
        assert planned(root).outcome is (Outcome.REFUSED if refused else Outcome.PLANNED)
    assert not (root / "srv" / "new.recovery.json.tmp").exists()
