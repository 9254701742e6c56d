"""`kafkactl nodes unregister`: take the registration of a node that is gone out of the metadata log."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kafkactl.commands.framework import completing_live
from kafkactl.commands.framework.connection import (
    ConnectionArguments,
    connection_options,
    guard_cluster,
    open_client,
)
from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.framework.options import Choice, writing_options
from kafkactl.commands.rendering.output import emit
from kafkactl.commands.rendering.page import Page

if TYPE_CHECKING:
    from kafkactl.cluster.api.registration import UnregisterResult

_TITLES = {
    "done": ("Unregistered {role} {node_id}", "good"),
    "nothing-to-do": ("Node {node_id} is not registered", "good"),
    "planned": ("Would unregister {role} {node_id}", "strong"),
    "refused": ("Refused to unregister node {node_id}", "bad"),
    "failed": ("Node {node_id} was not unregistered", "bad"),
    "unknown": ("Whether node {node_id} is unregistered is unknown", "bad"),
}


@leaf_command(
    "unregister",
    examples=(
        "kafkactl nodes unregister --id 4 --bootstrap-server broker-1:9092 --dry-run",
        "kafkactl nodes unregister --id 4 --role broker --yes",
    ),
    codes=(0, 1, 2, 3, 4, 6),
    timeout="60s",
)
@connection_options
@click.option(
    "--id", "node_id", type=click.IntRange(min=0), required=True, metavar="N", shell_complete=completing_live.nodes,
    help="The node's id.",
)  # fmt: skip
@click.option("--role", type=Choice(("broker", "controller")), help="Required if both are registered under this id.")
@click.option(
    "--stopped", is_flag=True,
    help="Confirm that its process does not run. Never overrides a sign of life.",
)  # fmt: skip
@writing_options
def command(
    *, connection: ConnectionArguments, node_id: int, role: str | None, stopped: bool, dry_run: bool, yes: bool
) -> None:
    """Unregister a node that no longer exists and blocks changes of feature levels.

    A living broker is refused, because Kafka would turn it into a zombie that locks its disks and
    ignores SIGTERM; so is a controller that is a voter or alive. A node is alive if it responds, is
    not fenced, or fetches the metadata log while the leader is observed for 2 s; if this is unknown,
    the command refuses as well. Controllers can be unregistered from Kafka 4.4 with
    metadata.version 4.4-IV2 on. The outcome is read from the metadata log.
    """
    from kafkactl.cluster.api.registration import plan_unregister, unregister_node
    from kafkactl.commands.framework.confirmation import confirm
    from kafkactl.commands.framework.settings import current_settings
    from kafkactl.core.findings import Outcome, change_exit_code
    from kafkactl.core.frozen import changed

    timeout_ms = current_settings().timeout_ms
    with open_client(connection) as client:
        guard_cluster(client, connection)
        result = plan_unregister(client, node_id, role, stopped=stopped, timeout_ms=timeout_ms)
        if result.outcome is Outcome.PLANNED and not dry_run:
            question = f"Unregister {result.plan.role} {node_id} of cluster {result.plan.cluster_id}?"
            refusal = confirm(question, yes=yes, subject=f"node {node_id}")
            if refusal is None:
                result = unregister_node(client, result, timeout_ms=timeout_ms)
            else:
                result = changed(result, outcome=Outcome.REFUSED, notes=(refusal,))
    emit("nodes.unregister", result, render=_show, exit_code=change_exit_code(result.outcome, result.findings))


def _show(page: Page, found: UnregisterResult) -> None:
    plan, (title, tone) = found.plan, _TITLES[found.outcome]
    page.heading(title.format(role=plan.role, node_id=plan.node_id), tone)
    page.fields([("cluster id", plan.cluster_id)])
    page.findings(found.findings)
