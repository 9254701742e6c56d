"""The options by which levels are named: those of kafka-features.sh."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from kafkactl.commands.framework import completing, completing_live, exit_codes

CHANGE_CODES = (
    exit_codes.DONE, exit_codes.FAILED, exit_codes.USAGE, exit_codes.REFUSED, exit_codes.UNREACHABLE,
    exit_codes.PARTLY_DONE, exit_codes.UNKNOWN, exit_codes.INTERRUPTED,
)  # fmt: skip
Function = TypeVar("Function", bound=Callable[..., Any])


def min_insync_option(function: Function) -> Function:
    """Add `--accept-min-insync-replicas`: parameter `accepted_min_insync`."""
    return click.option(
        "--accept-min-insync-replicas", "accepted_min_insync", type=click.IntRange(min=1), metavar="VALUE",
        help="Enable eligible leader replicas although that sets min.insync.replicas to VALUE.",
    )(function)  # fmt: skip


def level_options(function: Function) -> Function:
    """Add `--metadata`, `--feature`, `--release-version`: parameters `metadata`, `features`, `release_version`."""
    options = (
        click.option(
            "--metadata", metavar="VERSION", shell_complete=completing.releases,
            help="Level of metadata.version: a release (4.3) or its name.",
        ),
        click.option(
            "--feature", "features", multiple=True, metavar="NAME=LEVEL", shell_complete=completing_live.feature_levels,
            help="A feature and its level.",
        ),
        click.option(
            "--release-version", metavar="VERSION", shell_complete=completing.releases,
            help="The levels of a release, except kraft.version.",
        ),
    )  # fmt: skip
    for option in reversed(options):
        function = option(function)
    return function
