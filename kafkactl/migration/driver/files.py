"""The file that brings a node to a phase: rendered from the one before the migration, which the journal keeps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, Protocol

from kafkactl.core.errors import DecodeError, KafkactlError
from kafkactl.core.findings import Finding, blocker, blockers, error_finding
from kafkactl.core.frozen import changed
from kafkactl.core.values import Role
from kafkactl.migration.driver import actions as apply
from kafkactl.migration.driver.actions import Place
from kafkactl.migration.driver.journal import DriverJournal, JournalState
from kafkactl.migration.driver.moves import Files, phase_of
from kafkactl.migration.driver.ports import MigrationPort, OperatorFiles
from kafkactl.migration.inventory import Inventory, InventoryNode
from kafkactl.migration.observed.observation import Observation
from kafkactl.migration.render.facts import (
    PHASES,
    ClusterFacts,
    ConfigPhase,
    NodeFile,
    cluster_facts,
    entered_by,
    node_file,
)
from kafkactl.migration.render.folder import FromFolder, difference_text, from_folder
from kafkactl.migration.render.hand_edits import NO_EDITS, EditAnswers, HandEdit, HandEdits, edit_finding, hand_edit
from kafkactl.migration.render.node import render
from kafkactl.migration.steps.step import Move, Progress, Step

_RENDERED: Final = (
    "files: rendered from the nodes' own files, which the journal keeps; a folder of `migrate render` is used only"
    " with --rendered DIR"
)


class Kept(Protocol):
    """A journal, open for a run or only looked into."""

    @property
    def recorded(self) -> JournalState:
        """Return the recorded state."""
        ...

    def kept(self, sha256: str) -> bytes:
        """Return the bytes that were kept."""
        ...


class RenderedFiles:
    """Files made by `kafkactl.migration.render.node` of the originals, or read from the folder of an earlier rendering.

    `edits` says what becomes of files that were edited by hand since the driver read or wrote them. `rendered` is the
    folder of `migrate render` whose files are used; None: the one that the journal remembers, or none.
    """

    def __init__(
        self,
        inventory: Inventory,
        world: MigrationPort,
        journal: Kept,
        operator_files: OperatorFiles,
        *,
        edits: EditAnswers = NO_EDITS,
        rendered: str | None = None,
    ) -> None:
        self._inventory = inventory
        self._world = world
        self._journal = journal
        self._operator_files = operator_files
        self._edits = edits
        self._rendered = rendered

    @property
    def folder(self) -> str | None:
        """Return the folder of `migrate render` whose files are used; None if the driver renders them itself."""
        return self._rendered if self._rendered is not None else self._journal.recorded.rendered

    def content(
        self, node: InventoryNode, phase: str, current: bytes | None, _observation: Observation
    ) -> bytes | Finding:
        """Return the file, or the finding with the reason why there is none."""
        own = self._original(node, current)
        if own is None:
            return _unknown(node)
        if current is not None and (edit := self._edit(node, current)) is not None:
            return edit_finding(edit, HandEdits.REFUSE) or _unknown(node)  # what was agreed to is settled by now
        if phase == ConfigPhase.ORIGINAL:
            return own
        try:
            files = [_file(owner, text) for owner, text in self._originals(node, own)]
            found = self._made(node, ConfigPhase(phase), files, cluster_facts(files))
        except KafkactlError as error:
            return error_finding(node.name, error)
        return found.content if isinstance(found, FromFolder) else found

    def _made(
        self, node: InventoryNode, phase: ConfigPhase, files: Iterable[NodeFile], facts: ClusterFacts
    ) -> FromFolder | Finding | bytes:
        """Return the file for a phase: rendered, or that of the folder."""
        mine = next(file for file in files if file.id == node.id)
        made = render(mine, phase, facts)
        if wrong := blockers(made.findings):
            return wrong[0]
        if made.content is None:
            return _unknown(node)
        if self.folder is None:
            return made.content
        return from_folder(Path(self.folder), mine, made, self._operator_files.rendered)

    def objections(self, seen: Observation, steps: Iterable[Step]) -> tuple[Finding, ...]:
        """Report files edited by hand, and files that the steps need and that cannot be made, each node once."""
        edited = [
            finding
            for edit in self._seen_edits(seen)
            if (finding := edit_finding(edit, self._edits.of(edit.node))) is not None
        ]
        unmade = {found.subject: found for found in self._made_files(steps) if isinstance(found, Finding)}
        return (*edited, *(found for name, found in unmade.items() if name not in {edit.subject for edit in edited}))

    def _made_files(self, steps: Iterable[Step]) -> Iterator[FromFolder | Finding | bytes]:
        """Yield the file of each pending step that puts one, or why there is none.

        Every node's own file is read once.
        """
        wanted = {
            (step.node, phase_of(step)): step
            for step in steps
            if step.action in (Move.PUT_CONFIG, Move.RESTORE_CONFIG) and step.state is Progress.PENDING
        }
        if not wanted:
            return
        texts = [(node, text) for node in self._inventory.nodes if (text := self._original(node, None)) is not None]
        try:
            files = [_file(node, text) for node, text in texts]
        except DecodeError as error:
            yield error_finding("nodes' files", error)
            return
        facts = cluster_facts(files)
        for id, phase in wanted:
            node = None if id is None else self._inventory.node(id)
            if node is None:
                continue
            if not any(file.id == id for file in files):
                yield _unknown(node)
            elif phase != ConfigPhase.ORIGINAL:
                yield self._made(node, ConfigPhase(phase), files, facts)

    def settle(self, journal: DriverJournal, seen: Observation, steps: Iterable[Step]) -> tuple[str, ...]:
        """Write down what an operator has agreed to: edits that are carried or overwritten, and the folder. Lines for
        the operator: where the files come from, and what of them is not as rendered.
        """
        lines = [_RENDERED if self.folder is None else f"files: those of {self.folder}"]
        lines += [
            difference_text(file) for file in self._made_files(steps) if isinstance(file, FromFolder) and file.differs
        ]
        if self._rendered is not None and self._rendered != journal.recorded.rendered:
            journal.append("rendered", {"folder": self._rendered})
        for edit in self._seen_edits(seen):
            wanted = self._edits.of(edit.node)
            if edit_finding(edit, wanted) is not None:
                continue
            journal.keep("file", {"node": edit.node, "phase": "edited"}, edit.current)
            is_carried = wanted is HandEdits.CARRY and edit.own is not None
            if is_carried and edit.own is not None:
                journal.keep("own-file", {"node": edit.node, "carried": sorted(edit.keys)}, edit.own)
            becomes = "is carried into every later file" if is_carried else "will be overwritten"
            lines.append(f"the edit of the file of {edit.node} {becomes}: {edit.words}")
        return tuple(lines)

    def _seen_edits(self, seen: Observation) -> tuple[HandEdit, ...]:
        """Return the edits of the files as an observation shows them."""
        return hand_edits_seen(self._inventory, self._journal, seen)

    def _edit(self, node: InventoryNode, current: bytes) -> HandEdit | None:
        return edit_of(self._inventory, self._journal, node, current)

    def keep_originals(self, journal: DriverJournal) -> None:
        """Save every node's own file before the first of them is changed."""
        known = journal.recorded.originals or {}
        for node in self._inventory.nodes:
            if node.name in known:
                continue
            current = self._read(node)
            if current is not None and is_original(node, current):
                journal.keep("original", {"node": node.name}, current)

    def _read(self, node: InventoryNode) -> bytes | None:
        """Read a node's file by its hook, else the copy that the inventory names."""
        current, _ = apply.read_file(self._world, Place(node=node.id, name=node.name, phase="original", seq=0))
        if current is None and node.copy is not None:
            path = Path(self._inventory.file).parent / node.copy
            return self._operator_files.copy(path, f"the copy of {node.name}'s configuration")
        return current

    def _originals(self, node: InventoryNode, own: bytes) -> Iterable[tuple[InventoryNode, bytes]]:
        for owner in self._inventory.nodes:
            text = own if owner is node else self._original(owner, None)
            if text is not None:
                yield owner, text

    def _original(self, node: InventoryNode, current: bytes | None) -> bytes | None:
        known = self._journal.recorded.originals or {}
        if node.name in known:
            return self._journal.kept(known[node.name])
        if current is None:
            current = self._read(node)
        return current if current is not None and is_original(node, current) else None


