"""`kafkactl features feature-dependencies`: what a feature level needs, as Kafka's tool says it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from kafkactl.commands.features_options import tool_version_option
from kafkactl.commands.leaf import leaf_command
from kafkactl.commands.output import emit
from kafkactl.commands.page import Page


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
    from kafkactl.features.mapping import feature_dependencies, parse_feature_level, render_dependencies
    from kafkactl.features.releases import find_release, newest_release

    release = find_release(kafka_version) if kafka_version else newest_release()
    asked = [parse_feature_level(release, argument) for argument in features]
    needs = [feature_dependencies(release, name, level) for name, level in asked]
    answers = [
        {"name": name, "level": level, "dependencies": [{"name": one.feature, "level": one.level} for one in needed]}
        for (name, level), needed in zip(asked, needs, strict=True)
    ]

    def show(page: Page, _answer: Mapping[str, Any]) -> None:
        for (name, level), needed in zip(asked, needs, strict=True):
            for line in render_dependencies(name, level, needed):
                page.line(line)

    payload = {"kafka_version": release.version_text, "features": answers}
    emit("features.feature-dependencies", payload, render=show, listing="features")
