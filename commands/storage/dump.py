"""`kafkactl storage dump`: decode what formatting and a node's start write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import click

from kafkactl.commands.framework import exit_codes
from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.framework.options import PATH
from kafkactl.commands.rendering.output import emit
from kafkactl.commands.rendering.page import Page

if TYPE_CHECKING:
    from kafkactl.core.values import Endpoint
    from kafkactl.storage.api.reading import DumpResult
    from kafkactl.storage.dump import Record, Snapshot


@leaf_command(
    "dump",
    examples=(
        "kafkactl storage dump /disk1/meta.properties /disk1/bootstrap.checkpoint",
        "kafkactl storage dump /disk1/__cluster_metadata-0/*.checkpoint -o json",
    ),
    codes=(exit_codes.DONE, exit_codes.FAILED, exit_codes.USAGE, exit_codes.PROBLEMS_FOUND),
)
@click.argument("files", nargs=-1, required=True, type=PATH)
@click.option("--show-secrets", is_flag=True, help="Show SCRAM keys and passwords instead of hiding them.")
def command(files: tuple[str, ...], show_secrets: bool) -> None:
    """Decode meta.properties, checkpoints and quorum-state.

    The kind of a file is derived from its name, or else from its content. A damaged file is shown as
    far as it can be read, with the position of each damage; the exit code is then 7.
    """
    from kafkactl.storage.api.reading import dump_files

    dumped = dump_files(files, show_secrets=show_secrets)
    emit(
        "storage.dump",
        dumped,
        render=_show,
        exit_code=exit_codes.PROBLEMS_FOUND if dumped.findings else exit_codes.DONE,
        listing="files",
    )


def _show(page: Page, dumped: DumpResult) -> None:
    for file in dumped.files:
        content = file.content
        page.heading(f"{file.path}  ({content.type}, {file.size_bytes} bytes)")
        if content.type == "checkpoint":
            _show_checkpoint(page, content)
        elif content.type == "quorum-state":
            state: Mapping[str, object] = content.state or {}
            page.fields((name, None if value is None else str(value)) for name, value in state.items())
        else:
            page.fields((content.properties or {}).items())
    page.findings(dumped.findings)


def _show_checkpoint(page: Page, snapshot: Snapshot) -> None:
    found = snapshot.checkpoint
    page.fields(
        (
            ("header", f"version {found.header.version}" if found.header is not None else "missing"),
            ("kraft.version", found.kraft_version),
            ("footer", "present" if found.footer else "missing"),
        )
    )
    page.table(
        ("voter", "directory id", "endpoints"),
        ((voter.node_id, str(voter.directory_id), _endpoints(voter.endpoints)) for voter in found.voters or ()),
    )
    page.table(
        ("byte", "size", "offsets", "kind", "crc"),
        (
            (
                batch.position,
                batch.size_bytes,
                f"{batch.base_offset}-{batch.last_offset}",
                "control" if batch.is_control else "data",
                f"{batch.crc:08x}",
            )
            for batch in found.batches
        ),
    )
    page.table(
        ("offset", "record", "content"),
        ((record.offset, record.type, _content(record)) for record in snapshot.records),
    )


def _endpoints(endpoints: Sequence[Endpoint]) -> str:
    return ", ".join(map(str, endpoints))


def _content(record: Record) -> str:
    return ", ".join(f"{name}={value}" for name, value in record.data.items())
