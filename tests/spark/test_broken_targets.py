"""Exports whose target is full, taken, half written, or of another release: a typed error, and no row is lost."""

from __future__ import annotations

import resource
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from kafkactl.core.errors import FailedError, KafkactlError, RefusedError
from kafkactl.files import whole_file
from kafkactl.spark.api import export_tables
from kafkactl.spark.export import local_files
from tests.dryrun.odd_logs import CASES, encoded
from tests.spark.logs import write_log

pa = pytest.importorskip("pyarrow")

TABLES = ("partitions", "topics")


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    for name in "ab":
        write_log(tmp_path / "fleet", name, encoded(CASES["ended"]))
    return tmp_path / "fleet"


def export(source: Path, out: Path, **more: Any) -> None:
    export_tables([str(source)], out, **{"tables": TABLES, **more})


def files_of(out: Path) -> dict[str, bytes]:
    return {str(path.relative_to(out)): path.read_bytes() for path in sorted(out.rglob("*")) if path.is_file()}


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """Set the size above which the system refuses a file, as a full disk does."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("form", ["parquet", "jsonl", "csv"])
def test_full_disk_leaves_earlier_table(fleet: Path, tmp_path: Path, form: str) -> None:
    out = tmp_path / "out"
    export(fleet, out, form=form)
    before = files_of(out)
    for mode in ("append", "overwrite"):
        with largest_file(100), pytest.raises(FailedError, match=r"out cannot be written: File too large") as failed:
            export(fleet, out, form=form, mode=mode)
        assert (failed.value.id, failed.value.exit_code) == ("tables-not-written", 1)
        assert files_of(out) == before
    with largest_file(100), pytest.raises(FailedError):
        export(fleet, tmp_path / "new", form=form)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("inside", ["", "below"])
def test_file_in_place_of_target_is_reported(fleet: Path, tmp_path: Path, inside: str) -> None:
    out = tmp_path / "out"
    out.write_text("notes")
    with pytest.raises(FailedError, match=r"cannot be written: (it is a file|Not a directory)") as failed:
        export(fleet, out / inside if inside else out, mode="overwrite")
    assert failed.value.id == "tables-not-written" and out.read_text() == "notes"


@pytest.mark.parametrize("mode", ["error", "append", "overwrite"])
def test_two_exports_at_once_leave_a_whole_table(
    fleet: Path, tmp_path: Path, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, finish, both = tmp_path / "out", local_files.Export.finish, threading.Barrier(2)
    errors: list[KafkactlError] = []

    def finish_together(self: local_files.Export) -> None:
        both.wait(30)
        finish(self)

    def run(source: Path) -> None:
        try:
            export(source, out, mode=mode)
        except KafkactlError as error:
            errors.append(error)

    monkeypatch.setattr(local_files.Export, "finish", finish_together)
    threads = [threading.Thread(target=run, args=(fleet / name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    monkeypatch.undo()
    export(fleet, tmp_path / "whole")
    expected = files_of(tmp_path / "whole")
    found = files_of(out)
    names = {name.split("/")[1] for name in found} - {"_SUCCESS"}
    assert len(names) == (2 if mode == "append" else 1)
    assert found == {name: data for name, data in expected.items() if name.split("/")[1] in {*names, "_SUCCESS"}}
    assert [error.id for error in errors] == (["table-exists"] if mode == "error" else [])


class Killed(BaseException):
    """The end of the process."""


@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_folder_of_killed_export_is_moved_back_by_the_next(
    fleet: Path, tmp_path: Path, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As in a file system that cannot exchange two names, such as NFS.
    out, rename = tmp_path / "out", Path.rename
    export(fleet, out)
    before = files_of(out)

    def killed(self: Path, target: Path) -> Path:
        found = rename(self, target)
        if target.name.endswith(".old"):
            raise Killed
        return found

    monkeypatch.setattr(whole_file, "exchanged", lambda *_: False)
    monkeypatch.setattr(Path, "rename", killed)
    with pytest.raises(Killed):
        export(fleet / "a", out, mode=mode)
    monkeypatch.setattr(Path, "rename", rename)
    assert files_of(out) != before
    for _ in range(2):
        export(fleet / "b", out, mode="append")
        assert files_of(out) == before


def test_table_without_success_is_completed(fleet: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    export(fleet, out)
    before = files_of(out)
    (out / "topics" / "_SUCCESS").unlink()
    with pytest.raises(RefusedError):
        export(fleet, out)
    export(fleet / "a", out, mode="append")
    assert files_of(out) == before


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_table_with_columns_of_another_release_is_refused(fleet: Path, tmp_path: Path, form: str) -> None:
    import pyarrow.parquet as pq

    out = tmp_path / "out"
    export(fleet, out, form=form)
    for path in (out / "topics").rglob(f"part-*.{form}"):
        if form == "parquet":
            pq.write_table(pq.ParquetFile(path).read().drop_columns(["partitions"]), path)
        else:
            path.write_text(path.read_text().replace(",partitions", ""))
    before = files_of(out)
    with pytest.raises(RefusedError, match=r"the table topics with other columns \(partitions\)") as refused:
        export(fleet / "a", out, form=form, mode="append")
    assert refused.value.id == "table-exists" and files_of(out) == before
    export(fleet / "a", out, form=form, mode="overwrite")
