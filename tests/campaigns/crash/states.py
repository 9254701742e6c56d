"""States that a crash can leave of a recorded run: every tree that a kill or a power loss allows, each once.

A kill leaves what was done. A power loss leaves a name for certain only if its folder was synced afterwards; of the
later changes of names any part may have arrived, in order for each name, and a rename arrives as a whole. Content is
certain after a sync of the file; before that there is none of it, a beginning, a part cut at a block, or zeros.
"""

from __future__ import annotations

import itertools
import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.campaigns.crash.trace import Model, Operation, Place

BLOCK = 512
_TIME_S = 1_700_000_000
MOST_SUBSETS = 2048  # of pending changes at one point; more are not looked at, and counted
Flat = dict[str, bytes | None]  # path -> content, None for a folder


@dataclass
class State:
    """A tree. `is_kill`: nothing was lost, and what is not synced may still be lost later; `point`: after which
    operation."""

    flat: Flat
    paths: dict[str, int]
    point: int
    is_kill: bool

    @property
    def digest(self) -> int:
        """Return a value that is equal for equal trees, within one process."""
        return hash(frozenset(self.flat.items()))


@dataclass
class Disk:
    """Content that is certainly on the disk, and what is pending. Operations are added one by one."""

    folders: dict[int, dict[str, int]]
    synced: dict[int, bytes]
    pending: list[Operation] = field(default_factory=list)
    contents: dict[int, bytes] = field(default_factory=dict)
    left_out: int = 0

    @property
    def next(self) -> int:
        """Return a number that no file or folder has had."""
        return max((*self.folders, *self.contents, *self.synced)) + 1

    @property
    def signature(self) -> int:
        """Return a value that is equal for equal trees of which equal parts are certain."""
        pending = tuple(operation.names for operation in self.pending)
        dirty = frozenset(
            (node, self.synced[node]) for node in self.contents if self.synced[node] != self.contents[node]
        )
        return hash((pending, dirty))

    @classmethod
    def of(cls, model: Model) -> Disk:
        """Return the disk with all of it on it."""
        folders = {node: dict(names) for node, names in model.folders.items()}
        return cls(folders=folders, synced=dict(model.contents), contents=dict(model.contents))

    def copy(self) -> Disk:
        """Return a copy that can be changed further."""
        folders = {node: dict(names) for node, names in self.folders.items()}
        return Disk(folders, dict(self.synced), list(self.pending), dict(self.contents))

    def add(self, operation: Operation) -> None:
        """Add the next operation of the run."""
        if operation.names:
            if operation.kind == "mkdir":
                self.folders[operation.node] = {}
            elif operation.kind == "create":
                self.synced[operation.node] = self.contents[operation.node] = b""
            self.pending.append(operation)
        elif operation.kind == "write":
            assert operation.content is not None
            self.contents[operation.node] = operation.content
        elif operation.kind == "fsync":
            if operation.node in self.folders:
                self._settle(operation.node)
            else:
                self.synced[operation.node] = self.contents[operation.node]

    def _settle(self, folder: int) -> None:
        """Settle what changed in the folder, with what came before it at the other name of a rename."""
        certain: set[Place] = set()
        chosen: list[Operation] = []
        for operation in reversed(self.pending):
            places = {place for place, _ in operation.names}
            if any(place[0] == folder for place in places) or places & certain:
                certain |= places
                chosen.append(operation)
        ids = {id(operation) for operation in chosen}
        for operation in self.pending:
            if id(operation) in ids:
                _apply(self.folders, operation)
        self.pending = [operation for operation in self.pending if id(operation) not in ids]

    def states(self, point: int) -> Iterator[State]:
        """Yield what a crash leaves here: first the tree after a kill, then those after a power loss."""
        every = tuple(range(len(self.pending)))
        names = self._names(every)
        yield self._state(names, self.contents, point, is_kill=True)
        for count, subset in enumerate(self._subsets()):
            if count >= MOST_SUBSETS:
                self.left_out += 1
                return
            names = self._names(subset)
            for contents in self._contents():
                yield self._state(names, contents, point, is_kill=False)

    def _subsets(self) -> Iterator[tuple[int, ...]]:
        """Return numbers of pending operations that may have arrived: for each name a beginning of its own."""

        def more(number: int, chosen: tuple[int, ...], stopped: frozenset[Place]) -> Iterator[tuple[int, ...]]:
            if number == len(self.pending):
                yield chosen
                return
            places = {place for place, _ in self.pending[number].names}
            if not places & stopped:
                yield from more(number + 1, (*chosen, number), stopped)
            yield from more(number + 1, chosen, stopped | places)

        return more(0, (), frozenset())

    def _names(self, subset: Sequence[int]) -> dict[int, dict[str, int]]:
        if not subset:
            return self.folders
        folders = dict(self.folders)
        for number in subset:
            for (folder, _), _ in self.pending[number].names:
                if folders[folder] is self.folders[folder]:
                    folders[folder] = dict(folders[folder])
            _apply(folders, self.pending[number])
        return folders

    def _contents(self) -> Iterator[dict[int, bytes]]:
        """Yield unsynced files in all the ways that they may have arrived: together, and each of several alone."""
        dirty = [node for node, content in self.contents.items() if self.synced[node] != content]
        if not dirty:
            yield self.contents
            return
        ways = {node: torn(self.synced[node], self.contents[node]) for node in dirty}
        yield self.contents
        for way in range(4):
            yield {**self.contents, **{node: ways[node][way] for node in dirty}}
        if len(dirty) > 1:
            for node, way in itertools.product(dirty, range(4)):
                yield {**self.contents, node: ways[node][way]}

    def _state(
        self, folders: dict[int, dict[str, int]], contents: dict[int, bytes], point: int, *, is_kill: bool
    ) -> State:
        flat: Flat = {}
        paths: dict[str, int] = {"": 0}
        ahead = [("", 0)]
        while ahead:
            above, folder = ahead.pop()
            for name, node in folders[folder].items():
                path = f"{above}{name}"
                paths[path] = node
                if node in folders:
                    flat[path] = None
                    ahead.append((f"{path}/", node))
                else:
                    flat[path] = contents[node]
        return State(flat, paths, point, is_kill)


