"""A plan of replicas as `kafka-reassign-partitions.sh` takes and refuses it (`parseExecuteAssignmentArgs`).

Some 50 files were given to the released classes of 3.7.2, 3.9.2 and 4.3.1, which agree. What is beyond them:
`"replicas": null` cancels here, as in the request to the controller.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from kafkactl.core.errors import InputError
from kafkactl.core.frozen import frozen
from kafkactl.core.json_input import parse_json
from kafkactl.core.safe_text import json_text

_VERSION: Final = 1
_MOST: Final = 2**31 - 1
_OF_GENERATE: Final = "Current partition replica assignment"


@frozen(kw_only=False)
class Move:
    """The replicas that a partition is to have; None cancels what is going on."""

    topic: str
    partition: int
    replicas: tuple[int, ...] | None


def parse_plan(text: str, *, file: str) -> tuple[Move, ...]:
    """Return the moves of a file; text after the first JSON value is ignored, as by the tool.

    Raises InputError `invalid-reassignment-plan`, `no-partitions-named`, `partition-named-twice`.
    """
    try:
        moves = tuple(_moves(text))
    except ValueError as error:
        raise InputError(
            f"{file} is not a reassignment plan: {error}",
            id="invalid-reassignment-plan",
        ) from error
    if not moves:
        raise InputError(f"{file} names no partitions", id="no-partitions-named")
    seen: set[tuple[str, int]] = set()
    for move in moves:
        if (move.topic, move.partition) in seen:
            raise InputError(f"{file} names {move.topic}-{move.partition} twice", id="partition-named-twice")
        seen.add((move.topic, move.partition))
    return moves


def _moves(text: str) -> Iterator[Move]:
    """Yield the moves. Raise ValueError with what is wrong."""
    if text.startswith("\ufeff"):
        raise ValueError("it begins with a byte order mark, which the tool does not read")
    if text.lstrip().startswith(_OF_GENERATE):
        raise ValueError(
            "it is the whole output of --generate: save the JSON behind 'Proposed partition reassignment configuration'"
            " alone"
        )
    found = parse_json(text, is_first_of_several=True)
    if not isinstance(found, Mapping) or not isinstance(found.get("partitions"), list):
        raise ValueError('there is no list "partitions" in it')
    version = found.get("version", _VERSION)
    if not _is_int(version) or version != _VERSION:
        raise ValueError(f"its version is {json_text(version)}, and the tool reads version {_VERSION} alone")
    yield from map(_move, found["partitions"])


def _move(given: Any) -> Move:
    shown = json_text(given)
    if not isinstance(given, Mapping) or not {"topic", "partition", "replicas"} <= set(given):
        raise ValueError(f"a partition has topic, partition and replicas, and not {shown}")
    topic, partition, replicas = given["topic"], given["partition"], given["replicas"]
    if not isinstance(topic, str) or not _is_int(partition):
        raise ValueError(f"no partition is named in {shown}")
    if replicas is None:
        return Move(topic, partition, None)
    if not isinstance(replicas, list) or not all(map(_is_int, replicas)):
        raise ValueError(f"replicas are a list of broker ids, and not as in {shown}")
    if not replicas:
        raise ValueError(f"{topic}-{partition} has an empty list of replicas")
    if len(set(replicas)) < len(replicas):
        raise ValueError(f"{topic}-{partition} has a replica twice: {shown}")
    _check_directories(f"{topic}-{partition}", replicas, given.get("log_dirs", ["any"] * len(replicas)))
    return Move(topic, partition, tuple(replicas))


def _check_directories(name: str, replicas: Sequence[int], directories: Any) -> None:
    """Raise ValueError unless there is one log directory, or "any", for each replica."""
    if not isinstance(directories, list) or not all(isinstance(directory, str) for directory in directories):
        raise ValueError(f"log_dirs of {name} are not a list of texts")
    if len(directories) != len(replicas):
        raise ValueError(f"{name} has {len(replicas)} replicas and {len(directories)} log_dirs")


def _is_int(value: Any) -> bool:
    """Return True if the value is a Java int: neither a text, nor a fraction, nor a switch, nor beyond 32 bits."""
    return type(value) is int and -_MOST - 1 <= value <= _MOST
