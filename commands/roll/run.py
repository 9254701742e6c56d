"""`kafkactl roll run`: one step at a time, each after its gate."""

from __future__ import annotations

import click

from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.roll.drive import CODES, DriveArguments, Questions, answer, drive, drive_options
from kafkactl.commands.roll.inventory import time_for_nodes_ms
from kafkactl.commands.roll.options import (
    RequestOptions,
    RollSource,
    live_options,
    open_written_inventory,
    request_of,
    request_options,
)

KIND = "roll.run"


@leaf_command(
    "run",
    examples=(
        "kafkactl roll run --inventory roll.toml",
        "kafkactl roll run --inventory roll.toml --to 4.4.0 --yes",
        "kafkactl roll run --inventory roll.toml --to 4.4.0 --until levels --confirm CLUSTER_ID",
    ),
    codes=CODES,
    timeout="24h",
)
@live_options
@request_options
@drive_options
@click.option("--yes", is_flag=True, help="Do not ask before the first step.")
@click.option("--confirm", metavar="CLUSTER_ID", help="Confirm the raise of levels, which may prevent a rollback.")
@click.option("--dry-run", is_flag=True, help="Show the steps and what would stop them, without changing anything.")
def command(
    *,
    source: RollSource,
    asked: RequestOptions,
    arguments: DriveArguments,
    yes: bool,
    confirm: str | None,
    dry_run: bool,
) -> None:
    """Restart or upgrade the nodes of a live cluster, one confirmed step at a time.

    Before each stop and after each start a gate has to be open in two observations. If a gate stays closed, the
    run stops there; nothing is undone automatically. An interrupted run resumes from what the nodes show. Levels are
    raised only with `--until levels`.
    """
    from kafkactl.roll.api import observe, plan_run, run

    found = open_written_inventory(source)
    request = request_of(asked, found, source.inventory)
    if dry_run:
        answer(KIND, plan_run(observe(found, timeout_ms=time_for_nodes_ms()), request))
    drive(KIND, run, found, request, arguments=arguments, questions=Questions(yes=yes, confirm=confirm))
