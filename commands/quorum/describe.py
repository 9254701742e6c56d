"""`kafkactl quorum describe`: the quorum from its leader, from every controller, and from disks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn

import click

from kafkactl.commands.framework import exit_codes
from kafkactl.commands.framework.bundles import bundle_option, stored_as
from kafkactl.commands.framework.connection import ConnectionArguments, open_reading_client, reading_options
from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.framework.options import Duration
from kafkactl.commands.rendering.output import emit

if TYPE_CHECKING:
    from kafkactl.commands.rendering.page import Page
    from kafkactl.quorum.api.observation import QuorumDescription, QuorumWatch

KIND = "quorum.describe"
_LEAST_NODE_TIMEOUT_MS = 1_200.0


@leaf_command(
    "describe",
    examples=(
        "kafkactl quorum describe --bootstrap-controller c1:9093,c2:9093,c3:9093",
        "kafkactl quorum describe --bootstrap-server b1:9092 --replication",
        "kafkactl quorum describe --log-dir /mnt/c1 --log-dir /mnt/c2 -o json",
    ),
    codes=(
        exit_codes.DONE, exit_codes.USAGE, exit_codes.UNREACHABLE, exit_codes.UNKNOWN, exit_codes.PROBLEMS_FOUND,
        exit_codes.INTERRUPTED,
    ),
    has_metrics=True,
)  # fmt: skip
@click.option("--status", is_flag=True, help="The status as kafka-metadata-quorum.sh prints it.")
@click.option("--replication", is_flag=True, help="The replicas as kafka-metadata-quorum.sh prints them.")
@click.option("--human-readable", is_flag=True, help="With --replication: show ages instead of times.")
@click.option(
    "--log-dir", "log_dirs", multiple=True, metavar="DIR",
    help="Also read this metadata log directory; several are those of several nodes. Without an address only these.",
)  # fmt: skip
@bundle_option
@click.option(
    "--watch", is_flag=True, help="Update continuously, with what changed meanwhile, until Ctrl-C or --timeout."
)
@click.option(
    "--interval", "interval_ms", type=Duration(), default="2s", show_default=True, metavar="TIME",
    help="With --watch: the time between two updates.",
)  # fmt: skip
@reading_options
def command(
    *,
    status: bool,
    replication: bool,
    human_readable: bool,
    log_dirs: tuple[str, ...],
    bundle: str | None,
    watch: bool,
    interval_ms: int,
    connection: ConnectionArguments,
) -> None:
    """Show leader, voters and observers, and how many failures the quorum tolerates.

    Every controller is queried, and the endpoints in the voter set are tested. Without a leader the
    answer is derived from the controllers and the directories of --log-dir, and the exit code is 7;
    it is also 7 if nothing can be committed. With --bundle the answer is the one that was saved.
    On the host of a node no option is needed: the node's own configuration names the cluster.
    """
    if status and replication:
        raise click.UsageError("--status and --replication exclude each other.")
    if human_readable and not replication:
        raise click.UsageError("--human-readable goes with --replication.")
    render = _render(status=status, replication=replication, human_readable=human_readable)
    if bundle is not None:
        if log_dirs or watch or any(connection):
            raise click.UsageError("--bundle is used alone: it contains the answer of a cluster.")
        from kafkactl.quorum.api.observation import QuorumDescription

        saved, answer, code = stored_as(QuorumDescription.from_dict, bundle, KIND)
        emit(KIND, answer, render=lambda page, _: render(page, saved), exit_code=code)
    with _opened(connection, log_dirs, node_timeout_ms=_node_timeout_ms(watch=watch)) as quorum:

        def observed() -> tuple[QuorumDescription, int]:
            found = quorum.observe()
            return found, exit_codes.PROBLEMS_FOUND if found.is_broken else exit_codes.DONE

        if watch:
            _watch(observed, render, interval_ms)
        found, code = observed()
        emit(KIND, found, render=render, exit_code=code)


def _watch(
    observe: Callable[[], tuple[QuorumDescription, int]],
    render: Callable[[Page, QuorumDescription], None],
    interval_ms: int,
) -> NoReturn:
    """Show the quorum again and again, with the time, and with what changed since the first observation."""
    from kafkactl.commands.rendering.change_log import ChangeLog, clock
    from kafkactl.commands.rendering.page import Word
    from kafkactl.commands.rendering.watch import watch
    from kafkactl.quorum.api.observation import differences

    log: ChangeLog[QuorumDescription] = ChangeLog(differences)

    def show(page: Page, answer: QuorumDescription) -> None:
        page.line(Word(clock(answer.time_ms), "strong"))
        log.show_period(page, interval_ms)
        log.show_changes(page)  # here, because a small terminal cuts the end of the page
        render(page, answer)

    watch(KIND, log.observing(observe), render=show, interval_ms=interval_ms)


@contextmanager
def _opened(
    connection: ConnectionArguments, log_dirs: tuple[str, ...], *, node_timeout_ms: float
) -> Iterator[QuorumWatch]:
    """Yield the quorum that is meant: a live cluster, directories, or both."""
    from kafkactl.quorum.api.observation import QuorumWatch

    if log_dirs and not connection.names_cluster:
        with QuorumWatch(None, log_dirs) as quorum:
            yield quorum
        return
    with (
        open_reading_client(connection) as client,
        QuorumWatch(client, log_dirs, node_timeout_ms=node_timeout_ms) as quorum,
    ):
        yield quorum


def _node_timeout_ms(*, watch: bool) -> float:
    """Return the time in ms to wait for a node: a 25th of the timeout, at least 1.2 s, at most a sixth of it.

    A watch has one timeout for all observations, which does not limit a single one: it uses 1.2 s.
    """
    if watch:
        return _LEAST_NODE_TIMEOUT_MS
    from kafkactl.commands.framework.settings import current_settings

    timeout_ms = current_settings().timeout_ms
    return min(max(_LEAST_NODE_TIMEOUT_MS, timeout_ms / 25), timeout_ms / 6)


def _render(*, status: bool, replication: bool, human_readable: bool) -> Callable[[Page, QuorumDescription], None]:
    def show(page: Page, answer: QuorumDescription) -> None:
        from kafkactl.commands.quorum.page import kafka_page, quorum_page

        if status or replication:
            kafka_page(page, answer, replication=replication, human_readable=human_readable)
        else:
            quorum_page(page, answer)

    return show
