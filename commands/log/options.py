"""What the verbs of `kafkactl log` have in common: where the log comes from, and what of it may be shown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

import click

from kafkactl.commands.framework import exit_codes
from kafkactl.commands.framework.connection import ConnectionArguments, open_client

if TYPE_CHECKING:
    from kafkactl.adapters.logs.image import LoadedImage, Point
    from kafkactl.adapters.logs.source import LogFile, LogSource
    from kafkactl.findings import Finding

Function = TypeVar("Function", bound=Callable[..., Any])
FROM_CLUSTER = "--from-cluster"


def from_cluster_option(function: Function) -> Function:
    """`--from-cluster`: parameter `from_cluster`; the connection options say which cluster."""
    text = "Fetch the log from the active controller of a live cluster."
    return click.option(FROM_CLUSTER, is_flag=True, help=text)(function)


class Moment(click.ParamType[int]):
    """A time: ISO 8601 (without a zone: UTC), or milliseconds since the epoch. The value is in milliseconds."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Milliseconds; anything else is a usage error."""
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
    """`--at OFFSET` and `--at-time T`: parameters `at` and `at_time`."""
    at = click.option("--at", type=click.IntRange(min=0), metavar="OFFSET", help="The state after this record.")
    at_time = click.option("--at-time", type=Moment(), metavar="T", help="The state at this time (ISO 8601, UTC).")
    return at(at_time(function))


def past_damage_option(function: Function) -> Function:
    """`--past-damage`: parameter `past_damage`."""
    text = "Go on after damage, at which a node of Kafka ends the log: a state that no node has."
    return click.option("--past-damage", is_flag=True, help=text)(function)


def point_of(at: int | None, at_time: int | None) -> Point:
    """The point that the options name. Raises UsageError for both."""
    from kafkactl.adapters.logs.image import Point

    if at is not None and at_time is not None:
        raise click.UsageError("Give --at or --at-time, not both.")
    return Point(offset=at, timestamp_ms=at_time)


def loaded_image(
    sources: tuple[str, ...],
    connection: ConnectionArguments,
    *,
    from_cluster: bool,
    point: Point,
    whole: bool = False,
    past_damage: bool = False,
) -> LoadedImage:
    """The image that the sources, or the live cluster, come to at a point.

    `whole`, `past_damage`: see `log_image.load_image`.
    """
    from kafkactl.adapters.logs.image import joined, load_image, replay_files
    from kafkactl.findings import blockers
    from kafkactl.frozen import changed
    from kafkactl.metadata.dump.findings import empty_log, has_records

    check_sources(sources, from_cluster)
    name = "the log of the cluster"
    if from_cluster:
        with log_files((), connection, from_cluster=True, checkpoints=True, to_offset=point.offset) as files:
            loaded = replay_files(files, point, name=name, past_damage=past_damage)
    else:
        source = joined(opened_sources(sources))
        name, loaded = source.name, load_image(source, point, whole=whole, past_damage=past_damage)
    if not point.is_end or has_records(loaded.counts) or blockers(loaded.findings):
        return loaded
    return changed(loaded, findings=(*loaded.findings, empty_log(name)))


def code_of(findings: Iterable[Finding]) -> int:
    """The exit code of an answer about a log: what is wrong with it, or that nothing was in it."""
    from kafkactl.findings import Severity
    from kafkactl.metadata.dump.findings import EMPTY_LOG

    told = [(one.severity, one.id) for one in findings]
    if any(severity is Severity.BLOCKER for severity, _ in told):
        return exit_codes.PROBLEMS_FOUND
    return exit_codes.UNKNOWN if any(id == EMPTY_LOG for _, id in told) else exit_codes.DONE


def provenance(loaded: LoadedImage) -> dict[str, Any]:
    """Where an image is from, as every answer says it."""
    place = loaded.position
    return {
        "files": list(loaded.files),
        "snapshot": loaded.snapshot,
        "offset": None if place is None else place.offset,
        "epoch": None if place is None else place.epoch,
        "timestamp_ms": None if place is None else place.timestamp_ms,
    }


def show_secrets_option(function: Function) -> Function:
    """`--show-secrets`: parameter `show_secrets`."""
    text = "Show SCRAM keys, tokens, passwords and configurations that Kafka does not define instead of hiding them."
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
    whole: bool = False,
) -> Iterator[Iterator[LogFile]]:
    """The files of the sources in order, or of the live cluster; each is to be read before the next is asked for.

    `whole`: of a cluster all that its log still has, and not only what stands behind the newest snapshot.
    """
    from kafkactl.adapters.logs.source import SEGMENT, cluster_files

    check_sources(sources, from_cluster)
    if not from_cluster:
        opened = opened_sources(sources)
        yield (file for source in opened for file in _needed(source, checkpoints, from_offset or 0))
        return
    with open_client(connection) as client:
        found = cluster_files(client, from_offset=from_offset, up_to=to_offset, whole=whole)
        yield (file for file in found if checkpoints or file.kind == SEGMENT)


def _needed(source: LogSource, checkpoints: bool, from_offset: int) -> Iterator[LogFile]:
    """The files of a source without the segments that end before an offset."""
    from kafkactl.adapters.logs.source import SEGMENT, segments_from

    needed = {file.name for file in segments_from(source.segments, from_offset)}
    for file in source.files(checkpoints=checkpoints):
        if file.kind != SEGMENT or file.name in needed:
            yield file


def opened_sources(sources: tuple[str, ...]) -> list[LogSource]:
    """What the paths name. Raises InputError for the first that is no metadata log."""
    from kafkactl.adapters.logs.source import open_source

    return [open_source(path) for path in dict.fromkeys(sources)]
