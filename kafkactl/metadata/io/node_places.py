"""A node's configuration, meta.properties and metadata log, from hooks and from files on this machine.

A fact that no hook returns and no path leads to is unknown. A hook that fails is reported, and its fact is unknown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, Protocol

from kafkactl.change.hooks.node import HookNode, Request
from kafkactl.change.hooks.words import Value, Verb, directory_of_node
from kafkactl.core.errors import DecodeError, FailedError, InputError
from kafkactl.core.findings import Finding, warning
from kafkactl.core.kafka_names import METADATA_LOG
from kafkactl.files.hook_calls import call_hook
from kafkactl.files.input_files import InputKind, read_whole
from kafkactl.files.run_hook import HookLimits
from kafkactl.metadata.io.source import LogSource, open_source, without_links
from kafkactl.protocol.text.meta_properties import META_PROPERTIES
from kafkactl.protocol.text.properties import parse_properties

_LOG_DIR_KEYS: Final = ("metadata.log.dir", "log.dirs", "log.dir")


class PlacedNode(HookNode, Protocol):
    """A node of an inventory with the places of its files."""

    @property
    def copy(self) -> str | None:
        """Return the path of a copy of its configuration, relative to the inventory."""
        ...

    @property
    def log_dirs(self) -> tuple[str, ...]:
        """Return the log directories of the node on its host."""
        ...

    @property
    def log(self) -> str | None:
        """Return the path of its metadata log, or of a copy, that is readable from here."""
        ...


class NodePlaces:
    """The files and hooks of a node. `findings` grow with each file that could not be read.

    `folder` is the directory of the inventory.
    """

    def __init__(self, folder: Path, timeout_ms: float) -> None:
        self.findings: list[Finding] = []
        self.folder = folder
        self._timeout_ms = int(timeout_ms)

    def config(self, node: PlacedNode) -> str | None:
        """Return the text of its server.properties; None if it is unknown."""
        data = self.config_bytes(node)
        return None if data is None else _text(data)

    def config_bytes(self, node: PlacedNode) -> bytes | None:
        """Return the node's server.properties unchanged: from the hook, else the copy, else, if local, its place."""
        data = self.by_hook(node, Verb.GET_CONFIG)
        if data is None and node.copy is not None:
            data = self._file(node, self.folder / node.copy)
        if data is None and node.copy is None and node.hooks.is_local:
            data = self._file(node, Path(node.config))
        return data

    def meta_properties(self, node: PlacedNode, config: str | None) -> Mapping[str, str] | None:
        """Return the first meta.properties of its directories that can be read from here."""
        for path in self._meta_files(node, config):
            try:
                return dict(meta_keys(path))
            except FileNotFoundError:
                continue
            except (OSError, DecodeError) as error:
                self.note_unread(node, f"{path} cannot be read: {getattr(error, 'strerror', None) or error}")
        return None

    def log_at(self, node: PlacedNode, place: Path) -> LogSource | None:
        """Return the metadata log at a path; None if it cannot be read."""
        try:
            return without_links(open_source(str(place)))
        except (InputError, FailedError) as error:
            self.note_unread(node, f"its metadata log is not there: {error.message}")
            return None

    def folders(self, node: PlacedNode, config: str | None) -> tuple[str, ...]:
        """Return the log directories of a node: those of the inventory, else those in its own file that can be
        arguments of a hook; none if one of them is not."""
        if node.log_dirs:
            return node.log_dirs
        named = _log_dirs(config)
        if node.hooks.is_local:
            return tuple(str(self.folder / directory) for directory in named)
        try:
            return tuple(directory_of_node(directory, where=node.name) for directory in named)
        except InputError as error:
            self.note_unread(node, error.message)
            return ()

    def _meta_files(self, node: PlacedNode, config: str | None) -> Iterator[Path]:
        if node.hooks.is_local:
            for folder in self.folders(node, config):
                yield Path(folder) / META_PROPERTIES
        if node.log is not None:
            log = self.folder / node.log
            yield (log.parent if log.name == METADATA_LOG else log) / META_PROPERTIES

    def _file(self, node: PlacedNode, path: Path) -> bytes | None:
        try:
            return read_whole(path, InputKind.NODE_CONFIG)
        except (OSError, ValueError) as error:
            self.note_unread(node, f"{path} cannot be read: {getattr(error, 'strerror', None) or error}")
            return None

    def by_hook(self, node: PlacedNode, verb: Verb, **extra: Value) -> bytes | None:
        """Return the output of a hook; None if there is none, or if it failed."""
        if verb not in node.hooks.commands:
            return None
        request = Request(verb=verb, node=node.id, phase="original", seq=0, instruction="", extra=extra)
        limits = HookLimits(timeout_ms=min(self._timeout_ms, node.hooks.timeout_s * 1000), try_again_ms=0)
        try:
            run = call_hook(self.folder, node, request, limits=limits)
        except InputError as error:
            self.note_unread(node, error.message)
            return None
        if run.is_done and not run.truncated:
            return run.stdout
        self.note_unread(node, f"its hook {verb} did not return the requested output: {run.message}")
        return None

    def note_unread(self, node: PlacedNode, words: str) -> None:
        """Report the unread parts of a node, which are unknown."""
        text = f"{words}; what it would tell is unknown"
        step = "Correct the path or the hook in the inventory, or continue without it."
        self.findings.append(warning("node-place-unreadable", node.name, text, step))


def meta_keys(path: Path) -> Mapping[str, str]:
    """Return the keys of a meta.properties, which is kept, so that a link to another file is not followed."""
    return parse_properties(read_whole(path, InputKind.META_PROPERTIES, follow=False), file=str(path)).mapping


def _text(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def _log_dirs(config: str | None) -> list[str]:
    """Return the directories that a configuration names, that of the metadata log first."""
    try:
        keys = parse_properties((config or "").encode("utf-8", "surrogatepass")).mapping
    except DecodeError:
        return []
    named = [part.strip() for key in _LOG_DIR_KEYS for part in keys.get(key, "").split(",")]
    return list(dict.fromkeys(part for part in named if part))
