"""A node's configuration, meta.properties, metadata log and metrics, from hooks and from files on this machine.

What no hook returns and no path names is unknown. A hook that fails is reported, and what it should return is unknown.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, TypeAlias

from kafkactl.change.hooks.words import Verb
from kafkactl.core.errors import DecodeError
from kafkactl.core.findings import Finding, note
from kafkactl.core.frozen import frozen
from kafkactl.core.kafka_names import METADATA_LOG
from kafkactl.core.values import Role
from kafkactl.metadata.io.node_places import NodePlaces, meta_keys
from kafkactl.metadata.io.source import LogSource
from kafkactl.metadata.verify.folder import PARTITION_METADATA
from kafkactl.migration.inventory import Inventory, InventoryNode
from kafkactl.migration.observed.observation import DirectorySeen
from kafkactl.protocol.text.meta_properties import META_PROPERTIES
from kafkactl.storage.io.partition_ids import read_partition_ids
from kafkactl.storage.partition_folders import PartitionIds, parse_topic_id, partition_ids

MBEANS: Final[Mapping[str, str]] = {
    "ZkMigrationState": "kafka.controller:type=KafkaController,name=ZkMigrationState",
    "MigratingZkBrokerCount": "kafka.controller:type=KafkaController,name=MigratingZkBrokerCount",
    "ZkWriteBehindLag": "kafka.controller:type=KafkaController,name=ZkWriteBehindLag",
    "ActiveControllerCount": "kafka.controller:type=KafkaController,name=ActiveControllerCount",
    "OfflineLogDirectoryCount": "kafka.log:type=LogManager,name=OfflineLogDirectoryCount",
}
"""What is asked of a node's `jmx` hook, one at a time: the last number that it prints is the value."""
_AT_ONCE: Final = 8
_STRAY: Final = "-stray"
_ELSEWHERE: Final = ""  # what a hook printed that is in none of the directories
Listed: TypeAlias = Mapping[str, tuple[str, ...] | None]
"""By log directory the paths in it; None for one that does not exist."""
_OF_THE_FILESYSTEM: Final = frozenset({"lost+found"})
_NUMBER: Final = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
_METADATA_LINE: Final = re.compile(rf"(?P<folder>/.+)/{re.escape(PARTITION_METADATA)}(?::topic_id:\s*(?P<id>\S+))?")
_INCOMPLETE: Final = "incomplete"


@frozen
class PlaceFacts:
    """Facts of one node from its places; None is unknown. `findings` are what could not be read."""

    config: str | None
    meta_properties: Mapping[str, str] | None
    metrics: Mapping[str, float] | None
    strays: tuple[str, ...] | None
    directories: tuple[DirectorySeen, ...] | None
    partition_ids: PartitionIds | None
    log: LogSource | None
    findings: tuple[Finding, ...]


def observe_places(inventory: Inventory, *, timeout_ms: float) -> dict[int, PlaceFacts]:
    """Return the facts from the places of all nodes, by node id.

    Several nodes at a time, because a hook may take a second.
    """

    def observe_place(node: InventoryNode) -> tuple[int, PlaceFacts]:
        places = Places(inventory, timeout_ms)
        config = places.config(node)
        listed = places.listed(node, config)
        return node.id, PlaceFacts(
            config=config,
            meta_properties=places.meta_properties(node, config),
            metrics=places.metrics(node),
            strays=None if listed is None else strays_in(listed),
            directories=None if listed is None else places.directories(node, listed),
            partition_ids=places.partition_ids(node, listed) if node.role is Role.BROKER else None,
            log=places.log(node, listed) if node.role is Role.CONTROLLER else None,
            findings=tuple(places.findings),
        )

    with ThreadPoolExecutor(max_workers=_AT_ONCE) as pool:
        return dict(pool.map(observe_place, inventory.nodes))


