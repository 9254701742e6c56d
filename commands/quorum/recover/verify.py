"""`kafkactl quorum recover verify`: is the recovered directory as planned, and the cluster whole that runs on it?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kafkactl.commands.framework import exit_codes
from kafkactl.commands.framework.connection import ConnectionArguments, connection_options, open_client
from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.framework.options import PATH
from kafkactl.commands.rendering.output import emit
from kafkactl.commands.rendering.page import Page

if TYPE_CHECKING:
    from kafkactl.quorum.api.recover.check import RecoveryCheck


@leaf_command(
    "verify",
    examples=(
        "kafkactl quorum recover verify /disk/recovered.recovery.json",
        "kafkactl quorum recover verify /disk/recovered.recovery.json --bootstrap-controller c2:9093"
        " --log-dir /mnt/b11",
    ),
    codes=exit_codes.READING,
    timeout="10m",
)
@click.argument("plan", metavar="PLAN", type=PATH)
@click.option(
    "--log-dir", "log_dirs", multiple=True, metavar="DIR",
    help="A broker's log directory: look for folders that were renamed to -stray.",
)  # fmt: skip
@connection_options
def command(*, plan: str, log_dirs: tuple[str, ...], connection: ConnectionArguments) -> None:
    """Check a recovery against its PLAN, which was written next to the new directory.

    The directory is read back: until a node has run on it, every byte and the image are the
    planned ones. With --bootstrap-controller the cluster is asked: the recovered controller leads
    in an epoch above the snapshot's, brokers are registered, and every partition has a leader.
    Exit code 7 if something is wrong, 6 if nothing could be checked.
    """
    from contextlib import ExitStack

    from kafkactl.core.findings import blockers
    from kafkactl.quorum.api.recover.check import verify_recovery

    with ExitStack() as stack:
        client = None
        if connection.names_cluster:
            client = stack.enter_context(open_client(connection))
        checked = verify_recovery(plan, log_dirs, client)
    code = exit_codes.DONE if checked.learned else exit_codes.UNKNOWN
    emit(
        "quorum.recover-verify",
        checked,
        render=_show,
        exit_code=exit_codes.PROBLEMS_FOUND if blockers(checked.findings) else code,
    )


def _show(page: Page, found: RecoveryCheck) -> None:
    from kafkactl.core.findings import blockers

    live = found.live
    if blockers(found.findings):
        page.heading("The recovery is not as planned", "bad")
    elif not found.learned:
        page.heading("Nothing was checked", "warn")
    else:
        page.heading("As planned, as far as it was checked", "good")
    page.fields(
        (
            ("checked", ", ".join(found.checked) or None),
            ("leader", None if live is None else live.leader_id),
            ("epoch", None if live is None else live.leader_epoch),
            ("voters", None if live is None else ", ".join(map(str, live.voters)) or None),
            ("brokers", ", ".join(f"{id}{' (fenced)' if fenced else ''}" for id, fenced in found.brokers) or None),
            ("partitions without leader", len(found.without_leader) or None),
        )
    )
    page.findings(found.findings)
