"""Kafka's own classes that settings of a node name, and which of them a release has (schemas/config/classes.json).

Classes of other makers are on a class path that only the node's host knows.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping

from kafkactl.core.data_files import read_data

_OWN = ("kafka.", "org.apache.kafka.")


def releases_with(name: str) -> tuple[str, ...]:
    """Return the releases (`4.3`) that have this class of Kafka, oldest first; none for any other class."""
    return tuple(_table().get(name, ()))


def all_classes() -> frozenset[str]:
    """Return every class of the table."""
    return frozenset(_table())


def is_missing(name: str, release_name: str) -> bool:
    """Return True for a class of Kafka that other releases have and this one has not."""
    known = releases_with(name)
    return bool(known) and release_name not in known


def is_named_as_kafkas(name: str) -> bool:
    """Return True for a name in Kafka's own packages."""
    return name.startswith(_OWN)


@functools.cache
def _table() -> Mapping[str, list[str]]:
    import json

    found: Mapping[str, list[str]] = json.loads(read_data("config/classes.json"))["classes"]
    return found
