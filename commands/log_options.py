"""What the verbs of `kafkactl log` have in common: where the log comes from, and what of it may be shown."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

from kafkactl.commands.connection import ConnectionArguments, open_client

if TYPE_CHECKING:
    from kafkactl.adapters.log_source import LogFile, LogSource

Function = TypeVar("Function", bound=Callable[..., Any])
FROM_CLUSTER = "--from-cluster"


def from_cluster_option(function: Function) -> Function:
    """`--from-cluster`: parameter `from_cluster`; the connection options say which cluster."""
    text = "Fetch the log from the active controller of a live cluster."
    return click.option(FROM_CLUSTER, is_flag=True, help=text)(function)


def show_secrets_option(function: Function) -> Function:
    """`--show-secrets`: parameter `show_secrets`."""
    text = "Show SCRAM keys, tokens and passwords instead of hiding them."
    return click.option("--show-secrets", is_flag=True, help=text)(function)


def check_sources(sources: tuple[str, ...], from_cluster: bool) -> None:
    """Raise UsageError unless there is either a SOURCE or a cluster."""
    if bool(sources) == from_cluster:
        raise click.UsageError(f"Give a SOURCE, or {FROM_CLUSTER}.")


@contextmanager
def log_files(
    sources: tuple[str, ...],
    connection: ConnectionArguments,
    *,
    from_cluster: bool,
    checkpoints: bool,
    from_offset: int | None = None,
    to_offset: int | None = None,
) -> Iterator[Iterator[LogFile]]:
    """The files of the sources in order, or of the live cluster; each is to be read before the next is asked for."""
    from kafkactl.adapters.log_source import SEGMENT, cluster_files

    check_sources(sources, from_cluster)
    if not from_cluster:
        opened = opened_sources(sources)
        yield (file for source in opened for file in source.files(checkpoints=checkpoints))
        return
    with open_client(connection) as client:
        found = cluster_files(client, from_offset=from_offset, up_to=to_offset)
        yield (file for file in found if checkpoints or file.kind == SEGMENT)


def opened_sources(sources: tuple[str, ...]) -> list[LogSource]:
    """What the paths name. Raises InputError for the first that is no metadata log."""
    from kafkactl.adapters.log_source import open_source

    return [open_source(path) for path in dict.fromkeys(sources)]
