from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kafkactl.core.data_files import list_data, read_data
from kafkactl.core.errors import SchemaError

ROOT = Path(__file__).resolve().parents[2]


def test_data_is_read_by_name() -> None:
    assert read_data("features/releases.toml") == (ROOT / "schemas" / "features" / "releases.toml").read_bytes()
    assert "metadata/NoOpRecord.json" in list_data("metadata", ".json")
    assert list_data("metadata", ".json") == tuple(sorted(list_data("metadata", ".json")))


@pytest.mark.parametrize("name", ["metadata/Nothing.json", "metadata"])
def test_missing_file_is_our_fault_and_says_so(name: str) -> None:
    with pytest.raises(SchemaError, match=name) as caught:
        read_data(name)
    assert caught.value.id == "data-file-missing"
    assert caught.value.next_step


def test_missing_folder_is_our_fault_and_says_so() -> None:
    with pytest.raises(SchemaError, match="schemas/nowhere"):
        list_data("nowhere", ".json")


def test_data_next_to_the_package_is_found_where_the_link_is_lost(tmp_path: Path) -> None:
    for name in ("__init__.py", "_version.py"):
        copy(tmp_path, name)
    for path in sorted((ROOT / "kafkactl" / "core").glob("*.py")):
        copy(tmp_path, f"core/{path.name}")
    (tmp_path / "schemas").mkdir()
    program = "from kafkactl.core.data_files import read_data; print(read_data('x.toml'))"
    without = _run(program, tmp_path)
    assert "the data file schemas/x.toml" in without.stderr
    (tmp_path / "schemas" / "x.toml").write_text("there")
    assert _run(program, tmp_path).stdout == "b'there'\n"
    (tmp_path / "schemas" / "x.toml").unlink()
    (tmp_path / "schemas").rmdir()
    assert "neither in" in _run(program, tmp_path).stderr


def copy(folder: Path, name: str) -> None:
    """Copy one module of kafkactl to a folder."""
    path = folder / "kafkactl" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes((ROOT / "kafkactl" / name).read_bytes())


def _run(program: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [sys.executable, "-c", program], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
