"""`kafkactl completion`: the script that teaches a shell to complete our commands and options."""

from __future__ import annotations

from typing import Literal, TypedDict

import click
from click.shell_completion import get_completion_class

from kafkactl.commands.framework.completing import register
from kafkactl.commands.framework.leaf import leaf_command
from kafkactl.commands.framework.options import Choice
from kafkactl.commands.rendering import output
from kafkactl.commands.rendering.page import Page


class Completion(TypedDict):
    """The answer `completion`."""

    shell: Literal["bash", "zsh", "fish"]
    script: str


@leaf_command(
    "completion",
    examples=(
        "kafkactl completion bash > /etc/bash_completion.d/kafkactl",
        'kafkactl completion zsh > "${fpath[1]}/_kafkactl"',
        "kafkactl completion fish > ~/.config/fish/completions/kafkactl.fish",
    ),
    codes=(0, 2),
)
@click.argument("shell", type=Choice(("bash", "zsh", "fish")))
def command(shell: str) -> None:
    """Print the completion script for SHELL."""
    register()
    family = get_completion_class(shell)
    assert family is not None, "click knows the three shells of the choice"
    root = click.get_current_context().find_root()
    script = family(root.command, {}, "kafkactl", "_KAFKACTL_COMPLETE").source()

    def show(page: Page, _answer: object) -> None:
        for line in script.rstrip("\n").split("\n"):
            page.line(line)

    output.emit("completion", {"shell": shell, "script": script}, render=show)
