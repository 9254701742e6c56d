"""Options for the engine of commands that may take long: in process, or on Spark."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import click

from kafkactl.commands.framework.options import Choice

ENGINE_OPTIONS: tuple[Callable[[Any], Any], ...] = (
    click.option(
        "--engine",
        type=Choice(("auto", "local", "spark")),
        default="auto",
        show_default=True,
        help="Where the work is done.",
    ),
    click.option("--master", metavar="URL", help="The Spark master; implies the Spark engine."),
)


class EngineArguments(NamedTuple):
    """The options that choose the engine."""

    engine: str
    master: str | None


def check_master(engine: str, master: str | None) -> None:
    """Raise UsageError if a master is named for an engine that has none."""
    if engine == "local" and master is not None:
        raise click.UsageError("--master names a Spark master, and --engine local needs none.")
