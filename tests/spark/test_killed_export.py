"""Exports by Spark whose driver is killed between any two changes of a file system: every day is the old or the new."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kafkactl.spark.export import hadoop
from kafkactl.spark.export.hadoop import HadoopFolder, staging_in
from kafkactl.spark.export.layout import SUCCESS
from kafkactl.spark.export.on_spark import put_in_place
from tests.spark.conftest import MOUNT

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]  # a JVM starts, which takes minutes under load

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLES = ("1-replay/topics",)  # as `dryrun report --details` names them
DAYS = ("cluster=a/date=2026-11-28", "cluster=b/date=2026-11-28")
CHANGES = ("rename", "delete", "mkdirs", "create")


class Killed(BaseException):
    """The end of the process."""


class KilledSystem:
    """A file system of which a process does `count` changes before it is killed.

    With `is_store` a folder is renamed as object stores do it: all files are copied, then deleted.
    """

    def __init__(self, system: Any, count: int, root: Path, *, is_store: bool) -> None:
        self._system = system
        self._root = root
        self._is_store = is_store
        self.count = count

    def __getattr__(self, name: str) -> Any:
        if name in CHANGES:
            self._change()
        if self.count < 0:
            raise Killed
        return self._renamed if name == "rename" and self._is_store else getattr(self._system, name)

    def _change(self) -> None:
        self.count -= 1
        if self.count < 0:
            raise Killed

    def _renamed(self, old: Any, new: Any) -> bool:
        source, target = (self._root / str(path.toString()).removeprefix(f"{MOUNT}/") for path in (old, new))
        files = sorted(path for path in source.rglob("*") if path.is_file())
        for file in files:
            self._change()
            place = target / file.relative_to(source)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, place)
        for file in files:
            self._change()
            file.unlink()
        shutil.rmtree(source)
        return True


def write_days(root: Path, version: str) -> None:
    for table in TABLES:
        for day in DAYS:
            place = root / table / day
            place.mkdir(parents=True, exist_ok=True)
            for part in ("0", "1"):
                (place / f"part-{part}-{version}.parquet").write_text(f"{table} {day} {version}")


def export(folder: HadoopFolder, out: Path, mode: str) -> None:
    """Exchange the days of all tables for new ones."""
    with staging_in(folder) as staging:
        write_days(out / staging, "new")
        for table in TABLES:
            put_in_place(folder, staging, table, mode, DAYS)


def versions_of(out: Path) -> Iterator[str]:
    """Yield the version of each day, which has all its files."""
    for table in TABLES:
        for day in DAYS:
            names = {path.name for path in (out / table / day).iterdir()}
            version = "new" if "part-0-new.parquet" in names else "old"
            assert names == {f"part-{part}-{version}.parquet" for part in "01"}, (table, day)
            yield version


@pytest.mark.parametrize("mode", ["append", "overwrite"])
@pytest.mark.parametrize("is_store", [False, True], ids=["disk", "store"])
def test_day_is_old_or_new_after_kill_at_every_change(
    session: SparkSession, root: Path, mode: str, is_store: bool
) -> None:
    found: list[list[str]] = []
    count, is_killed = 0, True
    while is_killed:
        out = root / f"{mode}-{is_store}-{count}"
        write_days(out, "old")
        folder = HadoopFolder(session, f"{MOUNT}/{out.name}")
        folder._system = KilledSystem(folder._system, count, root, is_store=is_store)
        try:
            export(folder, out, mode)
            is_killed = False
        except Killed:
            hadoop._IN_USE.clear()
        with staging_in(HadoopFolder(session, f"{MOUNT}/{out.name}")):
            pass  # the next export, of whatever it is
        assert {path.name for path in out.iterdir()} == {name.partition("/")[0] for name in TABLES}
        found.append(list(versions_of(out)))
        count += 1
    assert set(found[0]) == {"old"} and set(found[-1]) == {"new"} and len(found) > 5
    assert all((out / table / SUCCESS).exists() for table in TABLES)
