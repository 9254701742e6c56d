"""`kafkactl migrate render`: every node's configuration file for every phase, and for the way back."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kafkactl.commands.framework import exit_codes
from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.framework.settings import current_settings
from kafkactl.commands.migrate.options import ObservationArguments, observation_options
from kafkactl.commands.rendering.output import emit
from kafkactl.commands.rendering.page import Page, Word

if TYPE_CHECKING:
    from kafkactl.findings import Finding, Outcome
    from kafkactl.migration.inventory import Inventory
    from kafkactl.migration.render.facts import NodeFile
    from kafkactl.migration.render.node import Rendered

_ONLY_LOOKED_AT = "render-file-redacted"
_DIFF_TONES = {"+": "good", "-": "bad", "@": "dim"}


@leaf_command(
    "render",
    examples=(
        "kafkactl migrate render --inventory migration.toml --dry-run",
        "kafkactl migrate render --inventory migration.toml --out rendered",
        "kafkactl migrate render --observation observation --dry-run",
    ),
    codes=(
        exit_codes.DONE, exit_codes.FAILED, exit_codes.USAGE, exit_codes.REFUSED, exit_codes.PARTLY_DONE,
    ),
    timeout="5m",
)  # fmt: skip
@click.option(
    "--out", metavar="DIR", help="Where files, diffs and manifest.json go; mode 0600, for files hold secrets."
)
@click.option("--dry-run", is_flag=True, help="Show what would be written, and write nothing.")
@observation_options
def command(*, source: ObservationArguments, out: str | None, dry_run: bool) -> None:
    """Make every node's server.properties for every phase.

    They are made of the files that the nodes have: comments and order stay, and what cannot be known
    is a finding. For a way back there is the original, byte for byte. Nothing on a node is touched,
    and no file in DIR that an earlier rendering did not write.
    """
    from kafkactl.adapters.migration.rendered_files import originals, write_rendered
    from kafkactl.findings import Outcome, each_once
    from kafkactl.migration.render.facts import cluster_facts
    from kafkactl.migration.render.node import render_cluster

    if out is None and not dry_run:
        raise click.UsageError("Give --out DIR, or --dry-run.")
    files, findings = _files(source)
    if not files and not findings:
        raise _no_nodes()
    files, edited = _as_the_driver_has_them(source, files)
    findings += edited
    files = originals(files, Path(out)) if out is not None else files
    facts = cluster_facts(files)
    rendered = render_cluster(files, facts)
    findings += [*facts.findings, *each_once(one for made in rendered for one in made.findings)]
    outcome = _outcome(findings, dry_run)
    manifest = None
    withheld = frozenset(made.node for made in rendered if _is_redacted(made))
    if outcome in (Outcome.DONE, Outcome.PARTIAL) and out is not None:
        manifest = write_rendered(Path(out), files, rendered, withheld=withheld)
    written = frozenset() if manifest is None else frozenset(made.node for made in rendered) - withheld
    answer = _answer(files, rendered, written=written)
    where = {"folder": out if manifest else None, "manifest": str(manifest) if manifest else None}
    payload = {"outcome": outcome, **where, **answer, "findings": findings}
    emit("migrate.render", payload, render=_show, exit_code=outcome.exit_code, listing="files")


def _no_nodes() -> Exception:
    from kafkactl.errors import InputError

    return InputError(
        "the observation knows of no nodes, so there are no files to make others of",
        id="render-file-missing",
        next_step="Observe by an inventory that names the nodes and their configuration files.",
    )


def _outcome(findings: Iterable[Finding], dry_run: bool) -> Outcome:
    """Refused for any blocker; files that can only be looked at make it partial."""
    from kafkactl.findings import Outcome, blockers

    ids = {one.id for one in blockers(findings)}
    if ids - {_ONLY_LOOKED_AT}:
        return Outcome.REFUSED
    return Outcome.PLANNED if dry_run else Outcome.PARTIAL if ids else Outcome.DONE


def _is_redacted(made: Rendered) -> bool:
    return any(one.id == _ONLY_LOOKED_AT for one in made.findings)


# --- the nodes' files -----------------------------------------------------------------------------------------------


def _files(source: ObservationArguments) -> tuple[tuple[NodeFile, ...], list[Finding]]:
    """The configuration file of every node, and what is wrong with those that are missing."""
    from kafkactl.commands.migrate.options import open_inventory

    if source.observation is not None:
        return _observed(source.observation)
    inventory = open_inventory(source)
    return _read(inventory) if inventory is not None else ((), [])


def _as_the_driver_has_them(
    source: ObservationArguments, files: tuple[NodeFile, ...]
) -> tuple[tuple[NodeFile, ...], list[Finding]]:
    """In the middle of a migration the files from before it, which the driver's journal keeps, as `run` uses them; and
    the files that were edited since.
    """
    from kafkactl.adapters.migration.journal_view import look_into_journal
    from kafkactl.commands.migrate.options import open_inventory
    from kafkactl.findings import Severity
    from kafkactl.frozen import changed
    from kafkactl.migration.driver.files import edit_of
    from kafkactl.migration.render.facts import node_file
    from kafkactl.migration.render.hand_edits import HandEdits, edit_finding

    inventory = None if source.inventory is None or source.observation is not None else open_inventory(source)
    journal = None if inventory is None else look_into_journal(None, inventory)
    if inventory is None or journal is None or not journal.memory.is_under_way:
        return files, []
    found, findings = [], []
    for one in files:
        kept, node = (journal.memory.originals or {}).get(one.name), inventory.node(one.id)
        if kept is None or node is None:
            found.append(one)
            continue
        edit = edit_of(inventory, journal, node, one.content)
        told = None if edit is None else edit_finding(edit, HandEdits.REFUSE)
        findings += [] if told is None else [changed(told, severity=Severity.WARNING)]
        own = journal.kept(kept) if edit is None or edit.own is None else edit.own
        found.append(node_file(one.id, one.role, own, file=one.file, kafka_version=one.kafka_version))
    return tuple(found), findings


def _observed(folder: str) -> tuple[tuple[NodeFile, ...], list[Finding]]:
    from kafkactl.adapters.migration.saved import load_captured

    nodes = load_captured(folder).raw.nodes
    given = [
        (one.id, one.role, one.kafka_version, None if one.config is None else one.config.encode()) for one in nodes
    ]
    return _parsed(given, "its configuration is not in the observation", "Observe again with its configuration file.")


def _read(inventory: Inventory) -> tuple[tuple[NodeFile, ...], list[Finding]]:
    from kafkactl.adapters.migration.observe_places import Places
    from kafkactl.commands.framework.settings import current_settings

    places = Places(inventory, timeout_ms=current_settings().timeout_ms)
    given = [(one.id, one.role, one.kafka_version, places.config_bytes(one)) for one in inventory.nodes]
    files, missing = _parsed(given, "its configuration cannot be read", "Name a copy of it in the inventory (copy).")
    return files, [*places.findings, *missing]


def _parsed(
    given: Iterable[tuple[int, Any, str | None, bytes | None]], why: str, next_step: str
) -> tuple[tuple[NodeFile, ...], list[Finding]]:
    """The files that are there. Raises DecodeError where Java would not read one."""
    from kafkactl.findings import blocker
    from kafkactl.migration.render.facts import node_file

    found, missing = [], []
    for id, role, version, content in given:
        if content is None:
            missing.append(blocker("render-file-missing", f"{role} {id}", f"{why}: nothing is made for it", next_step))
        else:
            found.append(node_file(id, role, content, file=f"{role}-{id}", kafka_version=version))
    return tuple(found), missing


# --- the answer -----------------------------------------------------------------------------------------------------


def _answer(files: Iterable[NodeFile], rendered: Iterable[Rendered], *, written: frozenset[int]) -> dict[str, Any]:
    from kafkactl.adapters.migration.rendered_files import diffs, sha256
    from kafkactl.migration.render.folder import file_of

    files, rendered = tuple(files), tuple(rendered)
    changes = diffs(files, rendered)
    return {
        "inputs": [{"id": one.id, "role": one.role, "file": one.file, "sha256": sha256(one.content)} for one in files],
        "files": [
            {
                "id": one.node,
                "role": one.role,
                "phase": one.phase,
                "path": file_of(one) if one.node in written and one.content is not None else None,
                "sha256": None if one.content is None else sha256(one.content),
                "set": one.set,
                "removed": one.removed,
                "diff": changes.get((one.node, one.phase)),
            }
            for one in rendered
        ],
    }


def _show(page: Page, answer: Mapping[str, Any]) -> None:
    titles = {
        "done": ("Files for every node and phase are written", "good"),
        "planned": ("What would be written", "strong"),
        "partial": ("Only diffs are written for files whose secrets were taken out", "warn"),
        "refused": ("Nothing is written", "bad"),
    }
    page.heading(*titles[answer["outcome"]])
    page.fields((("folder", answer["folder"]), ("manifest", answer["manifest"])))
    _table(page, answer["files"])
    shown = _different(answer["files"])
    for nodes, diff in shown:
        page.line(Word(f"{nodes}:", "strong"))
        for line in diff.splitlines()[2:]:  # without the names of the two files
            page.line(Word(line, _DIFF_TONES.get(line[:1], "plain")))
    if not current_settings().verbose and len(shown) < sum(bool(one["diff"]) for one in answer["files"]):
        page.line(Word("Nodes whose differences are alike, but for their ids, are shown as one; -v shows each.", "dim"))
    page.findings(answer["findings"])


def _table(page: Page, files: list[Mapping[str, Any]]) -> None:
    page.table(
        ("node", "phase", "file", "keys set", "keys removed"),
        (
            (f"{one['role']} {one['id']}", one["phase"], _path(one), len(one["set"]), len(one["removed"]))
            for one in files
            if one["phase"] != "original" or one["sha256"] is None or current_settings().verbose
        ),
    )


def _different(files: list[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """The differences by the nodes that have them; alike are those of the same lines but for the node's own id."""
    found: dict[tuple[str, str], tuple[list[str], str]] = {}
    for one in files:
        if not one["diff"]:
            continue
        lines = [line for line in one["diff"].splitlines()[2:] if line[:1] in "+-"]
        same = re.sub(rf"\b{one['id']}\b", "ID", "\n".join(lines))
        key = (f"{one['role']} {one['phase']}", same if not current_settings().verbose else f"{one['id']} {same}")
        nodes, _ = found.setdefault(key, ([], one["diff"]))
        nodes.append(f"{one['role']} {one['id']}")
    return [(f"{', '.join(nodes)}, {kind.partition(' ')[2]}", diff) for (kind, _), (nodes, diff) in found.items()]


def _path(one: Mapping[str, Any]) -> str | None:
    return "cannot be made" if one["sha256"] is None else one["path"]
