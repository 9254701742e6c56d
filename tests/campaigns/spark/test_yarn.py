"""`kafkactl --master yarn` on a real ResourceManager: rows as in process, also if an executor is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.campaigns.spark.yarn import SPARK_JARS, Yarn
from tests.repository.tree import ROOT
from tests.spark.logs import write_all_logs

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(1800)]
RELEASES = ("3.9.2", "4.3.1")
SETTINGS = {
    "spark.yarn.jars": f"local:{SPARK_JARS}/*",
    "spark.executor.instances": "2",
    "spark.executor.memory": "512m",
    "spark.sql.shuffle.partitions": "2",
}


@pytest.fixture
def yarn(tmp_path: Path) -> Iterator[Yarn]:
    with ExitStack() as stack:
        yield Yarn(tmp_path / "cluster", stack)


def export(source: str, out: str, environment: dict[str, str], *options: str) -> dict[str, object]:
    words = (
        "log",
        "export",
        source,
        "--out",
        out,
        "--table",
        "partitions",
        "--format",
        "jsonl",
        "-o",
        "json",
        *options,
    )
    command = [sys.executable, "-m", "kafkactl", *words]
    run = subprocess.run(command, capture_output=True, text=True, env=environment, check=False, cwd=ROOT)
    assert run.returncode == 0, run.stderr
    return dict(json.loads(run.stdout))


def rows(folder: Path) -> list[str]:
    return sorted(line for path in folder.rglob("*.jsonl") for line in path.read_text("utf-8").splitlines())


def kill_busy_executor(yarn: Yarn) -> None:
    """Kill the second executor when it has begun a task."""
    yarn.wait(lambda: any(b"Running task" in log.read_bytes() for log in yarn.executor_logs(2)), "a task", 900)
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue  # it has ended
        is_executor = words[0].endswith("/java") and any(str(yarn.folder) in word for word in words)
        if is_executor and "--executor-id" in words and words[words.index("--executor-id") + 1] == "2":
            os.kill(int(process.name), signal.SIGKILL)
            return
    raise AssertionError("executor 2 has ended")


def test_rows_are_those_of_the_local_engine_after_an_executor_was_killed(yarn: Yarn, tmp_path: Path) -> None:
    write_all_logs(tmp_path / "logs", releases=RELEASES, made=("torn", "ended"))
    yarn.file_system("-put", str(tmp_path / "logs"), "/logs")
    (tmp_path / "spark").mkdir()
    text = "\n".join(f"{name} {value}" for name, value in SETTINGS.items())
    (tmp_path / "spark" / "spark-defaults.conf").write_text(text)
    environment = yarn.environment(SPARK_CONF_DIR=str(tmp_path / "spark"))
    killing = threading.Thread(target=kill_busy_executor, args=(yarn,))
    killing.start()
    found = export("hdfs:///logs", "hdfs:///lake", environment, "--master", "yarn")
    killing.join()
    expected = export(str(tmp_path / "logs"), str(tmp_path / "local"), environment)
    yarn.file_system("-get", "/lake", str(tmp_path / "spark-rows"))
    assert rows(tmp_path / "spark-rows") == rows(tmp_path / "local") != []
    assert [table["rows"] for table in found["tables"]] == [table["rows"] for table in expected["tables"]]  # type: ignore[attr-defined]
