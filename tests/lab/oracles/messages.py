"""Kafka's own message, batch and quorum-state classes as an oracle: a JVM that answers what it makes of bytes."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from types import TracebackType

from tests.lab.harness import java, maven, releases
from tests.lab.harness.compiler import compiled
from tests.lab.harness.errors import ProcessFailed
from tests.lab.harness.pool import Pool, shared_pool
from tests.lab.harness.storage_tool import JVM_OPTIONS, logging_options

SOURCE = Path(__file__).parents[1] / "java" / "MessageOracle.java"


class Oracle:
    """The classes of one release; use it as a context manager. Questions are those of ``MessageOracle.java``.

    A subclass names another source, whose class is its stem and whose questions are its own. `more` are sources beside
    it; `package` is where the class is; with `each_release` it is compiled against every release on its own.
    """

    source = SOURCE
    more: tuple[Path, ...] = ()
    package = "kafkactl.lab"
    each_release = False

    def __init__(self, release: str, *, pool: Pool | None = None) -> None:
        self.release = release
        self._pool = pool or shared_pool()

    def __enter__(self) -> Oracle:
        against = self.release if self.each_release else releases.VERSIONS[-1]
        name = f"{self.source.stem}-{self.release}" if self.each_release else self.source.stem
        classes = compiled(name, [self.source, *self.more], class_path=maven.class_path(against))
        path = os.pathsep.join((maven.class_path(self.release), str(classes)))
        self._scratch = tempfile.TemporaryDirectory(prefix="kafkactl-oracle-")
        workdir = Path(self._scratch.name)
        self._log = workdir / "oracle.log"
        command = [str(java.java_binary()), *JVM_OPTIONS, *logging_options("tools")]
        self._running = self._pool.start(
            [*command, "-cp", path, f"{self.package}.{self.source.stem}"],
            name=f"oracle-{self.release}", workdir=workdir, log=self._log, pipes=True,
        )  # fmt: skip
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._running.kill()
        self._scratch.cleanup()

    def ask(self, *words: str | bytes) -> str:
        """Return the answer to one question; bytes are sent as hex. Raises ``ProcessFailed`` if the JVM is gone."""
        line = " ".join(word.hex() if isinstance(word, bytes) else word for word in words)
        self._running.stdin.write(line.encode("ascii") + b"\n")
        self._running.stdin.flush()
        answer = self._running.stdout.readline()
        if not answer.endswith(b"\n"):
            raise ProcessFailed(f"the oracle ended:\n{self._log.read_text(encoding='utf-8', errors='replace')}")
        return str(answer[:-1], "utf-8")
