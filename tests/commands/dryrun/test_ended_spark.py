"""A dry run on Spark that a signal ends leaves nothing on the machine: no file, for the log may contain credentials,
and no process.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from tests.commands.captured_logs import unpacked

pytestmark = [pytest.mark.lab, pytest.mark.timeout(900)]

_LONGEST_S = 300  # of a condition that holds after seconds on an idle machine


def _is_begun(folder: Path) -> bool:
    return bool(list(folder.glob("kafkactl-jvm-*")))


def _has_jvm(folder: Path) -> bool:
    """Return True if the JVM has begun, and pyspark waits for it."""
    return any(b"java" in command and b"launcher" not in command for command in _processes(folder))


def _has_session(folder: Path) -> bool:
    return bool(list(folder.glob("kafkactl-code-*/*.zip")))


def _has_workers(folder: Path) -> bool:
    return any(b"pyspark.daemon" in command for command in _processes(folder))


@pytest.mark.parametrize(
    ("number", "moment"),
    [
        (signal.SIGTERM, _is_begun),
        (signal.SIGTERM, _has_jvm),
        (signal.SIGINT, _has_session),
        (signal.SIGHUP, _has_workers),
    ],
)
def test_signal_leaves_nothing(tmp_path: Path, number: signal.Signals, moment: Callable[[Path], bool]) -> None:
    log, temporary = unpacked("4.4.0", tmp_path, "log"), tmp_path / "temporary"
    temporary.mkdir()
    words = [sys.executable, "-m", "kafkactl", "dryrun", "replay", str(log), "--engine", "spark"]
    environment = {**os.environ, "TMPDIR": str(temporary)}
    before = signal.signal(number, signal.SIG_DFL)  # a suite that runs under nohup would hand on that it is ignored
    with subprocess.Popen(words, env=environment, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as run:
        signal.signal(number, before)
        _wait(lambda: moment(temporary), run)
        run.send_signal(number)
        _, errors = run.communicate(timeout=_LONGEST_S)
    assert (run.returncode, list(temporary.iterdir())) == (130, []), errors
    assert errors.lstrip().startswith("error: `kafkactl dryrun replay` was interrupted"), errors
    _wait(lambda: not _processes(temporary))


def _processes(folder: Path) -> list[bytes]:
    """Return the JVM and Spark's workers, which work in a folder or in one that was removed from it: their commands."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if (process / "cwd").readlink().is_relative_to(folder):
                found.append((process / "cmdline").read_bytes())
    return found


def _wait(holds: Callable[[], bool], run: subprocess.Popen[str] | None = None) -> None:
    end = time.monotonic() + _LONGEST_S
    while not holds():
        assert run is None or run.poll() is None, "the dry run ended before its moment"
        assert time.monotonic() < end, "the condition did not hold in time"
        time.sleep(0.01)
