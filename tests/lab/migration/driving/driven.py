"""A migrating cluster under the real driver: an inventory whose hooks reach the test's own nodes, and a canary.

::

    with MigrationCluster("3.9.2", tmp_path) as cluster, Driven(cluster) as driven:
        cluster.reach("M0")
        driven.kafkactl("run", "--until", "M8")

The files and disks are touched by kafkactl itself (template `local`); `stop`, `start` and `is_running` are commands
that ask this process, which owns the JVMs.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.lab.harness import java
from tests.lab.harness.errors import LabError
from tests.lab.harness.java_program import counts_of, java_program
from tests.lab.harness.ports import HOST
from tests.lab.harness.services.hooks import PACE, HookedInventory
from tests.lab.migration.cluster import MigrationCluster
from tests.lab.migration.driving.runbook import Line

CANARY = Path(__file__).parents[2] / "java" / "Canary.java"
ROOT = Path(__file__).parents[4]
ACCEPTED = (
    "release-with-migration-bugs",
    "zookeeper-health-unknown",
    "log-directories-unknown",
    "automation-unknown",
    "node-connectivity-unknown",
    "disk-topic-ids-unknown",
)


class Driven(HookedInventory):
    """Inventory of a migrating cluster under the real driver."""

    group, paced = "migrate", ("run", "rollback", "finalize")

    def __init__(self, cluster: MigrationCluster) -> None:
        super().__init__(cluster.workdir / "migration.toml")
        self.cluster = cluster
        self.log: list[str] = []

    def kafkactl(self, verb: str, *words: str, code: int = 0) -> dict[str, Any]:
        """Run a verb; its answer. Raises LabError for another exit code."""
        ended = subprocess.run(
            self.command(verb, *words),
            capture_output=True,
            text=True,
            timeout=900,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        self.log += ended.stderr.splitlines()
        if ended.returncode != code:
            raise LabError(f"migrate {verb} ended with {ended.returncode}:\n{ended.stdout}\n{ended.stderr[-6000:]}")
        answer: dict[str, Any] = json.loads(ended.stdout)
        return answer

    def run(self, *words: str, code: int = 0) -> dict[str, Any]:
        """Run `migrate run` as an operator who has looked at what cannot be observed."""
        return self.kafkactl(
            "run", "--yes", *(word for finding in ACCEPTED for word in ("--accept", finding)), *words, code=code
        )

    def typed(self, line: Line, *words: str, code: int = 0) -> dict[str, Any]:
        """Run a line of the runbook unchanged, with `words` after it; its answer, the last one of a watch."""
        pace = PACE if line.verb in self.paced else ()
        command = [sys.executable, "-m", "kafkactl", *line.words(self.names), *pace, *words, "-o", "json"]
        ended = subprocess.run(
            command, capture_output=True, text=True, timeout=900, check=False, stdin=subprocess.DEVNULL,
            cwd=self.cluster.workdir, env=os.environ | {"PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        if ended.returncode != code:
            raise LabError(f"{line.text} ended with {ended.returncode}:\n{ended.stdout}\n{ended.stderr[-6000:]}")
        looks = ended.stdout.splitlines() if "--watch" in command else [ended.stdout]
        answer: dict[str, Any] = json.loads(looks[-1])
        return answer

    @property
    def names(self) -> dict[str, str]:
        """Return what the runbook's words for the reader's own things stand for here."""
        return {
            "CLUSTER_ID": self.cluster.cluster_id(),
            "BROKER:9092": self.cluster.bootstrap_server,
            "RELEASE": ".".join(self.cluster.release.split(".")[:2]),
        }

    def inventory_text(self) -> str:
        """Return the inventory of all nodes."""
        lines = [
            f"journal = {json.dumps(str(self.cluster.workdir / 'journal'))}",
            "[zookeeper]",
            f"connect = {json.dumps(self.cluster.connect)}",
            "[hooks]",
            'template = "local"',
            "timeout_s = 120",
            *(f"{verb} = {json.dumps(self.hook(verb))}" for verb in ("stop", "start", "is_running")),
        ]
        ports = {id: plain for id, (plain, _) in self.cluster.plan.brokers.items()} | dict(
            self.cluster.plan.controllers
        )
        for id, port in ports.items():
            role = "controller" if id in self.cluster.plan.controllers else "broker"
            lines += [
                "[[nodes]]",
                f'id = {id}\nrole = "{role}"\naddress = "{HOST}:{port}"',
                f"config = {json.dumps(str(self.cluster.config_file(id)))}",
                f"log_dirs = [{json.dumps(str(self.cluster.plan.log_dir(id)))}]",
                f'kafka_version = "{self.cluster.release}"',
            ]
        return "\n".join(lines) + "\n"

    def answer_of(self, verb: str, node_id: int, release: str) -> str | dict[str, Any]:
        """Stop, start or restart a node, or report its process."""
        with self._lock:
            node = self.cluster.node(node_id)
            if verb in ("stop", "restart"):
                self.cluster.stop(node_id)
            if verb == "restart" or (verb == "start" and not node.alive):
                self.cluster.start(node_id, wait=False)
            elif verb == "is_running":
                return "running" if node.alive else "gone"
            return ""


class Canary:
    """A producer that writes as long as the block lasts, and then reads what was acked. `result` has its counts."""

    source = CANARY

    def __init__(
        self, cluster: MigrationCluster, topic: str, *, interval_ms: int = 40, client_file: Path | None = None
    ) -> None:
        self._runs(cluster, topic, str(interval_ms), *([] if client_file is None else [str(client_file)]))

    def _runs(self, cluster: MigrationCluster, *arguments: str) -> None:
        self._command = java_program(cluster.release, self.source, cluster.bootstrap_server, *arguments)
        self.result: dict[str, int] = {}

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=java.environment(),
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        assert self._process.stdout
        if self._process.stdout.readline().strip() != "ready":
            raise LabError("the canary did not begin")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            out, _ = self._process.communicate("end\n", timeout=400)
        except subprocess.TimeoutExpired:
            os.kill(self._process.pid, 9)
            raise
        self.result = counts_of(out)


class Reader(Canary):
    """A member of a group that reads a topic as long as the block lasts, and then to its end."""

    source = CANARY.with_name("Reader.java")

    def __init__(self, cluster: MigrationCluster, topic: str, *, group: str = "readers") -> None:
        self._runs(cluster, topic, group)
