"""Kafka's own classes as judges of settings: one JVM a release reads many (tests/lab/java/SettingOracle.java)."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable
from pathlib import Path

from tests.lab.harness import java, maven
from tests.lab.harness.compiler import compiled
from tests.lab.harness.storage_tool import JVM_OPTIONS

ORACLE = Path(__file__).parents[1] / "java" / "SettingOracle.java"


def kafka_says(release: str, lines: Iterable[str]) -> list[str]:
    """Return the errors of Kafka's classes, empty for a text that they take."""
    path = os.pathsep.join((str(compiled("setting-oracle", [ORACLE])), maven.class_path(release)))
    command = [str(java.java_binary()), *JVM_OPTIONS, "-Xmx400m", "-cp", path, "SettingOracle"]
    run = subprocess.run(
        command, env=java.environment(), input="\n".join(lines) + "\n", capture_output=True, text=True, timeout=240,
        check=True,
    )  # fmt: skip
    return run.stdout.split("\n")[:-1]
