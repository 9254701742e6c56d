"""`kafkactl migrate render`: every node's configuration file for every phase, and for the rollback."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from kafkactl.commands.framework import exit_codes
from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.framework.settings import current_settings
from kafkactl.commands.migrate.options import ObservationArguments, observation_options
from kafkactl.commands.rendering.output import emit
from kafkactl.commands.rendering.page import Page, Word

if TYPE_CHECKING:
    from kafkactl.migration.api.rendering import NodeFiles, RenderedFile, RenderResult

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
    "--out", metavar="DIR", help="Output folder for files, diffs and manifest.json (mode 0600: they contain secrets)."
)
@click.option("--dry-run", is_flag=True, help="Show what would be written, and write nothing.")
@observation_options
def command(*, source: ObservationArguments, out: str | None, dry_run: bool) -> None:
    """Make every node's server.properties for every phase.

    They are made from the nodes' present files: comments and order are kept, and unknown values are
    reported as findings. For a rollback the original is kept, byte for byte. Nothing on a node is touched,
    and no file in DIR that an earlier rendering did not write.
    """
    from kafkactl.migration.api.rendering import render

    if out is None and not dry_run:
        raise click.UsageError("Give --out DIR, or --dry-run.")
    made = render(_files(source), out=out, dry_run=dry_run)
    emit("migrate.render", made, render=_show, exit_code=made.outcome.exit_code, listing="files")


def _files(source: ObservationArguments) -> NodeFiles:
    """Return the configuration file of every node: of the saved observation, else of the cluster."""
    from kafkactl.commands.migrate.options import open_inventory
    from kafkactl.migration.api.rendering import NodeFiles, node_files, saved_node_files

    if source.observation is not None:
        return saved_node_files(source.observation)
    inventory = open_inventory(source)
    return NodeFiles(files=()) if inventory is None else node_files(inventory, timeout_ms=current_settings().timeout_ms)


def _show(page: Page, result: RenderResult) -> None:
    titles = {
        "done": ("Files for every node and phase are written", "good"),
        "planned": ("What would be written", "strong"),
        "partial": ("Only diffs are written for files whose secrets were taken out", "warn"),
        "refused": ("Nothing is written", "bad"),
    }
    files = result.files
    page.heading(*titles[result.outcome])
    page.fields((("folder", result.folder), ("manifest", result.manifest)))
    _table(page, files)
    shown = _different(files)
    for nodes, diff in shown:
        page.line(Word(f"{nodes}:", "strong"))
        for line in diff.splitlines()[2:]:  # without the names of the two files
            page.line(Word(line, _DIFF_TONES.get(line[:1], "plain")))
    if not current_settings().verbose and len(shown) < sum(bool(file.diff) for file in files):
        page.line(Word("Nodes whose differences are alike, but for their ids, are shown as one; -v shows each.", "dim"))
    page.findings(result.findings)


def _table(page: Page, files: Sequence[RenderedFile]) -> None:
    page.table(
        ("node", "phase", "file", "keys set", "keys removed"),
        (
            (
                f"{made.role} {made.node}",
                made.phase,
                "cannot be made" if made.content is None else file.path,
                len(made.set),
                len(made.removed),
            )
            for file in files
            if (made := file.made).phase != "original" or made.content is None or current_settings().verbose
        ),
    )


def _different(files: Sequence[RenderedFile]) -> list[tuple[str, str]]:
    """Return the differences by the nodes that have them.

    Alike are those of the same lines but for the node's own id.
    """
    found: dict[tuple[str, str], tuple[list[str], str]] = {}
    for file in files:
        if not file.diff:
            continue
        made = file.made
        lines = [line for line in file.diff.splitlines()[2:] if line[:1] in "+-"]
        same = re.sub(rf"\b{made.node}\b", "ID", "\n".join(lines))
        key = (f"{made.role} {made.phase}", same if not current_settings().verbose else f"{made.node} {same}")
        nodes, _ = found.setdefault(key, ([], file.diff))
        nodes.append(f"{made.role} {made.node}")
    return [(f"{', '.join(nodes)}, {kind.partition(' ')[2]}", diff) for (kind, _), (nodes, diff) in found.items()]
