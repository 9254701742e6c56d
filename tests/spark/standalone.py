"""A standalone cluster on loopback: a master and two workers."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from contextlib import ExitStack, suppress
from pathlib import Path

from tests.installed import place_of
from tests.lab.harness.ports import free_ports
from tests.spark.conftest import QUICK_JVM

SPARK_CLASS = place_of("pyspark") / "bin" / "spark-class"


class Standalone:
    """The processes of a cluster. `kill_busy_worker` kills a worker with its executor."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder = folder
        port, *ui = free_ports(4)
        self.master = f"spark://127.0.0.1:{port}"
        self._stack = stack
        self._environment = {
            **os.environ,
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_DAEMON_JAVA_OPTS": QUICK_JVM,
        }
        self._started("Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", str(ui[0]))
        self.workers = [
            self._started(
                "Worker", "--host", "127.0.0.1", "--cores", "1", "--memory", "600m", "--webui-port", str(item),
                "--work-dir", str(folder / f"work-{number}"), self.master,
            )
            for number, item in enumerate(ui[1:])
        ]  # fmt: skip
        # A slow machine's workers register again and again until one answer is in time.
        self._wait(lambda: len(set(re.findall(r"Registering worker (\S+)", self._log("Master")))) == 2, "both workers")

    def _started(self, role: str, *arguments: str) -> subprocess.Popen[bytes]:
        kind = f"org.apache.spark.deploy.{role.lower()}.{role}"
        with (self.folder / f"{role}.log").open("ab") as log:
            process = subprocess.Popen(
                [str(SPARK_CLASS), kind, *arguments],
                stdout=log, stderr=log, env=self._environment, cwd=self.folder, start_new_session=True,
            )  # fmt: skip
        self._stack.callback(self._stopped, process)
        return process

    def _stopped(self, process: subprocess.Popen[bytes]) -> None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(300)

    def _log(self, role: str) -> str:
        path = self.folder / f"{role}.log"
        return path.read_text(errors="replace") if path.exists() else ""

    def _wait(self, condition: object, what: str, seconds: float = 600) -> None:
        until = time.monotonic() + seconds
        while not condition():  # type: ignore[operator]
            assert time.monotonic() < until, f"waited for {what}:\n{self._log('Master')[-2000:]}"
            time.sleep(0.1)

    def kill_busy_worker(self) -> None:
        """Kill a worker as soon as both have an executor that has begun to work (its stderr names a task)."""

        def busy() -> bool:
            return (
                len([path for path in self.folder.glob("work-*/app-*/*/stderr") if b"task" in path.read_bytes()]) == 2
            )

        self._wait(busy, "executors at work")
        self._stopped(self.workers[1])
