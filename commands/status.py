"""`kafkactl status`: whether a cluster is healthy, on one screen."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final, NoReturn

import click

from kafkactl.commands.framework import exit_codes
from kafkactl.commands.framework.connection import (
    ConnectionArguments,
    connection_options,
    find_cluster,
    node_config_option,
    open_client,
    target_of,
)
from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.framework.shell_lines import shell_lines
from kafkactl.commands.rendering.change_log import ChangeLog, clock
from kafkactl.commands.rendering.output import emit
from kafkactl.commands.rendering.page import Page, Word
from kafkactl.core.wording import first_few

if TYPE_CHECKING:
    from kafkactl.status.api import AreaStatus, ClusterStatus
    from kafkactl.storage.api.discovery import FoundCluster

KIND: Final = "status"
_COLUMNS: Final = 80
_LEAST_COLUMNS: Final = 40
_MOST_COLUMNS: Final = 120
_WIDE_COLUMNS: Final = 70  # from which on there is room for the facts next to the name of an area
_PERIOD_S: Final = 2
_VERDICT_WIDTH: Final = 9
_AREA_WIDTH: Final = 14
_LINES_BETWEEN: Final = 4  # the period, two empty lines, and the one on which the cursor is
_TOOL: Final = "kafka-acls.sh "
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
        "kafkactl status",
        "kafkactl status --bootstrap-controller controller-1:9093 --watch",
        "kafkactl status -c /etc/kafka/server.properties --deep",
        "kafkactl status --context prod -o prometheus",
    ),
    codes=(
        exit_codes.DONE, exit_codes.USAGE, exit_codes.UNREACHABLE, exit_codes.UNKNOWN, exit_codes.PROBLEMS_FOUND,
        exit_codes.INTERRUPTED,
    ),
    has_metrics=True,
)  # fmt: skip
@node_config_option("--config")
@click.option(
    "--watch", "watch_s", type=click.FloatRange(0.1, 3_600), is_flag=False, flag_value=_PERIOD_S, metavar="[SECONDS]",
    help=f"Update continuously, until Ctrl-C or --timeout; every {_PERIOD_S} s if no number is given.",
)  # fmt: skip
@click.option("--deep", is_flag=True, help="Also compare settings of nodes and predict the next failure, however long.")
@connection_options
def command(*, watch_s: float | None, deep: bool, connection: ConnectionArguments) -> None:
    """Show whether a cluster is healthy: quorum, brokers, partitions, levels, this host, and the next failure.

    On the host of a node no option is needed: the configuration of the node names the cluster. Each area has a
    verdict: ok, watch (it works with less safety), problem (something is not available now) or unknown (it could not
    be asked; the reason is shown). An unknown area never makes the whole ok. The exit code is 0 for ok and watch, 7
    for a problem, 6 if the quorum, the brokers or the partitions are unknown.
    """
    from kafkactl.status.api import FoundNodes, StatusWatch, cluster_status

    cluster = find_cluster(connection)
    context = None if cluster.is_by_files else target_of(connection).context
    files = tuple(file.path for file in cluster.files)
    about: dict[str, Any] = {
        "found": FoundNodes(by=cluster.by, files=files), "words": next_words(connection, cluster), "context": context,
    }  # fmt: skip
    with open_client(connection, found=cluster) as client:
        if watch_s is not None:
            with StatusWatch(client, files=files, deep=deep) as watch:
                _watch(lambda: watch.status(**about), watch_s)
        status = cluster_status(client, files=files, deep=deep, **about)
    emit(KIND, status, render=show_status, exit_code=_CODES[status.verdict])


def _watch(observe: Callable[[], ClusterStatus], period_s: float) -> NoReturn:
    """Show the status again and again, with what changed since the first one."""
    from kafkactl.commands.rendering.watch import watch
    from kafkactl.status.api.screen import status_changes

    changes: ChangeLog[ClusterStatus] = ChangeLog(status_changes)
    period_ms = round(period_s * 1000)

    def next_status() -> tuple[ClusterStatus, int]:
        status = observe()
        return status, _CODES[status.verdict]

    def render(page: Page, status: ClusterStatus) -> None:
        show_status(page, status, changes=changes, period_ms=period_ms)

    watch(KIND, changes.observing(next_status), render=render, interval_ms=period_ms)


def next_words(connection: ConnectionArguments, cluster: FoundCluster) -> list[str]:
    """Return the connection options for the next commands; none for a node of this host, which they find, too.

    Files are named only if the cluster was found by them: addresses and contexts lead there without.
    """
    return connection.words() if cluster.by == "config" else connection.words(with_files=False)


def show_status(
    page: Page,
    status: ClusterStatus,
    *,
    changes: ChangeLog[ClusterStatus] | None = None,
    period_ms: float = 0,
) -> None:
    """Show the status: the verdict first and last, what is bad before what is in order.

    With `changes` the page is one of many, a period apart, with the changes since the first. If such a page does not
    fit the terminal, it has no commands, and the last changes alone.
    """
    from kafkactl.status.api.screen import worst_first

    width = _width()
    verdict = _verdict_lines(status, width)
    facts = list(_facts_lines(status, width))
    areas = [line for area in worst_first(status.areas) for line in _area_lines(area, width)]
    room = None
    if changes is not None and sys.stdout.isatty():  # where what does not fit would be lost
        room = shutil.get_terminal_size().lines - 2 * len(verdict) - len(facts) - _LINES_BETWEEN
        if len(areas) + len(changes.lines()) > room:
            areas = [line for area in worst_first(status.areas) for line in _area_lines(area, width, has_command=False)]
        room -= len(areas)
    for line in verdict:
        page.line(line)
    for fact in facts:
        page.line(fact)
    if changes is not None:
        changes.show_period(page, period_ms)
    page.line()
    for line in areas:
        page.line(line)
    if changes is not None:
        changes.show_changes(page, is_apart=True, most=room)
    page.line()
    for line in verdict:
        page.line(line)


def _width() -> int:
    """Return the width of the page in columns: that of the terminal, 80 for a file."""
    if not sys.stdout.isatty():
        return _COLUMNS
    return min(max(shutil.get_terminal_size().columns, _LEAST_COLUMNS), _MOST_COLUMNS)


def _verdict_lines(status: ClusterStatus, width: int) -> list[Word]:
    """Return the verdict in words; a second line of it begins with the verdict, too."""
    head = f"{status.verdict.value}  "
    lines = textwrap.wrap(status.headline, width - len(head), break_long_words=False)
    return [Word(head + line, _TONES[status.verdict]) for line in lines]


def _facts_lines(status: ClusterStatus, width: int) -> Iterator[str]:
    """Yield the observed facts and their source, with the time at the right edge of the last line."""
    releases = first_few(status.kafka_versions, most=3)
    level = next((area.counts.get("metadata_version") for area in status.areas if area.area == "levels"), None)
    files = first_few(status.found.files, most=1)
    parts = (
        status.cluster or status.cluster_id,
        f"Kafka {releases}" if releases else None,
        level,
        f"by {files or status.found.by}",
    )
    time_of_day = clock(status.time_ms)
    text = " · ".join(str(part) for part in parts if part)
    *lines, last = textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)
    yield from lines
    room = width - len(time_of_day) - 1
    if len(last) > room:
        yield last
        last = ""
    yield f"{last:<{room}} {time_of_day}"


def _area_lines(area: AreaStatus, width: int, *, has_command: bool = True) -> Iterator[Word]:
    """Yield the lines of an area: its facts, and if it is not in order the next command."""
    is_wide = width >= _WIDE_COLUMNS
    indent = " " * (_VERDICT_WIDTH + _AREA_WIDTH if is_wide else _VERDICT_WIDTH)
    head = f"{area.verdict.value:<{_VERDICT_WIDTH}}{area.area.replace('-', ' '):<{_AREA_WIDTH}}"
    is_ok = area.verdict.value == "ok"
    tone = "plain" if is_ok else _TONES[area.verdict]
    for line in textwrap.wrap(area.text, width, initial_indent=head, subsequent_indent=indent, break_long_words=False):
        yield Word(line, tone)
    if area.verdict.value == "unknown":
        for step in dict.fromkeys(finding.advice for finding in area.findings[:1] if finding.advice):
            yield from map(Word, _step_lines(step, width, indent))
    if has_command and not is_ok and area.command is not None:
        yield from (Word(line, "dim") for line in _command_lines(area.command, width, indent))


def _step_lines(step: str, width: int, indent: str) -> Iterator[str]:
    """Yield a next step; a command of Kafka's tools at its end can be pasted."""
    text, tool, words = step.partition(_TOOL)
    yield from textwrap.wrap(text, width, initial_indent=indent, subsequent_indent=indent, break_long_words=False)
    if tool:
        yield from _command_lines(tool + words, width, indent)


def _command_lines(command: str, width: int, indent: str) -> Iterator[str]:
    """Yield a command so that it can be pasted: further to the left, or else continued, if a screen is too narrow."""
    if len(indent) + len(command) <= width or not sys.stdout.isatty():
        yield indent + command
        return
    left = " " * min(len(indent), _VERDICT_WIDTH)
    yield from shell_lines(command, width, indent=left)
