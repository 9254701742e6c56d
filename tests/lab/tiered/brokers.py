"""Three brokers that tier within a second, into one folder, behind a storage that can hold, refuse and lose.

Node 1 is the controller, too, and stays up; 11 and 12 are killed, paused and elected. Faults are files of the store's
control folder (HeldStorage.java), for one topic or for all.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from kafkactl.core.values import Role
from kafkactl.kafka.client import Client
from kafkactl.tiered.api.verbs import Request
from tests.lab.harness import config, java, maven, releases
from tests.lab.harness.cluster import KafkaCluster
from tests.lab.harness.cluster_disks import Disks
from tests.lab.harness.compiler import compiled
from tests.lab.harness.errors import LabError
from tests.lab.harness.node import KafkaNode, read_config, write_config
from tests.lab.harness.pool import Running, shared_pool
from tests.lab.harness.storage_tool import JVM_OPTIONS, logging_options

METADATA_PARTITIONS = 5
COUNT = "rlmm.config.remote.log.metadata.topic.num.partitions"
CHORES_RELEASE = "4.3.1"
NO_TEST_JAR = frozenset({"4.4.0"})
DEADLINE_S = 180.0
T = TypeVar("T")
_JAVA = Path(__file__).parents[1] / "java"
_SETTINGS = {
    "remote.log.storage.system.enable": "true",
    "remote.log.storage.manager.class.name": "kafkactl.lab.HeldStorage",
    "remote.log.storage.manager.impl.prefix": "rsm.config.",
    "remote.log.metadata.manager.impl.prefix": "rlmm.config.",
    "remote.log.metadata.manager.listener.name": "PLAINTEXT",
    COUNT: str(METADATA_PARTITIONS),
    "rlmm.config.remote.log.metadata.topic.replication.factor": "3",
    "rlmm.config.remote.log.metadata.initialization.retry.interval.ms": "300",
    "rlmm.config.remote.log.metadata.consume.wait.ms": "15000",
    "remote.log.manager.task.interval.ms": "500",
    "log.retention.check.interval.ms": "500",
    "log.initial.task.delay.ms": "500",
    "log.index.size.max.bytes": "65536",
    "broker.session.timeout.ms": "6000",
    "min.insync.replicas": "1",
    "auto.create.topics.enable": "false",
}


def storage_class_path(release: str) -> str:
    """Return the jars of a release, Kafka's storage for tests where there is one, and ours."""
    jars = maven.class_path(release)
    if release not in NO_TEST_JAR:
        jars = f"{jars}{os.pathsep}{maven.storage_test_jar(release)}"
    sources = [_JAVA / "HeldStorage.java", _JAVA / "FolderStorage.java"]
    return f"{jars}{os.pathsep}{compiled(f'tiered-store-{release}', sources, class_path=jars)}"


class _TieringNode(KafkaNode):
    def class_path(self) -> str:
        return storage_class_path(self.release)


class _TieringDisks(Disks):
    """Disks whose nodes have the store; `store` and `control` are its folders."""

    @property
    def store(self) -> Path:
        return self.workdir / "store"

    @property
    def control(self) -> Path:
        return self.workdir / "control"

    def node(self, node_id: int, release: str) -> KafkaNode:
        return _TieringNode(release, self.config_file(node_id), self.workdir / "logs", name=f"node-{node_id}")

    def own_settings(self, node_id: int) -> config.Config:
        self.store.mkdir(parents=True, exist_ok=True)
        self.control.mkdir(parents=True, exist_ok=True)
        own = {"rsm.config.dir": str(self.store), "rsm.config.control.dir": str(self.control)}
        if self.shape.release_of(node_id) in NO_TEST_JAR:
            own["rsm.config.store.class"] = "kafkactl.lab.FolderStorage"
        return _SETTINGS | own | dict(self.shape.settings)


