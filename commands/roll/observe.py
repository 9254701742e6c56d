"""`kafkactl roll observe`: everything that a roll is judged by, saved."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.rendering.output import emit
from kafkactl.commands.rendering.page import Page
from kafkactl.commands.roll.inventory import time_for_nodes_ms
from kafkactl.commands.roll.options import RollSource, live_options, open_inventory

if TYPE_CHECKING:
    from kafkactl.roll.api.observing import SavedRoll


@leaf_command(
    "observe",
    examples=(
        "kafkactl roll observe --inventory roll.toml --out observation",
        "kafkactl roll observe --inventory roll.toml --out before-the-upgrade --include-secrets",
    ),
    codes=(0, 1, 2, 3, 4),
    timeout="2m",
)
@live_options
@click.option("--out", required=True, metavar="DIR", help="A new or empty folder.")
@click.option("--include-secrets", is_flag=True, help="Keep passwords, keys and the settings of plugins.")
def command(*, source: RollSource, out: str, include_secrets: bool) -> None:
    """Save the state of every node, the quorum, files, releases, the metadata log and the journal.

    The cluster is not changed. Information that cannot be observed is unknown, with a finding; if nothing of the
    cluster answers, nothing is saved. `check`, `plan`, `status` and `rollback --dry-run` accept the folder instead of
    the cluster.
    """
    from kafkactl.roll.api.observing import save_observation

    saved = save_observation(
        open_inventory(source), out, include_secrets=include_secrets, timeout_ms=time_for_nodes_ms()
    )
    emit("roll.observe", saved, render=_show)


def _show(page: Page, saved: SavedRoll) -> None:
    page.fields(
        [
            ("saved to", saved.folder),
            ("secrets", "included" if saved.include_secrets else "left out"),
            ("cluster", saved.cluster_id),
            ("journal", "included" if saved.journal else "none"),
        ]
    )
    page.table(
        ("id", "roles", "answers", "runs", "next start", "configuration"),
        [
            (node.id, ", ".join(node.roles), _yes(node.alive), node.release, node.installed, _yes(node.config))
            for node in saved.nodes
        ],
    )
    page.table(("log of", "files"), [(log.id, log.files) for log in saved.logs])
    page.findings(saved.findings)


def _yes(value: bool | None) -> str | None:
    return None if value is None else "yes" if value else "no"
