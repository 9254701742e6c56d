"""`kafkactl status`: whether a cluster is healthy, on one screen."""

from __future__ import annotations

import textwrap
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import click

from kafkactl.commands.framework import exit_codes
from kafkactl.commands.framework.connection import ConnectionArguments, connection_options, open_client, target_of
from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.rendering.output import emit
from kafkactl.commands.rendering.page import Page, Word
from kafkactl.core.wording import first_few

if TYPE_CHECKING:
    from kafkactl.status.api import AreaStatus, ClusterStatus

KIND: Final = "status"
_COLUMNS: Final = 80
_VERDICT_WIDTH: Final = 9
_AREA_WIDTH: Final = 14
_TONES: Final = {"ok": "good", "watch": "warn", "problem": "bad", "unknown": "warn"}
_CODES: Final = {
    "ok": exit_codes.DONE,
    "watch": exit_codes.DONE,
    "problem": exit_codes.PROBLEMS_FOUND,
    "unknown": exit_codes.UNKNOWN,
}


@leaf_command(
    "status",
    examples=(
        "kafkactl status --bootstrap-controller controller-1:9093",
        "kafkactl status --context prod --deep",
        "kafkactl status --context prod -o prometheus",
    ),
    codes=(
        exit_codes.DONE, exit_codes.USAGE, exit_codes.UNREACHABLE, exit_codes.UNKNOWN, exit_codes.PROBLEMS_FOUND,
        exit_codes.INTERRUPTED,
    ),
    has_metrics=True,
)  # fmt: skip
@click.option("--deep", is_flag=True, help="Also compare settings of nodes and predict the next failure, however long.")
@connection_options
def command(*, deep: bool, connection: ConnectionArguments) -> None:
    """Show whether a cluster is healthy: quorum, brokers, partitions, levels, and what the next failure does.

    Each area has a verdict: ok, watch (it works with less safety), problem (something is not available now) or
    unknown (it could not be asked; the reason is shown). An unknown area never makes the whole ok. The exit code is
    0 for ok and watch, 7 for a problem, 6 if the quorum, the brokers or the partitions are unknown.
    """
    from kafkactl.status.api import FoundNodes, cluster_status

    target = target_of(connection)
    found = FoundNodes(by="options" if target.context is None else "context")
    with open_client(connection) as client:
        status = cluster_status(client, deep=deep, found=found, words=_words(connection), context=target.context)
    emit(KIND, status, render=show_status, exit_code=_CODES[status.verdict])


def _words(connection: ConnectionArguments) -> list[str]:
    """Return the connection options as they are typed."""
    given = ((name, value) for name, value in connection._asdict().items() if value is not None)
    return [word for name, value in given for word in (f"--{name.replace('_', '-')}", value)]


def show_status(page: Page, status: ClusterStatus) -> None:
    """Show the status: the verdict first and last, what is bad before what is in order."""
    from kafkactl.status.api.screen import worst_first

    verdict = _verdict_lines(status)
    for line in verdict:
        page.line(line)
    page.line(_facts_line(status))
    page.line()
    for area in worst_first(status.areas):
        for line in _area_lines(area):
            page.line(line)
    page.line()
    for line in verdict:
        page.line(line)


def _verdict_lines(status: ClusterStatus) -> list[Word]:
    """Return the verdict in words; a second line of it begins with the verdict, too."""
    head = f"{status.verdict.value}  "
    lines = textwrap.wrap(status.headline, _COLUMNS - len(head), break_long_words=False)
    return [Word(head + line, _TONES[status.verdict]) for line in lines]


def _facts_line(status: ClusterStatus) -> str:
    releases = first_few(status.kafka_versions, most=3)
    level = next((area.counts.get("metadata_version") for area in status.areas if area.area == "levels"), None)
    files = first_few(status.found.files, most=1)
    parts = (
        status.cluster or status.cluster_id,
        f"Kafka {releases}" if releases else None,
        level,
        f"by {files or status.found.by}",
    )
    clock = time.strftime("%H:%M:%S", time.localtime(status.time_ms / 1000))
    text = " · ".join(str(part) for part in parts if part)
    return f"{text:<{_COLUMNS - len(clock) - 1}} {clock}"


def _area_lines(area: AreaStatus) -> Iterator[Word]:
    """Yield the lines of an area: its facts, and if it is not in order the next command."""
    indent = " " * (_VERDICT_WIDTH + _AREA_WIDTH)
    head = f"{area.verdict.value:<{_VERDICT_WIDTH}}{area.area.replace('-', ' '):<{_AREA_WIDTH}}"
    is_ok = area.verdict.value == "ok"
    tone = "plain" if is_ok else _TONES[area.verdict]
    for line in textwrap.wrap(
        area.text, _COLUMNS, initial_indent=head, subsequent_indent=indent, break_long_words=False
    ):
        yield Word(line, tone)
    if area.verdict.value == "unknown":
        for step in dict.fromkeys(finding.advice for finding in area.findings[:1] if finding.advice):
            for line in textwrap.wrap(step, _COLUMNS, initial_indent=indent, subsequent_indent=indent):
                yield Word(line)
    if not is_ok and area.command is not None:
        yield Word(indent + area.command, "dim")
