"""`kafkactl storage plan`: from an inventory to one plan for a whole fleet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from kafkactl.commands.framework import exit_codes
from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.rendering.output import emit
from kafkactl.commands.rendering.page import Page


@leaf_command(
    "plan",
    examples=(
        "kafkactl storage plan fleet.toml --out plan.json",
        "kafkactl storage plan fleet.toml --dry-run -o json",
    ),
    codes=(exit_codes.DONE, exit_codes.FAILED, exit_codes.USAGE, exit_codes.REFUSED),
)
@click.argument("inventory", type=click.Path())
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
    from kafkactl.operations.storage.fleet_plan import plan_fleet

    plan = plan_fleet(inventory, out=out, overwrite=overwrite, on_exposure=tell_exposure)
    emit("storage.plan", plan.to_dict(), render=_show, exit_code=plan.outcome.exit_code)


def _show(page: Page, answer: Mapping[str, Any]) -> None:
    planned = answer["outcome"] == "planned"
    page.heading("Planned" if planned else "Refused: nothing was planned", tone="good" if planned else "bad")
    version = answer["metadata_version"]
    page.fields(
        (
            ("cluster id", answer["cluster_id"]),
            ("Kafka", answer["kafka_version"]),
            ("metadata.version", f"{version['name']} ({version['level']})" if version["name"] else None),
            ("quorum", f"{answer['mode']}, kraft.version {answer['kraft_version']}"),
            ("plan", answer["out"]),
            ("sha256", answer["plan_sha256"] if planned else None),
        )
    )
    page.groups((_title(node), _rows(node)) for node in answer["nodes"])
    page.findings(answer["findings"])


def _title(node: Mapping[str, Any]) -> str:
    voters = "" if node["voter_mode"] == "unspecified" else f", {node['voter_mode']}"
    return f"node {node['id']}  {node['host']}  {'+'.join(node['roles'])}{voters}"


def _rows(node: Mapping[str, Any]) -> list[tuple[str, str, str | None]]:
    return [(directory["role"], directory["path"], directory["directory_id"]) for directory in node["directories"]]
