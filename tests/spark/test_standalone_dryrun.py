"""A dry run of many logs on a standalone cluster: workers that have no kafkactl, one of them killed, one log empty."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from bench.log_generator import Shape
from bench.make_metadata_log import write_log
from tests.installed import place_of
from tests.spark.conftest import QUICK_JVM
from tests.spark.logs import write_log as write_small_log
from tests.spark.standalone import Standalone

pytestmark = [pytest.mark.lab, pytest.mark.timeout(2400)]
SITE_PACKAGES = place_of("pyspark").parent
ROOT = Path(__file__).parents[2]
LOGS = 8


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Standalone]:
    with ExitStack() as stack:
        yield Standalone(tmp_path, stack)


def environment_of(folder: Path) -> dict[str, str]:
    """Return Spark's own settings, and a Python whose site-packages are read without the links of editable installs."""
    python = folder / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH="$PYTHONPATH:{SITE_PACKAGES}" exec "{sys.executable}" -S "$@"\n')
    python.chmod(0o755)
    (folder / "spark-defaults.conf").write_text(
        "spark.executor.memory 512m\nspark.driver.host 127.0.0.1\nspark.log.level INFO\n"
        f"spark.driver.defaultJavaOptions {QUICK_JVM}\nspark.executor.defaultJavaOptions {QUICK_JVM}\n"
    )
    hidden = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return {
        **hidden,
        "SPARK_CONF_DIR": str(folder),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DRIVER_MEMORY": "512m",
        "PYSPARK_PYTHON": str(python),
    }


def answer_of(out: bytes) -> Any:
    answer = json.loads(out)
    engines = {answer.pop("engine"), *(report.pop("engine") for report in answer["reports"])}
    assert len(engines) == 1
    return answer


def test_killed_worker_and_empty_log_change_no_other_answer(cluster: Standalone, tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    for number in range(LOGS):
        write_log(logs / f"c{number}", Shape(records=40_000, partitions=2_000 + number, brokers=9))
    write_small_log(logs, "empty", b"")
    places = [str(place / "__cluster_metadata-0") for place in sorted(logs.iterdir())]
    words = [sys.executable, "-m", "kafkactl", "dryrun", "report", *places, "-o", "json"]
    local = subprocess.run(words, capture_output=True, cwd=ROOT, check=False, timeout=900)
    with (tmp_path / "driver.log").open("wb") as written:
        asked = subprocess.Popen(
            [*words, "--master", cluster.master],
            stdout=subprocess.PIPE, stderr=written, env=environment_of(tmp_path), cwd=ROOT,
        )  # fmt: skip
    try:
        cluster.kill_busy_worker()
        assert asked.poll() is None
        out, _ = asked.communicate(timeout=600)
    finally:
        asked.kill()
        asked.wait()
    assert (local.returncode, asked.returncode) == (5, 5), (tmp_path / "driver.log").read_text(errors="replace")[-3000:]
    found = answer_of(out)
    assert found == answer_of(local.stdout)
    assert [failed["error"]["id"] for failed in found["failed"]] == ["empty-metadata-log"]
    assert len(found["reports"]) == LOGS
    assert "kafkactl dryrun report" in cluster._log("Master")
