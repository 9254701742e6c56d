"""Broker that tiers within seconds, into a folder, behind a storage that can hold, refuse and lose.

::

    with TieredBroker("4.3.1", tmp_path) as broker:
        broker.start()
        broker.chores("create:orders:" + broker.small_segments, "produce:orders:100")
        broker.wait_for(lambda: ...)
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from kafkactl.net.transport import Address
from tests.lab.harness import config, java, maven, releases
from tests.lab.harness.compiler import compiled
from tests.lab.harness.errors import LabError
from tests.lab.harness.node import KafkaNode
from tests.lab.harness.pool import Pool
from tests.lab.harness.ports import HOST, free_ports, release_port
from tests.lab.harness.storage_tool import JVM_OPTIONS, StorageToolServer, logging_options

CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qk"
METADATA_PARTITIONS = 5
_JAVA = Path(__file__).parents[1] / "java"
_SETTINGS = {
    "remote.log.storage.system.enable": "true",
    "remote.log.storage.manager.class.name": "kafkactl.lab.HeldStorage",
    "remote.log.metadata.manager.listener.name": "PLAINTEXT",
    "rlmm.config.remote.log.metadata.topic.num.partitions": str(METADATA_PARTITIONS),
    "rlmm.config.remote.log.metadata.topic.replication.factor": "1",
    "rlmm.config.remote.log.metadata.initialization.retry.interval.ms": "300",
    "remote.log.manager.task.interval.ms": "500",
    "log.retention.check.interval.ms": "500",
    "log.initial.task.delay.ms": "500",
    "log.index.size.max.bytes": "65536",
}


class _TieringNode(KafkaNode):
    """A node whose class path has the storage, too."""

    def class_path(self) -> str:
        """Return the jars of the release, Kafka's storage for tests, and ours."""
        return class_path(self.release)


def class_path(release: str) -> str:
    """Return what a broker that tiers needs, and our own classes."""
    jars = f"{maven.class_path(release)}{os.pathsep}{maven.storage_test_jar(release)}"
    sources = [_JAVA / "HeldStorage.java", _JAVA / "TieredChores.java"]
    return f"{jars}{os.pathsep}{compiled(f'tiered-{release}', sources, class_path=jars)}"


class TieredBroker:
    """A combined node, its log directory, its store and the faults of the store."""

    def __init__(self, release: str, workdir: Path, *, pool: Pool | None = None) -> None:
        self.release = release
        self.data, self.store, self.control = workdir / "data", workdir / "store", workdir / "control"
        self.control.mkdir(parents=True)
        self.store.mkdir()
        self._ports = free_ports(2)
        broker_port, controller_port = self._ports
        settings = config.combined(
            node_id=1, log_dirs=[self.data], broker_port=broker_port, controller_port=controller_port,
            quorum=config.static_quorum({1: controller_port}),
        )  # fmt: skip
        settings |= _SETTINGS | {
            "rsm.config.dir": str(self.store),
            "rsm.config.control.dir": str(self.control),
        }
        self.node = _TieringNode(release, settings, workdir, pool=pool)
        self.address = f"{HOST}:{broker_port}"
        self.broker_address = Address(HOST, broker_port)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.node.kill()
        for port in self._ports:
            release_port(port)

    def format(self, tool: StorageToolServer) -> Self:
        """Format the disk."""
        result = tool.run(self.release, ["format", "-t", CLUSTER_ID, "-c", self.node.config_file])
        if result.exit_code:
            raise LabError(f"format failed: {result}")
        return self

    @property
    def small_segments(self) -> str:
        """Return settings of a topic whose segments are closed and copied after 18 records of 1 kB."""
        segment = "segment.bytes" if releases.release(self.release).number < (4, 0) else "internal.segment.bytes"
        tiered = "remote.storage.enable=true,local.retention.bytes=1,retention.ms=-1,file.delete.delay.ms=500"
        return f"{tiered},{segment}=20000"

    @property
    def metadata_log(self) -> Path:
        """Return the cluster's metadata log."""
        return self.data / "__cluster_metadata-0"

    def fault(self, name: str, *, on: bool = True) -> None:
        """Switch a fault of the store on or off (see HeldStorage.java)."""
        file = self.control / name
        if on:
            file.touch()
        else:
            file.unlink(missing_ok=True)

    def chores(self, *words: str) -> str:
        """Return what TieredChores.java says. Raises LabError if it fails."""
        command = [java.java_binary(), *JVM_OPTIONS, *logging_options("tools"), "-cp", class_path(self.release)]
        ended = subprocess.run(
            [*map(str, command), "kafkactl.lab.TieredChores", self.address, *words],
            check=False, env=java.environment(), capture_output=True, text=True, timeout=300,
        )  # fmt: skip
        if ended.returncode:
            raise LabError(f"{' '.join(words)} went wrong:\n{ended.stdout}\n{ended.stderr}")
        return ended.stdout

    def offsets(self, topic: str) -> dict[str, int]:
        """Return what Kafka itself says of a topic's only partition."""
        numbers = map(int, self.chores(f"offsets:{topic}").split())
        return dict(zip(("earliest", "latest", "earliest_local", "latest_tiered"), numbers, strict=True))

    def wait_for(self, condition: Callable[[], Any], what: str, timeout_s: float = 180) -> Any:
        """Wait until something is so, and give it back. Raises LabError."""
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            found = condition()
            if found:
                return found
            time.sleep(0.3)
        raise LabError(f"not {what} within {timeout_s} s; the broker's log ends:\n{self.node.log_text()[-3000:]}")
