"""Commands that print a release's feature levels as Kafka's tools do, for `storage` and for `features`.

No cluster is asked; the tables of the releases answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NoReturn

import click

from kafkactl.commands.framework import exit_codes
from kafkactl.commands.framework.leaf import LeafCommand, leaf_command
from kafkactl.commands.rendering.output import emit
from kafkactl.commands.rendering.page import Page

_TOOL_VERSION: Final = click.option(
    "--kafka-version", metavar="V", help="The Kafka whose tool answers, such as 4.2. [default: the newest known]"
)
_CODES: Final = (exit_codes.DONE, exit_codes.FAILED, exit_codes.USAGE)


def version_mapping_command(
    group: str, *, examples: tuple[str, ...], short: tuple[str, ...] = (), metavar: str = "VERSION", note: str = ""
) -> LeafCommand:
    """Return `version-mapping` of a group: `short` are other names of --release-version, `note` ends the help.

    Raises InputError `unknown-kafka-version`, `unknown-release-version` and its kin when it runs.
    """
    text = f"Print the level of every feature that goes with a release version.{note}"

    @leaf_command("version-mapping", examples=examples, codes=_CODES, help=text)
    @click.option(
        *short,
        "--release-version",
        metavar=metavar,
        help="A release (4.2) or a metadata.version (4.2-IV1). [default: the newest of that Kafka]",
    )
    @_TOOL_VERSION
    def command(release_version: str | None, kafka_version: str | None) -> None:
        from kafkactl.features.api.levels import version_mapping

        found = version_mapping(release_version, kafka_version=kafka_version)
        _emit(f"{group}.version-mapping", found.to_dict(), found.lines)

    return command


def feature_dependencies_command(
    group: str, *, examples: tuple[str, ...], short: tuple[str, ...] = (), note: str = ""
) -> LeafCommand:
    """Return `feature-dependencies` of a group: `short` are other names of --feature, `note` ends the help.

    Raises InputError if an argument is not NAME=LEVEL, or not known to that release, when it runs.
    """
    text = f"Print the levels of other features that a feature level needs.{note}"

    @leaf_command("feature-dependencies", examples=examples, codes=_CODES, help=text)
    @click.option(
        *short,
        "--feature",
        "features",
        metavar="NAME=LEVEL",
        multiple=True,
        required=True,
        help="A feature and its level.",
    )
    @_TOOL_VERSION
    def command(features: tuple[str, ...], kafka_version: str | None) -> None:
        from kafkactl.features.api.levels import feature_dependencies

        found = feature_dependencies(features, kafka_version=kafka_version)
        _emit(f"{group}.feature-dependencies", found.to_dict(), found.lines)

    return command


def _emit(kind: str, payload: Mapping[str, Any], lines: Sequence[str]) -> NoReturn:
    def show(page: Page, _answer: Mapping[str, Any]) -> None:
        for line in lines:
            page.line(line)

    emit(kind, payload, render=show, listing="features")