def hand_edits_seen(inventory: Inventory, journal: Kept, seen: Observation) -> tuple[HandEdit, ...]:
    """Return the files that an observation shows as edited since the driver read or wrote them.

    None without a migration.
    """
    if not journal.recorded.is_under_way:
        return ()
    found = []
    for node in inventory.nodes:
        there = seen.node(node.id, node.role)
        if there is None or there.config_text is None:
            continue
        edits = [edit_of(inventory, journal, node, text) for text in _as_bytes(there.config_text)]
        if all(edit is not None for edit in edits):
            found.append(edits[0])
    return tuple(edit for edit in found if edit is not None)


def hand_edit_findings(inventory: Inventory, journal: Kept, seen: Observation) -> tuple[Finding, ...]:
    """Return these edits as the findings at which a run stops, each under the number of its check."""
    found = (edit_finding(edit, HandEdits.REFUSE) for edit in hand_edits_seen(inventory, journal, seen))
    return tuple(changed(finding, evidence={"check": "C-22", **finding.evidence}) for finding in found if finding)


def _as_bytes(text: str) -> tuple[bytes, ...]:
    """Return the possible bytes of a text: an observation keeps files as UTF-8, or as Latin-1 if they are not UTF-8."""
    both = (text.encode("utf-8", "surrogateescape"), text.encode("latin-1", "ignore"))
    return both if both[1].decode("latin-1") == text else both[:1]


