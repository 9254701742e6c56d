"""`kafkactl storage info`: what stands on the directories of a node, in the words of Kafka's own tool."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from kafkactl.commands.framework import exit_codes
from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.framework.options import kafka_version_option
from kafkactl.commands.rendering.output import emit
from kafkactl.commands.rendering.page import Page


@leaf_command(
    "info",
    examples=("kafkactl storage info -c server.properties", "kafkactl storage info -c server.properties -o json"),
    codes=(exit_codes.DONE, exit_codes.FAILED, exit_codes.USAGE, exit_codes.PROBLEMS_FOUND),
)
@click.option("-c", "--config", required=True, metavar="FILE", help="The node's configuration (server.properties).")
@kafka_version_option
def command(config: str, kafka_version: str | None) -> None:
    """Show which directories a node has, what they were formatted with, and what is wrong with them.

    The lines and problems are those of Kafka's tool of the same release. The exit code is 7 where
    there is a problem (Kafka's tool: 1). A node that came from ZooKeeper keeps its old
    meta.properties: a problem to Kafka's tool, and a finding says that the node starts from them.
    `storage verify` checks more.
    """
    from pathlib import Path

    from kafkactl.adapters.disks.directories import observe_node
    from kafkactl.adapters.files.config_providers import resolve
    from kafkactl.adapters.files.input_files import InputKind, read_input
    from kafkactl.features.catalog.releases import find_release, newest_release
    from kafkactl.storage.config.node_config import read_node_config
    from kafkactl.storage.info import describe_node, render_info

    release = find_release(kafka_version) if kafka_version else newest_release()
    data = read_input(Path(config), "the configuration", InputKind.NODE_CONFIG)
    node = read_node_config(data, file=config, release=release, resolve=resolve)
    info = describe_node(node, observe_node(node), release)

    def show(page: Page, _answer: Mapping[str, Any]) -> None:
        lines = render_info(info)
        while lines and not lines[-1]:
            lines.pop()
        for line in lines:
            page.line(line)
        page.findings(info.findings)

    emit(
        "storage.info",
        {
            "kafka_version": release.version_text,
            "cluster_id": info.cluster_id,
            "node_id": info.node_id,
            "directories": info.directories,
            "problems": info.problems,
            "findings": info.findings,
        },
        render=show,
        exit_code=exit_codes.PROBLEMS_FOUND if info.problems else exit_codes.DONE,
    )
