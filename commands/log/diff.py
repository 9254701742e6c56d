"""`kafkactl log diff`: what differs between two states of a cluster."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kafkactl.commands.framework import exit_codes
from kafkactl.commands.framework.bundles import bundle_option
from kafkactl.commands.framework.connection import ConnectionArguments, reading_options
from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.framework.log_options import (
    code_of,
    from_cluster_option,
    log_place,
    past_damage_option,
    show_secrets_option,
)
from kafkactl.commands.framework.options import PATH
from kafkactl.commands.rendering.output import emit
from kafkactl.commands.rendering.page import Page, Word
from kafkactl.core.wording import counted

if TYPE_CHECKING:
    from kafkactl.metadata.api.difference import ImageDifference
    from kafkactl.metadata.io.image import LoadedImage

_SHOWN = 100
_TONES = {"added": "good", "removed": "bad", "changed": "warn"}


@leaf_command(
    "diff",
    examples=(
        "kafkactl log diff node1/__cluster_metadata-0 node2/__cluster_metadata-0",
        "kafkactl log diff /disk1/__cluster_metadata-0@12000 /disk1/__cluster_metadata-0@12500",
        "kafkactl log diff backup/__cluster_metadata-0 --from-cluster --bootstrap-controller host:9093",
    ),
    codes=exit_codes.READING,
    timeout="1h",
)  # fmt: skip
@click.argument("before", metavar="A", type=PATH)
@click.argument("after", metavar="[B]", required=False, type=PATH)
@from_cluster_option
@bundle_option
@past_damage_option
@show_secrets_option
@reading_options
def command(
    *,
    before: str,
    after: str | None,
    from_cluster: bool,
    bundle: str | None,
    past_damage: bool,
    show_secrets: bool,
    connection: ConnectionArguments,
) -> None:
    """Compare the state of A with that of B, of a live cluster (--from-cluster), or of a bundle (--bundle).

    A and B are sources; SOURCE@OFFSET selects the state after that record. Entities that are only
    in B are shown as added. Differences are data: the exit code is 0 whether there are any or not.
    """
    from kafkactl.metadata.api.difference import compare_images

    if [after is not None, from_cluster, bundle is not None].count(True) != 1:
        raise click.UsageError("Give B, --from-cluster, or --bundle.")
    left = _loaded(before, connection, None, past_damage=past_damage)
    right = _loaded(after, connection, bundle, past_damage=past_damage)
    compared = compare_images(left, right, show_secrets=show_secrets)
    emit(
        "log.diff",
        compared,
        render=_show,
        exit_code=code_of(compared.findings),
        listing="differences",
    )


def _loaded(text: str | None, connection: ConnectionArguments, bundle: str | None, *, past_damage: bool) -> LoadedImage:
    from kafkactl.metadata.api.image import load_image

    if text is None:
        with log_place((), connection, from_cluster=bundle is None, bundle=bundle) as place:
            return load_image(place, past_damage=past_damage)
    path, offset = text, None
    match = re.fullmatch(r"(.+)@(\d+)", text)
    if match is not None and not Path(text).exists():
        path, offset = match[1], int(match[2])
    return load_image(path, at=offset, past_damage=past_damage)


def _show(page: Page, compared: ImageDifference) -> None:
    differences = compared.differences
    where = f"offset {compared.before.provenance.offset} and offset {compared.after.provenance.offset}"
    if not differences:
        page.heading(f"Equal: {where} are the same state", "good")
    else:
        count = counted(len(differences), "difference")
        page.heading(f"{count} between {where}", "warn")
    page.table(
        ("change", "part", "key", "before", "after"),
        (
            (
                Word(difference.change, _TONES[difference.change]),
                difference.part,
                difference.key,
                _text(difference.before),
                _text(difference.after),
            )
            for difference in differences[:_SHOWN]
        ),
    )
    if len(differences) > _SHOWN:
        page.line(f"… and {len(differences) - _SHOWN} more; -o jsonl gives all of them")
    page.findings(compared.findings)


def _text(fields: Mapping[str, Any]) -> str | None:
    from kafkactl.commands.rendering.stream import content_of

    return content_of(fields) or None
