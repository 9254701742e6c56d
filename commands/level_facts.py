"""What a release says of feature levels, as Kafka's tools print it: the same for `storage` and for `features`.

No cluster is asked; the tables of the releases answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn, TypeVar

import click

from kafkactl.commands.output import emit
from kafkactl.commands.page import Page

Function = TypeVar("Function", bound=Callable[..., Any])


def tool_version_option(function: Function) -> Function:
    """`--kafka-version V`: whose tool is asked; parameter `kafka_version` (None: the newest)."""
    option = click.option(
        "--kafka-version", metavar="V", help="The Kafka whose tool answers, such as 4.2. [default: the newest known]"
    )
    return option(function)


def emit_version_mapping(group: str, release_version: str | None, kafka_version: str | None) -> NoReturn:
    """Print the level of every feature that goes with a release version (None: the newest); ends the command.

    Raises InputError `unknown-kafka-version`, `unknown-release-version` and its kin.
    """
    from kafkactl.features.mapping import version_mapping
    from kafkactl.features.releases import find_release, newest_release

    release = find_release(kafka_version) if kafka_version else newest_release()
    levels = version_mapping(release, release_version)
    payload = {
        "kafka_version": release.version_text,
        "release_version": levels[0].note,
        "features": [{"name": level.feature, "level": level.level} for level in levels],
    }
    _emit(f"{group}.version-mapping", payload, [str(level) for level in levels])


def emit_feature_dependencies(group: str, features: Sequence[str], kafka_version: str | None) -> NoReturn:
    """Print what feature levels, given as NAME=LEVEL, need of other features; ends the command.

    Raises InputError where one is not NAME=LEVEL, or not known to that release.
    """
    from kafkactl.features.mapping import feature_dependencies, parse_feature_level, render_dependencies
    from kafkactl.features.releases import find_release, newest_release

    release = find_release(kafka_version) if kafka_version else newest_release()
    answers, lines = [], []
    for name, level in (parse_feature_level(release, argument) for argument in features):
        needed = feature_dependencies(release, name, level)
        needs = [{"name": one.feature, "level": one.level} for one in needed]
        answers.append({"name": name, "level": level, "dependencies": needs})
        lines += render_dependencies(name, level, needed)
    payload = {"kafka_version": release.version_text, "features": answers}
    _emit(f"{group}.feature-dependencies", payload, lines)


def _emit(kind: str, payload: Mapping[str, Any], lines: Sequence[str]) -> NoReturn:
    def show(page: Page, _answer: Mapping[str, Any]) -> None:
        for line in lines:
            page.line(line)

    emit(kind, payload, render=show, listing="features")
