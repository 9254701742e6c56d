"""`kafkactl quorum reassign`: from the voters there are to the voters that are requested."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from kafkactl.commands.framework import completing_live
from kafkactl.commands.framework.connection import ConnectionArguments, connection_options
from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.framework.options import plan_file_options, writing_options
from kafkactl.commands.quorum.change_page import change_page
from kafkactl.commands.quorum.change_run import (
    CODES,
    ChangeArguments,
    change_options,
    override_options,
    overrides_in,
    perform,
    show_plan,
)
from kafkactl.commands.rendering.page import Page

if TYPE_CHECKING:
    from kafkactl.core.findings import Finding
    from kafkactl.quorum.api.change import QuorumChange
    from kafkactl.quorum.change.ports import ChangeResult


@leaf_command(
    "reassign",
    examples=(
        "kafkactl quorum reassign --target 1,2,3 --bootstrap-controller c1:9093 --dry-run",
        "kafkactl quorum reassign --target 4,5,6 --bootstrap-controller c1:9093 --dry-run --simulate 20",
        "kafkactl quorum reassign --target 4,5,6 --bootstrap-controller c1:9093 --yes",
        "kafkactl quorum reassign --target 4,5,6 --bootstrap-controller c1:9093 --out plan.json",
        "kafkactl quorum reassign --target 1,2,3 --zone 1=a --zone 2=b --zone 3=c --bootstrap-server b1:9092",
    ),
    codes=CODES,
    timeout="1h",
)
@click.option(
    "--target", required=True, metavar="IDS", shell_complete=completing_live.controller_list,
    help="The intended voters: 1,2,3; to select a directory, 3@DIRECTORY_ID.",
)  # fmt: skip
@click.option("--zone", "zones", multiple=True, metavar="ID=ZONE", help="The zone of a controller, for the forecast.")
@click.option(
    "--simulate",
    type=click.IntRange(0, 10_000),
    default=0,
    metavar="N",
    help="With --dry-run: also simulate the plan, that many times.",
)
@click.option(
    "--seed", type=click.IntRange(0, 2**63 - 1), default=0, metavar="N", help="The seed of the first of these runs."
)
@click.option("--watch", is_flag=True, help="Print every observation of the quorum to stderr.")
@click.option("--replan", is_flag=True, help="Continue although another operator changed the voters meanwhile.")
@plan_file_options
@override_options("--accept-zero-tolerance", "--allow-size", "--allow-unstable", "--node-will-be-stopped")
@change_options(adds=True)
@connection_options
@writing_options
def command(
    *,
    target: str,
    zones: tuple[str, ...],
    simulate: int,
    seed: int,
    watch: bool,
    replan: bool,
    out: str | None,
    overwrite: bool,
    arguments: ChangeArguments,
    connection: ConnectionArguments,
    dry_run: bool,
    yes: bool,
    **overrides: bool,
) -> None:
    """Change the voters of the quorum, one at a time, in the safest order, until the target is reached.

    Each step is planned from a new observation: new voters must catch up first, dead ones are
    removed first, the leader last, and no step is executed that would leave no living majority.
    Run the same command again to resume.

    With --out nothing is changed: the plan is written to a file, which `kafkactl quorum apply` carries
    out later, if the voters are then still the same.
    """
    from kafkactl.commands.framework.confirmation import confirm
    from kafkactl.quorum.api.change import QuorumChange, reassignment, survivable
    from kafkactl.quorum.api.plan_files import check_out, save_plan
    from kafkactl.quorum.api.simulation import simulated_plan

    if simulate and not dry_run:
        raise click.UsageError("--simulate needs --dry-run.")
    placed = _zones(zones)
    flags = overrides_in(overrides)
    goal = reassignment(target, overrides=flags, max_lag=arguments.max_lag, replan=replan)
    if out is not None:
        check_out(out, overwrite=overwrite)

    def expected(found: QuorumChange) -> QuorumChange:
        simulation = simulated_plan(found.result, runs=simulate, seed=seed) if simulate else None
        return replace(found, forecast=survivable(found.result, placed), simulation=simulation)

    def ask(planned: ChangeResult) -> Finding | None:
        if not yes:
            show_plan(render, expected(QuorumChange(result=planned)))
        return confirm(f"Change the voters to {target}?", yes=yes, subject="quorum")

    def render(page: Page, change: QuorumChange) -> None:
        change_page(page, change, goal=f"voters {target}")

    def complete(found: QuorumChange) -> QuorumChange:
        found = expected(found)
        if out is None:
            return found
        return save_plan(found, out, overrides=flags, max_lag=arguments.max_lag, overwrite=overwrite)

    only_plan = dry_run or out is not None
    perform(goal, connection, arguments, render=render, dry_run=only_plan, ask=ask, watch=watch, complete=complete)


def _zones(words: tuple[str, ...]) -> dict[int, str]:
    found: dict[int, str] = {}
    for word in words:
        id_text, equals, zone = word.partition("=")
        if not (id_text.isascii() and id_text.isdigit() and equals and zone):
            raise click.BadParameter(f"{word!r} is not ID=ZONE.", param_hint="--zone")
        found[int(id_text)] = zone
    return found
