"""A JVM with a server in it, which can be started, stopped, killed, paused and started again.

What nodes of Kafka and ZooKeeper have in common. Each start writes a log file of its own.
"""

from __future__ import annotations

import abc
import itertools
import signal
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.lab.harness import class_archive, java, maven
from tests.lab.harness.errors import ProcessFailed
from tests.lab.harness.pool import Pool, Running, shared_pool
from tests.lab.harness.storage_tool import logging_options

JVM_OPTIONS = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")
POLL_S = 0.05
READY_S = 180.0  # on a machine on which the start of a JVM takes a minute


class Server(abc.ABC):
    """Server, running or not. As a context manager it is killed at the end of the block."""

    def __init__(
        self, name: str, release: str, command: Sequence[str], workdir: Path, *, config_file: Path,
        pool: Pool | None = None, heap_mb: int = 256, java_options: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
    ) -> None:  # fmt: skip
        """Take a program: ``command`` is the main class and its arguments; ``env`` is added to the environment."""
        self.name = name
        self.release = release
        self.workdir = workdir
        self.config_file = config_file
        self._command = tuple(command)
        self._pool = pool or shared_pool()
        self._java_options = (f"-Xmx{heap_mb}m", *JVM_OPTIONS, *java_options)
        self._env = dict(env or {})
        self._log_file: Path | None = None
        self._running: Running | None = None
        self.is_paused = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    @property
    def running(self) -> Running:
        """Return the process of the last start; ``ProcessFailed`` if there was none."""
        if self._running is None:
            raise ProcessFailed(f"{self.name} was never started")
        return self._running

    def class_path(self) -> str:
        """Return the ``-cp`` argument: the jars of the release."""
        return maven.class_path(self.release)

    @property
    def pid(self) -> int:
        """Return the id of the process."""
        return self.running.pid

    @property
    def alive(self) -> bool:
        """Return True if it runs; a paused one does."""
        return self._running is not None and self._running.alive

    @property
    def exit_code(self) -> int | None:
        """Return how the last start ended, negative for a signal; None if it runs or never ran."""
        return None if self._running is None else self._running.exit_code

    def log_text(self) -> str:
        """Return what the last start has logged so far; empty before the first."""
        return "" if self._log_file is None else self._log_file.read_text(encoding="utf-8", errors="replace")

    def _fresh_log_file(self) -> Path:
        """Return a name no earlier start used, be it of another object: old lines must not pass for new ones."""
        numbered = (self.workdir / f"{self.name}-{number}.log" for number in itertools.count(1))
        return next(file for file in numbered if not file.exists())

    def start(self) -> Self:
        """Start the process and return at once; ``ProcessFailed`` if it runs already."""
        if self.alive:
            raise ProcessFailed(f"{self.name} runs already (pid {self.pid})")
        self._log_file = self._fresh_log_file()
        self.is_paused = False
        options = [*self._java_options, *class_archive.options(self.release), *logging_options("node")]
        command = [str(java.java_binary()), *options]
        self._running = self._pool.start(
            [*command, "-cp", self.class_path(), *self._command],
            name=self.name, workdir=self.workdir, log=self._log_file, env=java.environment() | self._env,
            keep=[self.config_file],
        )  # fmt: skip
        return self

    @abc.abstractmethod
    def ready(self) -> bool:
        """Return True if there is evidence, now, that the server serves."""

    def wait_ready(self, timeout_s: float = READY_S) -> Self:
        """Wait for the evidence; ``ProcessFailed`` with the end of the log if it ends or takes too long."""
        deadline = time.monotonic() + timeout_s
        while self.alive and time.monotonic() < deadline:
            if self.ready():
                return self
            time.sleep(POLL_S)
        state = f"still not ready after {timeout_s} s" if self.alive else f"ended with exit code {self.exit_code}"
        raise ProcessFailed(f"{self.name} (Kafka {self.release}) {state}; its log ends:\n{self.log_text()[-3000:]}")

    def wait_exit(self, timeout_s: float = 60) -> int:
        """Wait until it ends; returns the exit code, ``ProcessFailed`` if it takes too long."""
        code = self.running.wait(timeout_s)
        if code is None:
            raise ProcessFailed(f"{self.name} still runs after {timeout_s} s")
        return code

    def stop(self, grace_s: float = 60) -> int | None:
        """Send SIGTERM, then SIGKILL after ``grace_s``. Returns the exit code; None if it never ran."""
        return None if self._running is None else self._running.stop(grace_s)

    def kill(self) -> int | None:
        """Send SIGKILL. Returns the exit code; None if it never ran."""
        return None if self._running is None else self._running.kill()

    def pause(self) -> None:
        """Send SIGSTOP: the process keeps its connections and answers nothing."""
        self.running.send(signal.SIGSTOP)
        self.is_paused = True

    def resume(self) -> None:
        """Send SIGCONT: undo ``pause``."""
        self.running.send(signal.SIGCONT)
        self.is_paused = False
