"""`kafkactl quorum convert`: a dynamic quorum instead of a static one (kraft.version 0 to 1), permanently."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kafkactl.commands.framework.connection import ConnectionArguments, connection_options
from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.framework.options import confirm_option
from kafkactl.commands.quorum.change_page import change_page
from kafkactl.commands.quorum.change_run import CODES, ChangeArguments, change_options, perform, show_plan
from kafkactl.commands.rendering.page import Page

if TYPE_CHECKING:
    from kafkactl.core.findings import Finding
    from kafkactl.quorum.api.change import QuorumChange
    from kafkactl.quorum.change.ports import ChangeResult


@leaf_command(
    "convert",
    examples=(
        "kafkactl quorum convert --bootstrap-controller c1:9093 --dry-run",
        "kafkactl quorum convert --bootstrap-controller c1:9093 --confirm CLUSTER_ID",
    ),
    codes=CODES,
    timeout="10m",
)
@change_options(adds=False)
@connection_options
@confirm_option
@click.option("--dry-run", is_flag=True, help="Show what would be done, without doing it.")
@click.option("--yes", is_flag=True, expose_value=False, help="Not sufficient for this command: --confirm is required.")
def command(*, arguments: ChangeArguments, connection: ConnectionArguments, confirm: str | None, dry_run: bool) -> None:
    """Make a static quorum a dynamic one, whose voters can be changed (Kafka 4.1 and later).

    This cannot be undone, so it requires the cluster id, at the prompt or with --confirm; --yes is
    not enough. The request is sent separately, after the leader has rehearsed it.
    """
    from kafkactl.commands.framework.confirmation import confirm_cluster_id
    from kafkactl.quorum.api.change import QuorumChange, conversion

    def ask(planned: ChangeResult) -> Finding | None:
        if confirm is None:
            show_plan(_show, QuorumChange(result=planned))
        assert planned.before is not None, "a plan is made from an observation"
        question = "The quorum becomes dynamic, and never static again."
        return confirm_cluster_id(question, str(planned.before.cluster_id), confirm=confirm, subject="quorum")

    perform(conversion(), connection, arguments, render=_show, dry_run=dry_run, ask=ask)


def _show(page: Page, change: QuorumChange) -> None:
    change_page(page, change, goal="a dynamic quorum")
