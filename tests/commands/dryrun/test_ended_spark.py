"""A dry run on Spark that a signal ends leaves no file on the machine: the log may contain credentials."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.commands.captured import unpacked

pytestmark = pytest.mark.lab

_APPLICATION, _RESULTS = "kafkactl-spark-*", "kafkactl-results-*"
_START_S = 60


@pytest.mark.parametrize(
    ("number", "moment"), [(signal.SIGTERM, _APPLICATION), (signal.SIGTERM, _RESULTS), (signal.SIGHUP, _RESULTS)]
)
def test_a_signal_leaves_no_files(tmp_path: Path, number: signal.Signals, moment: str) -> None:
    log, temporary = unpacked("4.4.0", tmp_path, "log"), tmp_path / "temporary"
    temporary.mkdir()
    words = [sys.executable, "-m", "kafkactl", "dryrun", "replay", str(log), "--engine", "spark"]
    environment = {**os.environ, "TMPDIR": str(temporary)}
    with subprocess.Popen(words, env=environment, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as run:
        end = time.monotonic() + _START_S
        while not list(temporary.glob(moment)):
            assert run.poll() is None and time.monotonic() < end, "the application ended before"
            time.sleep(0.01)
        run.send_signal(number)
        _, errors = run.communicate(timeout=_START_S)
    assert (run.returncode, list(temporary.iterdir())) == (130, []), errors
    assert errors.lstrip().startswith("error: interrupted"), errors
