"""Configuration files of every node for every phase of a migration, and for the rollback."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from kafkactl.core.answers import json_of, plain_dict
from kafkactl.core.errors import InputError
from kafkactl.core.findings import Finding, Outcome, Severity, blocker, blockers, each_once
from kafkactl.core.frozen import changed, frozen
from kafkactl.migration.api.answers import MigrateRender
from kafkactl.migration.driver.files import edit_of
from kafkactl.migration.io.journal_view import read_journal_view
from kafkactl.migration.io.observe_places import Places
from kafkactl.migration.io.rendered_files import diffs, originals, sha256, write_rendered
from kafkactl.migration.io.saved_observation import load_captured
from kafkactl.migration.render.facts import NodeFile, cluster_facts, node_file
from kafkactl.migration.render.folder import file_of
from kafkactl.migration.render.hand_edits import HandEdits, edit_finding
from kafkactl.migration.render.node import Rendered, render_cluster

if TYPE_CHECKING:
    from kafkactl.migration.inventory import Inventory

_ONLY_SHOWN = "render-file-redacted"
_READ_MS = 240_000.0


RenderOutcome = Literal[Outcome.DONE, Outcome.PLANNED, Outcome.REFUSED, Outcome.PARTIAL]


@frozen
class NodeFiles:
    """The configuration files of the nodes, and what is wrong with those that are missing."""

    files: tuple[NodeFile, ...]
    findings: tuple[Finding, ...] = ()


@frozen
class RenderedFile:
    """A node's file for a phase."""

    made: Rendered
    path: str | None
    """Within the folder; None if it was not made or not written."""
    diff: str | None
    """Changes from the phase before, without secrets."""

    @property
    def sha256(self) -> str | None:
        """Return the checksum of the content, None if the file could not be made."""
        return None if self.made.content is None else sha256(self.made.content)

    to_dict = json_of(
        "id=made.node", "role=made.role", "phase=made.phase", "path", "sha256", "set=made.set", "removed=made.removed",
        "diff",
    )  # fmt: skip


