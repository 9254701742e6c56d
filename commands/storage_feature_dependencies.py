"""`kafkactl storage feature-dependencies`: what a feature level needs, as Kafka's tool says it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from kafkactl.commands.leaf import leaf_command
from kafkactl.commands.options import kafka_version_option
from kafkactl.commands.output import emit
from kafkactl.commands.page import Page

if TYPE_CHECKING:
    from kafkactl.features.releases import Release


@leaf_command(
    "feature-dependencies",
    examples=(
        "kafkactl storage feature-dependencies -f eligible.leader.replicas.version=1",
        "kafkactl storage feature-dependencies -f share.version=1 -f metadata.version=29 --kafka-version 4.2",
    ),
    codes=(0, 1, 2),
)
@click.option(
    "-f", "--feature", "features", metavar="NAME=LEVEL", multiple=True, required=True,
    help="A feature and its level; may be given several times.",
)
@kafka_version_option
def command(features: tuple[str, ...], kafka_version: str | None) -> None:
    """Print the levels of other features that a feature level needs."""
    from kafkactl.features.releases import find_release, newest_release

    release = find_release(kafka_version) if kafka_version else newest_release()
    answers = [_answer(release, argument) for argument in features]
    emit(
        "storage.feature-dependencies",
        {"kafka_version": release.version_text, "features": answers},
        render=_show,
        listing="features",
    )


def _answer(release: Release, argument: str) -> dict[str, Any]:
    from kafkactl.features.mapping import feature_dependencies, parse_feature_level, render_dependencies

    name, level = parse_feature_level(release, argument)
    needed = feature_dependencies(release, name, level)
    return {
        "name": name,
        "level": level,
        "dependencies": [{"name": other.feature, "level": other.level} for other in needed],
        "lines": render_dependencies(release, name, level, needed),
    }


def _show(page: Page, answer: Mapping[str, Any]) -> None:
    for feature in answer["features"]:
        for line in feature["lines"]:
            page.line(line)
