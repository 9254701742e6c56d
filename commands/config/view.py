"""`kafkactl config view`: the contexts of the user's file. There is nothing secret in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kafkactl.commands.framework import completing
from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.rendering.output import emit
from kafkactl.commands.rendering.page import Page

if TYPE_CHECKING:
    from kafkactl.kafka.api.contexts import ContextDict, ContextsDict


@leaf_command(
    "view",
    examples=("kafkactl config view", "kafkactl config view prod -o json"),
    codes=(0, 2),
)
@click.argument("name", required=False, shell_complete=completing.contexts)
def command(name: str | None) -> None:
    """Show every context, or one.

    The file contains only names, addresses, paths and ids; the content of client properties is not
    shown.
    """
    from kafkactl.kafka.api.contexts import list_contexts

    emit("config.view", list_contexts(name), render=_show, listing="contexts")


def _show(page: Page, answer: ContextsDict) -> None:
    page.fields([("file", answer["file"]), ("current", answer["current"])])
    if not answer["contexts"]:
        page.line("No contexts. `kafkactl config set NAME` makes one.")
    page.table(
        ("", "context", "bootstrap", "command config", "controllers", "cluster id", "Spark master"),
        [
            (
                "*" if context["current"] else "",
                context["name"],
                _bootstrap(context),
                context["command_config"],
                context["controller_command_config"],
                context["cluster_id"],
                context["spark_master"],
            )
            for context in answer["contexts"]
        ],
    )


def _bootstrap(context: ContextDict) -> str | None:
    if context["bootstrap_controller"]:
        return f"controllers {context['bootstrap_controller']}"
    if context["bootstrap_server"]:
        return f"brokers {context['bootstrap_server']}"
    return f"nodes {context['bootstrap']}" if context["bootstrap"] else None
