"""`kafkactl storage plan`: from an inventory to one plan for a whole fleet."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kafkactl.commands.framework import exit_codes
from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.framework.options import PATH
from kafkactl.commands.rendering.output import emit
from kafkactl.commands.rendering.page import Page

if TYPE_CHECKING:
    from kafkactl.storage.api.fleet_plan import FleetPlanResult
    from kafkactl.storage.fleet.plan_file import PlannedNode


@leaf_command(
    "plan",
    examples=(
        "kafkactl storage plan fleet.toml --out plan.json",
        "kafkactl storage plan fleet.toml --dry-run -o json",
    ),
    codes=(exit_codes.DONE, exit_codes.FAILED, exit_codes.USAGE, exit_codes.REFUSED),
)
@click.argument("inventory", type=PATH)
@click.option("--out", metavar="FILE", help="Where the plan is written, readable by its owner only.")
@click.option("--overwrite", is_flag=True, help="Overwrite an existing plan that has not been applied.")
@click.option("--dry-run", is_flag=True, help="Show the plan, and write no file.")
def command(inventory: str, out: str | None, overwrite: bool, dry_run: bool) -> None:
    """Plan the format of every node of an INVENTORY: ids, salts, times and bytes, decided once.

    All rules between nodes are checked, and all problems of all nodes are reported; with a single
    blocker no plan is written. No disk is read or changed: `storage apply` does that on each host.
    With SCRAM users the plan contains keys derived from their passwords: protect it like the
    passwords.
    """
    if (out is None) != dry_run:
        raise click.UsageError("Give --out FILE, or --dry-run.")
    from kafkactl.commands.framework.exposure import tell_exposure
    from kafkactl.storage.api.fleet_plan import plan_fleet

    plan = plan_fleet(inventory, out=out, overwrite=overwrite, on_exposure=tell_exposure)
    emit("storage.plan", plan, render=_show, exit_code=plan.outcome.exit_code)


def _show(page: Page, found: FleetPlanResult) -> None:
    plan, planned = found.plan, found.outcome == "planned"
    page.heading("Planned" if planned else "Refused: nothing was planned", tone="good" if planned else "bad")
    name, level = plan.metadata_version_name, plan.metadata_version_level
    page.fields(
        (
            ("cluster id", plan.cluster_id),
            ("Kafka", plan.kafka_version),
            ("metadata.version", f"{name} ({level})" if name else None),
            ("quorum", f"{plan.mode}, kraft.version {plan.kraft_version}"),
            ("plan", found.out),
            ("sha256", found.plan_sha256 if planned else None),
        )
    )
    page.groups((_title(node), _rows(node)) for node in plan.nodes)
    page.findings(plan.findings)


def _title(node: PlannedNode) -> str:
    voters = "" if node.voter_mode == "unspecified" else f", {node.voter_mode}"
    return f"node {node.id}  {node.host}  {'+'.join(node.roles)}{voters}"


def _rows(node: PlannedNode) -> list[tuple[str, str, str | None]]:
    return [
        (directory.role, directory.path, str(directory.directory_id) if directory.directory_id else None)
        for directory in node.directories
    ]
