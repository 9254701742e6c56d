"""`kafkactl tiered leftovers`: the objects that no broker will ever read or delete."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import click

from kafkactl.commands.framework import exit_codes
from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.framework.options import PATH, Choice, Duration
from kafkactl.commands.rendering.output import emit
from kafkactl.commands.rendering.page import Page, Word
from kafkactl.commands.tiered.options import CODES, Inputs, bucket_input_options, loaded, written_details
from kafkactl.core.answers import json_of
from kafkactl.core.frozen import frozen
from kafkactl.core.wording import counted, size_text

if TYPE_CHECKING:
    from kafkactl.tiered.leftovers import Leftovers


class Age(Duration):
    """A length of time, also in days, and zero with its unit."""

    name = "age"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return milliseconds; `7d` is seven days, `0s` any age."""
        text = value.strip() if isinstance(value, str) else value
        if isinstance(text, str) and text.rstrip("smhd") == "0" and len(text) > 1:
            return 0
        if isinstance(text, str) and text.endswith("d") and text[:-1].isdecimal():
            return super().convert(f"{int(text[:-1]) * 24}h", param, ctx)
        return super().convert(value, param, ctx)


@frozen
class LeftoverList:
    """The objects that may be deleted, with the engine that read the records, and the folder of the tables."""

    engine: Literal["local", "spark"]
    leftovers: Leftovers
    details: str | None
    """The folder of the tables; None if none was named."""

    to_dict = json_of("engine", "**leftovers", "details", kind="tiered.leftovers")


@leaf_command(
    "leftovers",
    examples=(
        "kafkactl tiered leftovers --observation saved --out keys.txt",
        "kafkactl tiered leftovers /data/kafka --metadata /data/kafka/__cluster_metadata-0 --bucket list.txt -o jsonl",
    ),
    codes=(*CODES, exit_codes.REFUSED),
    timeout="1h",
)
@bucket_input_options
@click.option(
    "--older-than",
    "older_than_ms",
    type=Age(),
    default="7d",
    show_default=True,
    metavar="TIME",
    help="Leave out younger objects: 7d, 12h; 0s for none.",
)
@click.option(
    "--include", multiple=True, type=Choice(("orphan-copy",)), help="List the objects of certain orphans, too."
)
@click.option("--out", metavar="FILE", type=PATH, help="Write the keys to a new file, one a line.")
def command(*, inputs: Inputs, older_than_ms: int, include: tuple[str, ...], out: str | None) -> None:
    """List the objects that may be deleted, with the reason for each. Nothing is deleted.

    Needs a listing of the store, and a source that shows which topics exist. Nothing of a segment that a living
    topic still has is in the list, nor files that are not named like a segment. Refused, exit code 3,
    where records of the metadata topic are missing or could not be read.
    """
    from kafkactl.tiered.api.verbs import ALL, check_keys_target, left_over, write_keys

    if out is not None:
        check_keys_target(out)
    everything = loaded(inputs)
    found = left_over(everything, older_than_ms=older_than_ms, include_orphans="orphan-copy" in include)
    if out is not None and not found.refused:
        write_keys(out, found)
    emit(
        "tiered.leftovers",
        LeftoverList(engine=everything.engine.name, leftovers=found, details=written_details(inputs, everything, ALL)),
        render=lambda page, _: _show(page, found),
        exit_code=exit_codes.REFUSED if found.refused else exit_codes.DONE,
        listing="objects",
    )


def _show(page: Page, found: Leftovers) -> None:
    if found.refused:
        page.heading("Refused: the input does not prove which objects are left over", "bad")
    else:
        going = f"{counted(len(found.objects), 'object')} can be deleted, {size_text(found.size)}"
        page.heading(going if found.objects else "No object was found that can be deleted")
    page.findings(found.findings)
    if found.skipped:
        page.line(f"{counted(found.skipped, 'object')} left out: younger than --older-than")
    if found.unproven:
        page.line(f"{counted(found.unproven, 'object')} left out: a record that was not read may name them")
    page.groups(
        (Word(f"{reason}: {counted(count, 'object')}", "strong"), _of(reason, found))
        for reason, count in found.by_reason.items()
    )
    if found.next_step:
        page.line(found.next_step)


def _of(reason: str, found: Leftovers) -> list[tuple[str | Word, ...]]:
    """Return the first objects of a reason, and how many more there are.

    The size stands first: a key may fill the line.
    """
    objects = [leftover.found for leftover in found.objects if leftover.reason == reason]
    rows: list[tuple[str | Word, ...]] = [(size_text(stored.size), stored.key) for stored in objects[:_SHOWN]]
    if len(objects) > _SHOWN:
        rows.append(("", Word(f"and {len(objects) - _SHOWN} more (--out FILE writes all keys)", "dim")))
    return rows


_SHOWN = 40
