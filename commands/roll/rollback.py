"""`kafkactl roll rollback`: back to the old release, if its binary comes up under the present levels."""

from __future__ import annotations

import click

from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.roll.drive import CODES, DriveArguments, Questions, answer, drive, drive_options
from kafkactl.commands.roll.options import (
    RequestOptions,
    RollSource,
    open_observation,
    open_written_inventory,
    request_of,
    request_options,
    source_options,
)

KIND = "roll.rollback"


@leaf_command(
    "rollback",
    examples=(
        "kafkactl roll rollback --inventory roll.toml --to 4.3.1 --dry-run",
        "kafkactl roll rollback --inventory roll.toml --to 4.3.1 --only 11",
    ),
    codes=CODES,
    timeout="24h",
)
@source_options
@request_options
@drive_options
@click.option("--yes", is_flag=True, help="Do not ask before the first step.")
@click.option("--dry-run", is_flag=True, help="Show the steps and what would stop them, without changing anything.")
def command(*, source: RollSource, asked: RequestOptions, arguments: DriveArguments, yes: bool, dry_run: bool) -> None:
    """Take nodes back to the old release, brokers first, controllers last.

    First it is checked that the old binary comes up under the present levels, files and logs; else the rollback is
    refused, and nothing is changed. Levels are never lowered by it.
    """
    from kafkactl.roll.api import plan_rollback, rollback

    if asked.to is None:
        raise click.UsageError("Missing option '--to'.")
    if dry_run:
        seen = open_observation(source)
        answer(KIND, plan_rollback(seen, request_of(asked, seen, source.inventory)))
    if source.observation is not None:
        raise click.UsageError("--observation is for --dry-run; a rollback needs --inventory.")
    found = open_written_inventory(source)
    request = request_of(asked, found, source.inventory)
    drive(KIND, rollback, found, request, arguments=arguments, questions=Questions(yes=yes, confirm=None))
