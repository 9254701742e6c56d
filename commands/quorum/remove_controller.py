"""`kafkactl quorum remove-controller`: one voter less, as kafka-metadata-quorum.sh does it, and guarded."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kafkactl.commands.framework import completing_live
from kafkactl.commands.framework.connection import ConnectionArguments, connection_options
from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.framework.options import unasked_writing_options
from kafkactl.commands.quorum.change_page import change_page
from kafkactl.commands.quorum.change_run import (
    CODES,
    ChangeArguments,
    change_options,
    override_options,
    overrides_in,
    perform,
)
from kafkactl.commands.rendering.page import Page

if TYPE_CHECKING:
    from kafkactl.quorum.api.change import QuorumChange


@leaf_command(
    "remove-controller",
    examples=(
        "kafkactl quorum remove-controller -i 3 -d DIRECTORY_ID --bootstrap-controller c1:9093",
        "kafkactl quorum remove-controller -i 3 -d DIRECTORY_ID --bootstrap-controller c1:9093 --dry-run",
    ),
    codes=CODES,
    timeout="10m",
)
@click.option(
    "-i", "--controller-id", required=True, type=click.IntRange(min=0), metavar="ID", help="The voter's id.",
    shell_complete=completing_live.controllers,
)  # fmt: skip
@click.option(
    "-d", "--controller-directory-id", required=True, metavar="DIR", help="Its directory id, as `describe` shows it."
)
@override_options("--node-will-be-stopped")
@change_options(adds=False)
@connection_options
@unasked_writing_options
def command(
    *,
    controller_id: int,
    controller_directory_id: str,
    dry_run: bool,
    arguments: ChangeArguments,
    connection: ConnectionArguments,
    **overrides: bool,
) -> None:
    """Remove a voter from the quorum.

    A removal that leaves no living majority is refused: Kafka accepts that request and loses its
    quorum permanently. If the response is lost, the outcome is determined by reading the quorum.
    """
    from kafkactl.core.values import Uuid
    from kafkactl.quorum.api.change import removal

    directory_id = str(Uuid.parse(controller_directory_id))
    words = f"KRaft controller {controller_id} with directory id {directory_id}"

    def render(page: Page, change: QuorumChange) -> None:
        if change.outcome in _LINES and not change.result.interrupted:
            page.line(f"{_LINES[change.outcome]} {words}")
            page.findings(change.findings)
        else:
            change_page(page, change, goal=f"remove controller {controller_id}")

    goal = removal(controller_id, directory_id, overrides=overrides_in(overrides), max_lag=arguments.max_lag)
    perform(goal, connection, arguments, render=render, dry_run=dry_run)


_LINES = {
    "done": "Removed",
    "planned": "DRY RUN of removing",
    "nothing-to-do": "Nothing to do: not among the voters:",
}
