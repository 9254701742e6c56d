"""`kafkactl migrate rollback`: the way back to ZooKeeper."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import click

from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.migrate.accept import meant, nearest
from kafkactl.commands.migrate.drive import CODES, DriveArguments, drive_options, files_of, journal_of, perform
from kafkactl.commands.migrate.options import (
    ObservationArguments,
    observation_options,
    open_inventory,
    open_observation,
)
from kafkactl.commands.rendering.output import emit

if TYPE_CHECKING:
    from kafkactl.adapters.migration.journal_view import JournalView
    from kafkactl.findings import Finding
    from kafkactl.migration.inventory import Inventory
    from kafkactl.migration.observed.observation import Observation
    from kafkactl.migration.plan.step import Step

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
    "--accept", "accepted", multiple=True, metavar="ID",
    help="A refusal that you take upon yourself, such as zookeeper-behind-kraft.",
)  # fmt: skip
@click.option("--yes", is_flag=True, help="Do not ask.")
@drive_options
def command(
    *,
    source: ObservationArguments,
    dry_run: bool,
    accepted: tuple[str, ...],
    yes: bool,
    arguments: DriveArguments,
) -> None:
    """Go the way back to ZooKeeper from wherever the migration is, in the order that is safe.

    Brokers on KRaft return to migration mode first. Then all controllers are stopped, the epoch is raised
    where it has to be (KAFKA-20488), KRaft's /controller and /migration are deleted, a ZooKeeper broker
    takes over, and the brokers are restarted with their own files. What is done already is shown as
    done. A migration that is finalized has no way back, and is refused with exit code 3.
    """
    from kafkactl.commands.migrate.page import plan_page
    from kafkactl.findings import Outcome, each_once
    from kafkactl.migration.driver.routes import remembered_of
    from kafkactl.migration.plan.rollback import plan_rollback
    from kafkactl.migration.plan.rollback_memory import NOTHING

    _refuse_unknown_ids(accepted)
    if not dry_run and source.observation is not None:
        raise click.UsageError("A saved observation cannot be rolled back: give --dry-run, or only --inventory.")
    inventory = open_inventory(source)
    if not dry_run and inventory is not None:
        _carry_out(inventory, accepted, arguments, yes=yes)
    observation = open_observation(source)
    journal = None if inventory is None else journal_of(inventory, observation)
    remembered = NOTHING if journal is None else remembered_of(journal.memory)
    plan = plan_rollback(observation, inventory, accepted=frozenset(accepted), remembered=remembered)
    missing: tuple[Finding, ...] = ()
    if inventory is not None and journal is not None and source.observation is None:
        missing = _missing(inventory, journal, plan.steps, observation, arguments)
    outcome = Outcome.REFUSED if missing else plan.outcome
    payload = {
        "outcome": outcome.value,
        "state": plan.state.value,
        "state_words": plan.state.words,
        "time_ms": observation.time_ms,
        "steps": [one.to_dict() for one in plan.steps],
        "consequences": plan.consequences,
        "findings": each_once((*missing, *plan.beside(observation.findings), *plan.findings)),
        "state_before": None,
        "cluster_id": None,
        "next_action": "",
        "journal": None,
        "interrupted": False,
    }
    emit(KIND, payload, render=plan_page, exit_code=outcome.exit_code)


def _missing(
    inventory: Inventory,
    journal: JournalView,
    steps: tuple[Step, ...],
    observation: Observation,
    arguments: DriveArguments,
) -> tuple[Finding, ...]:
    """The files that the real run would refuse to begin without. A node's hook is asked only for what nobody kept."""
    from kafkactl.commands.rendering import output
    from kafkactl.migration.driver.files import missing_files
    from kafkactl.operations.migrate.driver import live_world

    files = files_of(inventory, live_world(inventory, output.say), journal, arguments)
    return (*files.objections(observation, steps), *missing_files(files, inventory, steps, observation))


def _carry_out(inventory: Inventory, accepted: tuple[str, ...], arguments: DriveArguments, *, yes: bool) -> NoReturn:
    from kafkactl.commands.framework.confirmation import confirm
    from kafkactl.migration.driver.guards import BackGuard
    from kafkactl.migration.driver.journal import BACK
    from kafkactl.migration.driver.routes import WayBack, identity_of
    from kafkactl.migration.driver.run import run_migration

    def drive(crew: Any, _seen: Any) -> Any:
        asked: list[str] = []

        def ask(route: Any, step: Any) -> Any:
            if asked:
                return None
            asked.append(step.target)
            left = sum(one.state == "pending" for one in route.steps)
            question = (
                f"Back from {route.state} to ZooKeeper in {left} steps, the first is {step.action} {step.target}?"
            )
            return confirm(question, yes=yes, subject=f"state {route.state}")

        return run_migration(
            crew,
            WayBack(inventory, accepted=frozenset(accepted)),
            goal=BACK,
            identity=identity_of(inventory),
            guard=BackGuard(crew),
            ask=ask,
            accept_observed=True,
        )

    perform(KIND, inventory, arguments, drive)


def _refuse_unknown_ids(accepted: tuple[str, ...]) -> None:
    from kafkactl.migration.plan.rollback_refusals import ACCEPTABLE

    for id in accepted:
        if id not in ACCEPTABLE:
            known = ", ".join(sorted(ACCEPTABLE))
            raise click.BadOptionUsage(
                "--accept", f"{id} cannot be accepted.{meant(nearest(id, ACCEPTABLE))} What can be accepted: {known}."
            )
