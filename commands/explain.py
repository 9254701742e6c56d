"""`kafkactl explain`: the meaning of an error, a finding or a line of Kafka, and what to do about it."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.rendering import output
from kafkactl.commands.rendering.page import Page

if TYPE_CHECKING:
    from kafkactl.core.explanations import Explanation


def _complete(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from kafkactl.core.explanations import explanations
    from kafkactl.migration.api.explaining import question_ids

    ids = sorted([*explanations(), *question_ids()])
    return [CompletionItem(id) for id in ids if id.startswith(incomplete)]


@leaf_command(
    "explain",
    examples=(
        "kafkactl explain cluster-id-mismatch",
        "kafkactl explain C-13",
        "kafkactl explain 'No readable meta.properties files found.'",
        "kafkactl explain --list",
    ),
    codes=(0, 2),
)
@click.argument("text", metavar="[ID]", required=False, shell_complete=_complete)
@click.option("--list", "all_ids", is_flag=True, help="List all ids.")
def command(text: str | None, all_ids: bool) -> None:
    """Explain the error or finding ID: its cause, its consequence and the remedy.

    ID can also be a check of `migrate check`: C-13 for all findings of that check. A line of Kafka's log or an error
    text of Kafka, in quotes, leads to the findings that explain the text.
    """
    from kafkactl.core.explanations import Explained, ExplainedIds, explanations
    from kafkactl.core.kafka_lines import is_bare_exception, kafka_text
    from kafkactl.migration.api.explaining import explain, id_of_earlier_number

    if all_ids == (text is not None):
        raise click.UsageError("Give one ID, or --list.")
    if text is None:
        every = tuple(explanations().values())
        output.emit(
            "explain.list",
            ExplainedIds(explanations=every),
            render=lambda page, _: page.table(("id", "cause"), ((row.id, row.cause) for row in every)),
            listing="explanations",
        )
    found = explain(text)
    if id := id_of_earlier_number(text):
        output.say(f"{text} is a number of an earlier version: use `kafkactl explain {id}`", "dim")
    if is_bare_exception(text):
        output.say(
            "An exception without words has many causes, and these are candidates: give the lines before and after it"
            " too, in the same quotes.",
            "dim",
        )
    said = {each.id: kafka_text(text, each.id) for each in found}
    if len(found) > 1:
        render = functools.partial(_show, found=found, said=said)
        output.emit("explain.list", ExplainedIds(explanations=tuple(found)), render=render, listing="explanations")
    render = functools.partial(_show, found=found, said=said)
    output.emit("explain", Explained(explanation=found[0]), render=render)


def _show(
    page: Page,
    _answer: object,
    *,
    found: Sequence[Explanation],
    said: Mapping[str, str | None],
) -> None:
    for explanation in found:
        page.heading(explanation.id)
        if said.get(explanation.id):
            page.line(f"Kafka: {said[explanation.id]}")
        page.fields(
            (
                ("cause", explanation.cause),
                ("consequence", explanation.consequence),
                ("remedy", explanation.remedy),
            )
        )
