"""`kafkactl nodes list`: every node id that is registered, votes or answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import click

from kafkactl.commands.framework import exit_codes
from kafkactl.commands.framework.bundles import bundle_option, stored
from kafkactl.commands.framework.connection import ConnectionArguments, connection_options, open_client
from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.rendering.output import emit
from kafkactl.commands.rendering.page import Page, Word

if TYPE_CHECKING:
    from kafkactl.features.cluster.answer import NodeDict, NodesDict


@leaf_command(
    "list",
    examples=(
        "kafkactl nodes list --bootstrap-server broker-1:9092",
        "kafkactl nodes list --bootstrap-controller controller-1:9093 -o json",
    ),
    codes=(0, 2, 4, 6),
)
@bundle_option
@connection_options
def command(*, bundle: str | None, connection: ConnectionArguments) -> None:
    """Show the nodes of a cluster: registrations in the metadata log, and each node's response.

    No other tool shows registrations of controllers, or the levels that a dead node supports. A
    registered node that no longer exists is stale: it blocks changes of feature levels. Unknown
    values are null, with a finding; reading the log requires CLUSTER_ACTION on the cluster.
    """
    from kafkactl.commands.framework.settings import current_settings
    from kafkactl.operations.nodes.list import list_nodes

    if bundle is not None:
        if any(connection):
            raise click.UsageError("--bundle is used alone: it contains the answer of a cluster.")
        answer: Mapping[str, Any] = stored(bundle, "nodes.list")[0]
    else:
        with open_client(connection) as client:
            answer = list_nodes(client, timeout_ms=current_settings().timeout_ms).to_dict()
    exit_code = exit_codes.DONE if answer["nodes"] else exit_codes.UNREACHABLE
    emit("nodes.list", answer, render=_show, listing="nodes", exit_code=exit_code)


def _show(page: Page, payload: Mapping[str, Any]) -> None:
    answer = cast("NodesDict", payload)
    page.fields([("cluster id", answer["cluster_id"]), ("active controller", answer["active_controller"])])
    page.table(
        ("id", "roles", "release", "registered", "state", "answers", "endpoints"),
        [
            (
                node["id"],
                ", ".join(node["roles"]),
                node["kafka_version"],
                _yes(node["registered"]),
                _state(node),
                _yes(node["answers"]),
                " ".join(
                    f"{endpoint['listener']}://{endpoint['host']}:{endpoint['port']}" for endpoint in node["endpoints"]
                )
                or None,
            )
            for node in answer["nodes"]
        ],
    )
    page.findings(answer["findings"])


def _yes(value: bool | None) -> str | None:
    return None if value is None else "yes" if value else "no"


def _state(node: NodeDict) -> Word | None:
    words = ["voter"] if node["voter"] else []
    if node["stale"]:
        words.append("stale")
    if node["in_controlled_shutdown"]:
        words.append("shutting down")
    elif node["fenced"]:
        words.append("fenced")
    return Word(", ".join(words), "bad" if node["stale"] else "plain") if words else None
