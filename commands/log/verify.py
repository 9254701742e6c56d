"""`kafkactl log verify`: is a metadata log whole, and do the nodes agree?"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import click

from kafkactl.commands.framework import exit_codes
from kafkactl.commands.framework.bundles import bundle_option, stored_as
from kafkactl.commands.framework.connection import (
    ConnectionArguments,
    open_reading_client,
    reading_options,
    title_of_cluster,
)
from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.framework.log_options import FROM_CLUSTER, check_sources, from_cluster_option
from kafkactl.commands.framework.options import PATH
from kafkactl.commands.rendering.output import emit
from kafkactl.commands.rendering.page import Cell, Page, Word
from kafkactl.commands.rendering.progress import shown_progress
from kafkactl.core.answers import read_fields
from kafkactl.core.wording import counted

if TYPE_CHECKING:
    from kafkactl.metadata.api.verify import LogVerification
    from kafkactl.metadata.verify.verified_log import VerifiedLog


@leaf_command(
    "verify",
    examples=(
        "kafkactl log verify /disk1/__cluster_metadata-0",
        "kafkactl log verify node1/__cluster_metadata-0 node2/__cluster_metadata-0 node3/__cluster_metadata-0",
        "kafkactl log verify /disk1/__cluster_metadata-0 --from-cluster --bootstrap-controller host:9093",
    ),
    codes=(
        exit_codes.DONE,
        exit_codes.FAILED,
        exit_codes.USAGE,
        exit_codes.UNREACHABLE,
        exit_codes.UNKNOWN,
        exit_codes.PROBLEMS_FOUND,
    ),
    timeout="1h",
    has_metrics=True,
)
@click.argument("sources", metavar="[SOURCE]...", nargs=-1, type=PATH)
@from_cluster_option
@bundle_option
@reading_options
def command(
    *, sources: tuple[str, ...], from_cluster: bool, bundle: str | None, connection: ConnectionArguments
) -> None:
    """Read every byte of a metadata log and report its problems.

    Problems are damage, missing offsets, undecodable records, broken snapshots, and what a restart
    would silently truncate. Several SOURCEs are the logs of several nodes of one cluster: they are
    compared batch by batch, each up to its first damage, and ranked: the best disk is the one whose
    valid part ends at the highest epoch and offset. With --from-cluster the log of the active
    controller is one of them. Exit code 6 if there was no record to check. With --bundle the answer is the one
    that was saved when the bundle was made: it is about the nodes' own bytes.
    """
    if bundle is not None:
        check_sources(sources, from_cluster, bundle)
        from kafkactl.metadata.api.verify import LogVerification

        saved, answer, code = stored_as(partial(read_fields, LogVerification), bundle, "log.verify")
        emit("log.verify", answer, render=lambda page, _: _show(page, saved), exit_code=code, listing="sources")
    if not sources and not from_cluster:
        raise click.UsageError(f"Give a SOURCE, {FROM_CLUSTER}, or --bundle.")
    with shown_progress("Reading the log"):
        verified = _verified(sources, connection, from_cluster)
    code = exit_codes.UNKNOWN if verified.is_empty else exit_codes.DONE
    emit(
        "log.verify",
        verified,
        render=_show,
        exit_code=exit_codes.PROBLEMS_FOUND if verified.has_problems else code,
        listing="sources",
    )


def _verified(sources: tuple[str, ...], connection: ConnectionArguments, from_cluster: bool) -> LogVerification:
    from kafkactl.metadata.api.verify import verify_logs

    if not from_cluster:
        return verify_logs(sources)
    with open_reading_client(connection) as client:
        return verify_logs(sources, client=client, client_name=title_of_cluster(client))


def _show(page: Page, verified: LogVerification) -> None:
    from kafkactl.core.findings import blockers

    what = "The logs are" if len(verified.sources) > 1 else "The log is"
    if problems := len(blockers(verified.findings)):
        page.heading(f"{what} not sound: {counted(problems, 'problem')}", "bad")
    elif verified.is_empty:
        page.heading("There is no metadata record to check", "warn")
    else:
        page.heading(f"{what} sound", "good")
    page.table(("source", "offsets", "epoch", "records", "snapshot", "a restart cuts"), map(_row, verified.sources))
    for best in verified.ranking[:1] if verified.is_one_history else ():
        page.line(f"Best disk: {best.path}, offsets to {best.end_offset - 1} (epoch {best.last_epoch})")
    page.findings(verified.findings)


def _row(source: VerifiedLog) -> Sequence[Cell]:
    cut, snapshot = source.would_cut, source.newest_snapshot
    first, end = source.first_offset, source.end_offset
    return (
        source.path,
        None if first is None or end is None else f"{first}-{end - 1}" if end > first else "none",
        source.last_epoch,
        source.records,
        None if snapshot is None else snapshot.offset,
        Word("nothing", "good") if cut is None else Word(f"{cut.bytes} bytes from offset {cut.offset}", "bad"),
    )
