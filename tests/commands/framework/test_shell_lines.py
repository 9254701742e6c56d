"""Command lines that are wider than a screen."""

from __future__ import annotations

import shlex

from hypothesis import given
from hypothesis import strategies as st

from kafkactl.commands.framework.shell_lines import shell_lines

WORDS = st.lists(st.text("ab-' \"$", max_size=12).map(shlex.quote), min_size=1, max_size=8)


def test_command_that_fits_is_one_line():
    assert list(shell_lines("kafkactl status --deep", 22)) == ["kafkactl status --deep"]


def test_option_stays_with_its_value():
    command = "kafkactl storage apply plan.json --reason 'disk replaced, ticket 4711' --yes"
    assert list(shell_lines(command, 46, indent="  ")) == [
        "  kafkactl storage apply plan.json \\",
        "    --reason 'disk replaced, ticket 4711' \\",
        "    --yes",
    ]


def test_value_too_long_for_the_line_of_its_option_is_on_the_next_one():
    command = "kafkactl nodes list --bootstrap-controller c1.example:9093,c2.example:9093"
    assert list(shell_lines(command, 40, indent="  ")) == [
        "  kafkactl nodes list \\",
        "    --bootstrap-controller \\",
        "    c1.example:9093,c2.example:9093",
    ]


@given(WORDS, st.integers(20, 60))
def test_pasted_lines_are_the_command(words, width):
    command = " ".join(words)
    text = "\n".join(shell_lines(command, width, indent="  "))
    assert shlex.split(text.replace("\\\n", "")) == shlex.split(command)
