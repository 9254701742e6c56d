"""The file that brings a node to a phase: rendered from the one before the migration, which the journal keeps."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

from kafkactl.adapters import migration_apply as apply
from kafkactl.adapters.input_files import read_input
from kafkactl.adapters.migration_apply import Place
from kafkactl.adapters.migration_driver_port import World
from kafkactl.adapters.migration_driver_steps import Files, phase_of
from kafkactl.adapters.migration_journal import Memory, MigrationJournal
from kafkactl.errors import KafkactlError
from kafkactl.migration.inventory import Inventory, InventoryNode
from kafkactl.migration.observation import NodeRole, Observation
from kafkactl.migration.render import render
from kafkactl.migration.render_facts import ConfigPhase, NodeFile, cluster_facts, node_file
from kafkactl.migration.step import Move, Progress, Step
from kafkactl.plan import Finding, blocker, blockers

_MARKS = (b"zookeeper.metadata.migration.enable", b"process.roles")


class Kept(Protocol):
    """A journal, open for a run or only looked into."""

    @property
    def memory(self) -> Memory:
        """What it remembers."""
        ...

    def kept(self, sha256: str) -> bytes:
        """Bytes that were kept."""
        ...


class RenderedFiles:
    """Files made by `kafkactl.migration.render` of the originals."""

    def __init__(self, inventory: Inventory, world: World, journal: Kept) -> None:
        self._inventory = inventory
        self._world = world
        self._journal = journal

    def content(
        self, node: InventoryNode, phase: str, current: bytes | None, _observation: Observation
    ) -> bytes | Finding:
        """The file, or the finding that says why there is none."""
        own = self._original(node, current)
        if own is None:
            return _unknown(node)
        if phase == ConfigPhase.ORIGINAL:
            return own
        try:
            files = [_file(one, text) for one, text in self._originals(node, own)]
            mine = next(one for one in files if one.id == node.id)
            made = render(mine, ConfigPhase(phase), cluster_facts(files))
        except KafkactlError as error:
            return blocker(error.id, node.name, error.message, error.next_step or "")
        if wrong := blockers(made.findings):
            return wrong[0]
        return made.content if made.content is not None else _unknown(node)

    def keep_originals(self, journal: MigrationJournal) -> None:
        """Every node's own file, before the first of them is changed."""
        known = journal.memory.originals or {}
        for node in self._inventory.nodes:
            if node.name in known:
                continue
            current = self._read(node)
            if current is not None and is_original(node, current):
                journal.keep("original", {"node": node.name}, current)

    def _read(self, node: InventoryNode) -> bytes | None:
        """By its hook, else the copy that the inventory names."""
        current, _ = apply.read_file(self._world, Place(node=node.id, name=node.name, phase="original", seq=0))
        if current is None and node.copy is not None:
            return read_input(Path(self._inventory.file).parent / node.copy, f"the copy of {node.name}'s configuration")
        return current

    def _originals(self, node: InventoryNode, own: bytes) -> Iterable[tuple[InventoryNode, bytes]]:
        for one in self._inventory.nodes:
            text = own if one is node else self._original(one, None)
            if text is not None:
                yield one, text

    def _original(self, node: InventoryNode, current: bytes | None) -> bytes | None:
        known = self._journal.memory.originals or {}
        if node.name in known:
            return self._journal.kept(known[node.name])
        if current is None:
            current = self._read(node)
        return current if current is not None and is_original(node, current) else None


def missing_files(
    files: Files, inventory: Inventory, steps: Iterable[Step], observation: Observation
) -> tuple[Finding, ...]:
    """The files that the steps of a way back will need and that cannot be had, each node once."""
    found: dict[tuple[str, str], Finding] = {}
    for step in steps:
        if step.action is Move.RESTORE_CONFIG and step.state is Progress.PENDING and step.node is not None:
            node = inventory.node(step.node)
            assert node is not None, step.node  # whoever plans names no other
            made = files.content(node, phase_of(step), None, observation)
            if isinstance(made, Finding):
                found.setdefault((made.id, made.subject), made)
    return tuple(found.values())


def is_original(node: InventoryNode, content: bytes) -> bool:
    """Whether a file is one from before the migration: of a broker, nothing of a migration is in it."""
    return node.role is NodeRole.CONTROLLER or not any(one in content for one in _MARKS)


def _file(node: InventoryNode, content: bytes) -> NodeFile:
    return node_file(node.id, node.role, content, file=node.config, kafka_version=node.kafka_version)


def _unknown(node: InventoryNode) -> Finding:
    return blocker(
        "original-file-unknown",
        node.name,
        f"the file that {node.name} had before the migration is neither on it nor kept beside the journal",
        "Name the journal that the migration was begun with, or put the node's own file in its place by hand.",
    )
