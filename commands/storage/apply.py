"""`kafkactl storage apply`: format the nodes of a plan that are on this machine, exactly as planned."""

from __future__ import annotations

from typing import Any

import click

from kafkactl.commands.framework import exit_codes
from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.framework.options import PATH, writing_options
from kafkactl.commands.rendering.output import emit
from kafkactl.commands.storage.apply_answer import show_apply
from kafkactl.commands.storage.format_request import build_overrides, build_owner, guard_options


@leaf_command(
    "apply",
    examples=(
        "kafkactl storage apply plan.json --local --yes",
        "kafkactl storage apply plan.json --node 1 --node 4 --dry-run",
        "kafkactl storage apply plan.json --node 3 --reformat 3/disk1 --reason 'disk replaced, ticket 4711' --yes",
    ),
    codes=(
        exit_codes.DONE,
        exit_codes.FAILED,
        exit_codes.USAGE,
        exit_codes.REFUSED,
        exit_codes.PARTLY_DONE,
        exit_codes.UNKNOWN,
    ),
    timeout="2m",
)
@click.argument("plan_file", metavar="PLAN", type=PATH)
@click.option("--node", "node_ids", type=int, multiple=True, metavar="ID", help="Apply to this node.")
@click.option("--local", is_flag=True, help="Apply to the nodes whose host is this machine.")
@click.option("--host", "hosts", multiple=True, metavar="NAME", help="Apply to the nodes of this host.")
@click.option(
    "--receipts", metavar="DIR", help="Directory with the receipts of formatted nodes. [default: PLAN.receipts]"
)
@click.option(
    "--reformat",
    "reformats",
    multiple=True,
    metavar="NODE/DIR",
    help="Format this directory again: it was formatted before, and its disk is permanently lost.",
)
@click.option("--reason", metavar="TEXT", help="Why, for the receipt; needed with --reformat.")
@guard_options
@writing_options
def command(
    plan_file: str,
    *,
    node_ids: tuple[int, ...],
    local: bool,
    hosts: tuple[str, ...],
    receipts: str | None,
    reformats: tuple[str, ...],
    reason: str | None,
    dry_run: bool,
    yes: bool,
    **given: Any,
) -> None:
    """Format nodes of a PLAN that are on this machine. Applying again changes nothing.

    Every node is checked first: its configuration must be the planned one, its disks empty or
    exactly as planned, and no disk that was formatted before may be empty. Nothing is written unless
    all checks pass.
    """
    from kafkactl.commands.framework.confirmation import confirm
    from kafkactl.commands.framework.exposure import tell_exposure
    from kafkactl.commands.framework.settings import current_settings
    from kafkactl.core.findings import Outcome
    from kafkactl.core.frozen import changed
    from kafkactl.storage.api.fleet_apply import apply_fleet, check_fleet

    if bool(reformats) != bool(reason and reason.strip()):
        raise click.UsageError("--reformat and --reason go together.")
    if not (node_ids or local or hosts):
        raise click.UsageError("Say which nodes: --node ID, --local, or --host NAME.")
    result = check_fleet(
        plan_file,
        node_ids=node_ids,
        hosts=hosts,
        this_host=local,
        receipts=receipts,
        reformats=reformats,
        reason=reason or "",
        overrides=build_overrides(given),
        owner=build_owner(given),
        on_exposure=tell_exposure,
        timeout_ms=current_settings().timeout_ms,
    )
    if result.outcome is Outcome.PLANNED and not dry_run:
        names = ", ".join(str(node.id) for node in result.nodes)
        question = f"Format node {names} of cluster {result.plan.cluster_id}?"
        no = confirm(question, yes=yes, subject=f"plan {plan_file}")
        if no is not None:
            result = changed(result, refusal=no)
    if not dry_run:
        result = apply_fleet(result)
    emit("storage.apply", result, render=show_apply, exit_code=result.outcome.exit_code)
