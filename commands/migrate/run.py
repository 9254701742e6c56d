"""`kafkactl migrate run`: forward, step by step, up to the point of no return."""

from __future__ import annotations

from typing import Any

import click

from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.migrate.accept import refuse_unknown_findings, refuse_unknown_nodes
from kafkactl.commands.migrate.drive import CODES, DriveArguments, drive_options, perform, rehearse
from kafkactl.commands.migrate.options import ACCEPT_HELP, inventory_option, read_inventory

KIND = "migrate.run"
STATES = ("M2", "M3", "M4", "M4L", "M5", "M6", "M7", "M8")


@leaf_command(
    "run",
    examples=(
        "kafkactl migrate run --inventory migration.toml --until M4L",
        "kafkactl migrate run --inventory migration.toml --until M8 --yes",
    ),
    codes=CODES,
    timeout="24h",
)
@inventory_option
@click.option(
    "--until",
    type=click.Choice(STATES),
    default="M8",
    show_default=True,
    help="Stop when this state is observed.",
)
@click.option(
    "--accept",
    "accepted",
    multiple=True,
    metavar="FINDING",
    help=ACCEPT_HELP,
)
@click.option("--yes", is_flag=True, help="Do not ask, also not before the last broker.")
@click.option("--dry-run", is_flag=True, help="Show the steps, and what would stop them; nothing is touched.")
@drive_options
def command(
    *, inventory: str | None, until: str, accepted: tuple[str, ...], yes: bool, dry_run: bool, arguments: DriveArguments
) -> None:
    """Bring the cluster from ZooKeeper to KRaft: look, check, take one step, see its gate open twice.

    Killed anywhere, or stopped, the next run goes on from what is there. It asks before the first step,
    and again before the last broker enters, for then the copy begins by itself. It never finalizes: at
    M8 it ends, and the way back stays open until `kafkactl migrate finalize`.
    """
    from kafkactl.migration.driver.guards import ForwardGuard
    from kafkactl.migration.driver.journal import FORWARD
    from kafkactl.migration.driver.routes import WayForward, identity_of
    from kafkactl.migration.driver.run import run_migration
    from kafkactl.migration.state.names import State

    if inventory is None:
        raise click.UsageError("Missing option '--inventory'.")
    refuse_unknown_findings(accepted)
    found = read_inventory(inventory)
    refuse_unknown_nodes(accepted, [one.name for one in found.nodes])
    if dry_run:
        rehearse(KIND, found, WayForward(found), accepted, arguments, until=until)
    goal = State(until)

    def is_there(state: str) -> bool:
        place = State(state).place
        return place is not None and place >= (goal.place or 0)

    def drive(crew: Any, _seen: Any) -> Any:
        return run_migration(
            crew,
            WayForward(found),
            goal=FORWARD,
            identity=identity_of(found),
            until=until,
            is_there=is_there,
            guard=ForwardGuard(crew, accepted=frozenset(accepted)),
            ask=_Questions(yes=yes),
            accept_observed=arguments.accept_observed,
        )

    perform(KIND, found, arguments, drive)


class _Questions:
    """Asks once before anything is done, and once before the copy can begin."""

    def __init__(self, *, yes: bool) -> None:
        self._yes = yes
        self._asked: set[str] = set()

    def __call__(self, route: Any, step: Any) -> Any:
        """A refusal, or None."""
        from kafkactl.commands.framework.confirmation import confirm

        key = "start" if step.barrier is None else step.barrier.value
        if key in self._asked:
            return None
        question = f"The first step is {step.action} {step.target}. Begin?"
        if step.barrier is not None:
            question = (
                f"{step.target} is the last broker: once it has entered, the copy begins by itself and KRaft takes "
                "/controller. Go on?"
            )
        refusal = confirm(question, yes=self._yes, subject=f"state {route.state}")
        if refusal is None:
            self._asked |= {key, "start"}
        return refusal
