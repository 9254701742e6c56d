"""Kafka's own command-line tools, run in one JVM that stays up and serves every release.

Rule: a run gives the exit code and the texts that the tool gives in a JVM of its own, and takes
milliseconds instead of most of a second. ``ToolServer.java`` says how. It is compiled at first use, into the
cache, by the Eclipse compiler, which is one jar from Maven and needs no JDK: so it works on a bare runtime.
(py4j was the other way: no compiler, but output, exits and uncaught exceptions would then have to be caught
by calls back into Python, in the middle of the tool's run.)
"""

from __future__ import annotations

import os
import select
import struct
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from tests.lab.harness import compiler, java, maven, releases
from tests.lab.harness.errors import ProcessFailed
from tests.lab.harness.pool import Pool, Running, shared_pool

STORAGE_TOOL = "kafka.tools.StorageTool"
JVM_OPTIONS = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")
LOGGING = Path(__file__).parents[1] / "logging"
_SOURCES = tuple(Path(__file__).parents[1] / "java" / name for name in ("ToolServer.java", "ExitCalls.java"))


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """Exit of a tool, and what it printed."""

    exit_code: int
    stdout: str
    stderr: str


class StorageToolServer:
    """A JVM that runs tools for any thread that asks, one at a time; use it as a context manager.

    A tool that does not end in time, or a JVM that exits, costs that one run (``ProcessFailed``): the next run
    gets a new JVM.
    """

    def __init__(self, *, pool: Pool | None = None, workdir: Path | None = None) -> None:
        """Take a folder: ``workdir`` is where the tools run, so what relative paths are relative to."""
        self._pool = pool or shared_pool()
        self._workdir = workdir or Path.cwd()
        self._scratch = tempfile.TemporaryDirectory(prefix="kafkactl-lab-")
        self._lock = threading.Lock()
        self._running: Running | None = None

    def __enter__(self) -> StorageToolServer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the JVM."""
        with self._lock:
            self._end()
        self._scratch.cleanup()

    def run(self, release: str, arguments: Sequence[str | Path], *, timeout_s: float = 60) -> ToolResult:
        """Run ``StorageTool`` of a release, as ``kafka-storage.sh ARGUMENTS`` would."""
        return self.run_tool(release, STORAGE_TOOL, arguments, timeout_s=timeout_s)

    def dump(self, release: str, arguments: Sequence[str | Path], *, timeout_s: float = 60) -> ToolResult:
        """Run the log dump tool of a release; of the newest that has one where it is not published."""
        row = releases.release(release)
        if not row.tools:
            row = releases.release(releases.NEWEST_WITH_TOOLS)
        return self.run_tool(row.version, row.dump_class, arguments, timeout_s=timeout_s)

    def run_tool(
        self, release: str, class_name: str, arguments: Sequence[str | Path], *, timeout_s: float = 60
    ) -> ToolResult:
        """Run the ``main`` of any class in the jars of a release.

        Raises ``ProcessFailed`` if the run takes longer than ``timeout_s`` or the JVM exits because of it.
        """
        request = [str(maven.jars(release)), class_name, *map(str, arguments)]
        with self._lock:
            running = self._running if self._running and self._running.alive else self._start()
            self._running = running
            try:
                return _ask(running, request, time.monotonic() + timeout_s)
            except BaseException:
                self._end()
                raise

    def _start(self) -> Running:
        command = [java.java_binary(), *JVM_OPTIONS, *logging_options("tools"), "-cp", compiled_server()]
        return self._pool.start(
            [*map(str, command), "kafkactl.lab.ToolServer"], name="tool-server", workdir=self._workdir,
            log=Path(self._scratch.name) / "tool-server.log", pipes=True,
        )  # fmt: skip

    def _end(self) -> None:
        if self._running is not None:
            self._running.kill()
            self._running = None


def run_separately(
    release: str, class_name: str, arguments: Sequence[str | Path], *, workdir: Path | None = None
) -> ToolResult:
    """Return the same as ``run_tool`` in a JVM of its own: what the server is compared with."""
    command = [java.java_binary(), *JVM_OPTIONS, *logging_options("tools"), "-cp", maven.class_path(release)]
    run = subprocess.run(
        [*map(str, command), class_name, *map(str, arguments)],
        check=False, cwd=workdir, env=java.environment(), stdin=subprocess.DEVNULL, capture_output=True, timeout=120,
    )  # fmt: skip
    return ToolResult(exit_code=run.returncode, stdout=_text(run.stdout), stderr=_text(run.stderr))


def logging_options(kind: str) -> list[str]:
    """Return JVM options for logging of ``tools`` or of a ``node``, in the 3.x way and the 4.x way."""
    log4j, log4j2 = LOGGING / f"{kind}.log4j.properties", LOGGING / f"{kind}.log4j2.properties"
    return [f"-Dlog4j.configuration={log4j.as_uri()}", f"-Dlog4j2.configurationFile={log4j2}"]


def compiled_server() -> Path:
    """Return the folder with the classes of the server, compiled at first use."""
    return compiler.compiled("tool-server", _SOURCES)


def _ask(running: Running, request: Sequence[str], deadline: float) -> ToolResult:
    items = [item.encode() for item in request]
    frame = struct.pack(">i", len(items)) + b"".join(struct.pack(">i", len(item)) + item for item in items)
    try:
        running.stdin.write(frame)
        running.stdin.flush()
    except BrokenPipeError:
        raise ProcessFailed(f"the tool server has died (exit code {running.wait(5)})") from None
    exit_code = _number(running, deadline)
    stdout, stderr = (_text(_read(running, _number(running, deadline), deadline)) for _ in range(2))
    return ToolResult(exit_code=exit_code, stdout=stdout, stderr=stderr)


def _number(running: Running, deadline: float) -> int:
    number: int = struct.unpack(">i", _read(running, 4, deadline))[0]
    return number


def _read(running: Running, count: int, deadline: float) -> bytes:
    """Read exactly that many bytes from the server's stdout, unbuffered so that the deadline can be kept."""
    source, read = running.stdout.fileno(), bytearray()
    while len(read) < count:
        ready, _, _ = select.select([source], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            raise ProcessFailed("the tool did not end in the given time; its JVM was killed")
        if not (chunk := os.read(source, count - len(read))):
            raise ProcessFailed(f"the tool server died during the run (exit code {running.wait(5)})")
        read += chunk
    return bytes(read)


def _text(printed: bytes) -> str:
    return printed.decode("utf-8", errors="surrogateescape")