@frozen
class RenderResult:
    """Files for every node and phase. `manifest` is the file that lists what was written, None for nothing.

    `written` are the ids of the nodes whose files were written; files whose secrets were taken out are not.
    """

    outcome: RenderOutcome
    inputs: tuple[NodeFile, ...]
    rendered: tuple[Rendered, ...]
    findings: tuple[Finding, ...]
    folder: str | None = None
    manifest: str | None = None
    written: frozenset[int] = frozenset()

    @property
    def files(self) -> tuple[RenderedFile, ...]:
        """Return each node's file of each phase."""
        changes = diffs(self.inputs, self.rendered)
        return tuple(
            RenderedFile(
                made=made,
                path=file_of(made) if made.node in self.written and made.content is not None else None,
                diff=changes.get((made.node, made.phase)),
            )
            for made in self.rendered
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the answer `migrate.render`."""
        found: MigrateRender = {
            "outcome": self.outcome,
            "folder": self.folder,
            "manifest": self.manifest,
            "inputs": [
                {"id": node.id, "role": node.role, "file": node.file, "sha256": sha256(node.content)}
                for node in self.inputs
            ],
            "files": self.files,
            "findings": self.findings,
        }
        return plain_dict(found)


def node_files(inventory: Inventory, *, timeout_ms: float = _READ_MS) -> NodeFiles:
    """Read the files of the live cluster's nodes; in the middle of a migration those from before it.

    The driver's journal keeps the latter, as `kafkactl migrate run` uses them; a file that was edited since is a
    finding. Raises DecodeError for a file that Java would not read.
    """
    return as_the_driver_has_them(inventory, read_node_files(inventory, timeout_ms=timeout_ms))


def read_node_files(inventory: Inventory, *, timeout_ms: float = _READ_MS) -> NodeFiles:
    """Read the files that the nodes have now, regardless of an earlier run."""
    places = Places(inventory, timeout_ms=timeout_ms)
    given = [(node.id, node.role, node.kafka_version, places.config_bytes(node)) for node in inventory.nodes]
    found = _parsed(given, "its configuration cannot be read", "Name a copy of it in the inventory (copy).")
    return changed(found, findings=(*places.findings, *found.findings))


def saved_node_files(folder: str | os.PathLike[str]) -> NodeFiles:
    """Return the files of a saved observation. Raises InputError."""
    nodes = load_captured(os.fspath(folder)).raw.nodes
    given = [
        (node.id, node.role, node.kafka_version, None if node.config is None else node.config.encode())
        for node in nodes
    ]
    return _parsed(given, "its configuration is not in the observation", "Observe again with its configuration file.")


def as_the_driver_has_them(inventory: Inventory, given: NodeFiles) -> NodeFiles:
    """Return, in the middle of a migration, the files from before it, and the files that were edited since."""
    journal = read_journal_view(None, inventory)
    if journal is None or not journal.recorded.is_under_way:
        return given
    found: list[NodeFile] = []
    findings: list[Finding] = []
    for file in given.files:
        kept, node = (journal.recorded.originals or {}).get(file.name), inventory.node(file.id)
        if kept is None or node is None:
            found.append(file)
            continue
        edit = edit_of(inventory, journal, node, file.content)
        noted = None if edit is None else edit_finding(edit, HandEdits.REFUSE)
        findings += [] if noted is None else [changed(noted, severity=Severity.WARNING)]
        own = journal.kept(kept) if edit is None or edit.own is None else edit.own
        found.append(node_file(file.id, file.role, own, file=file.file, kafka_version=file.kafka_version))
    return NodeFiles(files=tuple(found), findings=(*given.findings, *findings))


def _parsed(given: Iterable[tuple[int, Any, str | None, bytes | None]], why: str, next_step: str) -> NodeFiles:
    found, missing = [], []
    for id, role, version, content in given:
        if content is None:
            missing.append(blocker("render-file-missing", f"{role} {id}", f"{why}: nothing is made for it", next_step))
        else:
            found.append(node_file(id, role, content, file=f"{role}-{id}", kafka_version=version))
    return NodeFiles(files=tuple(found), findings=tuple(missing))


def render(given: NodeFiles, *, out: str | os.PathLike[str] | None = None, dry_run: bool = False) -> RenderResult:
    """Make every node's server.properties for every phase, from the files that the nodes have.

    Comments and order stay; for a rollback there is the original, byte for byte. Without `dry_run` the files are
    written to the folder `out` (mode 0600, because they hold secrets), in which no file is replaced that an earlier
    rendering did not write. Raises InputError if there is no file at all, RefusedError for a folder with files of
    others, ValueError without `out` and `dry_run`.
    """
    if out is None and not dry_run:
        raise ValueError("render: a folder (out) or dry_run is needed")
    if not given.files and not given.findings:
        raise _no_nodes()
    folder = None if out is None else Path(out)
    files = given.files if folder is None else originals(given.files, folder)
    facts = cluster_facts(files)
    rendered = render_cluster(files, facts)
    of_nodes = each_once(finding for made in rendered for finding in made.findings)
    findings = (*given.findings, *facts.findings, *of_nodes)
    result = RenderResult(
        outcome=_outcome(findings, dry_run), inputs=tuple(files), rendered=tuple(rendered), findings=findings
    )
    if folder is None or result.outcome not in (Outcome.DONE, Outcome.PARTIAL):
        return result
    withheld = frozenset(made.node for made in rendered if _is_redacted(made))
    manifest = write_rendered(folder, files, rendered, withheld=withheld)
    return changed(
        result,
        folder=os.fspath(out) if out is not None else None,
        manifest=str(manifest),
        written=frozenset(made.node for made in rendered) - withheld,
    )


def _no_nodes() -> InputError:
    return InputError(
        "the observation has no nodes, so there are no files to render from",
        id="render-file-missing",
        next_step="Observe by an inventory that names the nodes and their configuration files.",
    )


def _outcome(findings: Iterable[Finding], dry_run: bool) -> RenderOutcome:
    """Return refused for any blocker, partial if some files can only be shown."""
    ids = {finding.id for finding in blockers(findings)}
    if ids - {_ONLY_SHOWN}:
        return Outcome.REFUSED
    return Outcome.PLANNED if dry_run else Outcome.PARTIAL if ids else Outcome.DONE


def _is_redacted(made: Rendered) -> bool:
    return any(finding.id == _ONLY_SHOWN for finding in made.findings)
