"""Enumerations inside the jars of a release, printed by ``KafkaFacts.java``.

The Java is compiled once and run once a release and test run.
"""

from __future__ import annotations

import functools
import os
import subprocess
from pathlib import Path

from tests.lab.harness import java, maven
from tests.lab.harness.compiler import compiled
from tests.lab.harness.errors import LabError
from tests.lab.harness.storage_tool import JVM_OPTIONS

_SOURCE = Path(__file__).parents[1] / "java" / "KafkaFacts.java"


@functools.cache
def facts(release: str) -> tuple[tuple[str, ...], ...]:
    """Return the lines that ``KafkaFacts`` prints for a release, each as its words."""
    path = os.pathsep.join((maven.class_path(release), str(compiled("kafka-facts", [_SOURCE]))))
    run = subprocess.run(
        [str(java.java_binary()), *JVM_OPTIONS, "-cp", path, "kafkactl.lab.KafkaFacts"],
        env=java.environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    if run.returncode != 0:
        raise LabError(f"the facts of Kafka {release} could not be read:\n{run.stderr}")
    return tuple(tuple(line.split(" ")) for line in run.stdout.splitlines())
