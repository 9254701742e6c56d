"""`kafkactl storage apply`: format the nodes of a plan that are on this machine, exactly as planned."""

from __future__ import annotations

from typing import Any

import click

from kafkactl.commands.framework import exit_codes
from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.framework.options import writing_options
from kafkactl.commands.rendering.output import emit
from kafkactl.commands.storage.apply_answer import apply_answer, show_apply
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
@click.argument("plan_file", metavar="PLAN", type=click.Path())
@click.option("--node", "node_ids", type=int, multiple=True, metavar="ID", help="Apply to this node; repeatable.")
@click.option("--local", is_flag=True, help="Apply to the nodes whose host is this machine.")
@click.option("--host", "hosts", multiple=True, metavar="NAME", help="Apply to the nodes of this host; repeatable.")
@click.option(
    "--receipts", metavar="DIR", help="Where is remembered which nodes were formatted. [default: PLAN.receipts]"
)
@click.option(
    "--reformat",
    "reformats",
    multiple=True,
    metavar="NODE/DIR",
    help="Format this directory again: it was formatted before, and its disk is permanently lost; repeatable.",
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

    First every node is looked at: its configuration must be the planned one, its disks blank or
    exactly as planned, and none that was formatted before may be blank. Only when all of them pass
    is anything written.
    """
    from functools import partial
    from pathlib import Path

    from kafkactl.adapters.files.entropy import SystemSource
    from kafkactl.adapters.files.filesystem import OsFilesystem
    from kafkactl.adapters.files.input_files import InputKind, read_input
    from kafkactl.adapters.files.plan_files import receipts_folder
    from kafkactl.commands.framework.confirmation import confirm
    from kafkactl.commands.storage.format_observation import observe_for_format
    from kafkactl.features.catalog.releases import find_release
    from kafkactl.findings import Outcome
    from kafkactl.operations.storage.fleet import Context, apply_nodes, look_at, names_of_this_host, whole_outcome
    from kafkactl.storage.fleet.check import ApplyRequest, check_apply, choose_nodes, requested_reformats
    from kafkactl.storage.fleet.plan_file import parse_plan

    if bool(reformats) != bool(reason and reason.strip()):
        raise click.UsageError("--reformat and --reason go together.")
    if not (node_ids or local or hosts):
        raise click.UsageError("Say which nodes: --node ID, --local, or --host NAME.")
    plan, plan_sha256 = parse_plan(read_input(Path(plan_file), "the plan", InputKind.DOCUMENT), file=plan_file)
    nodes = choose_nodes(plan, node_ids, hosts, names_of_this_host() if local else frozenset())
    request = ApplyRequest(
        overrides=build_overrides(given), reformats=requested_reformats(reformats), owner=build_owner(given)
    )
    folder = Path(receipts) if receipts else receipts_folder(Path(plan_file))
    release = find_release(plan.kafka_version)
    here = look_at(nodes, folder, release, partial(observe_for_format, overrides=request.overrides))
    checked = check_apply(plan, here, request, release)
    outcome = whole_outcome(one.outcome for one in checked)
    answer = partial(apply_answer, plan, plan_sha256, nodes=nodes, checked=checked)
    if dry_run or outcome is Outcome.REFUSED:
        emit("storage.apply", answer(applied=None, outcome=outcome), render=show_apply, exit_code=outcome.exit_code)
    if outcome is Outcome.PLANNED:
        names = ", ".join(str(node.id) for node in nodes)
        no = confirm(f"Format node {names} of cluster {plan.cluster_id}?", yes=yes, subject=f"plan {plan_file}")
        if no is not None:
            refused = answer(applied=None, outcome=Outcome.REFUSED, findings=[no])
            emit("storage.apply", refused, render=show_apply, exit_code=exit_codes.REFUSED)
    context = Context(
        plan=plan,
        plan_sha256=plan_sha256,
        receipts=folder,
        request=request,
        reason=(reason or "").strip(),
        now_ms=SystemSource().now_ms,
    )
    # Where all is formatted already this writes nothing but receipts that are missing.
    applied = apply_nodes(here, checked, OsFilesystem(), context)
    outcome = whole_outcome(one.outcome for one in applied)
    emit("storage.apply", answer(applied=applied, outcome=outcome), render=show_apply, exit_code=outcome.exit_code)
