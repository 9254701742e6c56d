"""`kafkactl migrate finalize`: over the point of no return."""

from __future__ import annotations

from typing import Any

import click

from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.migrate.accept import refuse_unknown_findings, refuse_unknown_nodes
from kafkactl.commands.migrate.drive import CODES, DriveArguments, drive_options, perform, rehearse
from kafkactl.commands.migrate.options import ACCEPT_HELP, inventory_option, read_inventory

KIND = "migrate.finalize"
_STATES = ("M8", "M10", "M11")


@leaf_command(
    "finalize",
    examples=("kafkactl migrate finalize --inventory migration.toml --confirm MkU3OEVBNTcwNTJENDM2Qg",),
    codes=CODES,
    timeout="2h",
)
@inventory_option
@click.option(
    "--accept",
    "accepted",
    multiple=True,
    metavar="FINDING",
    help=ACCEPT_HELP,
)
@click.option("--confirm", metavar="CLUSTER_ID", help="The id of the cluster: this cannot be undone.")
@click.option("--dry-run", is_flag=True, help="Show the steps, and what would stop them; nothing is touched.")
@drive_options
def command(
    *, inventory: str | None, accepted: tuple[str, ...], confirm: str | None, dry_run: bool, arguments: DriveArguments
) -> None:
    """End the migration: the controllers are restarted without the flag, the leader last.

    The first of them that is elected ends it, and from its restart on there is no way back. So the gate of
    M8 is looked at anew, three times: every broker on KRaft, none registered in ZooKeeper mode, ZooKeeper
    and KRaft the same, no election in between, and soak_hours of the inventory over. The cluster's id has
    to be typed, or given by --confirm; --yes is not asked for.
    """
    from kafkactl.commands.framework.confirmation import confirm_cluster_id
    from kafkactl.migration.driver.guards import ForwardGuard
    from kafkactl.migration.driver.journal import FINALIZE
    from kafkactl.migration.driver.routes import WayForward, identity_of
    from kafkactl.migration.driver.run import run_migration
    from kafkactl.migration.state.evidence import evidence_of
    from kafkactl.migration.state.soak import soak_of
    from kafkactl.migration.state.table import observed_state

    if inventory is None:
        raise click.UsageError("Missing option '--inventory'.")
    refuse_unknown_findings(accepted)
    found = read_inventory(inventory)
    refuse_unknown_nodes(accepted, [one.name for one in found.nodes])
    way = WayForward(found, finalize=True)

    def plan(observation: Any, memory: Any) -> Any:
        route = way(observation, memory)
        return route if memory.is_finalizing else _refused_where_too_early(route)

    if dry_run:

        def soaked(seen: Any, memory: Any) -> Any:
            return _with_soak(plan(seen, memory), seen, found, accepted)

        rehearse(KIND, found, soaked, accepted, arguments)

    def drive(crew: Any, seen: Any) -> Any:
        asked: list[str] = []

        def ask(_route: Any, step: Any) -> Any:
            if asked or observed_state(seen).state == "M10":
                return None
            asked.append(step.target)
            soak = soak_of(evidence_of(seen))
            lasted = "" if soak is None else f"Every broker has been on KRaft for {soak.words}. "
            question = (
                f"{lasted}{step.target} is the first controller without the migration flag. From here on there is no "
                "way back to ZooKeeper."
            )
            return confirm_cluster_id(question, crew.cluster_id, confirm=confirm, subject="migration")

        return run_migration(
            crew,
            plan,
            goal=FINALIZE,
            identity=identity_of(found),
            guard=ForwardGuard(crew, accepted=frozenset(accepted)),
            ask=ask,
            accept_observed=arguments.accept_observed,
        )

    perform(KIND, found, arguments, drive)


def _refused_where_too_early(route: Any) -> Any:
    from kafkactl.findings import Outcome, blocker
    from kafkactl.frozen import changed

    if route.state in _STATES or route.outcome is Outcome.REFUSED:
        return route
    early = blocker(
        "too-early-to-finalize",
        f"state {route.state}",
        f"the migration is in {route.state}; only one with every broker on KRaft (M8) can be ended",
        "Go on with `kafkactl migrate run`.",
    )
    return changed(route, outcome=Outcome.REFUSED, findings=(*route.findings, early))


def _with_soak(route: Any, observation: Any, inventory: Any, accepted: tuple[str, ...]) -> Any:
    """A run that touches nothing has no guard; whether M8 has lasted long enough it tells all the same."""
    from kafkactl.findings import Outcome
    from kafkactl.frozen import changed
    from kafkactl.migration.checks.numbers import is_accepted
    from kafkactl.migration.state.evidence import evidence_of
    from kafkactl.migration.state.soak import soak_findings, soak_of

    every = soak_findings(soak_of(evidence_of(observation)), wanted_hours=inventory.soak_hours)
    found = tuple(one for one in every if not is_accepted(one, frozenset(accepted)))
    if route.state != _STATES[0] or not found:
        return route
    return changed(route, outcome=Outcome.REFUSED, findings=(*route.findings, *found))
