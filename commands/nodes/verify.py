"""`kafkactl nodes verify`: settings that controllers decide, compared over all nodes of a KRaft cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import click

from kafkactl.commands.framework import exit_codes
from kafkactl.commands.framework.connection import ConnectionArguments, open_reading_client, reading_options
from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.rendering.output import emit
from kafkactl.commands.rendering.page import Page, Word

if TYPE_CHECKING:
    from kafkactl.cluster.api.settings import SettingsVerification

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
    help="The server.properties of a node that cannot be asked. Without an address only these.",
)  # fmt: skip
@reading_options
def command(*, configs: tuple[str, ...], connection: ConnectionArguments) -> None:
    """Compare the settings that controllers decide under KRaft: between controllers, and with the brokers.

    Number of partitions and replicas of new topics, unclean elections, min.insync.replicas, deletion
    of topics, policies and more are decided by the active controller's own file, which brokers
    decided under ZooKeeper. Each node is asked for its own values (controllers from Kafka 3.7 on, with
    DESCRIBE_CONFIGS on the cluster). The exit code is 7 if a difference changes what the cluster does, and 4
    if a node that may decide could not be read.
    """
    found = _verified(configs, connection)
    emit(KIND, found, render=_show, listing="settings", exit_code=_exit_code(found))


def _verified(configs: tuple[str, ...], connection: ConnectionArguments) -> SettingsVerification:
    from kafkactl.cluster.api.settings import verify_settings
    from kafkactl.commands.framework.settings import current_settings

    if configs and not connection.names_cluster:
        return verify_settings(configs=configs)
    with open_reading_client(connection) as client:
        return verify_settings(client, configs=configs, timeout_ms=current_settings().timeout_ms)


def _exit_code(found: SettingsVerification) -> int:
    if found.has_problems:
        return exit_codes.PROBLEMS_FOUND
    return exit_codes.DONE if found.is_complete else exit_codes.UNREACHABLE


_HEADINGS = {
    exit_codes.DONE: ("All nodes agree on what controllers decide", "good"),
    exit_codes.PROBLEMS_FOUND: ("Settings differ that change what the cluster does", "bad"),
    exit_codes.UNREACHABLE: ("No difference was found, and not every node was read", "warn"),
}


def _show(page: Page, found: SettingsVerification) -> None:
    text, tone = _HEADINGS[_exit_code(found)]
    page.heading(text, tone)
    page.fields([("cluster id", found.cluster_id), ("active controller", found.active_controller)])
    page.table(
        ("node", "role", "read from"),
        [
            (node.id, node.role.value, node.file or ("the node" if node.is_read else Word("not read", "warn")))
            for node in found.verdict.every_node
        ],
    )
    page.table(
        ("setting", "controllers", "brokers", "decided by"),
        [
            (
                Word(difference.setting.key, "bad" if difference.matters else "plain"),
                _values(difference.controllers),
                _values(difference.brokers),
                " and ".join(difference.setting.decides),
            )
            for difference in found.verdict.differences
        ],
    )
    page.findings(found.findings)


def _values(held: Mapping[str, Sequence[int]]) -> str | None:
    if len(held) == 1:
        return next(iter(held)) or "not set"
    return "; ".join(f"{value or 'not set'} ({', '.join(map(str, ids))})" for value, ids in held.items()) or None
