"""Logs below paths of this machine, as all functions and exports find them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kafkactl.spark.disk import logs_on_disk
from tests.dryrun.odd_logs import CASES, encoded
from tests.repository.tree import ROOT
from tests.spark.logs import write_log

DATA = encoded(CASES["ended"])


def found(path: Path) -> dict[str, str | None]:
    """Return the cluster id by the path of each log below a folder; "missing" and "closed" for those without files."""
    logs = logs_on_disk([str(path)], None)
    words = {
        log.path: "missing" if log.is_missing else "closed" if log.unlisted is not None else log.cluster_id
        for log in logs
    }
    return {name.removeprefix("file:").removeprefix(f"{path}/"): word for name, word in words.items()}


def test_folder_of_a_log_without_files_is_a_log_that_is_missing(tmp_path: Path) -> None:
    write_log(tmp_path, "good", DATA)
    for name in ("empty", "left", "other"):
        (tmp_path / name / "__cluster_metadata-0").mkdir(parents=True)
    (tmp_path / "left" / "__cluster_metadata-0" / "quorum-state").touch()
    (tmp_path / "other" / "__cluster_metadata-0" / f"{0:020d}.log").mkdir()
    assert found(tmp_path) == {
        "good/__cluster_metadata-0": "id-good",
        "empty/__cluster_metadata-0": "missing",
        "left/__cluster_metadata-0": "missing",
        "other/__cluster_metadata-0": "missing",
    }


def test_log_that_a_link_leads_to_is_found_once(tmp_path: Path) -> None:
    write_log(tmp_path / "days" / "2026-11-28", "one", DATA)
    write_log(tmp_path / "elsewhere", "two", DATA)
    (tmp_path / "days" / "a-latest").symlink_to("2026-11-28")
    (tmp_path / "days" / "two").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "days" / "2026-11-28" / "one" / "up").symlink_to(tmp_path / "days")
    assert found(tmp_path / "days") == {
        "2026-11-28/one/__cluster_metadata-0": "id-one",
        "two/two/__cluster_metadata-0": "id-two",
    }
    assert len(found(tmp_path / "days" / "a-latest")) == 1


def test_hidden_folder_is_read_if_a_path_names_it(tmp_path: Path) -> None:
    write_log(tmp_path, "good", DATA)
    write_log(tmp_path / ".snapshot", "good", DATA)
    shutil.copytree(tmp_path / "good", tmp_path / "_temporary")
    assert list(found(tmp_path)) == ["good/__cluster_metadata-0"]
    assert list(found(tmp_path / ".snapshot")) == ["good/__cluster_metadata-0"]
    assert len(found(tmp_path / "*")) == 3


@pytest.mark.parametrize(
    "name", ["03:00:00", "a b", "per%20cent", "line\nbreak", "{a,b}", "büro", os.fsdecode(b"caf\xe9")]
)
def test_name_of_a_folder_can_have_any_character(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    write_log(tmp_path / name, "one", DATA)
    monkeypatch.chdir(tmp_path)
    for path in (name, f"./{name}/one/", f"{name}/../{name}", str(tmp_path), f"file:{tmp_path}/{name}"):
        (log,) = logs_on_disk([path], None)
        assert (log.path, log.cluster_id) == (f"file:{tmp_path}/{name}/one/__cluster_metadata-0", "id-one")


@pytest.mark.skipif(os.geteuid() != 0, reason="takes rights away from another user")
def test_folder_that_this_user_may_not_read_is_closed_and_no_more(tmp_path: Path) -> None:
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_uid == os.geteuid() and folder != Path("/"):
            folder.chmod(folder.stat().st_mode | 0o011)
    fleet = tmp_path / "fleet"
    fleet.mkdir(mode=0o755)
    for name in ("good", "closed"):
        write_log(fleet, name, DATA)
    (fleet / "closed").chmod(0o700)
    program = f"""
import os
from kafkactl.spark.disk import logs_on_disk
os.setuid(65534)
for path in ({str(fleet)!r}, {str(fleet / "closed" / "__cluster_metadata-0")!r}):
    print([(log.cluster, log.unlisted) for log in logs_on_disk([path], None)])
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=True)
    below, named = run.stdout.splitlines()
    assert below == "[('id-good', None), ('closed', 'Permission denied')]"
    assert named == "[('closed', 'Permission denied')]"
