"""`kafkactl migrate observe`: everything that a migration is judged by, saved."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kafkactl.commands.framework import exit_codes
from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.migrate.options import inventory_option, read_inventory
from kafkactl.commands.rendering.output import emit
from kafkactl.commands.rendering.page import Page

if TYPE_CHECKING:
    from kafkactl.migration.api.observing import SavedObservation


@leaf_command(
    "observe",
    examples=(
        "kafkactl migrate observe --inventory migration.toml --out observation",
        "kafkactl migrate observe --inventory migration.toml --out before-finalizing --include-secrets",
    ),
    codes=(0, 1, 2, 3, 4, 6),
    timeout="2m",
)
@inventory_option
@click.option("--out", required=True, metavar="DIR", help="A new or empty folder.")
@click.option("--include-secrets", is_flag=True, help="Keep passwords, keys and the settings of plugins.")
def command(*, inventory: str | None, out: str, include_secrets: bool) -> None:
    """Save the ZooKeeper tree, what each node answers, and the metadata logs of the controllers.

    The cluster is not changed. Information that cannot be observed is unknown, with a finding; if nothing could
    be observed, nothing is saved. `status`, `check`, `compare`, `plan` and `rollback --dry-run` accept the
    folder instead of the cluster. Brokers on ZooKeeper log one error each: they do not support DescribeQuorum.
    """
    from kafkactl.commands.migrate.options import time_for_nodes_ms
    from kafkactl.migration.api.observing import save_observation

    saved = save_observation(
        read_inventory(inventory), out, include_secrets=include_secrets, timeout_ms=time_for_nodes_ms()
    )
    emit(
        "migrate.observe",
        saved,
        render=_show,
        exit_code=exit_codes.UNREACHABLE if saved.folder is None else exit_codes.DONE,
    )


def _show(page: Page, saved: SavedObservation) -> None:
    seen = saved.observation
    page.fields(
        [
            ("saved to", saved.folder),
            ("secrets", "included" if saved.include_secrets else "left out"),
            ("ZooKeeper", seen.connect),
            ("znodes", None if seen.tree is None else len(seen.tree.znodes)),
        ]
    )
    page.table(
        ("id", "role", "answers", "release", "mode", "configuration"),
        [
            (node.id, node.role, _yes(node.alive), node.kafka_version, node.mode, _yes(node.config_text is not None))
            for node in seen.nodes
        ],
    )
    page.table(
        ("log of", "from offset", "to", "epoch"),
        [(id, log.first_offset, log.last_offset, log.epoch) for id, log in seen.logs.items()],
    )
    page.findings(saved.findings)


def _yes(value: bool | None) -> str | None:
    return None if value is None else "yes" if value else "no"
