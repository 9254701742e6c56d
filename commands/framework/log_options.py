"""Common options of the `kafkactl log` commands: source of the log, point in the log, and display of secrets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

import click

from kafkactl.commands.framework import exit_codes
from kafkactl.commands.framework.bundles import BUNDLE
from kafkactl.commands.framework.connection import ConnectionArguments, open_reading_client
from kafkactl.commands.framework.log_memory import read_by_columns

if TYPE_CHECKING:
    from kafkactl.core.findings import Finding
    from kafkactl.metadata.api.places import LogPlace

Function = TypeVar("Function", bound=Callable[..., Any])
FROM_CLUSTER = "--from-cluster"


def from_cluster_option(function: Function) -> Function:
    """Add `--from-cluster`: parameter `from_cluster`; the connection options say which cluster."""
    text = "Fetch the log from the active controller of a live cluster."
    return click.option(FROM_CLUSTER, is_flag=True, help=text)(function)


class Moment(click.ParamType[int]):
    """A time: ISO 8601 (without a zone: UTC), or milliseconds since the epoch. The value is in milliseconds."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return milliseconds; anything else is a usage error."""
        if isinstance(value, int):
            return value
        if value.isdecimal():
            return int(value)
        try:
            found = datetime.fromisoformat(value)
        except ValueError:
            self.fail(f"{value!r} is not a time: write 2026-11-21T07:00:00Z, or milliseconds.", param, ctx)
        return int((found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp() * 1000)


def point_options(function: Function) -> Function:
    """Add `--at OFFSET` and `--at-time T`: parameters `at` and `at_time`."""
    at = click.option("--at", type=click.IntRange(min=0), metavar="OFFSET", help="The state after this record.")
    at_time = click.option("--at-time", type=Moment(), metavar="T", help="The state at this time (ISO 8601, UTC).")
    return at(at_time(function))


def past_damage_option(function: Function) -> Function:
    """Add `--past-damage`: parameter `past_damage`."""
    text = "Continue after damage, where a Kafka node would end the log: a state that no node has."
    return click.option("--past-damage", is_flag=True, help=text)(function)


def check_point(at: int | None, at_time: int | None) -> None:
    """Raise UsageError for both points."""
    if at is not None and at_time is not None:
        raise click.UsageError("Give --at or --at-time, not both.")


def code_of(findings: Iterable[Finding]) -> int:
    """Return the exit code of an answer about a log: what is wrong with it, or that nothing was in it."""
    from kafkactl.core.findings import blockers
    from kafkactl.metadata.api.places import says_empty

    found = list(findings)
    if blockers(found):
        return exit_codes.PROBLEMS_FOUND
    return exit_codes.UNKNOWN if says_empty(found) else exit_codes.DONE


def stored_without_log(path: str, kind: str) -> dict[str, Any] | None:
    """Return the stored answer about a log that the bundle does not contain; None if it contains the log."""
    from kafkactl.bundle.api.reading import open_bundle, stored_log_answer
    from kafkactl.commands.framework.bundles import checked

    with open_bundle(path) as bundle:
        return None if bundle.manifest.logs else checked(bundle, stored_log_answer(bundle, kind), kind)


def show_secrets_option(function: Function) -> Function:
    """Add `--show-secrets`: parameter `show_secrets`."""
    text = "Show SCRAM keys, tokens, passwords and configurations that Kafka does not define instead of hiding them."
    return click.option("--show-secrets", is_flag=True, help=text)(function)


def check_sources(sources: tuple[str, ...], from_cluster: bool, bundle: str | None = None) -> None:
    """Raise UsageError unless there is either a SOURCE, a cluster or a bundle."""
    if [bool(sources), from_cluster, bundle is not None].count(True) != 1:
        raise click.UsageError(f"Give a SOURCE, {FROM_CLUSTER}, or {BUNDLE}.")


@contextmanager
def log_place(
    sources: tuple[str, ...], connection: ConnectionArguments, *, from_cluster: bool, bundle: str | None = None
) -> Iterator[LogPlace]:
    """Yield the log of the sources, the live cluster or a bundle. Raise UsageError unless exactly one is given."""
    check_sources(sources, from_cluster, bundle)
    read_by_columns()
    if bundle is not None:
        from kafkactl.bundle.api.reading import bundle_log, open_bundle

        with open_bundle(bundle) as opened:
            yield bundle_log(opened)
        return
    if not from_cluster:
        yield sources
        return
    with open_reading_client(connection) as client:
        yield client
