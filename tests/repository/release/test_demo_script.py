"""`make demo` on a fresh checkout: what it installs, and that a second run installs nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.repository.tree import ROOT

LINKED = ("kafkactl", "commands", "schemas", "docs", "tests", "pyproject.toml", "README.md", "LICENSE")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Return a checkout without an environment, whose files are those of this tree."""
    for name in LINKED:
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "scripts").mkdir()
    for name in ("demo.sh", "pick_python.sh"):
        shutil.copy(ROOT / "scripts" / name, tmp_path / "scripts")
    return tmp_path


def demo(checkout: Path, *words: str) -> str:
    """Run the script where neither Java nor Maven is installed, and return its output."""
    programs = checkout / "programs"
    programs.mkdir(exist_ok=True)
    for name in ("sh", "dirname", "rm", "touch"):
        place = shutil.which(name)
        if place is not None and not (programs / name).exists():
            (programs / name).symlink_to(place)
    environment = {name: value for name, value in os.environ.items() if name not in ("JAVA_HOME", "TMPDIR")}
    environment |= {"PATH": str(programs), "PYTHON": sys.executable, "HOME": str(checkout), "PIP_COMPILE": "0"}
    run = subprocess.run(
        ["sh", str(checkout / "scripts" / "demo.sh"), *words], env=environment, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=550, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout
    return run.stdout


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_fresh_checkout_gets_the_core_alone_and_a_second_run_installs_nothing(checkout: Path) -> None:
    first = demo(checkout, "--scene", "report", "--out", "demo/report.html")
    assert first.startswith("Installing kafkactl and its dependencies into demo/venv, once")
    assert "Downloading" in first or "Using cached" in first or "Processing" in first
    assert "a simulated quorum takes the place of\nKafka" in first
    assert "<h1>" in (checkout / "demo" / "report.html").read_text(encoding="utf-8")
    (packages,) = (checkout / "demo" / "venv" / "lib").glob("python*/site-packages")
    installed = {path.name for path in packages.iterdir()}
    assert {"numpy", "jinja2"} <= installed and not {"pyspark", "pyarrow", "pytest"} & installed
    second = demo(checkout, "--scene", "report", "--out", "demo/report.html")
    assert "Installing" not in second and "The demo is over." in second
