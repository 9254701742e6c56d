"""Disks for the catalogue of verify: formatted by Kafka's own tool, perhaps started once, then copied for each case."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.lab.harness import config as configs
from tests.lab.harness.node import KafkaNode, write_config
from tests.lab.harness.storage_tool import StorageToolServer
from tests.lab.harness.waiting import PATIENCE_S
from tests.lab.storage.verify_cases import Case, Node

CLUSTER_ID = "XgM8cvG1S-mQ3k4wGhkVpQ"
_HOLDS_A_LOCK = """
import fcntl, sys
file = open(sys.argv[1], "a+")
fcntl.lockf(file, fcntl.LOCK_EX)
print("locked", flush=True)
sys.stdin.read()
"""


class Disks:
    """Maker of the disks of cases. A kind of node is formatted and started once; each case gets a copy."""

    def __init__(self, root: Path, tool: StorageToolServer, port: Callable[[], int]) -> None:
        """Take the ports: `port` gives another free port each time."""
        self._root = root
        self._tool = tool
        self._ports = port(), port()
        self._made: dict[tuple[str, Node, bool], Path] = {}
        self._copies = 0

    def prepare(self, case: Case, release: str) -> Path:
        """Return the folder of a case, damage done; `server.properties` lies in it."""
        template = self._template(case.formatted_by or release, case.node, case.started_once)
        self._copies += 1
        folder = self._root / f"case-{self._copies}"
        subprocess.run(["cp", "-a", str(template), str(folder)], check=True)
        for leftover in folder.glob("*.log"):
            leftover.unlink()
        case.damage(folder)
        write_config(folder / "server.properties", self.config(case.becomes or case.node, folder))
        return folder

    def config(self, node: Node, folder: Path) -> configs.Config:
        """Return the configuration of such a node with its directories in `folder`."""
        broker, controller = self._ports
        quorum = configs.dynamic_quorum([controller]) if node.dynamic else configs.static_quorum({1: controller})
        log_dirs = [f"{folder}/{name}" for name in node.log_dirs]
        if node.roles == "controller":
            config = configs.controller(node_id=1, log_dirs=log_dirs, port=controller, quorum=quorum)
        else:
            config = configs.combined(
                node_id=1, log_dirs=log_dirs, broker_port=broker, controller_port=controller, quorum=quorum
            )
        if node.metadata_log_dir is not None:
            config |= {"metadata.log.dir": f"{folder}/{node.metadata_log_dir}"}
        return config | dict(node.more)

    def _template(self, release: str, node: Node, started_once: bool) -> Path:
        key = release, node, started_once
        if key not in self._made:
            self._made[key] = self._make(release, node, started_once)
        return self._made[key]

    def _make(self, release: str, node: Node, started_once: bool) -> Path:
        folder = self._root / f"made-{len(self._made)}"
        folder.mkdir()
        file = folder / "server.properties"
        write_config(file, self.config(node, folder))
        run = self._tool.run(release, ["format", "-t", CLUSTER_ID, "-c", str(file), *node.flags])
        assert run.exit_code == 0, run.stderr
        if started_once:
            with KafkaNode(release, file, folder) as running:
                running.start().wait_ready()
                _wait_for_snapshots(folder, node)
                assert running.stop(PATIENCE_S) is not None
        return folder


def _wait_for_snapshots(folder: Path, node: Node) -> None:
    """Wait until there are three snapshots, where they are asked for often."""
    deadline = time.monotonic() + PATIENCE_S
    while node.more and "metadata.log.max.snapshot.interval.ms" in node.more and time.monotonic() < deadline:
        if len(list(folder.glob("d1/__cluster_metadata-0/*-0000000001.checkpoint"))) >= 3:
            return
        time.sleep(0.1)


@contextmanager
def lock_held(directory: Path) -> Iterator[None]:
    """Hold, in another process, the lock that a node takes on a directory."""
    command = [sys.executable, "-c", _HOLDS_A_LOCK, str(directory / ".lock")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None and holder.stdin is not None
        assert holder.stdout.readline() == "locked\n"
        try:
            yield
        finally:
            holder.stdin.close()
