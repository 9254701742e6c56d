"""Processes of the lab: starts, the limit of their number, and their end before the tests end.

Rule: a process of the lab is in a process group of its own, the watchdog knows it before its first
instruction runs, and it is taken off the watchdog's list only when it is dead. So it does not matter how
the test process ends: normally (``close`` at exit), by a signal, or by SIGKILL.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from tests.lab.harness import java
from tests.lab.harness.errors import LabError

LIMIT = int(os.environ.get("KAFKACTL_LAB_NODES", "4"))
ROOM_TIMEOUT_S = 240.0
_WATCHDOG = Path(__file__).with_name("watchdog.py")
# Waits for one byte, which comes after the watchdog knows this process, and becomes the command.
_GATE = "import os,sys\nos.read(int(sys.argv[1]), 1) or sys.exit(1)\nos.execv(sys.argv[2], sys.argv[2:])"


class Running:
    """Process of the lab. Made by ``Pool.start``."""

    def __init__(self, pool: Pool, name: str, popen: subprocess.Popen[bytes], kept: Sequence[Path], owner: int) -> None:
        self.name = name
        self.kept = tuple(kept)
        self.owner = owner
        self._pool = pool
        self._popen = popen
        self._lock = threading.Lock()

    @property
    def is_node(self) -> bool:
        """Return True if it counts against the pool's limit: what talks through pipes is a tool, not a node."""
        return self._popen.stdin is None

    @property
    def pid(self) -> int:
        """Return the process id, which is also the id of its process group."""
        return self._popen.pid

    @property
    def exit_code(self) -> int | None:
        """Return the exit code, negative for a signal; None while the process runs."""
        with self._lock:
            code = self._popen.poll()
        if code is not None:
            self._pool.forget(self)
        return code

    @property
    def alive(self) -> bool:
        """Return True if it still runs (a paused process does)."""
        return self.exit_code is None

    @property
    def stdin(self) -> IO[bytes]:
        """Return the pipe to it; only for one started with ``pipes``."""
        assert self._popen.stdin is not None
        return self._popen.stdin

    @property
    def stdout(self) -> IO[bytes]:
        """Return the pipe from it; only for one started with ``pipes``."""
        assert self._popen.stdout is not None
        return self._popen.stdout

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the whole group; nothing happens if it is gone."""
        with self._lock:
            if self._popen.poll() is None:
                os.killpg(self.pid, number)

    def wait(self, timeout_s: float) -> int | None:
        """Return the exit code after the process ended; None if the process still runs after the time."""
        deadline = time.monotonic() + timeout_s
        while (code := self.exit_code) is None and time.monotonic() < deadline:
            time.sleep(0.01)
        return code

    def stop(self, grace_s: float) -> int:
        """Send SIGTERM, and after ``grace_s`` seconds SIGKILL. Returns the exit code."""
        self.send(signal.SIGCONT)
        self.send(signal.SIGTERM)
        code = self.wait(grace_s)
        return self.kill() if code is None else code

    def kill(self) -> int:
        """Send SIGKILL. Returns the exit code."""
        self.send(signal.SIGKILL)
        code = self.wait(30)
        if code is None:
            raise LabError(f"{self.name} (pid {self.pid}) does not die of SIGKILL")
        for pipe in (self._popen.stdin, self._popen.stdout):
            if pipe is not None:
                _close_quietly(pipe)
        return code


class Pool:
    """The processes of one Python process.

    ``limit`` bounds how many nodes run at once when several threads start them: a thread waits for room only while
    it has none running itself, so one that starts a whole cluster is never stuck half way.
    """

    def __init__(self, limit: int = LIMIT) -> None:
        self.limit = limit
        self._changed = threading.Condition(threading.RLock())
        self._running: list[Running] = []
        self._recent: list[Running] = []
        self._watchdog: subprocess.Popen[bytes] | None = None
        self._process = os.getpid()
        self._acts_for: dict[int, int] = {}
        atexit.register(self.close)

    def start(
        self, command: Sequence[str | Path], *, name: str, workdir: Path, log: Path,
        env: Mapping[str, str] | None = None, pipes: bool = False, keep: Sequence[Path] = (),
    ) -> Running:  # fmt: skip
        """Start a process in ``workdir`` and watch over it; waits for room.

        ``command[0]`` is an absolute path. Its stdout and stderr go to ``log``; with ``pipes`` only stderr
        does, and stdin and stdout are pipes. ``keep`` are further files worth keeping when a test fails.
        """
        with self._changed:
            if not pipes:
                self._wait_for_room(name)
            running = self._spawn([str(part) for part in command], name, workdir, log, env, pipes, keep)
            self._running.append(running)
            self._recent.append(running)
            return running

    def _wait_for_room(self, name: str) -> None:
        deadline = time.monotonic() + ROOM_TIMEOUT_S
        while len(nodes := [process for process in self.alive() if process.is_node]) >= self.limit:
            if any(node.owner == self._owner() for node in nodes):
                return
            if time.monotonic() > deadline:
                held = ", ".join(node.name for node in nodes)
                raise LabError(f"no room for {name} in {ROOM_TIMEOUT_S} s; running: {held}")
            self._changed.wait(0.1)

    def _spawn(
        self, command: list[str], name: str, workdir: Path, log: Path,
        env: Mapping[str, str] | None, pipes: bool, keep: Sequence[Path],
    ) -> Running:  # fmt: skip
        gate_read, gate_write = os.pipe()
        try:
            with log.open("ab") as sink:
                popen = subprocess.Popen(
                    [sys.executable, "-I", "-S", "-c", _GATE, str(gate_read), *command],
                    cwd=workdir, env=dict(java.environment() if env is None else env),
                    stdin=subprocess.PIPE if pipes else subprocess.DEVNULL,
                    stdout=subprocess.PIPE if pipes else sink, stderr=sink if pipes else subprocess.STDOUT,
                    start_new_session=True, pass_fds=(gate_read,),
                )  # fmt: skip
            self._tell_watchdog("+", popen.pid)
            os.write(gate_write, b"!")
        finally:
            os.close(gate_read)
            os.close(gate_write)
        return Running(self, name, popen, [log, *keep], self._owner())

    def _owner(self) -> int:
        """Return the thread whose nodes they are that this one starts."""
        return self._acts_for.get(threading.get_ident(), threading.get_ident())

    def act_for(self, thread: int) -> None:
        """Start nodes from here on for another thread, with the room that the other thread has."""
        self._acts_for[threading.get_ident()] = thread

    def _tell_watchdog(self, sign: str, group: int) -> None:
        if self._watchdog is None:
            self._watchdog = subprocess.Popen(
                [sys.executable, "-I", "-S", str(_WATCHDOG)],
                stdin=subprocess.PIPE, bufsize=0, start_new_session=True,
            )  # fmt: skip
        assert self._watchdog.stdin is not None
        self._watchdog.stdin.write(f"{sign}{group}\n".encode())

    def forget(self, running: Running) -> None:
        """Note that a process has ended and been reaped (``Running`` calls this)."""
        with self._changed:
            if running in self._running:
                self._running.remove(running)
                self._tell_watchdog("-", running.pid)
                self._changed.notify_all()

    def alive(self) -> list[Running]:
        """Return the processes that run now."""
        with self._changed:
            return [running for running in list(self._running) if running.alive]

    def begin_test(self) -> None:
        """Begin a new test: what starts from here on belongs to it (and what still runs, too)."""
        self._recent = self.alive()

    def keep_logs(self, test: str, into: Path) -> Path | None:
        """Copy logs and configurations of the test's processes to a folder of its name; None if it had none."""
        place = self.forget_logs(test, into)
        found = [
            (file, f"{number:02}-{running.name}-{file.name}")
            for number, running in enumerate(self._recent, 1)
            for file in running.kept
            if file.is_file() and file.stat().st_size
        ]
        for file, name in found:
            place.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, place / name)
        return place if found else None

    def forget_logs(self, test: str, into: Path) -> Path:
        """Remove what an earlier run of the test has kept; returns where that would be."""
        place = into / re.sub(r"[^\w.=-]+", "_", test)[-150:]
        shutil.rmtree(place, ignore_errors=True)
        return place

    def close(self) -> None:
        """Kill whatever still runs and end the watchdog; does nothing in a forked child."""
        if os.getpid() != self._process:
            return
        for running in self.alive():
            running.kill()
        if self._watchdog is not None and self._watchdog.stdin is not None:
            self._watchdog.stdin.close()
            self._watchdog.wait(10)
            self._watchdog = None


def _close_quietly(pipe: IO[bytes]) -> None:
    """Close a pipe whose reader may be gone with bytes still unsent."""
    try:
        pipe.close()
    except BrokenPipeError:
        return


_shared = Pool()


def shared_pool() -> Pool:
    """Return the pool of this Python process, which everything in the lab uses by default."""
    return _shared
