"""A cluster under `kafkactl roll`: an inventory whose hooks reach the test's own nodes.

::

    with KafkaCluster("3.9.2", tmp_path, controllers=1, brokers=3) as cluster, Rolled(cluster) as rolled:
        cluster.start()
        rolled.kafkactl("run", "--to", "4.3.1")

Files are read and replaced by kafkactl itself (template `local`); the other verbs are commands that ask this process,
which owns the JVMs. `faults` replaces the answer of a verb of one node.
"""

from __future__ import annotations

import functools
import json
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.lab.harness import java
from tests.lab.harness.cluster import KafkaCluster
from tests.lab.harness.errors import LabError
from tests.lab.harness.services.hooks import HookedInventory

_java_version = functools.cache(lambda: java.version_of(java.java_home()))
VERBS = ("stop", "start", "is_running", "install", "installed", "running", "java")
Fault = Callable[["Rolled", int], dict[str, Any] | None]


class Rolled(HookedInventory):
    """Inventory of a cluster that is rolled. `asked` are all calls of hooks, as verb and node."""

    group, paced = "roll", ("run", "rollback")

    def __init__(self, cluster: KafkaCluster, *, client_file: Path | None = None) -> None:
        super().__init__(cluster.disks.workdir / "roll.toml")
        self.cluster = cluster
        self.client_file = client_file
        self.installed: dict[int, str] = {}
        self.asked: list[tuple[str, int]] = []
        self.faults: dict[tuple[str, int], Fault] = {}
        self.stderr = ""

    def begin(self, verb: str, *words: str) -> subprocess.Popen[str]:
        """Start a verb, which the caller ends."""
        return subprocess.Popen(
            self.command(verb, *words), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True,
        )  # fmt: skip

    def wait_for_line(self, process: subprocess.Popen[str], text: str) -> None:
        """Read the progress of a verb that `begin` started until a line has this text. Raise LabError at its end."""
        assert process.stderr is not None
        read: list[str] = []
        while not read or text not in read[-1]:
            read.append(process.stderr.readline())
            if not read[-1]:
                raise LabError(f"no line with {text!r}:\n{''.join(read)[-6000:]}")

    def kafkactl(self, verb: str, *words: str, code: int = 0) -> dict[str, Any]:
        """Run a verb; its answer. Raises LabError for another exit code."""
        with self.begin(verb, *words) as process:
            return self.ended(process, code=code)

    def ended(self, process: subprocess.Popen[str], *, code: int = 0) -> dict[str, Any]:
        """Wait for a verb that `begin` started; its answer. Raises LabError for another exit code."""
        out, self.stderr = process.communicate(timeout=900)
        if process.returncode != code:
            raise LabError(f"{process.args} ended with {process.returncode}:\n{out}\n{self.stderr[-6000:]}")
        answer: dict[str, Any] = json.loads(out)
        return answer

    def inventory_text(self) -> str:
        """Return the inventory of all nodes."""
        lines = [
            f"journal = {json.dumps(str(self.cluster.disks.workdir / 'journal'))}",
            f"cluster_id = {json.dumps(self.cluster.cluster_id)}",
            *([] if self.client_file is None else [f"command_config = {json.dumps(str(self.client_file))}"]),
            "[hooks]",
            'template = "local"',
            "timeout_s = 120",
        ]
        for verb in VERBS:
            command = self.hook(verb, "{release}" if verb == "install" else "-")
            lines.append(f"{verb} = {json.dumps(command)}")
        for node_id in dict.fromkeys((*self.cluster.controller_ids, *self.cluster.broker_ids)):
            roles = []
            lines += ["[[nodes]]", f"id = {node_id}"]
            if node_id in self.cluster.broker_ids:
                roles.append("broker")
                lines.append(f'address = "{self.cluster.broker_address(node_id)}"')
            if node_id in self.cluster.controller_ids:
                roles.append("controller")
                lines.append(f'controller_address = "{self.cluster.controller_address(node_id)}"')
            lines += [f"roles = {json.dumps(roles)}", f"config = {json.dumps(str(self.cluster.config_file(node_id)))}"]
        return "\n".join(lines) + "\n"

    def answer_of(self, verb: str, node_id: int, release: str) -> str | dict[str, Any]:
        """Return the answer of a planted fault, else that of the verb."""
        self.asked.append((verb, node_id))
        fault = self.faults.get((verb, node_id))
        if fault is not None and (found := fault(self, node_id)) is not None:
            return found
        return self._act(verb, node_id, release)

    def _act(self, verb: str, node_id: int, release: str) -> str:
        node = self.cluster.node(node_id)
        match verb:
            case "stop":
                if node.alive:
                    node.running.send(signal.SIGTERM)
                    node.wait_exit(110)
            case "start" if not node.alive:
                with self._lock:
                    wanted = self.installed.get(node_id, node.release)
                    self.cluster.change_release(node_id, wanted)
            case "is_running":
                return "running" if node.alive else "gone"
            case "install":
                self.installed[node_id] = release
            case "installed":
                return self.installed.get(node_id, node.release)
            case "running":
                return node.release if node.alive else ""
            case "java":
                return f'openjdk version "{_java_version()}.0.1"'
        return ""
