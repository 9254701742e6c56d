"""`kafkactl features version-mapping`: which feature levels belong to a release version, as Kafka's tool says it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from kafkactl.commands.features_options import tool_version_option
from kafkactl.commands.leaf import leaf_command
from kafkactl.commands.output import emit
from kafkactl.commands.page import Page


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
    from kafkactl.features.mapping import version_mapping
    from kafkactl.features.releases import find_release, newest_release

    release = find_release(kafka_version) if kafka_version else newest_release()
    levels = version_mapping(release, release_version)
    payload = {
        "kafka_version": release.version_text,
        "release_version": levels[0].note,
        "features": [{"name": level.feature, "level": level.level} for level in levels],
    }

    def show(page: Page, _answer: Mapping[str, Any]) -> None:
        for level in levels:
            page.line(str(level))

    emit("features.version-mapping", payload, render=show, listing="features")
