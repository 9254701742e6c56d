"""The release of Kafka that this host has, from the names of its jars and of running nodes.

The order is that of certainty: the process that runs with this very configuration, the installation that the
environment names, then the other nodes that run here. Processes of other users are ignored: any user may start a
process with any name.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

from kafkactl.core.errors import InputError
from kafkactl.core.frozen import frozen
from kafkactl.files import processes
from kafkactl.protocol.catalog.releases import find_release

_JAR = re.compile(r"kafka-server-common-(\d+\.\d+\.\d+)[^/]*\.jar", re.ASCII)
_NOT_CODE = ("-sources.jar", "-javadoc.jar", "-test.jar", "-tests.jar")
_CLASS_PATH_FLAGS = ("-cp", "-classpath", "--class-path")
_START_SCRIPT = "kafka-server-start.sh"
_USUAL_HOME = "/opt/kafka"
_MOST_NAMES = 5_000


@frozen
class HostRelease:
    """A release that is known, and where it was found."""

    version: str
    place: str


def releases_on_host(config: str) -> tuple[HostRelease, ...]:
    """Return the releases of the most certain source that shows any, once each, for the node of a configuration."""
    seen = processes.kafka_nodes()
    nodes = [(process_id, arguments) for process_id, arguments in seen if is_trusted(process_id, config)]
    own = [node for node in nodes if names_file(node[0], node[1], config)]
    for source in (releases_of(own), _of_homes(), releases_of(nodes)):
        found = tuple({release.version: release for release in source}.values())
        if found:
            return found
    return ()


def is_trusted(process_id: int, config: str) -> bool:
    """Return True if root, this user or the owner of the configuration started the process."""
    trusted = {0, os.geteuid()}
    with contextlib.suppress(OSError):
        trusted.add(Path(config).stat().st_uid)
    return processes.owner_of(process_id) in trusted


def names_file(process_id: int, arguments: tuple[str, ...], config: str) -> bool:
    """Return True if the command line of a node names this configuration."""
    named = processes.config_argument(arguments)
    here = processes.working_directory_of(process_id) or Path("/")
    return named is not None and os.path.realpath(here / named) == os.path.realpath(config)


def _of_homes() -> Iterator[HostRelease]:
    """Yield the first installation of KAFKA_HOME, of the start script on the path, and of /opt/kafka."""
    script = shutil.which(_START_SCRIPT)
    homes = [os.environ.get("KAFKA_HOME"), None if script is None else str(Path(script).resolve().parent.parent)]
    for home in (*homes, _USUAL_HOME):
        found = list(_in_folder(Path(home) / "libs")) if home else []
        if found:
            yield from found
            return


def releases_of(nodes: Iterable[tuple[int, tuple[str, ...]]]) -> Iterator[HostRelease]:
    """Yield the releases in the class paths of these processes, each with its command line."""
    for process_id, arguments in nodes:
        here = processes.working_directory_of(process_id) or Path("/")
        for item in _class_path(arguments):
            if item.endswith(("/*", "/")):
                yield from _in_folder(here / item.rstrip("*/"))
            else:
                yield from _named(Path(item).name, f"process {process_id}")


def _class_path(arguments: tuple[str, ...]) -> list[str]:
    for flag, value in itertools.pairwise(arguments):
        if flag in _CLASS_PATH_FLAGS:
            return [item for item in value.split(":") if item]
    return []


def _in_folder(folder: Path) -> Iterator[HostRelease]:
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry, _ in zip(entries, range(_MOST_NAMES), strict=False)]
    except OSError:
        return
    for name in sorted(names):
        yield from _named(name, str(folder))


def _named(name: str, place: str) -> Iterator[HostRelease]:
    match = None if name.endswith(_NOT_CODE) else _JAR.fullmatch(name)
    if match is None:
        return
    try:
        yield HostRelease(version=find_release(match[1]).version_text, place=place)
    except InputError:
        return  # of a release that is not known here
