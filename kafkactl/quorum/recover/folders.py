"""Partition folders against an image: which become stray, which topics come back empty, what can be adopted.

A broker that loads an image renames every partition folder that it does not place there to `-stray` (`LogManager`,
`isStrayReplica`): the topic id or the partition is unknown, or the broker is none of the replicas. A topic of the
image without any folder is created again, empty.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from kafkactl.core.kafka_names import METADATA_TOPIC
from kafkactl.core.values import Uuid
from kafkactl.metadata.image.model import REPLICAS_AT, Image, Topic
from kafkactl.quorum.recover.observed_disks import DiskSeen, FolderKind, PartitionFolder

_NAME: Final = re.compile(
    r"(?P<topic>.+)-(?P<partition>[0-9]{1,10})(?:\.[0-9a-zA-Z_-]+-(?P<suffix>delete|stray|future))?"
)
_KINDS: Final = {
    None: FolderKind.LIVE,
    "delete": FolderKind.DELETED,
    "stray": FolderKind.STRAY,
    "future": FolderKind.FUTURE,
}


class FolderName(NamedTuple):
    """The partition that a folder's name means."""

    topic: str
    partition: int
    kind: FolderKind


def parse_folder_name(name: str) -> FolderName | None:
    """Return the partition of a folder; None for other folders and for the metadata log's.

    >>> parse_folder_name("orders-3"), parse_folder_name("a.b-0.0123456789abcdef0123456789abcdef-stray")[0]
    (FolderName(topic='orders', partition=3, kind=<FolderKind.LIVE: 'live'>), 'a.b')
    """
    found = _NAME.fullmatch(name)
    if found is None or found["topic"] == METADATA_TOPIC:
        return None
    return FolderName(found["topic"], int(found["partition"]), _KINDS[found["suffix"]])


def parse_largest_epoch(content: bytes) -> int | None:
    """Return the largest leader epoch in a leader-epoch-checkpoint (version, count, then `epoch start` lines); None for
    none.

    >>> parse_largest_epoch(b"0\\n2\\n0 0\\n8 120\\n"), parse_largest_epoch(b"0\\n0\\n")
    (8, None)
    """
    rows = (line.split() for line in content.splitlines()[2:])
    epochs = [int(words[0]) for words in rows if len(words) == 2 and words[0].isdigit() and len(words[0]) <= 10]
    return max(epochs, default=None)


def becomes_stray(image: Image, folder: PartitionFolder) -> bool:
    """Return True if the broker that has this folder renames it when it loads the image."""
    topic = None if folder.topic_id is None else image.topics.get(folder.topic_id)
    if topic is None or folder.partition not in topic.partitions.states:
        return True
    return folder.broker not in topic.partitions.states[folder.partition][0]


def strays(image: Image, folders: Iterable[PartitionFolder]) -> list[PartitionFolder]:
    """Return the folders that become stray, by broker and name."""
    found = [folder for folder in folders if folder.kind is FolderKind.LIVE and becomes_stray(image, folder)]
    return sorted(found, key=lambda folder: (-1 if folder.broker is None else folder.broker, folder.name))


def topics_without_data(image: Image, folders: Iterable[PartitionFolder], shown: Collection[int]) -> list[Topic]:
    """Return the topics of the image of which no replica has a folder, where every replica's broker was `shown`, by
    name.

    Such a topic was deleted after the image, or never had a replica: it comes back empty. A folder that is stray holds
    its data all the same; one that is being deleted is the proof that the topic was.
    """
    held = {
        folder.topic_id for folder in folders if folder.kind in (FolderKind.LIVE, FolderKind.STRAY, FolderKind.FUTURE)
    }
    found = []
    for id, topic in image.topics.items():
        if id in held:
            continue
        brokers = {broker for state in topic.partitions.states.values() for broker in state[REPLICAS_AT]}
        if brokers <= set(shown):
            found.append(topic)
    return sorted(found, key=lambda topic: (topic.name, topic.id.raw))


def epochs_on_disk(folders: Iterable[PartitionFolder]) -> dict[tuple[Uuid, int], int]:
    """Return the largest leader epoch that any folder of a partition knows, by topic id and partition."""
    found: dict[tuple[Uuid, int], int] = {}
    for folder in folders:
        if folder.topic_id is not None and folder.leader_epoch is not None and folder.kind is not FolderKind.DELETED:
            key = (folder.topic_id, folder.partition)
            found[key] = max(found.get(key, -1), folder.leader_epoch)
    return found


def epochs_are_ahead(image: Image, folders: Iterable[PartitionFolder]) -> bool:
    """Return True if a folder has a newer leader epoch than the image: the image ends before the cluster did."""
    for (topic_id, partition), epoch in epochs_on_disk(folders).items():
        topic = image.topics.get(topic_id)
        if (
            topic is not None
            and partition in topic.partitions.states
            and epoch > topic.partitions[partition].leader_epoch
        ):
            return True
    return False


