"""Partition folders of a log directory and the topic ids in them (`partition.metadata`, written since 2.8).

A broker that loads metadata of KRaft keeps a folder only if the id in it is that of the topic; every other folder, one
without an id too, becomes a stray, and an empty folder takes its place (`LogManager.isStrayReplica`, measured on
3.9.2).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Final, NamedTuple

from kafkactl.core.errors import InputError
from kafkactl.core.frozen import frozen
from kafkactl.core.kafka_names import METADATA_TOPIC
from kafkactl.core.values import Uuid

STRAY: Final = "-stray"
_NUMBER: Final = re.compile(r"[0-9]{1,10}")
_TOPIC_ID: Final = re.compile(rb"(?m)^topic_id: *(\S+)")
_CONTENT: Final = "version: 0\ntopic_id: {id}"


class LivePartition(NamedTuple):
    """The partition that a folder in use holds."""

    topic: str
    partition: int


def live_partition(name: str) -> LivePartition | None:
    """Return the partition of a folder's name; None for other folders, strays, and the metadata log.

    >>> live_partition("a.b-3"), live_partition("a.b-0.0123456789abcdef0123456789abcdef-stray")
    (LivePartition(topic='a.b', partition=3), None)
    """
    topic, _, number = name.rpartition("-")
    if not topic or topic == METADATA_TOPIC or not _NUMBER.fullmatch(number):
        return None
    return LivePartition(topic, int(number))


def stray_partition(name: str) -> LivePartition | None:
    """Return the partition that a stray was before it was renamed; None for other folders.

    >>> stray_partition("a.b-0.0123456789abcdef0123456789abcdef-stray")
    LivePartition(topic='a.b', partition=0)
    """
    before, dot, _ = name.removesuffix(STRAY).rpartition(".")
    return live_partition(before) if dot and name.endswith(STRAY) else None


def parse_topic_id(content: bytes) -> Uuid | None:
    """Return the topic id in a partition.metadata; None if it names none."""
    found = _TOPIC_ID.search(content)
    try:
        return None if found is None else Uuid.parse(found[1].decode("ascii", "replace"))
    except InputError:
        return None


def partition_metadata(topic_id: object) -> str:
    """Return the content of a partition.metadata as Kafka writes it, with `\\n` for the line break."""
    return _CONTENT.format(id=topic_id).replace("\n", "\\n")


@frozen
class PartitionIds:
    """The topic ids in the partition folders of one node.

    `topic_ids` has the id of a topic as most of its folders name it, `other_ids` the folders (paths) that name another
    one, `without_id` those that name none, `stray_ids` the ids in the folders of strays. `is_complete`: every folder
    was read, so that a folder that is not in `without_id` has an id.
    """

    topic_ids: Mapping[str, str] = field(default_factory=dict)
    without_id: tuple[str, ...] = ()
    other_ids: Mapping[str, str] = field(default_factory=dict)
    stray_ids: Mapping[str, str] = field(default_factory=dict)
    is_complete: bool = True


def partition_ids(folders: Iterable[tuple[str, str | None]], *, is_complete: bool = True) -> PartitionIds:
    """Return the ids of folders, given as path and id (None for a folder that names none).

    A folder without an id counts only if all folders were read.
    """
    named: dict[str, list[tuple[str, str]]] = {}
    without = []
    strays: dict[str, str] = {}
    for path, id in folders:
        name = path.rpartition("/")[2]
        live = live_partition(name)
        if live is None:
            if id is not None and stray_partition(name) is not None:
                strays[path] = id
            continue
        if id is None:
            without.append(path)
        else:
            named.setdefault(live.topic, []).append((path, id))
    usual = {topic: Counter(id for _, id in found).most_common(1)[0][0] for topic, found in sorted(named.items())}
    return PartitionIds(
        topic_ids=usual,
        without_id=tuple(sorted(without)) if is_complete else (),
        other_ids={path: id for topic, found in sorted(named.items()) for path, id in found if id != usual[topic]},
        stray_ids=strays,
        is_complete=is_complete,
    )
