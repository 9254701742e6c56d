"""Processes of this host as Linux shows them in /proc: which are nodes of Kafka. Elsewhere nothing is known."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from pathlib import Path

_PROC = Path("/proc")
_MOST_BYTES = 1 << 20  # a class path names some hundred files
_OVERRIDE = "--override"
# Main class kafka.Kafka, also as the file of a native image; Confluent's io.confluent.support.metrics.SupportedKafka.
_MAIN_CLASS = re.compile(r"(?:\w+\.)+(?:Supported)?Kafka", re.ASCII)


def arguments_of(process_id: int) -> tuple[str, ...] | None:
    """Return the command line of a process, None if the system does not show it."""
    try:
        with (_PROC / str(process_id) / "cmdline").open("rb") as file:
            found = file.read(_MOST_BYTES)
    except OSError:
        return None
    return tuple(part.decode("utf-8", "replace") for part in found.split(b"\0") if part) or None


def is_kafka_node(arguments: tuple[str, ...]) -> bool:
    """Return True for the command line of a node: its main class is among the arguments."""
    return any(_MAIN_CLASS.fullmatch(argument.rpartition("/")[2]) for argument in arguments)


def holds_lock_as_node(process_id: int | None) -> bool | None:
    """Return whether the process that holds a directory's lock is a node of Kafka, None if that is not known."""
    arguments = arguments_of(process_id) if process_id else None
    return None if arguments is None else is_kafka_node(arguments)


def kafka_nodes() -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield process id and command line of every node of Kafka that this user can see."""
    try:
        names = sorted(entry.name for entry in _PROC.iterdir() if entry.name.isdecimal())
    except OSError:
        return
    for name in names:
        arguments = arguments_of(int(name))
        if arguments is not None and is_kafka_node(arguments):
            yield int(name), arguments


def config_argument(arguments: tuple[str, ...]) -> str | None:
    """Return the configuration file that the command line of a node names, as written; None if there is none.

    It is the first argument after the main class that is a properties file: a script has it right there, a native
    image after `start --config`.
    """
    after = itertools.dropwhile(lambda argument: not is_kafka_node((argument,)), arguments)
    return next((argument for argument in after if argument.endswith(".properties")), None)


def overrides_of(arguments: tuple[str, ...]) -> dict[str, str]:
    """Return the settings that the command line of a node has before its file: `--override KEY=VALUE`, the last first.

    As `kafka.Kafka` reads them (CommandLineUtils.parseKeyValueArgs): after `--override` or `--override=`, and a key
    without a value has an empty one. They may be secrets.
    """
    after = list(itertools.dropwhile(lambda argument: not is_kafka_node((argument,)), arguments))
    texts = [value for option, value in itertools.pairwise(after) if option == _OVERRIDE]
    texts += [text.removeprefix(f"{_OVERRIDE}=") for text in after if text.startswith(f"{_OVERRIDE}=")]
    parts = (text.partition("=") for text in texts)
    return {key: value for key, _, value in parts}


def runs_in_container(process_id: int) -> bool | None:
    """Return whether a process has another view of the file system than this one, None if that is not shown."""
    try:
        return (_PROC / str(process_id) / "ns/mnt").readlink() != (_PROC / "self/ns/mnt").readlink()
    except OSError:
        return None


def working_directory_of(process_id: int) -> Path | None:
    """Return the working directory of a process, None if the system does not show it."""
    try:
        return (_PROC / str(process_id) / "cwd").readlink()
    except OSError:
        return None


def owner_of(process_id: int) -> int | None:
    """Return the user id of a process, None if the system does not show it."""
    try:
        return (_PROC / str(process_id)).stat().st_uid
    except OSError:
        return None
