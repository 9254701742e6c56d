"""`kafkactl storage dump`: decode what formatting and a node's start write."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from kafkactl.commands.framework import exit_codes
from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.rendering.output import emit
from kafkactl.commands.rendering.page import Page


@leaf_command(
    "dump",
    examples=(
        "kafkactl storage dump /disk1/meta.properties /disk1/bootstrap.checkpoint",
        "kafkactl storage dump /disk1/__cluster_metadata-0/*.checkpoint -o json",
    ),
    codes=(exit_codes.DONE, exit_codes.FAILED, exit_codes.USAGE, exit_codes.PROBLEMS_FOUND),
)
@click.argument("files", nargs=-1, required=True, type=click.Path())
@click.option("--show-secrets", is_flag=True, help="Show SCRAM keys and passwords instead of hiding them.")
def command(files: tuple[str, ...], show_secrets: bool) -> None:
    """Decode meta.properties, checkpoints and quorum-state.

    The kind of a file is derived from its name, or else from its content. A damaged file is shown as
    far as it can be read, with the position of each damage; the exit code is then 7.
    """
    from kafkactl.operations.storage.reading import dump_files

    dumped = dump_files(files, show_secrets=show_secrets)
    emit(
        "storage.dump",
        dumped.to_dict(),
        render=_show,
        exit_code=exit_codes.PROBLEMS_FOUND if dumped.findings else exit_codes.DONE,
        listing="files",
    )


def _show(page: Page, answer: Mapping[str, Any]) -> None:
    for file in answer["files"]:
        page.heading(f"{file['path']}  ({file['type']}, {file['size']} bytes)")
        _SHOW[file["type"]](page, file)
    page.findings(answer["findings"])


def _show_meta_properties(page: Page, file: Mapping[str, Any]) -> None:
    page.fields((name, value) for name, value in (file["properties"] or {}).items())


def _show_quorum_state(page: Page, file: Mapping[str, Any]) -> None:
    state = file["state"] or {}
    page.fields((name, None if value is None else str(value)) for name, value in state.items())


def _show_checkpoint(page: Page, file: Mapping[str, Any]) -> None:
    header = file["header"] or {}
    page.fields(
        (
            ("header", f"version {header['version']}" if header else "missing"),
            ("kraft.version", file["kraft_version"]),
            ("footer", "present" if file["footer"] else "missing"),
        )
    )
    page.table(
        ("voter", "directory id", "endpoints"),
        ((voter["id"], voter["directory_id"], _endpoints(voter["endpoints"])) for voter in file["voters"] or ()),
    )
    page.table(
        ("byte", "size", "offsets", "kind", "crc"),
        (
            (
                batch["position"],
                batch["size"],
                f"{batch['base_offset']}-{batch['last_offset']}",
                "control" if batch["control"] else "data",
                batch["crc"],
            )
            for batch in file["batches"]
        ),
    )
    page.table(
        ("offset", "record", "content"),
        ((record["offset"], record["type"], _content(record["data"])) for record in file["records"]),
    )


def _endpoints(endpoints: list[Mapping[str, Any]]) -> str:
    return ", ".join(f"{endpoint['listener']}://{endpoint['host']}:{endpoint['port']}" for endpoint in endpoints)


def _content(data: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in data.items())


_SHOW = {
    "meta.properties": _show_meta_properties,
    "quorum-state": _show_quorum_state,
    "checkpoint": _show_checkpoint,
}
