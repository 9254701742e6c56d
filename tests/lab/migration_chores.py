"""An administrator of a migrating cluster: runs the words of `MigrationChores.java` in a JVM of its release."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tests.lab import java, maven
from tests.lab.compiler import compiled
from tests.lab.errors import LabError
from tests.lab.migration_configs import LOGIN
from tests.lab.node import write_config
from tests.lab.ports import HOST
from tests.lab.storage_tool import JVM_OPTIONS, logging_options

if TYPE_CHECKING:
    from tests.lab.migration_cluster import MigrationCluster

SOURCE = Path(__file__).with_name("MigrationChores.java")


def run(cluster: MigrationCluster, words: Sequence[str]) -> str:
    """What the administrator said, a line each. Raises LabError where something failed."""
    client = cluster.workdir / "client.properties"
    ports = ",".join(f"{HOST}:{sasl}" for _, sasl in cluster.plan.brokers.values())
    login = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.jaas.config": f"{LOGIN};"}
    write_config(client, {"bootstrap.servers": ports} | login)
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
