"""Where a log is replayed: the options that the dry run and the audit of tiered storage share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from kafkactl.commands.framework.options import Choice

ENGINE_OPTIONS: tuple[Callable[[Any], Any], ...] = (
    click.option(
        "--engine",
        type=Choice(("auto", "local", "spark")),
        default="auto",
        show_default=True,
        help="Where the log is replayed.",
    ),
    click.option("--master", metavar="URL", help="The Spark master; implies the Spark engine."),
)


def check_master(engine: str, master: str | None) -> None:
    """Raises UsageError where a master is named for an engine that has none."""
    if engine == "local" and master is not None:
        raise click.UsageError("--master names a Spark master, and --engine local needs none.")
