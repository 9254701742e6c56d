"""`kafkactl nodes list`: every node id that is registered, votes or answers."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import click

from kafkactl.commands.framework import exit_codes
from kafkactl.commands.framework.bundles import bundle_option, stored_as
from kafkactl.commands.framework.connection import ConnectionArguments, open_reading_client, reading_options
from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.rendering.output import emit
from kafkactl.commands.rendering.page import Page, Word
from kafkactl.core.answers import read_fields

if TYPE_CHECKING:
    from kafkactl.cluster.api.list import NodeList
    from kafkactl.cluster.nodes import NodeRow


@leaf_command(
    "list",
    examples=(
        "kafkactl nodes list --bootstrap-server broker-1:9092",
        "kafkactl nodes list --bootstrap-controller controller-1:9093 -o json",
    ),
    codes=(0, 2, 4, 6),
)
@bundle_option
@reading_options
def command(*, bundle: str | None, connection: ConnectionArguments) -> None:
    """Show the nodes of a cluster: registrations in the metadata log, and each node's response.

    No other tool shows registrations of controllers, or the levels that a dead node supports. A
    registered node that no longer exists is stale: it blocks changes of feature levels. Unknown
    values are null, with a finding; reading the log requires CLUSTER_ACTION on the cluster. On the
    host of a node no option is needed: the node's own configuration names the cluster.
    """
    from kafkactl.cluster.api.list import NodeList, list_nodes
    from kafkactl.commands.framework.settings import current_settings

    if bundle is not None:
        if any(connection):
            raise click.UsageError("--bundle is used alone: it contains the answer of a cluster.")
        saved, answer, _ = stored_as(partial(read_fields, NodeList), bundle, "nodes.list")
        code = _exit_code(saved)
        emit("nodes.list", answer, render=lambda page, _: _show(page, saved), listing="nodes", exit_code=code)
    with open_reading_client(connection) as client:
        found = list_nodes(client, timeout_ms=current_settings().timeout_ms)
    emit("nodes.list", found, render=_show, listing="nodes", exit_code=_exit_code(found))


def _exit_code(found: NodeList) -> int:
    return exit_codes.DONE if found.nodes else exit_codes.UNREACHABLE


def _show(page: Page, answer: NodeList) -> None:
    page.fields([("cluster id", answer.cluster_id), ("active controller", answer.active_controller)])
    page.table(
        ("id", "roles", "release", "registered", "state", "answers", "endpoints"),
        [
            (
                node.id,
                ", ".join(node.roles),
                node.kafka_version,
                _yes(node.registered),
                _state(node),
                _yes(node.answers),
                " ".join(map(str, node.endpoints)) or None,
            )
            for node in answer.nodes
        ],
    )
    page.findings(answer.findings)


def _yes(value: bool | None) -> str | None:
    return None if value is None else "yes" if value else "no"


def _state(node: NodeRow) -> Word | None:
    words = ["voter"] if node.voter else []
    if node.stale:
        words.append("stale")
    if node.in_controlled_shutdown:
        words.append("shutting down")
    elif node.fenced:
        words.append("fenced")
    return Word(", ".join(words), "bad" if node.stale else "plain") if words else None
