"""Brackets of options in help, and lines that end between words."""

from __future__ import annotations

import re
import shlex

import click
import pytest
from click.testing import CliRunner

from kafkactl.commands.framework.help_text import HelpContext, option_record
from kafkactl.commands.framework.leaf import LeafCommand
from scripts import make_reference

COMMANDS = make_reference.every_command()
LEAVES = [(ctx, command) for ctx, command in COMMANDS if isinstance(command, LeafCommand)]


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({}, "Text."),
        ({"required": True}, "Text. [required]"),
        ({"multiple": True}, "Text. [repeatable]"),
        ({"type": click.IntRange(min=0)}, "Text."),
        ({"type": click.IntRange(min=2)}, "Text. [at least 2]"),
        ({"type": click.IntRange(0, 10)}, "Text. [0 to 10]"),
        ({"type": click.IntRange(max=10)}, "Text. [at most 10]"),
        ({"type": click.IntRange(0, 2**63 - 1)}, "Text."),
        ({"type": click.IntRange(1, 9), "default": 3, "show_default": True}, "Text. [default: 3; 1 to 9]"),
    ],
)
def test_brackets_are_in_words(attributes, expected):
    option = click.Option(["--size"], metavar="N", help="Text.", **attributes)
    assert option_record(option, HelpContext(click.Command("x"))) == ("--size N", expected)


def test_line_does_not_end_within_a_word_with_hyphens():
    word = "SCRAM-SHA-512=[name=alice,password=secret]"

    @click.command(cls=LeafCommand, examples=())
    @click.option("--user", help=f"{'a ' * 20}{word} {'b ' * 20}")
    def command(user: str) -> None:
        """Do nothing."""

    shown = CliRunner().invoke(command, ["--help"], env={"COLUMNS": "80"}).output
    assert word in shown


@pytest.mark.parametrize(("ctx", "command"), LEAVES, ids=[ctx.command_path for ctx, _ in LEAVES])
def test_help_has_no_repetition_and_no_notation_of_click(ctx, command):
    text = command.get_help(ctx)
    for title in ("Options:", "Examples:", "Exit codes:", "Common options:"):
        assert text.count(f"\n{title}") <= 1, title
    assert not re.search(r"INTEGER|FLOAT|RANGE|x>=|<=x", text)
    assert not re.search(r"repeatable[^\[\]]*\[[^\]]*repeatable", " ".join(text.split()))


@pytest.mark.parametrize(("ctx", "command"), COMMANDS, ids=[ctx.command_path for ctx, _ in COMMANDS])
def test_help_fits_a_terminal_of_80_columns(ctx, command, monkeypatch):
    monkeypatch.setattr(ctx, "terminal_width", 80)
    text = command.get_help(ctx)
    assert [line for line in text.splitlines() if len(line) > 80] == []
    pasted = text.replace(" \\\n", " ")
    assert all(
        shlex.split(example) in [shlex.split(line) for line in _examples(pasted)] for example in command.examples
    )


def _examples(text: str) -> list[str]:
    return text.partition("\nExamples:\n")[2].partition("\n\n")[0].splitlines()