class TieredCluster(KafkaCluster):
    """Cluster of brokers that tier. `chores` asks Kafka's own clients to do something; a context manager."""

    DISKS = _TieringDisks
    disks: _TieringDisks

    def __init__(self, release: str, workdir: Path, settings: Mapping[str, str] | None = None) -> None:
        super().__init__(
            release, workdir, controllers=1, brokers=2, combined=True, dynamic=False, settings=settings or {}
        )
        self.release = release
        self._chores: Running | None = None

    def close(self) -> None:
        """Kill all of it."""
        if self._chores is not None:
            self._chores.kill()
        super().close()

    @property
    def number(self) -> tuple[int, ...]:
        """Return the release, for comparing."""
        return releases.release(self.release).number

    def topic_settings(self, **more: str) -> str:
        """Return the settings of a topic whose segments are closed after 18 records of 1 kB and tiered at once; `a__b`
        is `a.b`."""
        segment = "segment.bytes" if self.number < (4, 1) else "internal.segment.bytes"
        settings = {
            "remote.storage.enable": "true",
            "local.retention.bytes": "1",
            "retention.ms": "-1",
            "file.delete.delay.ms": "500",
            segment: "20000",
        } | {name.replace("__", "."): value for name, value in more.items()}
        return ",".join(f"{name}={value}" for name, value in settings.items())

    def reconfigure(self, settings: Mapping[str, str]) -> None:
        """Write settings into the files of all nodes; they take them at their next start."""
        for node_id in (*self.controller_ids, *self.broker_ids):
            file = self.config_file(node_id)
            write_config(file, read_config(file) | dict(settings))

    def request(self, *, bucket: bool = True, **more: Any) -> Request:
        """Return the disks of all brokers, the controller's metadata log and the store's folder."""
        given: dict[str, Any] = {
            "sources": tuple(str(self.disks.log_dir(broker)) for broker in sorted(self.disks.broker_ports)),
            "metadata": str(self.disks.metadata_log(1)),
            "bucket": str(self.disks.store) if bucket else None,
            "metadata_partitions": METADATA_PARTITIONS,
        }
        return Request(**(given | more))

    def asking(self) -> Client:
        """Return a client of the brokers that run."""
        return self.client(Role.BROKER)

    def fault(self, name: str, topic: str = "", *, on: bool = True) -> None:
        """Switch a fault of the store on or off."""
        file = self.disks.control / (f"{name}.{topic}" if topic else name)
        if on:
            file.touch()
        else:
            file.unlink(missing_ok=True)

    def chore(self, *words: object) -> str:
        """Return what TieredChores.java answers to a line of words. Raises LabError."""
        if self._chores is None or not self._chores.alive:
            self._chores = self._start_chores()
        line = ":".join(map(str, words))
        self._chores.stdin.write(f"{line}\n".encode())
        self._chores.stdin.flush()
        said = self._chores.stdout.readline().decode().strip()
        if not said or said.startswith("failed"):
            raise LabError(f"{line}: {said or 'the chores have died'}")
        return said

    def _start_chores(self) -> Running:
        jars = maven.class_path(CHORES_RELEASE)
        classes = compiled("tiered-chores", [_JAVA / "TieredChores.java"], class_path=jars)
        command = [java.java_binary(), *JVM_OPTIONS, *logging_options("tools"), "-cp", f"{classes}{os.pathsep}{jars}"]
        return shared_pool().start(
            [*map(str, command), "kafkactl.lab.TieredChores", self.bootstrap_server], name="tiered-chores",
            workdir=self.disks.workdir, log=self.disks.workdir / "chores.log", env=java.environment(), pipes=True,
        )  # fmt: skip

    def until(self, holds: Callable[[], T], what: str, timeout_s: float = DEADLINE_S) -> T:
        """Poll until something is so, and give it back. Raises LabError."""
        deadline = time.monotonic() + timeout_s
        while True:
            if found := holds():
                return found
            if time.monotonic() > deadline:
                raise LabError(f"Kafka {self.release}: not {what} within {timeout_s:.0f} s")
            time.sleep(0.2)
