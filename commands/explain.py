"""`kafkactl explain`: what an error or finding means and what to do about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click
from click.shell_completion import CompletionItem

from kafkactl.commands import output
from kafkactl.commands.leaf import leaf_command
from kafkactl.commands.page import Page


def _complete(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from kafkactl.schema.explanations import explanations

    return [CompletionItem(id) for id in explanations() if id.startswith(incomplete)]


@leaf_command(
    "explain",
    examples=("kafkactl explain cluster-id-mismatch", "kafkactl explain --list"),
    codes=(0, 2),
)
@click.argument("id", required=False, shell_complete=_complete)
@click.option("--list", "all_ids", is_flag=True, help="List all ids there are.")
def command(id: str | None, all_ids: bool) -> None:
    """Say cause, consequence and remedy of the error or finding ID."""
    from kafkactl.schema.explanations import explain, explanations

    if all_ids == (id is not None):
        raise click.UsageError("Give one ID, or --list.")
    if id is None:
        rows = [{"id": one.id, "cause": one.cause} for one in explanations().values()]
        output.emit("explain.list", {"explanations": rows}, render=_show_all, listing="explanations")
    one = explain(id)
    payload = {"id": one.id, "cause": one.cause, "consequence": one.consequence, "remedy": one.remedy}
    output.emit("explain", payload, render=_show)


def _show(page: Page, payload: Mapping[str, Any]) -> None:
    page.heading(payload["id"])
    page.fields((name, payload[name]) for name in ("cause", "consequence", "remedy"))


def _show_all(page: Page, payload: Mapping[str, Any]) -> None:
    page.table(("id", "cause"), ((one["id"], one["cause"]) for one in payload["explanations"]))
