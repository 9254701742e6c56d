"""`kafkactl features version-mapping`: which feature levels belong to a release version, as Kafka's tool says it."""

from __future__ import annotations

import click

from kafkactl.commands.leaf import leaf_command
from kafkactl.commands.level_facts import emit_version_mapping, tool_version_option


@leaf_command(
    "version-mapping",
    examples=(
        "kafkactl features version-mapping",
        "kafkactl features version-mapping --release-version 4.2 -o json",
    ),
    codes=(0, 1, 2),
)
@click.option(
    "--release-version",
    metavar="VERSION",
    help="A release (4.2) or a metadata.version (4.2-IV1). [default: the newest of that Kafka]",
)
@tool_version_option
def command(release_version: str | None, kafka_version: str | None) -> None:
    """Print the level of every feature that goes with a release version. No cluster is asked."""
    emit_version_mapping("features", release_version, kafka_version)
