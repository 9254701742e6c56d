"""A producer with acks=all and a consumer group at work on a cluster, and what became of every message."""

from __future__ import annotations

import subprocess
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.lab.harness import java
from tests.lab.harness.cluster import KafkaCluster
from tests.lab.harness.errors import LabError
from tests.lab.harness.java_program import counts_of, java_program

PROGRAM = Path(__file__).parents[2] / "lab" / "java" / "Load.java"
TOPIC, PARTITIONS = "load", 6
_END_S = 400


class Traffic:
    """Messages flow as long as the block lasts; `mark` counts those since the last one, `result` all of them.

    The topic has a replica on each of three brokers, of which two must be in sync.
    """

    def __init__(self, cluster: KafkaCluster, *, interval_ms: int = 20) -> None:
        words = (cluster.bootstrap_server, TOPIC, str(PARTITIONS), "3", str(interval_ms))
        self._command = java_program(cluster.shape.release, PROGRAM, *words)
        self._errors = cluster.disks.workdir / "logs" / "load.txt"
        self.result: dict[str, int] = {}

    def __enter__(self) -> Self:
        with self._errors.open("wb") as errors:
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=java.environment(),
                stderr=errors,
            )  # fmt: skip
        if self._line() != "ready":
            self._process.kill()
            raise LabError(f"the load did not begin: {self._errors.read_text()[-600:]}")
        return self

    def mark(self) -> dict[str, int]:
        """Wait until what was acknowledged was read; `acked`, `errors`, `unread`, `longest_ack_ms`, `longest_read_ms`.

        They count from the mark before. Raises LabError if the program has ended.
        """
        assert self._process.stdin
        self._process.stdin.write("mark\n")
        self._process.stdin.flush()
        counts = counts_of(self._line())
        if not counts:
            raise LabError(f"the load has ended: {self._errors.read_text()[-600:]}")
        return counts

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self._process.kill()
            self._process.wait()
            return
        try:
            out, _ = self._process.communicate(timeout=_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            raise
        self.result = counts_of(out)

    def _line(self) -> str:
        assert self._process.stdout
        return self._process.stdout.readline().strip()
