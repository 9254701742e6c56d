"""`kafkactl migrate rollback`: the rollback to ZooKeeper."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kafkactl.commands.framework import completing
from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.migrate.accept import meant, nearest
from kafkactl.commands.migrate.drive import (
    CODES,
    DriveArguments,
    answer,
    drive_options,
    options_of,
    refuse_edits_of_unknown_nodes,
)
from kafkactl.commands.migrate.options import (
    ObservationArguments,
    observation_options,
    open_inventory,
    open_observation,
)
from kafkactl.commands.rendering import output
from kafkactl.commands.rendering.output import emit
from kafkactl.commands.rendering.progress_lines import ProgressLines

if TYPE_CHECKING:
    from kafkactl.core.findings import Finding
    from kafkactl.migration.api.driving import Question

KIND = "migrate.rollback"


@leaf_command(
    "rollback",
    examples=(
        "kafkactl migrate rollback --dry-run --inventory migration.toml",
        "kafkactl migrate rollback --dry-run --observation observation -o json",
        "kafkactl migrate rollback --inventory migration.toml --yes",
    ),
    codes=CODES,
    timeout="24h",
)
@observation_options
@click.option("--dry-run", is_flag=True, help="Only show the steps.")
@click.option(
    "--accept", "accepted", multiple=True, metavar="ID", shell_complete=completing.refusals,
    help="Accept the risk of a refusal, such as zookeeper-behind-kraft.",
)  # fmt: skip
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@drive_options
def command(
    *,
    source: ObservationArguments,
    dry_run: bool,
    accepted: tuple[str, ...],
    yes: bool,
    arguments: DriveArguments,
) -> None:
    """Roll back to ZooKeeper from the current state of the migration, in the safe order.

    Brokers on KRaft return to migration mode first. Then all controllers are stopped, the epoch is raised
    if required (KAFKA-20488), KRaft's /controller and /migration are deleted, a ZooKeeper broker
    takes over, and the brokers are restarted with their own files. What is done already is shown as
    done. A finalized migration cannot be rolled back, and is refused with exit code 3.
    """
    from kafkactl.commands.framework.confirmation import confirm
    from kafkactl.commands.migrate.page import rollback_page
    from kafkactl.migration.api.rollback_run import plan_rollback, rollback

    _refuse_unknown_ids(accepted)
    if not dry_run and source.observation is not None:
        raise click.UsageError("A saved observation cannot be rolled back: give --dry-run, or only --inventory.")
    inventory = open_inventory(source)
    if inventory is not None:
        refuse_edits_of_unknown_nodes(arguments, inventory)
    options = options_of(arguments, accepted)
    if not dry_run and inventory is not None:

        def ask(asked: Question) -> Finding | None:
            route, step = asked.route, asked.step
            left = sum(step.state == "pending" for step in route.steps)
            question = (
                f"Back from {route.state} to ZooKeeper in {left} steps, the first is {step.action} {step.target}?"
            )
            return confirm(question, yes=yes, subject=f"state {route.state}")

        lines = ProgressLines()
        answer(KIND, rollback(inventory, options=options, ask=ask, on_event=lines, on_request=lines.by_hand))
    is_live = source.observation is None
    plan = plan_rollback(open_observation(source), inventory, options=options, is_live=is_live, on_request=output.say)
    emit(KIND, plan, render=rollback_page, exit_code=plan.outcome.exit_code)


def _refuse_unknown_ids(accepted: tuple[str, ...]) -> None:
    from kafkactl.migration.api.rollback_run import ACCEPTABLE

    for id in accepted:
        if id not in ACCEPTABLE:
            if _is_of_run(id):
                output.say(
                    f"--accept {id} is a word of `migrate run`; a rollback does not need it, so it is ignored", "dim"
                )
                continue
            known = ", ".join(sorted(ACCEPTABLE))
            raise click.BadOptionUsage(
                "--accept", f"{id} cannot be accepted.{meant(nearest(id, ACCEPTABLE))} What can be accepted: {known}."
            )


def _is_of_run(word: str) -> bool:
    """Return True if the word accepts a finding of the checks: one list of words can serve `run` and `rollback`."""
    from kafkactl.migration.api.checking import check_ids, present_word

    return present_word(word).partition("@")[0] in check_ids()
