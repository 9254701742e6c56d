"""Class data archives: what a JVM has loaded and checked once, a later one maps into memory.

With one, a node needs about 40 % less processor time to be ready (3.9.2: 1.0 s instead of 1.6 s; 4.4.0: 1.2 s
instead of 2.0 s, Java 17). Making one takes a start and a stop of a node, so it is not done in passing: nodes
use an archive if the cache has one, and ``python -m tests.lab.harness.class_archive [RELEASE...]`` makes them. A JVM
ignores an archive that does not fit its version or its class path, so nothing else can change by it.
"""

from __future__ import annotations

import functools
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.lab.harness import cache, java, maven
from tests.lab.harness.errors import LabError

FILE = "node.jsa"


def options(release: str) -> list[str]:
    """Return the JVM options to use the archive of a release; none if there is no archive."""
    place = cache.existing(f"classes-{release}", _made_from(release))
    return [] if place is None else [f"-XX:SharedArchiveFile={place / FILE}"]


def make(release: str) -> Path:
    """Return the archive of a release, made by one start and stop of a node if the cache has none."""
    made_from = _made_from(release)
    return cache.folder(f"classes-{release}", made_from, functools.partial(_fill, release)) / FILE


def _made_from(release: str) -> str:
    return f"{_java_says(java.java_binary())}\n{maven.class_path(release)}"


@functools.cache
def _java_says(binary: Path) -> str:
    return subprocess.run([binary, "-version"], capture_output=True, text=True, check=True).stderr


def _fill(release: str, work: Path, target: Path) -> None:
    from tests.lab.harness import config, node, ports, storage_tool

    target.mkdir()
    broker_port, controller_port = ports.free_ports(2)
    settings = config.combined(
        node_id=1, log_dirs=[work / "data"], broker_port=broker_port, controller_port=controller_port,
        quorum=config.static_quorum({1: controller_port}),
    )  # fmt: skip
    archive = f"-XX:ArchiveClassesAtExit={target / FILE}"
    with node.KafkaNode(release, settings, work, java_options=[archive]) as example:
        format_it = ["format", "-t", "MkU3OEVBNTcwNTJENDM2Qk", "-c", str(example.config_file)]
        storage_tool.run_separately(release, storage_tool.STORAGE_TOOL, format_it)
        example.start().wait_ready(120)
        example.stop(120)
    if not (target / FILE).is_file():
        raise LabError(f"Java wrote no class archive of Kafka {release}:\n{example.log_text()[-2000:]}")


def main(arguments: Sequence[str]) -> None:
    """Make the archives of the named releases, or of all that the cache has jars of."""
    for release in arguments or [place.name.removeprefix("kafka-") for place in _resolved()]:
        print(f"class archive of Kafka {release}: {make(release)}", flush=True)


def _resolved() -> list[Path]:
    return sorted(cache.cache_root().glob("kafka-*/"))


if __name__ == "__main__":
    main(sys.argv[1:])
