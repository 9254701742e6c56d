"""`kafkactl quorum recover collect`: a copy of a log directory that is enough for a recovery on another host."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kafkactl.commands.framework import exit_codes
from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.framework.options import PATH
from kafkactl.commands.rendering.output import emit
from kafkactl.commands.rendering.page import Page

if TYPE_CHECKING:
    from kafkactl.quorum.api.recover.collect import RecoveryCopy


@leaf_command(
    "collect",
    examples=("kafkactl quorum recover collect /mnt/b11 --to b11.tar",),
    codes=(exit_codes.DONE, exit_codes.FAILED, exit_codes.USAGE),
    timeout="1h",
)
@click.argument("directory", metavar="DIR", type=PATH)
@click.option("--to", required=True, metavar="FILE.tar", help="The copy; a file that exists is never replaced.")
def command(*, directory: str, to: str) -> None:
    """Copy what a recovery needs of the log directory DIR into a tar file, readable by its owner only.

    The metadata log is copied whole, with meta.properties and quorum-state; of each partition its
    id, its leader epochs and where its log ends. No record of a topic is in it, but credentials of
    users are. Unpack it on the host that recovers, and name the folder with --log-dir.
    """
    from kafkactl.quorum.api.recover.collect import collect_recovery

    emit("quorum.recover-collect", collect_recovery(directory, to), render=_show)


def _show(page: Page, made: RecoveryCopy) -> None:
    copied = made.copied
    page.heading(f"Copied to {made.to}", "good")
    page.fields((("files", copied.files), ("bytes", copied.bytes), ("partitions", copied.partitions)))
    page.findings(made.findings)
