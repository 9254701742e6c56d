"""`kafkactl explain`: what an error or finding means and what to do about it."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.rendering import output
from kafkactl.commands.rendering.page import Page

if TYPE_CHECKING:
    from kafkactl.schema.explanations import Explanation


def _complete(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from kafkactl.operations.explain import explanations

    return [CompletionItem(explanation.id) for explanation in explanations() if explanation.id.startswith(incomplete)]


@leaf_command(
    "explain",
    examples=("kafkactl explain cluster-id-mismatch", "kafkactl explain C-13", "kafkactl explain --list"),
    codes=(0, 2),
)
@click.argument("id", required=False, shell_complete=_complete)
@click.option("--list", "all_ids", is_flag=True, help="List all ids.")
def command(id: str | None, all_ids: bool) -> None:
    """Explain the error or finding ID: its cause, its consequence and the remedy.

    ID can also be a number of `migrate check`: C-13d for one finding, C-13 for all findings of that check. An id of an
    earlier version is explained under its present name.
    """
    from kafkactl.operations.explain import explain, explanations, renamed_from

    if all_ids == (id is not None):
        raise click.UsageError("Give one ID, or --list.")
    if id is None:
        every = explanations()
        output.emit(
            "explain.list",
            {"explanations": every},
            render=lambda page, _: page.table(("id", "cause"), ((row.id, row.cause) for row in every)),
            listing="explanations",
        )
    found, renamed = explain(id), renamed_from(id)
    if len(found) > 1:
        render = functools.partial(_show, found=found)
        output.emit("explain.list", {"explanations": found}, render=render, listing="explanations")
    render = functools.partial(_show, found=found, renamed=renamed)
    output.emit("explain", {**found[0].to_dict(), "renamed_from": renamed}, render=render)


def _show(page: Page, _answer: object, *, found: Sequence[Explanation], renamed: str | None = None) -> None:
    for explanation in found:
        page.heading(explanation.id)
        if renamed is not None:
            page.line(f"{renamed} was renamed to {explanation.id}.")
        page.fields(
            (
                ("cause", explanation.cause),
                ("consequence", explanation.consequence),
                ("remedy", explanation.remedy),
            )
        )