class Places(NodePlaces):
    """The files and hooks of a node in a migration. `findings` grow with what could not be read."""

    def __init__(self, inventory: Inventory, timeout_ms: float) -> None:
        super().__init__(Path(inventory.file).parent, timeout_ms)
        self._probed_ids: PartitionIds | None = None

    def log(self, node: InventoryNode, listed: Listed | None) -> LogSource | None:
        """Return the node's metadata log, or a copy of it, if the inventory names one.

        A directory that was listed and has no log in it is known, and no finding: the controller never started there.
        """
        if node.log is None:
            return None
        place = self.folder / node.log
        folder = place.parent if place.name == METADATA_LOG else place
        for path, paths in (listed or {}).items():
            if path and Path(path).resolve() == folder.resolve() and not _has_log(paths or ()):
                return None
        if not folder.exists():
            self._expect(node, folder)
            return None
        return self.log_at(node, place)

    def metrics(self, node: InventoryNode) -> Mapping[str, float] | None:
        """Return the output of the node's `jmx` hook; None without one."""
        if Verb.JMX not in node.hooks.commands:
            return None
        found = {}
        for name, mbean in MBEANS.items():
            data = self.by_hook(node, Verb.JMX, mbean=mbean)
            numbers = _NUMBER.findall((data or b"").decode("utf-8", "replace"))
            if numbers:
                found[name] = float(numbers[-1])
        return found

    def listed(self, node: InventoryNode, config: str | None) -> Listed | None:
        """Return the paths in each log directory, None for a missing one; None if no directory can be listed."""
        folders = self.folders(node, config)
        if not folders:
            return None
        if Verb.FS_PROBE in node.hooks.commands:
            return self._probed(node, tuple(map(os.path.abspath, folders)))
        if not node.hooks.is_local:
            return None
        found: dict[str, tuple[str, ...] | None] = {}
        for folder in folders:
            try:
                found[folder] = tuple(str(Path(folder) / name) for name in os.listdir(folder))  # noqa: PTH208
            except FileNotFoundError:
                found[folder] = None
            except OSError as error:
                self.note_unread(node, f"{folder} cannot be listed: {error.strerror}")
                return None
        return found

    def _probed(self, node: InventoryNode, folders: tuple[str, ...]) -> Listed | None:
        """Return the listing of the hook, a path a line; a directory that no line names was not listed."""
        data = self.by_hook(node, Verb.FS_PROBE, log_dirs=folders)
        if data is None:
            return None
        every = [line.strip() for line in data.decode("utf-8", "replace").splitlines()]
        self._probed_ids, lines = _ids_and_paths(every)
        found: dict[str, tuple[str, ...] | None] = {}
        for folder in folders:
            inside = tuple(line for line in lines if line.startswith(f"{folder}/"))
            if inside or folder in lines:
                found[folder] = inside
        listed = {line for paths in found.values() for line in paths or ()}
        return {**found, _ELSEWHERE: tuple(line for line in lines if line not in listed)}

    def directories(self, node: InventoryNode, listed: Listed) -> tuple[DirectorySeen, ...] | None:
        """Return the content of the node's log directories; None if none of them was listed."""
        found = []
        for folder, paths in listed.items():
            if folder == _ELSEWHERE:
                continue
            held = [path for path in paths or () if Path(path).name not in _OF_THE_FILESYSTEM]
            id = self._directory_id(Path(folder) / META_PROPERTIES) if node.hooks.is_local and held else None
            found.append(DirectorySeen(path=folder, is_empty=not held, directory_id=id))
        return tuple(found) or None

    def partition_ids(self, node: InventoryNode, listed: Listed | None) -> PartitionIds | None:
        """Return the topic ids in the node's partition folders; None if they cannot be read from here."""
        if listed is None:
            return None
        if Verb.FS_PROBE in node.hooks.commands:
            return self._probed_ids
        return read_partition_ids(folder for folder, paths in listed.items() if paths is not None)

    @staticmethod
    def _directory_id(path: Path) -> str | None:
        try:
            keys = meta_keys(path)
        except (OSError, DecodeError):  # `meta_properties` reports it
            return None
        return keys.get("directory.id", "").strip() or None

    def _expect(self, node: InventoryNode, folder: Path) -> None:
        """Record a directory that the format step of the migration makes."""
        text = (
            f"{folder}, where the inventory has its metadata log, does not exist: it is made when its disk is formatted"
        )
        step = "Nothing to do before the format; if the node was formatted already, correct `log` in the inventory."
        self.findings.append(note("node-place-unreadable", node.name, text, step))


def _ids_and_paths(lines: Iterable[str]) -> tuple[PartitionIds | None, list[str]]:
    """Return the ids that a hook printed, None if it prints no partition.metadata at all, and the lines that are paths.

    A hook prints the path of each partition.metadata, and after a colon the line with the id (`grep -H`); the word
    `incomplete` if it could not read all of them.
    """
    paths: list[str] = []
    named: dict[str, str | None] = {}
    is_complete = True
    for line in lines:
        found = _METADATA_LINE.fullmatch(line)
        if found is not None:
            id = None if found["id"] is None else parse_topic_id(f"topic_id: {found['id']}".encode())
            if named.get(found["folder"]) is None:
                named[found["folder"]] = None if id is None else str(id)
        elif line == _INCOMPLETE:
            is_complete = False
        else:
            paths.append(line)
    if not named:
        return None, paths
    return partition_ids(((path, named.get(path)) for path in paths), is_complete=is_complete), paths


def _has_log(paths: Iterable[str]) -> bool:
    return any(Path(path).name == METADATA_LOG for path in paths)


def strays_in(listed: Listed) -> tuple[str, ...] | None:
    """Return the partition directories that the node has renamed as strays, sorted; None if no directory exists."""
    known = [paths for paths in listed.values() if paths is not None]
    return tuple(sorted(path for paths in known for path in paths if path.endswith(_STRAY))) if known else None
