"""`kafkactl migrate status`: where the migration really is, next to the state in the journal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kafkactl.commands.framework import exit_codes
from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.framework.options import Duration
from kafkactl.commands.migrate.options import (
    ObservationArguments,
    code_without_evidence,
    observation_options,
    open_inventory,
    open_observation,
)
from kafkactl.commands.rendering.output import emit

if TYPE_CHECKING:
    from kafkactl.migration.api.position import MigrationStatus

KIND = "migrate.status"


@leaf_command(
    "status",
    examples=(
        "kafkactl migrate status --inventory migration.toml",
        "kafkactl migrate status --inventory migration.toml --watch",
        "kafkactl migrate status --observation observation -o json",
    ),
    codes=(
        exit_codes.DONE, exit_codes.FAILED, exit_codes.USAGE, exit_codes.UNREACHABLE, exit_codes.UNKNOWN,
        exit_codes.PROBLEMS_FOUND, exit_codes.INTERRUPTED,
    ),
    timeout="2m",
    has_metrics=True,
)  # fmt: skip
@observation_options
@click.option("--journal", metavar="FILE", help="The driver's journal. [default: that of the inventory]")
@click.option("--watch", is_flag=True, help="Update continuously, until Ctrl-C or --timeout.")
@click.option(
    "--interval", "interval_ms", type=Duration(), default="10s", show_default=True, metavar="TIME",
    help="With --watch: the time between two updates.",
)  # fmt: skip
def command(*, source: ObservationArguments, journal: str | None, watch: bool, interval_ms: int) -> None:
    """Show the migration state, derived from the evidence of all nodes, never from the journal.

    States are M0 to M11 and M4L; states that no procedure leads to have other names, such as
    stale-migration, and the exit code is then 7. The gates show the conditions for the next state,
    including four sources of evidence for each broker; the journal is shown in addition, if available.
    The command works on every machine that can reach the nodes, and on a saved observation.
    """
    from kafkactl.commands.migrate.page import board_page, status_page

    if watch and source.observation is not None:
        raise click.UsageError("--watch observes a live cluster: give --inventory without --observation.")
    from kafkactl.migration.api.position import StatusWatch

    found = StatusWatch(open_inventory(source), journal=journal, is_live=source.observation is None)

    def answer() -> tuple[MigrationStatus, int]:
        status = found.status(open_observation(source))
        lacking = code_without_evidence(source, status.lacks)
        code = exit_codes.DONE if lacking is None else lacking
        return status, exit_codes.PROBLEMS_FOUND if status.has_problems else code

    if watch:
        from kafkactl.commands.rendering.watch import watch as watch_on

        watch_on(KIND, answer, render=board_page, interval_ms=interval_ms)
    status, code = answer()
    emit(KIND, status, render=status_page, exit_code=code)
