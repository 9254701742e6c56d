"""Common options of the `kafkactl tiered` commands: sources, filters, and exit codes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from kafkactl.commands.framework import exit_codes
from kafkactl.commands.framework.bundles import bundle_option, stored_as, until_the_end
from kafkactl.commands.framework.connection import ConnectionArguments, open_reading_client, reading_options
from kafkactl.commands.framework.engine_options import ENGINE_OPTIONS, check_master
from kafkactl.commands.framework.log_options import FROM_CLUSTER, Moment
from kafkactl.commands.framework.option_group import option_group
from kafkactl.commands.framework.options import PATH, Choice, Duration
from kafkactl.commands.framework.settings import current_settings
from kafkactl.commands.rendering.output import detail, say
from kafkactl.commands.rendering.progress import shown_progress

if TYPE_CHECKING:
    from kafkactl.core.findings import Finding
    from kafkactl.tiered.api.verbs import Audit, Filters, LiveObservation, Loaded

Function = TypeVar("Function", bound=Callable[..., Any])
CODES = exit_codes.READING
STATES = ("COPY_SEGMENT_STARTED", "COPY_SEGMENT_FINISHED", "DELETE_SEGMENT_STARTED", "DELETE_SEGMENT_FINISHED")
_FAILING = {"blocker": ("blocker",), "warning": ("blocker", "warning"), "info": ("blocker", "warning", "info")}


class Inputs(NamedTuple):
    """Input to read. The bucket's options are only on commands that read objects; the last three on those that may be
    asked of millions of segments, where `engine` is not empty."""

    sources: tuple[str, ...]
    observation: str | None
    bundle: str | None
    metadata: str | None
    metadata_partitions: int | None
    copy_timeout_ms: int
    now_ms: int | None
    connection: ConnectionArguments
    from_cluster: bool = False
    bucket: str | None = None
    layout: str = "auto"
    columns: str | None = None
    engine: str = ""
    master: str | None = None
    details: str | None = None


class Selection(NamedTuple):
    """Selected part of the input."""

    topic: tuple[str, ...] = ()
    partition: tuple[int, ...] = ()
    segment: tuple[str, ...] = ()
    state: tuple[str, ...] = ()


_INPUTS = (
    click.argument("sources", metavar="[SOURCE]...", nargs=-1, type=PATH),
    click.option("--observation", metavar="DIR", type=PATH, help="A saved observation, instead of a cluster."),
    bundle_option,
    click.option(
        "--metadata",
        metavar="LOG",
        type=PATH,
        help="The cluster's metadata log: which topics exist, leaders, replicas, settings, fenced brokers.",
    ),
    click.option(
        "--metadata-partitions",
        type=click.IntRange(min=1),
        metavar="N",
        help="How many metadata partitions brokers are configured with. [default: as observed, or as the topic has]",
    ),
    click.option(
        "--copy-timeout",
        "copy_timeout_ms",
        type=Duration(),
        default="1h",
        show_default=True,
        metavar="TIME",
        help="From this age on a copy that could be running is an orphan.",
    ),
    click.option(
        "--now",
        "now_ms",
        type=Moment(),
        metavar="T",
        help="The time by which ages are judged. [default: that of the observation, else of the newest record]",
    ),
)
_FROM_CLUSTER = click.option(
    FROM_CLUSTER, is_flag=True, help="Read the metadata topic, offsets, epochs and settings of a live cluster."
)
_BUCKET = (
    click.option(
        "--bucket",
        metavar="LISTING",
        help="The objects of the store: a listing, an S3 Inventory's manifest.json, a folder, a URL, or - for stdin.",
    ),
    click.option(
        "--layout",
        default="auto",
        show_default=True,
        metavar="LAYOUT",
        help="How keys name segments: auto, local, aiven, or a pattern with {segment_id}.",
    ),
    click.option("--columns", metavar="NAMES", help="The columns of a CSV listing without a header: bucket,key,size,…"),
)
_AT_SCALE = (
    *ENGINE_OPTIONS,
    click.option(
        "--details",
        metavar="DIR",
        type=PATH,
        help="Write segments, partitions, findings and objects as Parquet tables.",
    ),
)
_PARTITIONS = (
    click.option("--topic", multiple=True, metavar="T", help="Only this topic, by name or id."),
    click.option("--partition", multiple=True, type=click.IntRange(min=0), metavar="P", help="Only this partition."),
)
_SEGMENTS = (
    click.option("--segment", multiple=True, metavar="ID", help="Only this segment."),
    click.option(
        "--state", multiple=True, type=Choice(STATES), metavar="STATE", help=f"Only this state: {', '.join(STATES)}."
    ),
)
_WHERE = (reading_options, _INPUTS[0], _FROM_CLUSTER, *_INPUTS[1:])

input_options = option_group("inputs", Inputs, *_WHERE)
saved_input_options = option_group("inputs", Inputs, *_WHERE, *_BUCKET)
segment_input_options = option_group("inputs", Inputs, *_WHERE, *_AT_SCALE)
bucket_input_options = option_group("inputs", Inputs, *_WHERE, *_BUCKET, *_AT_SCALE)
partition_options = option_group("wanted", Selection, *_PARTITIONS)
segment_options = option_group("wanted", Selection, *_PARTITIONS, *_SEGMENTS)


def fail_on_option(function: Function) -> Function:
    """Add `--fail-on SEVERITY`: parameter `fail_on`."""
    option = click.option(
        "--fail-on",
        type=Choice(tuple(_FAILING)),
        default="blocker",
        show_default=True,
        help="The least severity of a finding that makes the exit code 7.",
    )
    return option(function)


def html_option(function: Function) -> Function:
    """Add `--html FILE`: parameter `html`."""
    option = click.option(
        "--html",
        metavar="FILE",
        type=PATH,
        help="Also write audit and forecast as one HTML page with pictures; an earlier report is replaced.",
    )
    return option(function)


def loaded(inputs: Inputs, *, keep_deleted: bool = False) -> Loaded:
    """Load the sources of the options. Raise UsageError if they name none."""
    from kafkactl.bundle.api.reading import unpacked_tiered
    from kafkactl.core.frozen import changed
    from kafkactl.tiered.api.details import check_details
    from kafkactl.tiered.api.verbs import Request, load

    if not (inputs.sources or inputs.observation is not None or inputs.from_cluster or inputs.bundle is not None):
        raise click.UsageError(f"Give a SOURCE, --observation, {FROM_CLUSTER}, or --bundle.")
    if [inputs.observation is not None, inputs.from_cluster, inputs.bundle is not None].count(True) > 1:
        raise click.UsageError(f"Give --observation, {FROM_CLUSTER} or --bundle, not several of them.")
    check_master(inputs.engine, inputs.master)
    check_details(inputs.details)
    request = Request(
        sources=inputs.sources,
        observation=inputs.observation if inputs.bundle is None else until_the_end(unpacked_tiered(inputs.bundle)),
        metadata=inputs.metadata,
        bucket=inputs.bucket,
        columns=tuple(name.strip() for name in inputs.columns.split(",")) if inputs.columns else (),
        layout=inputs.layout,
        metadata_partitions=inputs.metadata_partitions,
        copy_timeout_ms=inputs.copy_timeout_ms,
        now_ms=inputs.now_ms,
        live=observed(inputs.connection) if inputs.from_cluster else None,
        engine=inputs.engine or "local",
        master=inputs.master,
        context_master=_context_master(inputs),
        application=f"kafkactl {current_settings().command}",
    )
    with shown_progress("Reading the metadata topic"):
        found = load(request, keep_deleted=keep_deleted)
    if inputs.bundle is not None:
        found = changed(found, paths=(*inputs.sources, inputs.bundle))
    if inputs.engine:
        detail(found.engine.why)
    return found


def stored_audit(inputs: Inputs) -> tuple[Audit, Mapping[str, Any]] | None:
    """Return the audit of a bundle without its sources, as a value and as saved; else None.

    None if the bundle does, or none is named. Raises as `stored_as`.
    """
    if inputs.bundle is None or inputs.sources or inputs.observation is not None or inputs.from_cluster:
        return None
    from kafkactl.bundle.api.reading import has_tiered_records
    from kafkactl.core.answers import read_fields
    from kafkactl.tiered.api.verbs import Audit

    if has_tiered_records(inputs.bundle):
        return None
    audit, answer, _ = stored_as(partial(read_fields, Audit), inputs.bundle, "tiered.audit")
    return audit, answer


def says_empty(findings: Iterable[Finding]) -> bool:
    """Return True if there was no record to judge when an audit was made."""
    from kafkactl.tiered.api.verbs import EMPTY

    return any(finding.id == EMPTY for finding in findings)


def _context_master(inputs: Inputs) -> str | None:
    """Return the Spark master of the context that is named, else of the current one if the engine is not."""
    from kafkactl.dryrun.api.engines import context_master

    if inputs.engine in ("", "local") or inputs.master is not None:
        return None
    return context_master(inputs.connection.context)


def written_details(inputs: Inputs, everything: Loaded, filters: Filters) -> str | None:
    """Write the tables of --details and say where they are; the folder, None if none was named."""
    if inputs.details is None:
        return None
    from kafkactl.tiered.api.details import write_details

    folder = write_details(inputs.details, everything, filters)
    say(f"The tables are in {folder}.")
    return folder


def observed(connection: ConnectionArguments) -> LiveObservation:
    """Observe the live cluster of the connection."""
    from kafkactl.tiered.api.verbs import observe

    with open_reading_client(connection) as client:
        return observe(client)


def filters_of(wanted: Selection) -> Filters:
    """Return the filters as the library takes them."""
    from kafkactl.tiered.api.verbs import Filters

    return Filters(topics=wanted.topic, partitions=wanted.partition, segments=wanted.segment, states=wanted.state)


def code_of(findings: Iterable[Finding], *, fail_on: str = "blocker", is_empty: bool = False) -> int:
    """Return 7 if a finding weighs enough, 6 if there was nothing to judge."""
    severities = {finding.severity.value for finding in findings}
    if severities & set(_FAILING[fail_on]) and not (is_empty and "blocker" not in severities):
        return exit_codes.PROBLEMS_FOUND
    return exit_codes.UNKNOWN if is_empty else exit_codes.DONE
