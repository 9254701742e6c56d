"""An administrator of a migrating cluster: runs the words of `MigrationChores.java` in a JVM of its release."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tests.lab.harness import java, maven
from tests.lab.harness.compiler import compiled
from tests.lab.harness.errors import LabError
from tests.lab.harness.node import write_config
from tests.lab.harness.storage_tool import JVM_OPTIONS, logging_options

if TYPE_CHECKING:
    from tests.lab.migration.cluster import MigrationCluster

SOURCE = Path(__file__).parents[1] / "java" / "MigrationChores.java"


def run(cluster: MigrationCluster, words: Sequence[str]) -> str:
    """Return what the administrator said, a line each. Raises LabError if something failed."""
    client = cluster.workdir / "administrator.properties"
    write_config(client, cluster.administrator())
    class_path = maven.class_path(cluster.release)
    classes = compiled(f"migration-chores-{cluster.release}", [SOURCE], class_path=class_path)
    command = [java.java_binary(), *JVM_OPTIONS, *logging_options("tools"), "-cp", f"{classes}:{class_path}"]
    ended = subprocess.run(
        [*map(str, command), "kafkactl.lab.MigrationChores", str(client), *words],
        check=False, env=java.environment(), capture_output=True, text=True, timeout=240,
    )  # fmt: skip
    if ended.returncode or "failed" in ended.stdout:
        raise LabError(f"the chores {' '.join(words)} went wrong:\n{ended.stdout}\n{ended.stderr}")
    return ended.stdout
