"""`kafkactl.simulate`: the simulator from Python, as docs/simulate.md shows it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import kafkactl

GUIDE = Path(__file__).parents[2] / "docs" / "simulate.md"
RESTART = Path(__file__).parents[1] / "scripts" / "simulator" / "s05_the_leader_is_stopped.txt"


def test_example_of_the_guide_runs(tmp_path, monkeypatch):
    text = GUIDE.read_text(encoding="utf-8")
    example = text.split("```python\n")[1].split("```")[0]
    (tmp_path / "wedge.txt").write_text(text.split("With `wedge.txt`:\n\n```\n")[1].split("```")[0])
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    exec(example, names)
    assert names["found"].verdict == "passed"
    assert names["elections"] >= 3


def test_progress_is_reported_run_by_run():
    progress: list[int] = []
    found = kafkactl.simulate.profile("rolling-restart", runs=3, duration_ms=1_000, on_progress=progress.append)
    assert (progress, found.verdict, found.to_dict()["runs"]) == ([1, 2, 3], "passed", 3)


def test_script_and_what_is_wrong(tmp_path):
    assert kafkactl.simulate.script(RESTART, release="3.9").verdict == "passed"
    with pytest.raises(kafkactl.KafkactlError) as caught:
        kafkactl.simulate.profile("choas")
    assert caught.value.id == "invalid-simulation"
    (tmp_path / "a.txt").write_text("kil 3\n")
    with pytest.raises(kafkactl.KafkactlError) as caught:
        kafkactl.simulate.script(tmp_path / "a.txt")
    assert caught.value.id == "invalid-script"


def test_importing_kafkactl_does_not_import_the_simulator():
    code = "import kafkactl, sys; print(any(name.startswith('kafkactl.simulator') for name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.strip() == "False"
