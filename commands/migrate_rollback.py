"""`kafkactl migrate rollback`: the way back to ZooKeeper."""

from __future__ import annotations

import click

from kafkactl.commands import exit_codes
from kafkactl.commands.leaf import leaf_command
from kafkactl.commands.migrate_options import (
    ObservationArguments,
    observation_options,
    open_inventory,
    open_observation,
)
from kafkactl.commands.output import emit

KIND = "migrate.rollback"


@leaf_command(
    "rollback",
    examples=(
        "kafkactl migrate rollback --dry-run --inventory migration.toml",
        "kafkactl migrate rollback --dry-run --observation observation -o json",
    ),
    codes=(
        exit_codes.DONE, exit_codes.FAILED, exit_codes.USAGE, exit_codes.REFUSED, exit_codes.UNREACHABLE,
        exit_codes.UNKNOWN,
    ),
    timeout="2m",
)  # fmt: skip
@observation_options
@click.option("--dry-run", is_flag=True, help="Only show the steps.")
@click.option(
    "--accept", "accepted", multiple=True, metavar="ID",
    help="A refusal that you take upon yourself, such as zookeeper-behind-kraft.",
)  # fmt: skip
def command(*, source: ObservationArguments, dry_run: bool, accepted: tuple[str, ...]) -> None:
    """Show the way back to ZooKeeper from wherever the migration is, in the order that is safe.

    Brokers on KRaft return to migration mode first. Then all controllers are stopped, the epoch is raised
    where it has to be (KAFKA-20488), KRaft's /controller and /migration are deleted, a ZooKeeper broker
    takes over, and the brokers are restarted with their own files. What is done already is shown as
    done. A migration that is finalized has no way back, and is refused with exit code 3.
    """
    from kafkactl.commands.migrate_page import plan_page
    from kafkactl.migration.rollback import plan_rollback

    if not dry_run:
        raise click.UsageError("Only --dry-run so far: it shows the steps, and what each of them waits for.")
    _refuse_unknown_ids(accepted)
    inventory = open_inventory(source)
    observation = open_observation(source)
    plan = plan_rollback(observation, inventory, accepted=frozenset(accepted))
    payload = {
        "outcome": plan.outcome.value,
        "state": plan.state.value,
        "state_words": plan.state.words,
        "time_ms": observation.time_ms,
        "steps": [one.to_dict() for one in plan.steps],
        "consequences": plan.consequences,
        "findings": (*observation.findings, *plan.findings),
    }
    emit(KIND, payload, render=plan_page, exit_code=plan.outcome.exit_code)


def _refuse_unknown_ids(accepted: tuple[str, ...]) -> None:
    from kafkactl.migration.rollback_refusals import ACCEPTABLE

    for id in accepted:
        if id not in ACCEPTABLE:
            known = ", ".join(sorted(ACCEPTABLE))
            raise click.BadParameter(f"{id} cannot be accepted; what can: {known}.", param_hint="--accept")