def edit_of(inventory: Inventory, journal: Kept, node: InventoryNode, current: bytes) -> HandEdit | None:
    """Return the edit of a node's file, by the journal; None for a file that the journal does not name.

    A file as it would be rendered is none, whatever its origin. Raises InputError `kept-file-damaged`.
    """
    recorded = journal.recorded
    own = (recorded.originals or {}).get(node.name)
    if own is None or apply.sha256(current) in (own, *recorded.files.get(node.name, ())):
        return None
    files = [journal.kept(entry) for entry in recorded.files.get(node.name, ())]
    known = [*_renderings(inventory, journal, node), *files]
    return hand_edit(node.name, current, known=known, original=journal.kept(own))


def _renderings(inventory: Inventory, journal: Kept, node: InventoryNode) -> Iterator[bytes]:
    """Yield a node's file for each phase, as far as the journal has the parts of it."""
    kept = journal.recorded.originals or {}
    files = [_file(node, journal.kept(kept[node.name])) for node in inventory.nodes if node.name in kept]
    facts = cluster_facts(files)
    mine = next(file for file in files if (file.id, file.role) == (node.id, node.role))
    for phase in PHASES[node.role]:
        made = render(mine, phase, facts)
        if made.content is not None:
            yield made.content


def missing_files(
    files: Files, inventory: Inventory, steps: Iterable[Step], observation: Observation
) -> tuple[Finding, ...]:
    """Return the files that the steps of a rollback need and that cannot be read, each node once."""
    found: dict[tuple[str, str], Finding] = {}
    for step in steps:
        if step.action is Move.RESTORE_CONFIG and step.state is Progress.PENDING and step.node is not None:
            node = inventory.node(step.node)
            assert node is not None, step.node  # a plan names no other
            made = files.content(node, phase_of(step), None, observation)
            if isinstance(made, Finding):
                found.setdefault((made.id, made.subject), made)
    return tuple(found.values())


def is_original(node: InventoryNode, content: bytes) -> bool:
    """Return True for a file from before the migration: of a broker, one that makes it run on ZooKeeper alone."""
    if node.role is Role.CONTROLLER:
        return True
    try:
        return entered_by(_file(node, content).given) is None
    except DecodeError:  # a file that Java does not read started no broker
        return False


def _file(node: InventoryNode, content: bytes) -> NodeFile:
    return node_file(node.id, node.role, content, file=node.config, kafka_version=node.kafka_version)


def _unknown(node: InventoryNode) -> Finding:
    return blocker(
        "original-file-unknown",
        node.name,
        f"the file that {node.name} had before the migration is neither on the node nor kept with the journal",
    )
