"""The options that all scenarios of `kafkactl dryrun` have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import click

from kafkactl.commands.framework import exit_codes
from kafkactl.commands.framework.bundles import BUNDLE, bundle_option
from kafkactl.commands.framework.connection import ConnectionArguments, reading_options
from kafkactl.commands.framework.engine_options import ENGINE_OPTIONS
from kafkactl.commands.framework.log_options import FROM_CLUSTER, from_cluster_option, past_damage_option
from kafkactl.commands.framework.option_group import option_group
from kafkactl.commands.framework.options import PATH, PLACE

Function = TypeVar("Function", bound=Callable[..., Any])
CODES = (
    exit_codes.DONE,
    exit_codes.FAILED,
    exit_codes.USAGE,
    exit_codes.REFUSED,
    exit_codes.UNREACHABLE,
    exit_codes.PARTLY_DONE,
    exit_codes.UNKNOWN,
    exit_codes.PROBLEMS_FOUND,
)


class NodeIds(click.ParamType[list[int]]):
    """Node ids with commas between them."""

    name = "ids"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> list[int]:
        """Return the ids in their order; anything else is a usage error."""
        if isinstance(value, list):
            return value
        parts = [part.strip() for part in str(value).split(",")]
        if not all(part.isascii() and part.isdigit() for part in parts):
            self.fail(f"{value!r} is not a list of node ids: write 1,2,3.", param, ctx)
        return [int(part) for part in parts]


class Common(NamedTuple):
    """The options that every scenario takes."""

    sources: tuple[str, ...]
    connection: ConnectionArguments
    engine: str
    master: str | None
    config: str | None
    kafka_version: str | None
    same_cluster: bool
    cluster_of: str | None
    after: tuple[str, ...]
    records: bool
    details: str | None
    html: str | None
    from_cluster: bool = False
    past_damage: bool = False
    bundle: str | None = None

    @property
    def context(self) -> str | None:
        """Return the context that was named; it may name a Spark master, too."""
        return self.connection.context


_OPTIONS: tuple[Callable[[Any], Any], ...] = (
    *ENGINE_OPTIONS,
    click.option(
        "--config",
        metavar="FILE",
        type=PATH,
        help="A controller's properties file, for static settings that are not in the log.",
    ),
    click.option(
        "--kafka-version",
        metavar="V",
        help="The release that the controllers run. [default: what they registered in the log]",
    ),
    click.option(
        "--same-cluster", is_flag=True, help="Treat the sources as replicas of one log, whatever their cluster ids."
    ),
    click.option(
        "--cluster-of",
        metavar="PATTERN",
        help="A regular expression that names the cluster of each path, by its first group if it has one.",
    ),
    click.option(
        "--after",
        metavar="FILE",
        multiple=True,
        type=PATH,
        help="Simulate this first: an earlier answer (-o json), or a TOML file of scenarios. Several: in order.",
    ),
    click.option("--records", is_flag=True, help="List the records that would be appended, as log dump writes them."),
    click.option(
        "--details",
        metavar="DIR",
        type=PLACE,
        help="Write all partitions that change and all records as Parquet tables; of replay the whole state.",
    ),
    click.option("--html", metavar="FILE", type=PATH, help="Also write an HTML report."),
)


_CONTEXT = click.option(
    "--context",
    metavar="NAME",
    envvar="KAFKACTL_CONTEXT",
    help="A context of `kafkactl config` that may name a Spark master, instead of the current one.",
)


def _source_argument() -> Callable[[Any], Any]:
    return click.argument("sources", metavar="[SOURCE]...", nargs=-1, type=PLACE)


def _common(**given: Any) -> Common:
    common = Common(**given)
    if not (common.sources or common.from_cluster or common.bundle):
        raise click.UsageError(f"Give a SOURCE, {FROM_CLUSTER}, or {BUNDLE}.")
    return common


def scenario_options(function: Function) -> Function:
    """Add the sources and the common options of every scenario; the parameter `common` gets them as `Common`."""
    where = reading_options, _source_argument(), from_cluster_option, bundle_option, past_damage_option
    return option_group("common", Common, *where, *_OPTIONS, make=_common)(function)


def saved_options(function: Function) -> Function:
    """Add the options of a scenario without a metadata log as source: a SOURCE or a bundle has to be named."""
    where = option_group("connection", ConnectionArguments, _CONTEXT), _source_argument(), bundle_option
    return option_group("common", Common, *where, *_OPTIONS, make=_common)(function)
