"""Every command that changes a live cluster holds the cluster's id against the context's first."""

from __future__ import annotations

import ast
from pathlib import Path

import click
import pytest

from kafkactl.commands.leaf import LeafCommand
from kafkactl.commands.options import ConnectionOption
from scripts.make_reference import every_command
from tests.house.tree import ROOT, parsed

# `kafkactl migrate` takes its clusters from an inventory, which names the cluster itself.
BOOTSTRAP = {"--bootstrap-server", "--bootstrap-controller"}


def changing_commands() -> dict[str, LeafCommand]:
    """The commands that speak with a cluster and can be run dry, so that otherwise they change something."""
    return {
        ctx.command_path: command
        for ctx, command in every_command()
        if isinstance(command, LeafCommand)
        and any(isinstance(param, ConnectionOption) and BOOTSTRAP & {*param.opts} for param in command.params)
        and any(isinstance(param, click.Option) and "--dry-run" in param.opts for param in command.params)
    }


@pytest.mark.parametrize("name", changing_commands())
def test_a_change_begins_with_the_guard(name: str) -> None:
    command = changing_commands()[name]
    assert command.callback is not None
    module = command.callback.__module__.rpartition(".")[2]
    files = [ROOT / "commands" / f"{module}.py", *_imported(ROOT / "commands" / f"{module}.py")]
    assert any(_calls_guard(file) for file in files), f"{name} opens a client and never calls guard_cluster"


def test_there_are_such_commands() -> None:
    assert "kafkactl nodes unregister" in changing_commands()


def _imported(file: Path) -> list[Path]:
    """The modules of the command layer that a module takes something from."""
    names = {
        node.module.rpartition(".")[2]
        for node in ast.walk(parsed(file))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("kafkactl.commands.")
    }
    return [path for name in sorted(names) if (path := ROOT / "commands" / f"{name}.py").is_file()]


def _calls_guard(file: Path) -> bool:
    return any(
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "guard_cluster"
        for node in ast.walk(parsed(file))
    )
