"""`kafkactl storage unformat`: take a format back if it is proved that no node started from it."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING

import click

from kafkactl.commands.framework.confirmation import confirm_cluster_id
from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.framework.options import confirm_option, kafka_version_option, writing_options
from kafkactl.commands.rendering.output import emit
from kafkactl.commands.rendering.page import Page

if TYPE_CHECKING:
    from kafkactl.core.findings import Finding
    from kafkactl.storage.api.unformat import UnformatResult

_TITLES = {
    "done": ("Unformatted node {node_id}", "good"),
    "nothing-to-do": ("Nothing of node {node_id} is formatted", "good"),
    "planned": ("Would unformat node {node_id}", "strong"),
    "refused": ("Refused to unformat node {node_id}", "bad"),
    "failed": ("Failed to unformat node {node_id}", "bad"),
    "partial": ("Unformatted only a part of node {node_id}", "bad"),
}


@leaf_command(
    "unformat",
    examples=(
        "kafkactl storage unformat -c server.properties --dry-run",
        "kafkactl storage unformat -c server.properties --confirm CLUSTER_ID",
    ),
    codes=(0, 1, 2, 3, 5, 6),
)
@click.option("-c", "--config", required=True, metavar="FILE", help="The node's server.properties.")
@click.option("--only", multiple=True, metavar="DIR", help="Only this directory.")
@kafka_version_option
@confirm_option
@writing_options
def command(
    *, config: str, only: tuple[str, ...], kafka_version: str | None, confirm: str | None, dry_run: bool, yes: bool
) -> None:
    """Remove a format, if no node has started from it.

    This cannot be undone, so it requires the cluster id, at the prompt or with --confirm; --yes is not enough.
    """
    from kafkactl.core.findings import Outcome
    from kafkactl.core.frozen import changed
    from kafkactl.storage.api.unformat import apply_unformat, plan_unformat

    result = plan_unformat(config, only=only, kafka_version=kafka_version)
    if result.outcome is Outcome.PLANNED and not dry_run:
        result = changed(result, refusal=_ask(result, confirm, yes))
    if not dry_run:
        result = apply_unformat(result)
    emit("storage.unformat", result, render=_show, exit_code=result.outcome.exit_code)


def _ask(planned: UnformatResult, given: str | None, yes: bool) -> Finding | None:
    from kafkactl.commands.framework.confirmation import confirm

    plan = planned.plan
    subject = f"node {plan.node_id}"
    names = ", ".join(directory.path for directory in plan.directories if directory.action == "unformat")
    if plan.cluster_id is None:  # only leftovers: nothing that says whose they are is lost
        return confirm(f"Remove what an interrupted run left in {names}?", yes=yes, subject=subject)
    question = f"The format of {names} will be removed."
    return confirm_cluster_id(question, plan.cluster_id, confirm=given, subject=subject)


def _show(page: Page, result: UnformatResult) -> None:
    title, tone = _TITLES[result.outcome]
    page.heading(title.format(node_id=result.plan.node_id), tone)
    page.fields((("cluster id", result.plan.cluster_id),))
    page.table(
        ("directory", "role", "action", "removes"),
        (
            (
                directory.planned.path,
                directory.planned.role,
                directory.progress or directory.planned.action,
                ", ".join(PurePosixPath(path).name for path in directory.files) or None,
            )
            for directory in result.directories
        ),
    )
    page.findings(result.findings)
