"""A standalone cluster on loopback: a master, two workers, and one of them killed while it works.

The workers' Python does not see kafkactl but by the zip that the driver sends, and the event log is what Spark's own
settings ask for.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from bench.log_generator import Shape
from bench.make_metadata_log import write_log
from tests.installed import place_of
from tests.lab.harness.ports import free_ports

pytestmark = [pytest.mark.lab, pytest.mark.timeout(600)]
SITE_PACKAGES = place_of("pyspark").parent
SPARK_CLASS = place_of("pyspark") / "bin" / "spark-class"


class Standalone:
    """The processes of a cluster. `kill_busy_worker` kills a worker with its executor."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder = folder
        port, *ui = free_ports(4)
        self.master = f"spark://127.0.0.1:{port}"
        self._stack = stack
        self._environment = {**os.environ, "SPARK_DAEMON_MEMORY": "256m", "SPARK_LOCAL_IP": "127.0.0.1"}
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
        process.wait(30)

    def _log(self, role: str) -> str:
        path = self.folder / f"{role}.log"
        return path.read_text(errors="replace") if path.exists() else ""

    def _wait(self, condition: object, what: str, seconds: float = 120) -> None:
        until = time.monotonic() + seconds
        while not condition():  # type: ignore[operator]
            assert time.monotonic() < until, f"waited for {what}:\n{self._log('Master')[-2000:]}"
            time.sleep(0.1)

    def kill_busy_worker(self) -> None:
        """As soon as both have an executor that has begun to work (its stderr names a task)."""

        def busy() -> bool:
            return (
                len([path for path in self.folder.glob("work-*/app-*/*/stderr") if b"task" in path.read_bytes()]) == 2
            )

        self._wait(busy, "executors at work", 240)
        self._stopped(self.workers[1])


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Standalone]:
    with ExitStack() as stack:
        yield Standalone(tmp_path, stack)


def _settings(folder: Path) -> dict[str, str]:
    """Spark's own settings, and a Python whose site-packages are read without the links of editable installs."""
    python = folder / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH="$PYTHONPATH:{SITE_PACKAGES}" exec "{sys.executable}" -S "$@"\n')
    python.chmod(0o755)
    events = folder / "events"
    events.mkdir()
    (folder / "spark-defaults.conf").write_text(
        f"spark.eventLog.enabled true\nspark.eventLog.compress false\nspark.eventLog.dir file://{events}\n"
        "spark.executor.memory 512m\nspark.driver.host 127.0.0.1\nspark.log.level INFO\n"
    )
    hidden = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return {
        **hidden,
        "SPARK_CONF_DIR": str(folder),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DRIVER_MEMORY": "512m",
        "PYSPARK_PYTHON": str(python),
    }


def _command(log: Path, *arguments: str) -> list[str]:
    folder = str(log / "__cluster_metadata-0")
    return [sys.executable, "-m", "kafkactl", "dryrun", "replay", folder, "-o", "json", *arguments]


def _same(local: bytes, spark: bytes) -> bool:
    expected, found = json.loads(local), json.loads(spark)
    assert (expected.pop("engine"), found.pop("engine")) == ("local", "spark")
    return bool(found == expected)


def test_a_worker_that_is_killed_changes_nothing(cluster: Standalone, tmp_path: Path) -> None:
    """With a log of many segments, whose patches Spark merges; then the worker that is left has one of few."""
    many, few = tmp_path / "many", tmp_path / "few"
    write_log(many, Shape(records=150_000, partitions=5_000, brokers=9, segment_bytes=300_000))
    write_log(few, Shape(records=150_000, partitions=5_000, brokers=9))
    environment = _settings(tmp_path)
    here = Path(__file__).parents[4]
    local = [
        subprocess.run(_command(log), capture_output=True, cwd=here, check=True, timeout=120).stdout
        for log in (many, few)
    ]
    with (tmp_path / "driver.log").open("wb") as talk:
        asked = subprocess.Popen(
            _command(many, "--master", cluster.master),
            stdout=subprocess.PIPE, stderr=talk, env=environment, cwd=tmp_path,
        )  # fmt: skip
    try:
        cluster.kill_busy_worker()
        assert asked.poll() is None
        out, _ = asked.communicate(timeout=300)
    finally:
        asked.kill()
        asked.wait()
    assert asked.returncode == 0, (tmp_path / "driver.log").read_text(errors="replace")[-3000:]
    assert _same(local[0], out)
    (events,) = (tmp_path / "events").iterdir()
    assert "SQLExecutionStart" in _text(events)
    again = subprocess.run(
        _command(few, "--master", cluster.master),
        capture_output=True, env=environment, cwd=tmp_path, check=False, timeout=300,
    )  # fmt: skip
    assert again.returncode == 0, again.stderr[-3000:]
    assert _same(local[1], again.stdout)
    (other,) = set((tmp_path / "events").iterdir()) - {events}
    assert "SQLExecutionStart" not in _text(other)


def _text(events: Path) -> str:
    """What Spark's event log of an application says."""
    files = sorted(events.rglob("*")) if events.is_dir() else [events]
    return "".join(file.read_text(errors="replace") for file in files if file.is_file())