class Adoptable(NamedTuple):
    """A partition that is on disks and not in the image; `replicas` has one folder for each broker, best first."""

    topic: str
    topic_id: Uuid
    partition: int
    replicas: tuple[PartitionFolder, ...]

    @property
    def brokers(self) -> list[int]:
        """Return the brokers that have it."""
        return sorted(folder.broker for folder in self.replicas if folder.broker is not None)


class Adoption(NamedTuple):
    """Folders that can be adopted, and the others with the reason."""

    partitions: tuple[Adoptable, ...]
    refused: tuple[tuple[PartitionFolder, str], ...]


def adoption(image: Image, folders: Sequence[PartitionFolder], *, from_strays: bool = False) -> Adoption:
    """Return the partitions that disks hold and the image lacks; with `from_strays` also those that a broker renamed.

    A topic id with a folder that is being deleted was deleted and is not adopted. A topic whose name the image gives
    to another id cannot be.
    """
    deleted = {folder.topic_id for folder in folders if folder.kind is FolderKind.DELETED}
    by_key: dict[tuple[Uuid, int], list[PartitionFolder]] = defaultdict(list)
    refused: list[tuple[PartitionFolder, str]] = []
    names: dict[Uuid, str] = {}
    for seen in folders:
        wanted = seen.kind is FolderKind.LIVE or (from_strays and seen.kind is FolderKind.STRAY)
        if not wanted or not _is_unknown(image, seen):
            continue
        why = _why_not(image, seen, deleted, names)
        if why is not None:
            refused.append((seen, why))
        elif seen.topic_id is not None:
            names.setdefault(seen.topic_id, seen.topic)
            by_key[(seen.topic_id, seen.partition)].append(seen)
    found = [Adoptable(held[0].topic, key[0], key[1], _one_a_broker(held)) for key, held in by_key.items()]
    return Adoption(tuple(sorted(found, key=lambda partition: (partition.topic, partition.partition))), tuple(refused))


def _is_unknown(image: Image, folder: PartitionFolder) -> bool:
    topic = None if folder.topic_id is None else image.topics.get(folder.topic_id)
    return topic is None or folder.partition not in topic.partitions.states


def _why_not(
    image: Image, folder: PartitionFolder, deleted: Collection[Uuid | None], names: Mapping[Uuid, str]
) -> str | None:
    if folder.topic_id is None:
        return "it has no partition.metadata with a topic id"
    if folder.broker is None:
        return f"{folder.disk} has no meta.properties that names its broker"
    if folder.topic_id in deleted:
        return f"topic id {folder.topic_id} was being deleted: another folder of it ends in -delete"
    taken = image.topic_ids.get(folder.topic)
    if taken is not None and taken != folder.topic_id:
        return f"the image has another topic of the name {folder.topic} (id {taken})"
    if any(name == folder.topic and id != folder.topic_id for id, name in names.items()):
        return f"another topic id on these disks has the name {folder.topic}, too"
    return None


def _one_a_broker(held: Iterable[PartitionFolder]) -> tuple[PartitionFolder, ...]:
    """Return the folders best first, each broker's best one; a folder that was not renamed before one that was."""
    ordered = sorted(
        held, key=lambda copy: (copy.kind is not FolderKind.LIVE, -copy.place[0], -copy.place[1], copy.broker)
    )
    best: dict[int | None, PartitionFolder] = {}
    for copy in ordered:
        best.setdefault(copy.broker, copy)
    return tuple(sorted(best.values(), key=lambda copy: (-copy.place[0], -copy.place[1], copy.broker)))


def brokers_shown(image: Image, disks: Sequence[DiskSeen]) -> tuple[set[int], dict[int, list[Uuid]]]:
    """Return the registered brokers with every log directory among the disks, and the missing directories of the
    others.

    Below the level at which brokers register directories, one directory of the broker is enough.
    """
    ids: dict[int, set[Uuid]] = defaultdict(set)
    for disk in disks:
        if disk.node_id is not None and not _is_metadata_only(disk, image):
            ids[disk.node_id] |= set() if disk.directory_id is None else {disk.directory_id}
    shown, missing = set(), {}
    for id, broker in image.brokers.items():
        lacking = (
            [directory for directory in broker.directories if directory not in ids[id]]
            if id in ids
            else list(broker.directories)
        )
        if id in ids and not lacking:
            shown.add(id)
        else:
            missing[id] = lacking
    return shown, missing


def _is_metadata_only(disk: DiskSeen, image: Image) -> bool:
    return disk.node_id not in image.brokers


def live(folders: Iterable[PartitionFolder]) -> Iterator[PartitionFolder]:
    """Return the folders that count as they are."""
    return (folder for folder in folders if folder.kind is FolderKind.LIVE)
