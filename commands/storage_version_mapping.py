"""`kafkactl storage version-mapping`: which feature levels belong to a release version, as Kafka's tool says it."""

from __future__ import annotations

import click

from kafkactl.commands.leaf import leaf_command
from kafkactl.commands.level_facts import emit_version_mapping, tool_version_option


@leaf_command(
    "version-mapping",
    examples=(
        "kafkactl storage version-mapping",
        "kafkactl storage version-mapping -r 4.2",
        "kafkactl storage version-mapping -r 3.9-IV0 --kafka-version 4.1 -o json",
    ),
    codes=(0, 1, 2),
)
@click.option(
    "-r",
    "--release-version",
    metavar="RELEASE",
    help="A release (4.2) or a metadata.version (4.2-IV1). [default: the newest of that Kafka]",
)
@tool_version_option
def command(release_version: str | None, kafka_version: str | None) -> None:
    """Print the level of every feature that goes with a release version."""
    emit_version_mapping("storage", release_version, kafka_version)
