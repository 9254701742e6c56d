"""A folder of the cache is absent or complete, whatever happens while it is filled."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.lab.harness import cache

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KAFKACTL_LAB_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def write_once(work: Path, target: Path) -> None:
    target.mkdir()
    (target / "file").write_text(str(work))


def test_is_filled_once_and_again_when_wishes_change(own_cache: Path) -> None:
    first = (cache.folder("x", "wish 1", write_once) / "file").read_text()
    assert (cache.folder("x", "wish 1", write_once) / "file").read_text() == first
    assert (cache.folder("x", "wish 2", write_once) / "file").read_text() != first
    assert {path.name for path in own_cache.iterdir()} == {"x", ".filling.lock"}


def test_failed_fill_leaves_the_old_folder(own_cache: Path) -> None:
    cache.folder("x", "wish 1", write_once)

    def fail(work: Path, target: Path) -> None:
        write_once(work, target)
        raise RuntimeError("half way")

    with pytest.raises(RuntimeError, match="half way"):
        cache.folder("x", "wish 2", fail)
    assert (own_cache / "x" / cache.MARKER).read_text() == "wish 1"
    assert {path.name for path in own_cache.iterdir()} == {"x", ".filling.lock"}


FILL_SLOWLY = """
import sys, time
from pathlib import Path
from tests.lab.harness import cache

def fill(work, target):
    target.mkdir()
    (target / "half").write_text("")
    print("half", flush=True)
    time.sleep(float(sys.argv[1]))
    (target / "file").write_text("done")

print((cache.folder("x", "wish", fill) / "file").read_text(), flush=True)
"""


def filler(seconds: float) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", FILL_SLOWLY, str(seconds)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, env=os.environ.copy())


def test_cache_is_filled_once_by_two_processes(own_cache: Path) -> None:
    fillers = [filler(0.3), filler(0.3)]
    said = sorted(process.communicate(timeout=120)[0] for process in fillers)
    assert said == ["done\n", "half\ndone\n"]


def test_killed_fill_leaves_nothing_that_counts_and_the_next_one_tidies_up(own_cache: Path) -> None:
    killed = filler(60)
    assert killed.stdout is not None
    assert killed.stdout.readline() == "half\n"
    killed.send_signal(signal.SIGKILL)
    killed.communicate(timeout=120)
    assert not (own_cache / "x").exists()
    begun = time.monotonic()
    assert (cache.folder("x", "wish", write_once) / "file").is_file()
    assert time.monotonic() - begun < 60
    assert {path.name for path in own_cache.iterdir()} == {"x", ".filling.lock"}
