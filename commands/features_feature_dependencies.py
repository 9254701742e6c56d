"""`kafkactl features feature-dependencies`: what a feature level needs, as Kafka's tool says it."""

from __future__ import annotations

import click

from kafkactl.commands.leaf import leaf_command
from kafkactl.commands.level_facts import emit_feature_dependencies, tool_version_option


@leaf_command(
    "feature-dependencies",
    examples=(
        "kafkactl features feature-dependencies --feature eligible.leader.replicas.version=1",
        "kafkactl features feature-dependencies --feature share.version=1 --feature metadata.version=29",
    ),
    codes=(0, 1, 2),
)
@click.option(
    "--feature",
    "features",
    metavar="NAME=LEVEL",
    multiple=True,
    required=True,
    help="A feature and its level; may be given several times.",
)
@tool_version_option
def command(features: tuple[str, ...], kafka_version: str | None) -> None:
    """Print the levels of other features that a feature level needs. No cluster is asked."""
    emit_feature_dependencies("features", features, kafka_version)