def torn(before: bytes, after: bytes) -> tuple[bytes, bytes, bytes, bytes]:
    """Return a write that did not arrive whole: none, a beginning, a part cut at a block, zeros in place of what is
    new."""
    pairs = enumerate(zip(before, after, strict=False))
    same = next((at for at, (old, new) in pairs if old != new), min(len(before), len(after)))
    new = len(after) - same
    block = (same + new - 1) // BLOCK * BLOCK
    return before, after[: same + new // 2], after[: max(block, same)], after[:same] + bytes(new)


def _apply(folders: dict[int, dict[str, int]], operation: Operation) -> None:
    for (folder, name), node in operation.names:
        if node is None:
            folders[folder].pop(name, None)
        else:
            folders[folder][name] = node


def materialize(state: State, root: Path, next_number: int) -> Model:
    """Put a tree on the disk in place of what is at `root`; the tree with the numbers that it has in the trace."""
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir()
    model = Model()
    model.next = next_number
    _number(model, root, 0)
    placed: dict[int, Path] = {}
    for path in sorted(state.flat):
        content, node, at = state.flat[path], state.paths[path], root / path
        above, _, name = path.rpartition("/")
        model.folders[state.paths[above]][name] = node
        if content is None:
            at.mkdir()
            model.folders[node] = {}
        elif node in placed:
            at.hardlink_to(placed[node])
        else:
            at.write_bytes(content)
            model.contents[node] = content
            placed[node] = at
        _number(model, at, node)
    set_times(root)
    return model


def set_times(root: Path) -> None:
    """Set the same times in all trees: some results have those of their sources."""
    for path in root.rglob("*"):
        os.utime(path, (_TIME_S, _TIME_S))


def _number(model: Model, path: Path, node: int) -> None:
    found = path.lstat()
    model.inodes[found.st_dev, found.st_ino] = node


def read_flat(root: Path) -> Flat:
    """Return the tree on the disk."""
    return {
        str(path.relative_to(root)): None if path.is_dir() else path.read_bytes() for path in sorted(root.rglob("*"))
    }
