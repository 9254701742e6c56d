"""`kafkactl storage info`: the directories of a node, in the words of Kafka's own tool."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kafkactl.commands.framework import exit_codes
from kafkactl.commands.framework.connection import find_node_file
from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.framework.options import kafka_version_option
from kafkactl.commands.rendering.output import emit
from kafkactl.commands.rendering.page import Page

if TYPE_CHECKING:
    from kafkactl.storage.api.reading import InfoResult


@leaf_command(
    "info",
    examples=("kafkactl storage info -c server.properties", "kafkactl storage info -c server.properties -o json"),
    codes=(exit_codes.DONE, exit_codes.FAILED, exit_codes.USAGE, exit_codes.PROBLEMS_FOUND),
)
@click.option(
    "-c", "--config", metavar="FILE",
    help="The node's configuration (server.properties). [default: that of the one node found on this host]",
)  # fmt: skip
@kafka_version_option
def command(config: str | None, kafka_version: str | None) -> None:
    """Show the directories of a node, what they were formatted with, and their problems.

    Lines and problems are those of Kafka's tool of the same release. The exit code is 7 if there
    is a problem (Kafka's tool: 1). A node migrated from ZooKeeper keeps its old meta.properties:
    Kafka's tool reports this as a problem, and a finding explains that the node starts with it.
    `storage verify` checks more.
    """
    from kafkactl.storage.api.reading import node_info

    found = node_info(config or find_node_file().path, kafka_version=kafka_version)

    emit(
        "storage.info",
        found,
        render=_show,
        exit_code=exit_codes.PROBLEMS_FOUND if found.has_problems else exit_codes.DONE,
    )


def _show(page: Page, found: InfoResult) -> None:
    for line in found.lines:
        page.line(line)
    page.findings(found.info.findings)
