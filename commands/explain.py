"""`kafkactl explain`: what an error or finding means and what to do about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

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
        rows = [_answer(explanation) for explanation in explanations()]
        output.emit("explain.list", {"explanations": rows}, render=_show_all, listing="explanations")
    found = [_answer(explanation) for explanation in explain(id)]
    if len(found) > 1:
        output.emit("explain.list", {"explanations": found}, render=_show_each, listing="explanations")
    output.emit("explain", {**found[0], "renamed_from": renamed_from(id)}, render=_show)


def _answer(explanation: Explanation) -> dict[str, str]:
    return {
        "id": explanation.id,
        "cause": explanation.cause,
        "consequence": explanation.consequence,
        "remedy": explanation.remedy,
    }


def _show(page: Page, payload: Mapping[str, Any]) -> None:
    page.heading(payload["id"])
    if payload.get("renamed_from"):
        page.line(f"{payload['renamed_from']} was renamed to {payload['id']}.")
    page.fields((name, payload[name]) for name in ("cause", "consequence", "remedy"))


def _show_each(page: Page, payload: Mapping[str, Any]) -> None:
    for explanation in payload["explanations"]:
        _show(page, explanation)


def _show_all(page: Page, payload: Mapping[str, Any]) -> None:
    page.table(("id", "cause"), ((row["id"], row["cause"]) for row in payload["explanations"]))
