"""Guards of commands that change a live cluster: each first compares the cluster's id with the context's."""

from __future__ import annotations

import ast
from pathlib import Path

import click
import pytest

from kafkactl.commands.framework.leaf import LeafCommand
from kafkactl.commands.framework.options import ConnectionOption
from scripts.make_reference import every_command
from tests.repository.tree import ROOT, nodes

# `kafkactl migrate` takes its clusters from an inventory, which names the cluster itself.
BOOTSTRAP = {"--bootstrap-server", "--bootstrap-controller"}


def changing_commands() -> dict[str, LeafCommand]:
    """Return the commands that connect to a cluster and have a dry run, that is, change something without it."""
    return {
        ctx.command_path: command
        for ctx, command in every_command()
        if isinstance(command, LeafCommand)
        and any(isinstance(param, ConnectionOption) and BOOTSTRAP & {*param.opts} for param in command.params)
        and any(isinstance(param, click.Option) and "--dry-run" in param.opts for param in command.params)
    }


@pytest.mark.parametrize("name", changing_commands())
def test_change_begins_with_the_guard(name: str) -> None:
    command = changing_commands()[name]
    assert command.callback is not None
    file = _file(command.callback.__module__)
    files = [file, *_imported(file)]
    assert any(_calls_guard(file) for file in files), f"{name} opens a client and never calls guard_cluster"


def test_there_are_such_commands() -> None:
    assert "kafkactl nodes unregister" in changing_commands()


def _imported(file: Path) -> list[Path]:
    """Return the modules of the command layer that a module takes something from."""
    names = {
        node.module for node in nodes(file, ast.ImportFrom) if (node.module or "").startswith("kafkactl.commands.")
    }
    return [path for name in sorted(names) if (path := _file(name)).is_file()]


def _file(module: str) -> Path:
    return ROOT.joinpath(*module.split(".")[1:]).with_suffix(".py")


def _calls_guard(file: Path) -> bool:
    return any(isinstance(node.func, ast.Name) and node.func.id == "guard_cluster" for node in nodes(file, ast.Call))
