"""A cluster under `kafkactl roll`: an inventory whose hooks reach the test's own nodes.

::

    with KafkaCluster("3.9.2", tmp_path, controllers=1, brokers=3) as cluster, Rolled(cluster) as rolled:
        cluster.start()
        rolled.kafkactl("run", "--to", "4.3.1")

Files are read and replaced by kafkactl itself (template `local`); the other verbs are commands that ask this process,
which owns the JVMs. `faults` replaces the answer of a verb of one node.
"""

from __future__ import annotations

import contextlib
import json
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.lab.harness import java
from tests.lab.harness.cluster import KafkaCluster
from tests.lab.harness.errors import LabError
from tests.lab.harness.pool import shared_pool

HOOK = Path(__file__).with_name("hook.py")
PACE = ("--gate-interval", "1s", "--gate-timeout", "3m")
VERBS = ("stop", "start", "is_running", "install", "installed", "running", "java")
Fault = Callable[["Rolled", int], dict[str, Any] | None]


class Rolled:
    """See the module. `asked` are all calls of hooks, as verb and node."""

    def __init__(self, cluster: KafkaCluster) -> None:
        self.cluster = cluster
        self.installed: dict[int, str] = {}
        self.asked: list[tuple[str, int]] = []
        self.faults: dict[tuple[str, int], Fault] = {}
        self._folder = tempfile.TemporaryDirectory(prefix="hooks-")
        self._path = str(Path(self._folder.name) / "s")
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(self._path)
        self._listener.listen()
        self._lock = threading.Lock()
        self._owner = threading.get_ident()
        self.inventory = cluster.disks.workdir / "roll.toml"
        self.stderr = ""

    def __enter__(self) -> Self:
        threading.Thread(target=self._serve, daemon=True).start()
        self.inventory.write_text(self._inventory(), encoding="utf-8")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listener.close()
        self._folder.cleanup()

    # --- the product ---

    def command(self, verb: str, *words: str) -> list[str]:
        """A whole command line, with gates one second apart."""
        pace = PACE if verb in ("run", "rollback") else ()
        program = [sys.executable, "-m", "kafkactl", "roll", verb, "--inventory", str(self.inventory)]
        return [*program, *pace, *words, "-o", "json"]

    def begin(self, verb: str, *words: str) -> subprocess.Popen[str]:
        """Start a verb, which the caller ends."""
        return subprocess.Popen(
            self.command(verb, *words), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True,
        )  # fmt: skip

    def kafkactl(self, verb: str, *words: str, code: int = 0) -> dict[str, Any]:
        """Run a verb; its answer. Raises LabError for another exit code."""
        with self.begin(verb, *words) as process:
            return self.answer(process, code=code)

    def answer(self, process: subprocess.Popen[str], *, code: int = 0) -> dict[str, Any]:
        """Wait for a verb that `begin` started; its answer. Raises LabError for another exit code."""
        out, self.stderr = process.communicate(timeout=900)
        if process.returncode != code:
            raise LabError(f"{process.args} ended with {process.returncode}:\n{out}\n{self.stderr[-6000:]}")
        answer: dict[str, Any] = json.loads(out)
        return answer

    # --- the hooks ---

    def _inventory(self) -> str:
        lines = [
            f"journal = {json.dumps(str(self.cluster.disks.workdir / 'journal'))}",
            f"cluster_id = {json.dumps(self.cluster.cluster_id)}",
            "[hooks]",
            'template = "local"',
            "timeout_s = 120",
        ]
        for verb in VERBS:
            release = "{release}" if verb == "install" else "-"
            command = [sys.executable, str(HOOK), self._path, verb, "{node_id}", release]
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

    def _serve(self) -> None:
        shared_pool().act_for(self._owner)  # the nodes are those of the test, which has room for them
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                threading.Thread(target=self._answer_one, args=(connection,), daemon=True).start()

    def _answer_one(self, connection: socket.socket) -> None:
        shared_pool().act_for(self._owner)
        with connection, connection.makefile("rb") as lines, contextlib.suppress(OSError):
            if (line := lines.readline()).endswith(b"\n"):  # else the hook was killed before it had asked
                connection.sendall(json.dumps(self._answer(json.loads(line))).encode())

    def _answer(self, asked: dict[str, str | int]) -> dict[str, Any]:
        verb, node_id = str(asked["verb"]), int(asked["node"])
        self.asked.append((verb, node_id))
        answer = {"exit": 0, "out": "", "err": ""}
        try:
            fault = self.faults.get((verb, node_id))
            if fault is not None and (found := fault(self, node_id)) is not None:
                return answer | found
            answer["out"] = self._act(verb, node_id, str(asked["release"]))
        except Exception as error:  # a hook that fails gives the reason
            answer |= {"exit": 1, "err": repr(error)}
        return answer

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
                return f'openjdk version "{java.version_of(java.java_home())}.0.1"'
        return ""
