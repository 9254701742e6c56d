"""`kafkactl migrate finalize`: over the point of no return."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.migrate.drive import CODES, DriveArguments, answer, drive_options, prepared
from kafkactl.commands.migrate.options import accept_option, inventory_option
from kafkactl.commands.rendering import output
from kafkactl.commands.rendering.progress_lines import ProgressLines

if TYPE_CHECKING:
    from kafkactl.core.findings import Finding
    from kafkactl.migration.api.driving import Question

KIND = "migrate.finalize"


@leaf_command(
    "finalize",
    examples=("kafkactl migrate finalize --inventory migration.toml --confirm MkU3OEVBNTcwNTJENDM2Qg",),
    codes=CODES,
    timeout="2h",
)
@inventory_option
@accept_option
@click.option("--confirm", metavar="CLUSTER_ID", help="The id of the cluster: this cannot be undone.")
@click.option("--dry-run", is_flag=True, help="Show the steps and what would stop them, without changing anything.")
@drive_options
def command(
    *, inventory: str | None, accepted: tuple[str, ...], confirm: str | None, dry_run: bool, arguments: DriveArguments
) -> None:
    """Finalize the migration: restart the controllers without the flag, the leader last.

    The first of them that is elected finalizes it; from its restart on no rollback is possible. So the gate of
    M8 is checked again in three observations: every broker on KRaft, none registered in ZooKeeper mode, ZooKeeper
    and KRaft the same, no election in between, and soak_hours of the inventory have passed. The cluster's
    id has to be typed, or given with --confirm; there is no --yes.
    """
    from kafkactl.migration.api.forward import finalize, plan_finalize

    found, options = prepared(inventory, accepted, arguments)
    if dry_run:
        answer(KIND, plan_finalize(found, options=options, on_request=output.say))

    def ask(asked: Question) -> Finding | None:
        from kafkactl.commands.framework.confirmation import confirm_cluster_id

        soak = asked.soak_words
        lasted = "" if soak is None else f"Every broker has been on KRaft for {soak}. "
        question = (
            f"{lasted}{asked.step.target} is the first controller without the migration flag. After it has restarted, "
            "no rollback to ZooKeeper is possible."
        )
        return confirm_cluster_id(question, asked.cluster_id, confirm=confirm, subject="migration")

    lines = ProgressLines()
    answer(KIND, finalize(found, options=options, ask=ask, on_event=lines, on_request=lines.by_hand))
