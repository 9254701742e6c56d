"""`kafkactl demo --kafka`: the scenes on released Kafka have the exit codes and findings of the fake quorum."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.lab.harness import java, maven

SAME = ("quorum-would-wedge", "voter-is-dead", "metadata-disk-lost", "partition-loses-leader", "audit-0", "report.html")


def shown(place: Path, *words: str) -> dict[str, Any]:
    """Return the answer of a demo, whose temporary folder is below `place`."""
    command = [sys.executable, "-m", "kafkactl", "demo", *words, "-o", "json", "--timeout", "10m"]
    environment = {**os.environ, "TMPDIR": str(place), "JAVA_HOME": str(java.java_home())}
    run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=900, check=False)
    assert run.returncode == 0, run.stderr
    answer: dict[str, Any] = json.loads(run.stdout)
    return answer


def commands(answer: dict[str, Any]) -> list[tuple[str, int, frozenset[str]]]:
    """Return the verb of each command, its exit code, and which of the words it printed."""
    return [
        (" ".join(step["command"].split()[1:3]), step["exit_code"], frozenset(w for w in SAME if w in step["stdout"]))
        for scene in answer["scenes"]
        for step in scene["steps"]
        if step["command"]
    ]


@pytest.mark.parametrize("release", ["3.9.2", "4.3.1"])
def test_scenes_are_the_same_and_no_process_stays(release: str, tmp_path: Path) -> None:
    real = shown(tmp_path, "--kafka", str(maven.jars(release)))
    assert (real["cluster"], real["release"]) == ("kafka", release)
    assert commands(real) == commands(shown(tmp_path))
    assert list(tmp_path.iterdir()) == []
    lines = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists()]
    assert not [line for line in lines if str(tmp_path).encode() in line]
