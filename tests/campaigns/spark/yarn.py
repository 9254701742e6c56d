"""A Hadoop cluster on loopback: HDFS, a ResourceManager and a NodeManager, of the release whose client pyspark has."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Final
from xml.sax.saxutils import escape

from tests.installed import place_of
from tests.lab.harness import java, maven
from tests.lab.harness.ports import HOST, free_ports
from tests.lab.harness.releases import Coordinates

SPARK_JARS: Final = place_of("pyspark") / "jars"
_HDFS: Final = "org.apache.hadoop.hdfs.server"
_YARN: Final = "org.apache.hadoop.yarn.server"
_BOUNCY_CASTLE: Final = "1.82"
_QUICK: Final = (
    "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx384m",
    "-Dlog4j2.configurationFile=classpath:org/apache/spark/log4j2-defaults.properties",
)  # fmt: skip
_CAPACITY: Final = {
    "yarn.scheduler.capacity.root.queues": "default",
    "yarn.scheduler.capacity.root.default.capacity": "100",
    "yarn.scheduler.capacity.maximum-am-resource-percent": "1",
}


def _class_path() -> str:
    """Return the servers' classes, of the release that pyspark's client has."""
    (client,) = SPARK_JARS.glob("hadoop-client-api-*.jar")
    release = client.stem.removeprefix("hadoop-client-api-")
    wanted = [
        Coordinates("org.apache.hadoop", "hadoop-client-minicluster", release),
        *(
            Coordinates("org.bouncycastle", f"{name}-jdk18on", _BOUNCY_CASTLE)
            for name in ("bcprov", "bcpkix", "bcutil")
        ),
    ]
    return f"{maven.resolved(f'hadoop-{release}', wanted, ['*'])}/*:{SPARK_JARS}/*"


class Yarn:
    """The processes of a cluster, which end with `stack`. `conf` is the folder for HADOOP_CONF_DIR."""

    def __init__(self, folder: Path, stack: ExitStack, *, memory_mb: int = 6144) -> None:
        self.folder, self._stack = folder, stack
        self.conf = folder / "conf"
        self.conf.mkdir(parents=True)
        self._class_path = f"{self.conf}:{_class_path()}"
        names = (
            "namenode", "dfs.namenode.http-address", "dfs.datanode.address", "dfs.datanode.http.address",
            "dfs.datanode.ipc.address", "yarn.resourcemanager.address", "yarn.resourcemanager.scheduler.address",
            "yarn.resourcemanager.resource-tracker.address", "yarn.resourcemanager.admin.address",
            "yarn.resourcemanager.webapp.address", "yarn.nodemanager.address", "yarn.nodemanager.localizer.address",
            "yarn.nodemanager.webapp.address",
        )  # fmt: skip
        addresses = {name: f"{HOST}:{port}" for name, port in zip(names, free_ports(len(names)), strict=True)}
        self.files = f"hdfs://{addresses.pop('namenode')}"
        self._write("core-site.xml", {"fs.defaultFS": self.files, "hadoop.tmp.dir": str(folder / "tmp")})
        hdfs = {name: value for name, value in addresses.items() if name.startswith("dfs.")}
        self._write("hdfs-site.xml", {"dfs.replication": "1", **hdfs})
        self._write("yarn-site.xml", self._yarn(addresses, memory_mb))
        self._write("capacity-scheduler.xml", _CAPACITY)
        subprocess.run(
            self._command(f"{_HDFS}.namenode.NameNode", "-format", "-force"),
            check=True,
            capture_output=True,
            cwd=folder,
        )
        self._start(f"{_HDFS}.namenode.NameNode")
        self._start(f"{_HDFS}.datanode.DataNode")
        self._start(f"{_YARN}.resourcemanager.ResourceManager")
        self._start(f"{_YARN}.nodemanager.NodeManager")
        self.wait(lambda: "Registered with ResourceManager" in self.log("NodeManager"), "the NodeManager")
        self.wait(lambda: "registered with NN" in self.log("DataNode"), "the DataNode")

    def _yarn(self, addresses: Mapping[str, str], memory_mb: int) -> dict[str, str]:
        return {
            **{name: value for name, value in addresses.items() if name.startswith("yarn.")},
            "yarn.resourcemanager.hostname": HOST,
            "yarn.nodemanager.resource.memory-mb": str(memory_mb),
            "yarn.nodemanager.resource.cpu-vcores": "4",
            "yarn.scheduler.minimum-allocation-mb": "128",
            "yarn.nodemanager.local-dirs": str(self.folder / "local"),
            "yarn.nodemanager.log-dirs": str(self.folder / "logs"),
            "yarn.nodemanager.vmem-check-enabled": "false",
            "yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage": "99.5",
            "yarn.log-aggregation-enable": "true",
            "yarn.resourcemanager.am.max-attempts": "1",
        }

    def _write(self, name: str, values: Mapping[str, str]) -> None:
        rows = (
            f"<property><name>{name}</name><value>{escape(value)}</value></property>" for name, value in values.items()
        )
        (self.conf / name).write_text(f"<configuration>{''.join(rows)}</configuration>\n")

    def _command(self, name: str, *arguments: str) -> list[str]:
        return [str(java.java_binary()), *_QUICK, "-cp", self._class_path, name, *arguments]

    def _start(self, name: str) -> None:
        with (self.folder / f"{name.rpartition('.')[2]}.log").open("ab") as log:
            process = subprocess.Popen(
                self._command(name),
                stdout=log,
                stderr=log,
                cwd=self.folder,
                env=self.environment(),
                start_new_session=True,
            )
        self._stack.callback(_stopped, process)

    def environment(self, **more: str) -> dict[str, str]:
        """Return the environment of a client of the cluster."""
        return {**java.environment(), "HADOOP_CONF_DIR": str(self.conf), "SPARK_LOCAL_IP": HOST, **more}

    def file_system(self, *words: str) -> None:
        """Run a command of `hdfs dfs`."""
        subprocess.run(self._command("org.apache.hadoop.fs.FsShell", *words), check=True, cwd=self.folder)

    def executor_logs(self, number: int) -> list[Path]:
        """Return the stderr of the containers of an executor; the first container is that of the application."""
        return list((self.folder / "logs").glob(f"application_*/container_*_{number + 1:06}/stderr"))

    def log(self, role: str) -> str:
        """Return the log of a daemon."""
        return (self.folder / f"{role}.log").read_text(errors="replace")

    def wait(self, condition: Callable[[], bool], what: str, seconds: float = 300) -> None:
        """Wait until a condition is true."""
        until = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < until, f"waited for {what}"
            time.sleep(0.2)


def _stopped(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(60)
