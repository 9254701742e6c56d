"""`kafkactl nodes verify`: settings that controllers decide, compared over all nodes of a KRaft cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from kafkactl.commands.framework import exit_codes
from kafkactl.commands.framework.connection import ConnectionArguments, connection_options, open_client
from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.rendering.output import emit
from kafkactl.commands.rendering.page import Page, Word

if TYPE_CHECKING:
    from kafkactl.operations.nodes.settings import SettingsVerification

KIND = "nodes.verify"


@leaf_command(
    "verify",
    examples=(
        "kafkactl nodes verify --bootstrap-server broker-1:9092",
        "kafkactl nodes verify --bootstrap-server broker-1:9092 --config controller-1/server.properties",
        "kafkactl nodes verify --config controller.properties --config broker.properties -o json",
    ),
    codes=(
        exit_codes.DONE, exit_codes.USAGE, exit_codes.UNREACHABLE, exit_codes.UNKNOWN, exit_codes.PROBLEMS_FOUND,
        exit_codes.INTERRUPTED,
    ),
)  # fmt: skip
@click.option(
    "--config", "configs", multiple=True, metavar="FILE",
    help="The server.properties of a node that cannot be asked; repeatable. Without an address only these.",
)  # fmt: skip
@connection_options
def command(*, configs: tuple[str, ...], connection: ConnectionArguments) -> None:
    """Compare the settings that controllers decide under KRaft: between controllers, and with the brokers.

    Number of partitions and replicas of new topics, unclean elections, min.insync.replicas, deletion
    of topics, policies and more are decided by the active controller's own file, which brokers
    decided under ZooKeeper. Each node is asked for its own values (controllers from Kafka 3.7 on, with
    DESCRIBE_CONFIGS on the cluster). The exit code is 7 where a difference changes what the cluster does, and 4
    where a node that may decide could not be read.
    """
    answer = _verified(configs, connection).to_dict()
    emit(KIND, answer, render=_show, listing="settings", exit_code=_exit_code(answer))


def _verified(configs: tuple[str, ...], connection: ConnectionArguments) -> SettingsVerification:
    from kafkactl.commands.framework.settings import current_settings
    from kafkactl.operations.nodes.settings import verify_settings

    if configs and not (any(connection[:2]) or connection.context):
        return verify_settings(configs=configs)
    with open_client(connection) as client:
        return verify_settings(client, configs=configs, timeout_ms=current_settings().timeout_ms)


def _exit_code(answer: Mapping[str, Any]) -> int:
    if any(setting["matters"] for setting in answer["settings"]):
        return exit_codes.PROBLEMS_FOUND
    return exit_codes.DONE if answer["complete"] else exit_codes.UNREACHABLE


_HEADINGS = {
    exit_codes.DONE: ("All nodes agree on what controllers decide", "good"),
    exit_codes.PROBLEMS_FOUND: ("Settings differ that change what the cluster does", "bad"),
    exit_codes.UNREACHABLE: ("No difference was found, and not every node was read", "warn"),
}


def _show(page: Page, answer: Mapping[str, Any]) -> None:
    text, tone = _HEADINGS[_exit_code(answer)]
    page.heading(text, tone)
    page.fields([("cluster id", answer["cluster_id"]), ("active controller", answer["active_controller"])])
    page.table(
        ("node", "role", "read from"),
        [(node["id"], node["role"], node["file"] or ("the node" if node["read"] else Word("not read", "warn")))
         for node in answer["nodes"]],
    )  # fmt: skip
    page.table(
        ("setting", "controllers", "brokers", "decided by"),
        [
            (
                Word(setting["key"], "bad" if setting["matters"] else "plain"),
                _values(setting["controllers"]),
                _values(setting["brokers"]),
                " and ".join(setting["decides"]),
            )
            for setting in answer["settings"]
        ],
    )
    page.findings(answer["findings"])


def _values(rows: Sequence[Mapping[str, Any]]) -> str | None:
    if len(rows) == 1:
        return rows[0]["value"] or "not set"
    return "; ".join(f"{row['value'] or 'not set'} ({', '.join(map(str, row['nodes']))})" for row in rows) or None
