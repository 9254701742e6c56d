"""`kafkactl quorum apply`: carry out a plan file."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from kafkactl.commands.framework.connection import ConnectionArguments, connection_options
from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.framework.options import PATH, writing_options
from kafkactl.commands.quorum.change_page import change_page
from kafkactl.commands.quorum.change_run import CODES, ChangeArguments, change_options, perform, show_plan
from kafkactl.commands.rendering.page import Page

if TYPE_CHECKING:
    from kafkactl.core.findings import Finding
    from kafkactl.quorum.api.change import QuorumChange
    from kafkactl.quorum.change.ports import ChangeResult


@leaf_command(
    "apply",
    examples=(
        "kafkactl quorum apply plan.json --bootstrap-controller c1:9093 --dry-run",
        "kafkactl quorum apply plan.json --bootstrap-controller c1:9093 --yes",
    ),
    codes=CODES,
    timeout="1h",
)
@click.argument("plan_file", metavar="PLAN", type=PATH)
@click.option("--watch", is_flag=True, help="Print every observation of the quorum to stderr.")
@change_options(adds=False)
@connection_options
@writing_options
def command(
    *,
    plan_file: str,
    watch: bool,
    arguments: ChangeArguments,
    connection: ConnectionArguments,
    dry_run: bool,
    yes: bool,
) -> None:
    """Change the voters exactly as a PLAN of `kafkactl quorum reassign --out` says.

    The reassignment is planned again from the quorum as it is now. If another plan results, or
    another cluster answers, nothing is sent (exit code 3), and the answer lists what changed. Run the
    same command again to resume a plan that was interrupted. Overrides and --max-lag are those that
    the plan was made with.
    """
    from kafkactl.commands.framework.confirmation import confirm
    from kafkactl.quorum.api.change import QuorumChange, survivable
    from kafkactl.quorum.api.plan_files import load_plan, planned_goal

    planned = load_plan(plan_file)
    target = ",".join(str(key.node_id) for key in sorted(planned.target))

    def complete(found: QuorumChange) -> QuorumChange:
        return replace(found, plan_sha256=planned.sha256, forecast=survivable(found.result, {}))

    def ask(found: ChangeResult) -> Finding | None:
        if not yes:
            show_plan(render, QuorumChange(result=found, forecast=survivable(found, {})))
        return confirm(f"Change the voters to {target}?", yes=yes, subject=f"plan {plan_file}")

    def render(page: Page, change: QuorumChange) -> None:
        change_page(page, change, goal=f"voters {target}")

    arguments = arguments._replace(max_lag=planned.max_lag)
    goal = planned_goal(planned)
    perform(goal, connection, arguments, render=render, dry_run=dry_run, ask=ask, watch=watch, complete=complete)
