"""What the enumerations inside the jars of a release say, by way of ``KafkaFacts.java``.

The Java is compiled once, by the compiler that the tool server uses, and run once a release and test run.
"""

from __future__ import annotations

import functools
import hashlib
import os
import subprocess
from pathlib import Path

from tests.lab import cache, java, maven
from tests.lab.errors import LabError
from tests.lab.releases import Coordinates

_SOURCE = Path(__file__).with_name("KafkaFacts.java")
_COMPILER = Coordinates("org.eclipse.jdt", "ecj", "3.38.0")


@functools.cache
def facts(release: str) -> tuple[tuple[str, ...], ...]:
    """The lines that ``KafkaFacts`` prints for a release, each as its words."""
    path = os.pathsep.join((maven.class_path(release), str(_compiled())))
    command = [
        java.java_binary(),
        "-Xmx128m",
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",
        "-Xshare:auto",
        "-cp",
        path,
    ]
    run = subprocess.run(
        [*map(str, command), "kafkactl.lab.KafkaFacts"],
        env=java.environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    if run.returncode != 0:
        raise LabError(f"the facts of Kafka {release} could not be read:\n{run.stderr}")
    return tuple(tuple(line.split(" ")) for line in run.stdout.splitlines())


def _compiled() -> Path:
    """The folder with the class, compiled for Java 17 at first use."""
    made_from = f"{_COMPILER} {hashlib.sha256(_SOURCE.read_bytes()).hexdigest()}"
    compiler = maven.resolved(f"ecj-{_COMPILER.version}", [_COMPILER]) / f"ecj-{_COMPILER.version}.jar"

    def fill(work: Path, target: Path) -> None:
        command = [java.java_binary(), "-Xshare:auto", "-XX:TieredStopAtLevel=1", "-jar", compiler]
        command += ["-source", "17", "-target", "17", "-proc:none", "-d", target, _SOURCE]
        run = subprocess.run(command, cwd=work, env=java.environment(), capture_output=True, text=True, check=False)
        if run.returncode != 0:
            raise LabError(f"KafkaFacts does not compile:\n{run.stdout}{run.stderr}")

    return cache.folder("kafka-facts", made_from, fill)
