"""`kafkactl features apply`: carry out a plan file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kafkactl.commands.features.change import SHARE_OF_TIME, answer, show_change, tell
from kafkactl.commands.features.options import CHANGE_CODES
from kafkactl.commands.framework.connection import ConnectionArguments, connection_options, guard_cluster, open_client
from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.framework.options import PATH, confirm_option, writing_options

if TYPE_CHECKING:
    from kafkactl.core.findings import Finding
    from kafkactl.features.api.cluster import FeatureChange


@leaf_command(
    "apply",
    examples=(
        "kafkactl features apply plan.json --bootstrap-server b1:9092 --dry-run",
        "kafkactl features apply plan.json --bootstrap-server b1:9092 --confirm CLUSTER_ID",
    ),
    codes=CHANGE_CODES,
    timeout="2m",
)
@click.argument("plan_file", metavar="PLAN", type=PATH)
@confirm_option
@writing_options
@connection_options
def command(*, plan_file: str, confirm: str | None, dry_run: bool, yes: bool, connection: ConnectionArguments) -> None:
    """Change feature levels exactly as a PLAN of `kafkactl features plan --out` says.

    The change is planned again from the cluster as it is now. If another plan results, or another
    cluster answers, nothing is sent (exit code 3), and the answer lists what changed. A plan that was
    interrupted is continued. A change that cannot be undone requires the cluster id, at the prompt or
    with --confirm.
    """
    from kafkactl.commands.framework.settings import current_settings
    from kafkactl.features.api.plan_files import apply_plan, load_plan

    planned = load_plan(plan_file)

    def ask(found: FeatureChange) -> Finding | None:
        return _asked(found, plan_file, confirm=confirm, yes=yes)

    with open_client(connection) as client:
        guard_cluster(client, connection)
        timeout_ms = SHARE_OF_TIME * current_settings().timeout_ms
        found = apply_plan(client, planned, dry_run=dry_run, confirm=ask, timeout_ms=timeout_ms, on_note=tell)
    answer(found)


def _asked(found: FeatureChange, plan_file: str, *, confirm: str | None, yes: bool) -> Finding | None:
    from kafkactl.commands.framework.confirmation import confirm as agreed
    from kafkactl.commands.framework.confirmation import confirm_cluster_id
    from kafkactl.commands.rendering.output import talk_page
    from kafkactl.commands.rendering.page import Page

    if confirm is None and not yes:
        page = Page()
        show_change(page, found, server_asked=True)
        talk_page(page)
    subject = f"plan {plan_file}"
    cluster_id = str(found.plan.cluster_id)
    if found.plan.irreversible:
        names = ", ".join(change.name for change in found.plan.irreversible)
        question = f"The new level of {names} cannot be undone."
        return confirm_cluster_id(question, cluster_id, confirm=confirm, subject=subject)
    return agreed(f"Change the feature levels of cluster {cluster_id}?", yes=yes, subject=subject)
