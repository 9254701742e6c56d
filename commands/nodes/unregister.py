"""`kafkactl nodes unregister`: take the registration of a node that is gone out of the metadata log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NoReturn

import click

from kafkactl.commands.framework.connection import (
    ConnectionArguments,
    connection_options,
    guard_cluster,
    open_client,
    patience_ms,
)
from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.framework.options import Choice, writing_options
from kafkactl.commands.rendering.output import emit
from kafkactl.commands.rendering.page import Page

if TYPE_CHECKING:
    from kafkactl.features.change.unregister import UnregisterPlan
    from kafkactl.findings import Finding, Outcome

_TITLES = {
    "done": ("Unregistered {role} {node_id}", "good"),
    "nothing-to-do": ("Node {node_id} is not registered", "good"),
    "planned": ("Would unregister {role} {node_id}", "strong"),
    "refused": ("Refused to unregister node {node_id}", "bad"),
    "failed": ("Node {node_id} was not unregistered", "bad"),
    "unknown": ("Nobody can say whether node {node_id} is unregistered", "bad"),
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
@click.option("--id", "node_id", type=click.IntRange(min=0), required=True, metavar="N", help="The node's id.")
@click.option("--role", type=Choice(("broker", "controller")), help="Needed where both are registered under the id.")
@click.option(
    "--stopped", is_flag=True,
    help="You made sure that its process does not run. Settles what cannot be seen from here, never a sign of life.",
)  # fmt: skip
@writing_options
def command(
    *, connection: ConnectionArguments, node_id: int, role: str | None, stopped: bool, dry_run: bool, yes: bool
) -> None:
    """Unregister a node that is gone, and no other: it stands in the way of changes of feature levels.

    A broker that is alive is refused, for Kafka would make a zombie of it that holds its disks and
    ignores SIGTERM; so is a controller that votes or is alive. Alive is who answers, who is not
    fenced, and who is seen to fetch the metadata log in the 2 s for which the leader is watched;
    what cannot be seen is refused, too. Controllers can be unregistered from Kafka 4.4 with
    metadata.version 4.4-IV2 on. What came of it is read from the metadata log.
    """
    from kafkactl.adapters.kafka.feature_view import PATIENCE_MS as LOOK_MS
    from kafkactl.commands.framework.confirmation import confirm
    from kafkactl.features.cluster.state import Role
    from kafkactl.findings import Outcome
    from kafkactl.operations.nodes.unregister import PATIENCE_MS, observe_and_plan, unregister_node

    with open_client(connection) as client:
        guard_cluster(client, connection)
        look_ms = patience_ms(LOOK_MS)
        view, plan = observe_and_plan(client, node_id, Role(role) if role else None, stopped=stopped, look_ms=look_ms)
        if dry_run or plan.outcome is not Outcome.PLANNED:
            _tell(plan, plan.outcome, view.findings)
        question = f"Unregister {plan.role} {node_id} of cluster {plan.cluster_id}?"
        refusal = confirm(question, yes=yes, subject=f"node {node_id}")
        if refusal is not None:
            _tell(plan, Outcome.REFUSED, (*view.findings, refusal))
        result = unregister_node(
            client, plan, view.state, stopped=stopped, patience_ms=patience_ms(PATIENCE_MS), look_ms=look_ms
        )
    _tell(result.plan, result.outcome, (*view.findings, *result.findings))


def _tell(plan: UnregisterPlan, outcome: Outcome, findings: tuple[Finding, ...]) -> NoReturn:
    emit("nodes.unregister", plan.to_dict(outcome, findings), render=_show, exit_code=outcome.exit_code)


def _show(page: Page, answer: Mapping[str, Any]) -> None:
    title, tone = _TITLES[answer["outcome"]]
    page.heading(title.format(**answer), tone)
    page.fields([("cluster id", answer["cluster_id"])])
    page.findings(answer["findings"])
