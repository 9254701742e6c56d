"""The pool of processes: a bounded number, none after its test run, and the logs of a failed test."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.lab.harness.pool import Pool, Running

ROOT = Path(__file__).parents[3]
SLEEP = ["/bin/sleep", "60"]


@pytest.fixture
def pool(lab_pool: Pool) -> Iterator[Pool]:
    own = Pool(limit=2)
    yield own
    own.close()


def sleeper(pool: Pool, tmp_path: Path, name: str = "sleeper") -> Running:
    return pool.start(SLEEP, name=name, workdir=tmp_path, log=tmp_path / f"{name}.log", env={})


def exists(pid: int) -> bool:
    """Return True if a process of that id runs (one that is dead and not yet reaped does not)."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def eventually(holds: Callable[[], bool], timeout_s: float = 60) -> bool:
    deadline = time.monotonic() + timeout_s
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def test_stop_asks_first_and_kill_does_not(pool: Pool, tmp_path: Path) -> None:
    assert sleeper(pool, tmp_path).stop(10) == -signal.SIGTERM
    assert sleeper(pool, tmp_path).kill() == -signal.SIGKILL
    assert pool.alive() == []


def test_stop_ends_what_does_not_listen(pool: Pool, tmp_path: Path) -> None:
    deaf = ["/bin/sh", "-c", "trap '' TERM; echo deaf; while :; do sleep 0.1; done"]
    running = pool.start(deaf, name="deaf", workdir=tmp_path, log=tmp_path / "log", env={})
    assert eventually(lambda: (tmp_path / "log").read_text() == "deaf\n")
    assert running.stop(0.3) == -signal.SIGKILL


def test_paused_process_is_alive_and_can_be_stopped(pool: Pool, tmp_path: Path) -> None:
    running = sleeper(pool, tmp_path)
    running.send(signal.SIGSTOP)
    assert running.alive
    assert running.stop(60) == -signal.SIGTERM


def test_children_are_ended_with_their_process(pool: Pool, tmp_path: Path) -> None:
    family = ["/bin/sh", "-c", "sleep 60 & echo $!; wait"]
    running = pool.start(family, name="family", workdir=tmp_path, log=tmp_path / "log", env={})
    assert eventually(lambda: (tmp_path / "log").read_text().endswith("\n"))
    child = int((tmp_path / "log").read_text())
    running.kill()
    assert eventually(lambda: not exists(child))


def test_other_threads_wait_for_room_and_one_that_has_some_does_not(pool: Pool, tmp_path: Path) -> None:
    mine = [sleeper(pool, tmp_path, f"mine-{number}") for number in range(3)]
    theirs: list[Running] = []
    other = threading.Thread(target=lambda: theirs.append(sleeper(pool, tmp_path, "theirs")))
    other.start()
    other.join(0.5)
    assert theirs == []
    for running in mine[:2]:
        running.kill()
    other.join(60)
    assert [running.name for running in pool.alive()] == ["mine-2", "theirs"]


def test_thread_that_acts_for_another_has_its_room(pool: Pool, tmp_path: Path) -> None:
    for number in range(3):
        sleeper(pool, tmp_path, f"mine-{number}")
    mine = threading.get_ident()

    def help_out() -> None:
        pool.act_for(mine)
        sleeper(pool, tmp_path, "helped")

    other = threading.Thread(target=help_out)
    other.start()
    other.join(60)
    assert [running.name for running in pool.alive()] == ["mine-0", "mine-1", "mine-2", "helped"]


PARENT = """
import sys, time
from pathlib import Path
from tests.lab.harness.pool import shared_pool

place = Path(sys.argv[1])
sleep = ["/bin/sh", "-c", "sleep 60 & echo $!; wait"]
running = shared_pool().start(sleep, name="s", workdir=place, log=place / "child", env={})
while not (place / "child").read_text().endswith("\\n"):
    time.sleep(0.01)
print(running.pid, flush=True)
ENDING
"""

ENDINGS = {
    "returns": ("pass", None),
    "raises": ("raise SystemExit(3)", None),
    "SIGINT": ("time.sleep(60)", signal.SIGINT),
    "SIGTERM": ("time.sleep(60)", signal.SIGTERM),
    "SIGKILL": ("time.sleep(60)", signal.SIGKILL),
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_nothing_outlives_the_test_run_however_it_ends(tmp_path: Path, ending: str) -> None:
    last_words, sent = ENDINGS[ending]
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT.replace("ENDING", last_words), str(tmp_path)],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=os.environ.copy(),
    )  # fmt: skip
    assert parent.stdout is not None
    with parent.stdout:
        started = int(parent.stdout.readline())
    grandchild = int((tmp_path / "child").read_text())
    if sent is not None:
        assert exists(started)
        assert exists(grandchild)
        parent.send_signal(sent)
    parent.wait(60)
    assert eventually(lambda: not exists(started) and not exists(grandchild))


def test_logs_of_a_failed_test_are_kept(pool: Pool, tmp_path: Path) -> None:
    (tmp_path / "server.properties").write_text("node.id=1\n")
    earlier = sleeper(pool, tmp_path, "earlier")
    earlier.kill()
    pool.begin_test()
    talker = pool.start(
        ["/bin/echo", "last words"], name="talker", workdir=tmp_path, log=tmp_path / "log", env={},
        keep=[tmp_path / "server.properties"],
    )  # fmt: skip
    talker.wait(60)
    place = pool.keep_logs("tests/x.py::test_it[a b]", tmp_path / "failed")
    assert place == tmp_path / "failed" / "tests_x.py_test_it_a_b_"
    assert {path.name: path.read_text() for path in place.iterdir()} == {
        "01-talker-log": "last words\n",
        "01-talker-server.properties": "node.id=1\n",
    }


def test_test_without_processes_keeps_nothing(pool: Pool, tmp_path: Path) -> None:
    pool.begin_test()
    assert pool.keep_logs("test", tmp_path / "failed") is None


FAILING_TEST = """
from pathlib import Path
from tests.lab.harness.fixtures import *
from tests.lab.harness import fixtures

fixtures.FAILED = Path(__file__).parent / "failed"

def test_fails(lab_pool, tmp_path):
    lab_pool.start(["/bin/echo", "last words"], name="talker", workdir=tmp_path, log=tmp_path / "log").wait(60)
    assert False
"""


def test_failed_test_says_where_its_logs_are(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(FAILING_TEST)
    (tmp_path / "test_x.py").write_text("from conftest import test_fails\n")
    options = ["-q", "-p", "no:cacheprovider", "-c", "/dev/null", f"--rootdir={tmp_path}"]
    run = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "test_x.py"],
        check=False,
        cwd=tmp_path, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": str(ROOT)}, timeout=240,
    )  # fmt: skip
    assert run.returncode == 1, run.stdout + run.stderr
    (log,) = (tmp_path / "failed").rglob("*talker-log")
    assert log.read_text() == "last words\n"
    assert str(log.parent) in run.stdout
