"""`kafkactl storage feature-dependencies`: what a feature level needs, as Kafka's tool says it."""

from __future__ import annotations

import click

from kafkactl.commands.leaf import leaf_command
from kafkactl.commands.level_facts import emit_feature_dependencies, tool_version_option


@leaf_command(
    "feature-dependencies",
    examples=(
        "kafkactl storage feature-dependencies -f eligible.leader.replicas.version=1",
        "kafkactl storage feature-dependencies -f share.version=1 -f metadata.version=29 --kafka-version 4.2",
    ),
    codes=(0, 1, 2),
)
@click.option(
    "-f",
    "--feature",
    "features",
    metavar="NAME=LEVEL",
    multiple=True,
    required=True,
    help="A feature and its level; may be given several times.",
)
@tool_version_option
def command(features: tuple[str, ...], kafka_version: str | None) -> None:
    """Print the levels of other features that a feature level needs."""
    emit_feature_dependencies("storage", features, kafka_version)
