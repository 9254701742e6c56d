"""A standalone cluster on loopback: a master, two workers, and one of them killed while it works.

The workers' Python does not see kafkactl but by the zip that the driver sends, and the event log is what Spark's own
settings ask for.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from bench.log_generator import Shape
from bench.make_metadata_log import write_log
from tests.installed import place_of
from tests.spark.standalone import Standalone

pytestmark = [pytest.mark.lab, pytest.mark.timeout(600)]
SITE_PACKAGES = place_of("pyspark").parent


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
